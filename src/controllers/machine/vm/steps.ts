// Every write of `machine.vm` to the API server, one function each. What exists is written under the uid and version it was decided
// on; what a write answers is in the cache at once. A refusal is thrown, and the key is requeued.

import { isDeepStrictEqual } from 'node:util'
import { type ConditionFact, setCondition } from '../../../api/condition.ts'
import type { Machine, MachineAddress, MachineProviderStatus } from '../../../api/machine.ts'
import { machineFinalizer } from '../../../api/names.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { withFinalizer } from '../../../kube/finalizers.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { machines } from '../kinds.ts'
import { machineOf } from '../parsed.ts'
import type { VMsWorld } from './world.ts'

type World = Pick<VMsWorld, 'client' | 'caches' | 'clock'>

export async function protect(world: World, machine: Machine): Promise<Machine> {
  const finalizers = withFinalizer(machine, machineFinalizer)
  return patch(world, machine, { metadata: { finalizers } })
}

export interface Said {
  readonly phase?: string
  readonly facts?: readonly ConditionFact[]
  /** An empty text takes it out. */
  readonly provider?: Partial<
    Pick<MachineProviderStatus, 'instanceId' | 'instanceState' | 'taskRef' | 'cloneOrderedAt'>
  >
  readonly addresses?: readonly MachineAddress[]
  /** Why nothing more is done about the Machine; null where that is over. */
  readonly error?: { readonly reason: string; readonly message: string } | null
}

/** The same again is no write. Answers the Machine as it is then. */
export async function say(world: World, machine: Machine, said: Said): Promise<Machine> {
  const now = timestamp(world.clock)
  const { providerStatus: before } = machine
  const conditions = (said.facts ?? []).reduce((all, fact) => setCondition(all, fact, now), before.conditions)
  const provider = Object.fromEntries(
    Object.entries(said.provider ?? {})
      .filter(([key, value]) => before[key as keyof MachineProviderStatus] !== value)
      .map(([key, value]) => [key, value === '' ? null : value]),
  )
  const providerStatus = { ...provider, ...(conditions !== before.conditions && { conditions }) }
  const status = {
    ...(said.phase !== undefined && said.phase !== machine.phase && { phase: said.phase }),
    ...(said.addresses !== undefined &&
      !isDeepStrictEqual(said.addresses, machine.addresses) && { addresses: said.addresses }),
    ...errorOf(said.error, machine),
    ...(Object.keys(providerStatus).length > 0 && { providerStatus: { ...headOf(before), ...providerStatus } }),
  }
  if (Object.keys(status).length === 0) return machine
  return patch(world, machine, { status: { ...status, lastUpdated: now } }, 'status')
}

function errorOf(error: Said['error'], machine: Machine) {
  if (error === undefined) return {}
  if (error === null) return machine.errorMessage === '' ? {} : { errorReason: null, errorMessage: null }
  return error.message === machine.errorMessage ? {} : { errorReason: error.reason, errorMessage: error.message }
}

/** An opaque field says itself what it is. */
const headOf = ({ conditions }: MachineProviderStatus) =>
  conditions.length > 0 ? {} : { apiVersion: 'machine.openshift.io/v1beta1', kind: 'VSphereMachineProviderStatus' }

/** What nodes and their controllers know the virtual machine by. */
export function nameProvider(world: World, machine: Machine, providerID: string): Promise<Machine> {
  return patch(world, machine, { spec: { providerID } })
}

/** The virtual machine is gone: the Machine may go. `machine.claims` lets its claims go then. */
export async function release(world: World, machine: Machine): Promise<void> {
  const left = machine.metadata.finalizers.filter(name => name !== machineFinalizer)
  await patch(world, machine, { metadata: { finalizers: left.length === 0 ? null : left } })
}

async function patch(
  { client, caches }: World,
  machine: Machine,
  change: object,
  subresource?: 'status',
): Promise<Machine> {
  const stored = machineOf(await patchSeen(client, machines, caches.machines, machine, change, subresource))
  if (isMalformed(stored)) throw new Error(`the API server answers a Machine that cannot be read: ${stored.malformed}`)
  return stored
}
