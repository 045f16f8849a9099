// What is to be done next about the virtual machine of a Machine: pure functions from what was seen to one step. A step is one
// request to the vCenter, or one thing to say; then everything is looked at again.
//
// One virtual machine for a Machine, whatever answer is lost:
//
//   - the order for a clone is written into the status first, then sent. While one that was written may still be carried out, none is
//     sent again, and the Machine does not go;
//   - the clone has the uid of the Machine as its instance UUID, and is found by that alone. Another virtual machine of the same name
//     is left alone, also if an earlier Machine had it;
//   - a virtual machine that was there and is gone is not made again: an administrator of the vCenter took it away.

import type { ConditionFact } from '../../../api/condition.ts'
import type { Machine, MachineAddress } from '../../../api/machine.ts'
import { parseIP, toIPText } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { NetworkDevice } from '../../../kargs/device.ts'
import { kargsKey } from '../../../kargs/print.ts'
import type { VirtualMachine } from '../../../vsphere/virtual-machine.ts'
import { addressesOf, kargsOf } from './network.ts'
import type { Why } from './turn.ts'

/** Of the task that the status names. */
export type TaskState = { readonly kind: 'none' | 'runs' | 'ended' } | { readonly kind: 'failed'; readonly why: string }

interface Seen {
  readonly machine: Pick<Machine, 'metadata' | 'phase' | 'providerStatus'>
  /** The one with the Machine's uid as its instance UUID. */
  readonly vm: VirtualMachine | undefined
  readonly task: TaskState
  /** An order was written, its answer is not known, and it may still be carried out. */
  readonly mayCome: boolean
}

export interface SeenToMake extends Seen {
  /** What else has the name of the Machine in its folder. */
  readonly nameTakenBy: string | undefined
  readonly devices: readonly NetworkDevice[]
  /** Those of its spec that the virtual machine does not have. */
  readonly missingTags: readonly string[]
  /** What the virtual machine is told besides its kernel arguments. */
  readonly settings: Readonly<Record<string, string>>
}

export type MakeStep =
  | { readonly do: 'order' }
  | { readonly do: 'tell'; readonly settings: Readonly<Record<string, string>> }
  | { readonly do: 'tag' }
  | { readonly do: 'power on' }
  | { readonly do: 'report' }
  | Pause

export type UnmakeStep = { readonly do: 'power off' | 'destroy' | 'release' } | Pause

type Pause =
  /** Something is under way. */
  | { readonly do: 'wait'; readonly why?: Why }
  /** What was ordered has failed, or never began: the status no longer names it. */
  | { readonly do: 'forget'; readonly why?: Why }
  /** A person has to do something. */
  | { readonly do: 'refuse'; readonly why: Why; readonly isFinal?: boolean }

export function decideMaking(seen: SeenToMake): MakeStep {
  const { machine, vm, devices, missingTags } = seen
  if (vm === undefined) return decideOrder(seen)
  const pause = decidePause(seen, vm)
  if (pause !== undefined) return pause
  if (isMade(machine)) return { do: 'report' }
  if (vm.cards.length !== devices.length) {
    const message = `invalid network count: expected=${devices.length} current=${vm.cards.length}`
    return { do: 'refuse', why: { reason: 'InvalidNetworkCount', message } }
  }
  // First of all: rules of a network may go by them, and a machine is not to run without.
  if (missingTags.length > 0) return { do: 'tag' }
  if (vm.powerState === 'poweredOn') return { do: 'report' }
  const settings = settingsOf(seen, vm)
  if (settings === undefined) {
    return { do: 'wait', why: { reason: 'WaitingForMAC', message: 'the network devices have no MAC yet' } }
  }
  const missing = Object.entries(settings).filter(([key, value]) => vm.extraConfig.get(key) !== value)
  if (missing.length > 0) return { do: 'tell', settings: Object.fromEntries(missing) }
  return { do: 'power on' }
}

export const isMade = ({ phase }: Pick<Machine, 'phase'>): boolean => ['Provisioned', 'Running'].includes(phase)

