// The way of a Machine to its virtual machine: ordered, given its tags, told its network, powered on, looked at.

import type { Machine } from '../../../api/machine.ts'
import type { NetworkDevice } from '../../../kargs/device.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { isVimFault } from '../../../vsphere/fault.ts'
import { attachTags } from '../../../vsphere/tags.ts'
import { powerOn, setExtraConfig, type VirtualMachine } from '../../../vsphere/virtual-machine.ts'
import { readUserData } from './credentials.ts'
import { kargsOf } from './network.ts'
import { creationCondition, decideMaking, isMade, reportedFact, reportOf, withKargs } from './plan.ts'
import { nameProvider, say } from './steps.ts'
import { complain, noteOrder, pollLater, retryLater, soon, type Turn } from './turn.ts'
import { find, type Ground, look, lookAtName, lookAtTags, order, serverTime } from './vcenter.ts'

/** Of virtual machines that run: their guests are looked at. */
const looksMs = 30_000

/** A guest takes a while to boot, and reports less until then. */
const graceMs = 120_000

type Settings = Readonly<Record<string, string>>
type Devices = readonly NetworkDevice[]

export async function make(turn: Turn, ground: Ground, devices: Devices): Promise<PassResult> {
  const there = await look(ground)
  const { machine } = ground
  const { cloneOrderedAt, taskRef, instanceId } = machine.providerStatus
  const isNew = there.vm === undefined && cloneOrderedAt === '' && taskRef === '' && instanceId === ''
  const nameTakenBy = isNew ? await lookAtName(ground) : undefined
  const settings = isMade(machine) ? {} : await settingsFor(turn, ground)
  const missingTags = isMade(machine) ? [] : await lookAtTags(ground, there)
  const step = decideMaking({ ...there, machine, nameTakenBy, devices, missingTags, settings })
  const { vm } = there
  // Once it was seen, it is not made again if it goes.
  const seen = vm === undefined ? {} : { instanceId: vm.instanceUuid, instanceState: vm.powerState }
  switch (step.do) {
    case 'order':
      return orderIt(turn, ground, withKargs(settings, kargsOf(devices, [])))
    case 'tag':
      if (vm === undefined) return done()
      await say(turn, machine, { provider: seen })
      await attachTags(ground.vcenter, vm.ref, missingTags, ground.signal)
      noteOrder(turn, machine, step.do)
      return soon(turn)
    case 'tell':
    case 'power on': {
      if (vm === undefined) return done()
      const known = await say(turn, machine, { provider: seen, error: null })
      const { vcenter, signal } = ground
      const task =
        step.do === 'tell'
          ? await setExtraConfig(vcenter, vm.ref, step.settings, signal)
          : await powerOn(vcenter, vm.ref, signal)
      noteOrder(turn, machine, step.do)
      await say(turn, known, { provider: { taskRef: task } })
      return soon(turn)
    }
    case 'report':
      return vm === undefined ? done() : report(turn, ground, vm, devices)
    case 'wait':
      if (step.why === undefined) await say(turn, machine, { provider: seen })
      else await complain(turn, machine, creationCondition, step.why, { provider: seen })
      return pollLater(turn)
    case 'forget': {
      const provider = { ...seen, taskRef: '', cloneOrderedAt: '' }
      if (step.why === undefined) await say(turn, machine, { provider })
      else await complain(turn, machine, creationCondition, step.why, { provider })
      return step.why === undefined ? soon(turn) : retryLater(turn)
    }
    case 'refuse': {
      const error = { reason: step.why.reason, message: step.why.message }
      const also = step.isFinal === true ? { phase: 'Failed', error } : {}
      await complain(turn, machine, creationCondition, step.why, { ...also, provider: seen })
      return retryLater(turn)
    }
  }
}

/** Everything is found before the order is written, and the order is written before it is sent. */
async function orderIt(turn: Turn, ground: Ground, settings: Settings): Promise<PassResult> {
  const found = await find(ground)
  const provider = { cloneOrderedAt: await serverTime(ground) }
  const noted = await say(turn, ground.machine, { phase: 'Provisioning', provider, error: null })
  try {
    const taskRef = await order(ground, found, settings)
    noteOrder(turn, noted, 'clone')
    await say(turn, noted, { provider: { taskRef } })
    return soon(turn)
  } catch (error) {
    // The server has said no: nothing was begun. Whatever else went wrong, the order may have arrived.
    if (isVimFault(error)) await say(turn, noted, { provider: { cloneOrderedAt: '' } })
    throw error
  }
}

/** As the controllers of OpenShift set them; the system reads them at its first boot. */
async function settingsFor({ client }: Turn, { machine, spec }: Ground): Promise<Settings> {
  const { namespace, name } = machine.metadata
  const data = await readUserData(client, namespace, spec.userDataSecret)
  return {
    'guestinfo.hostname': name,
    'stealclock.enable': 'TRUE',
    ...(data !== undefined && {
      'guestinfo.ignition.config.data': data,
      'guestinfo.ignition.config.data.encoding': 'base64',
    }),
  }
}

async function report(turn: Turn, { machine }: Ground, vm: VirtualMachine, devices: Devices): Promise<PassResult> {
  const { remembered, clock } = turn
  const found = reportOf(vm, devices)
  const nowMs = clock.monotonicMs()
  remembered.waits = 0
  remembered.missingSinceMs = found.missing.length === 0 ? undefined : (remembered.missingSinceMs ?? nowMs)
  const isLate = remembered.missingSinceMs !== undefined && nowMs - remembered.missingSinceMs >= graceMs
  const reported = vm.guestIPs.length === 0 ? undefined : reportedFact(found, isLate)
  const named = await withProviderID(turn, machine, vm)
  await say(turn, named, {
    phase: machine.nodeName === '' ? 'Provisioned' : 'Running',
    error: null,
    addresses: found.addresses,
    provider: { instanceId: vm.instanceUuid, instanceState: vm.powerState, taskRef: '' },
    facts: [countFact(vm, devices), ...(reported === undefined ? [] : [reported])],
  })
  return requeueAfter(vm.guestIPs.length === 0 ? looksMs / 6 : looksMs)
}

function countFact({ cards }: VirtualMachine, devices: Devices) {
  const type = creationCondition
  if (cards.length === devices.length) {
    return {
      type,
      status: 'True',
      reason: 'MachineCreationSucceeded',
      message: 'Machine successfully created',
    } as const
  }
  const message = `invalid network count: expected=${devices.length} current=${cards.length}`
  return { type, status: 'False', reason: 'InvalidNetworkCount', message } as const
}

async function withProviderID(turn: Turn, machine: Machine, { uuid }: VirtualMachine): Promise<Machine> {
  const providerID = `vsphere://${uuid}`
  return uuid === '' || machine.providerID === providerID ? machine : nameProvider(turn, machine, providerID)
}
