// machine.sets - every MachineSet has as many Machines as it asks for, and its status counts them.
//
// Reads:   the set, the Machines of its namespace; decides in scale.ts.
// Writes:  Machines, whole ones; the owner of those that it takes in; the status of the set.
// Safe:    what is missing or too many is judged on what the API server lists, not on the cache. Two processes that make the same
//          Machines at once make too many, and the next pass deletes what is too many; no address is given twice by that.

import type { Machine } from '../../../api/machine.ts'
import { type MachineSet, machineSetKind } from '../../../api/machine-set.ts'
import { machineSetLabel } from '../../../api/names.ts'
import { apiVersionOf, type OwnerReference } from '../../../api/object.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { done, type PassResult, requeue } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { isInScope } from '../../office/scope.ts'
import { machineSets, machines } from '../kinds.ts'
import { randomName, toMachine } from './new-machine.ts'
import { countMachines, planScale, type ScalePlan, whyRefused } from './scale.ts'
import { sayOfSet } from './status.ts'
import { askMachines, machinesIn, type SetsWorld, setOf } from './world.ts'

/** In one pass: the others are made after those of other sets. */
const createdMax = 20

export async function reconcileSet(key: string, world: SetsWorld): Promise<PassResult> {
  const object = world.sets.machineSets.get(key)
  const set = readable(object, setOf)
  if (object === undefined || set === undefined || !isInScope(world.scope, object)) return done()
  const { namespace } = set.metadata
  const seen = machinesIn(world, namespace)
  const isLeft = isNothing(planScale(set, seen)) ? false : await settle(world, set, await askMachines(world, namespace))
  await say(world, object, set)
  return isLeft ? requeue() : done()
}

const isNothing = ({ adopt, create, remove }: ScalePlan): boolean =>
  adopt.length === 0 && create === 0 && remove.length === 0

/** Whether something is left to do. */
async function settle(world: SetsWorld, set: MachineSet, there: readonly Machine[]): Promise<boolean> {
  const { adopt, create, remove } = planScale(set, there)
  for (const machine of adopt) await adoptMachine(world, set, machine)
  for (let i = 0; i < Math.min(create, createdMax); i++) await createMachine(world, set)
  for (const machine of remove) await removeMachine(world, machine)
  return create > createdMax
}

function referenceTo({ metadata: { name, uid } }: MachineSet): OwnerReference {
  const { kind } = machineSetKind
  return { apiVersion: apiVersionOf(machineSetKind), kind, name, uid, controller: true, blockOwnerDeletion: true }
}

async function adoptMachine({ client, caches }: SetsWorld, set: MachineSet, machine: Machine): Promise<void> {
  const ownerReferences = [...machine.metadata.ownerReferences, referenceTo(set)]
  await patchSeen(client, machines, caches.machines, machine, { metadata: { ownerReferences } })
}

async function createMachine({ client, caches, random, note }: SetsWorld, set: MachineSet): Promise<void> {
  const { namespace, name } = set.metadata
  const object = toMachine({
    namespace,
    name: randomName(name, random),
    labels: { ...set.labels, [machineSetLabel]: name },
    annotations: set.annotations,
    spec: set.machineSpec,
    owner: referenceTo(set),
  })
  try {
    const made = await client.create(machines, object)
    caches.machines.learn(made)
    note({ what: 'made', about: { kind: machines.kind, namespace, name: made.metadata.name ?? '' } })
  } catch (error) {
    // The name is another's: the next pass has another one.
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

export async function removeMachine({ client, caches, note }: SetsWorld, { metadata }: Machine): Promise<void> {
  const { namespace, name, uid, resourceVersion } = metadata
  const left = await client.delete(machines, { namespace, name }, { uid, resourceVersion })
  note({ what: 'removed', about: { kind: machines.kind, namespace, name } })
  if (left !== 'deleting') caches.machines.ended(`${namespace}/${name}`, uid)
}

async function say(world: SetsWorld, object: KubeObject, set: MachineSet): Promise<void> {
  const refusal = whyRefused(set)
  const counts = countMachines(set, machinesIn(world, set.metadata.namespace))
  const error =
    refusal === undefined
      ? { errorReason: null, errorMessage: null }
      : { errorReason: 'InvalidConfiguration', errorMessage: refusal }
  const status = { ...counts, ...error, observedGeneration: set.metadata.generation }
  const isNew = await sayOfSet(world, { kind: machineSets, cache: world.sets.machineSets, object }, status)
  if (!isNew || refusal === undefined) return
  const event = { type: 'Warning', reason: 'InvalidConfiguration', action: 'Scale', note: refusal } as const
  world.recorder.event({ about: object, ...event })
}