/** No virtual machine is there. */
function decideOrder({ machine, task, mayCome, nameTakenBy }: SeenToMake): MakeStep {
  const { instanceId, taskRef, cloneOrderedAt } = machine.providerStatus
  if (task.kind === 'runs') return { do: 'wait' }
  if (task.kind === 'failed') return forgetting(task.why)
  if (mayCome) return waitingForOrder
  if (taskRef !== '' || cloneOrderedAt !== '') return { do: 'forget' }
  if (instanceId !== '') {
    const message = `the virtual machine ${instanceId} is gone from the vCenter, and is not made again: delete the Machine`
    return { do: 'refuse', why: { reason: 'InstanceMissing', message }, isFinal: true }
  }
  if (nameTakenBy !== undefined) {
    const message = `${nameTakenBy} has the name ${machine.metadata.name} in the folder, and is not this Machine's: rename or remove it`
    return { do: 'refuse', why: { reason: 'NameTaken', message } }
  }
  return { do: 'order' }
}

const waitingForOrder: Pause = {
  do: 'wait',
  why: {
    reason: 'OrderUnanswered',
    message: 'a clone was ordered and the answer was lost: waiting until it is known whether it comes',
  },
}

const forgetting = (message: string): Pause => ({ do: 'forget', why: { reason: 'TaskFailed', message } })

function decidePause({ task }: Seen, { isConnected, name }: VirtualMachine): Pause | undefined {
  if (task.kind === 'runs') return { do: 'wait' }
  if (task.kind === 'failed') return forgetting(task.why)
  if (isConnected) return undefined
  return { do: 'wait', why: { reason: 'HostUnreachable', message: `the host of ${name} does not answer the vCenter` } }
}

/** Undefined while a device has no MAC and its kernel arguments need one. */
function settingsOf({ devices, settings }: SeenToMake, { cards }: VirtualMachine) {
  const macs = cards.toSorted((a, b) => Number(a.key) - Number(b.key)).map(({ mac }) => mac)
  const kargs = kargsOf(devices, macs.includes('') ? [] : macs)
  return kargs === undefined ? undefined : withKargs(settings, kargs)
}

/** The key is left out where there is nothing to say: then the system asks by DHCP. */
export const withKargs = (settings: Readonly<Record<string, string>>, kargs: string | undefined) =>
  kargs === undefined || kargs === '' ? settings : { ...settings, [kargsKey]: kargs }

export function decideUnmaking(seen: Seen): UnmakeStep {
  const { vm, task, mayCome } = seen
  if (vm === undefined) {
    if (task.kind === 'runs') return { do: 'wait' }
    return mayCome ? waitingForOrder : { do: 'release' }
  }
  const pause = decidePause(seen, vm)
  if (pause !== undefined) return pause
  return { do: vm.powerState === 'poweredOff' ? 'destroy' : 'power off' }
}

// --- what a virtual machine that runs is said to be ---

/** A guest may report any number. */
const addressesMax = 100

export interface Report {
  readonly addresses: readonly MachineAddress[]
  /** Those that it was given and that its guest does not report. */
  readonly missing: readonly string[]
}

export function reportOf({ name, guestIPs }: VirtualMachine, devices: readonly NetworkDevice[]): Report {
  const ips = guestIPs.slice(0, addressesMax)
  const reported = new Set(guestIPs.map(canonical))
  return {
    addresses: [...ips.map(address => ({ type: 'InternalIP', address })), { type: 'InternalDNS', address: name }],
    // Without a report at all, VMware Tools do not run: that says nothing about addresses.
    missing: guestIPs.length === 0 ? [] : addressesOf(devices).filter(ip => !reported.has(canonical(ip))),
  }
}

function canonical(text: string): string {
  const ip = parseIP(text)
  return isMalformed(ip) ? text : toIPText(ip)
}

export const creationCondition = 'MachineCreation'
export const deletionCondition = 'MachineDeletion'
const reportedCondition = 'AddressesReported'

export function reportedFact({ missing }: Report, isLate: boolean): ConditionFact | undefined {
  if (missing.length === 0) {
    return {
      type: reportedCondition,
      status: 'True',
      reason: 'AddressesReported',
      message: 'The guest has the addresses that it was given',
    }
  }
  if (!isLate) return undefined
  return {
    type: reportedCondition,
    status: 'False',
    reason: 'AddressMismatch',
    message: `The guest does not report ${missing.join(', ')}: it was given this and has something else`,
  }
}
