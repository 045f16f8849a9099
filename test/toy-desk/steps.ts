// What may be written to berths, one function each, named after the step of the model (docs/model) it is. Every write carries
// the version it was decided on; when the API server refuses it, the error is thrown and the pass begins again. What a write
// answers is put into the cache at once.

import type { Condition } from '../../src/api/condition.ts'
import { withFinalizer, withoutFinalizer } from '../../src/kube/finalizers.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { patchSeen } from '../../src/kube/patch-seen.ts'
import { berths } from './kinds.ts'
import { type Berth, berthFinalizer, type Choice, choiceAnnotation } from './parsed.ts'
import type { ToyWorld } from './world.ts'

type World = Pick<ToyWorld, 'client' | 'caches'>

/** T4: every part of the choice, and the finalizer, in one write under the version from before the first hold. */
export function storeChoice(world: World, berth: Berth, choice: Choice): Promise<KubeObject> {
  const annotations = { [choiceAnnotation]: JSON.stringify(choice) }
  return patchBerth(world, berth, { metadata: { annotations, finalizers: withFinalizer(berth, berthFinalizer) } })
}

/** T7: the berth says what it has. */
export async function sayServed(world: World, berth: Berth, choice: Choice, conditions: readonly Condition[]) {
  const addresses = [choice.v4, choice.v6].filter(address => address !== undefined)
  const status = { addresses, mac: choice.mac ?? null, gaveBackAt: null, conditions }
  await patchBerth(world, berth, { status }, 'status')
}

/** Why it waits. */
export async function sayWaits(world: World, berth: Berth, conditions: readonly Condition[]): Promise<void> {
  await patchBerth(world, berth, { status: { conditions } }, 'status')
}

/**
 * T15: it says which part it lacks, before it lets go of the others. This write must change the version of the berth, also when
 * the sentence is the same as before: a process that is about to store a choice on one of those holds is then refused. No
 * two of these writes see the same version.
 */
export async function sayGivesBack(world: World, berth: Berth, conditions: readonly Condition[]): Promise<void> {
  const gaveBackAt = berth.metadata.resourceVersion
  await patchBerth(world, berth, { status: { conditions, gaveBackAt } }, 'status')
}

/** T11: the berth may go. */
export async function unguard(world: World, berth: Berth): Promise<void> {
  const finalizers = withoutFinalizer(berth, berthFinalizer)
  await patchBerth(world, berth, { metadata: { finalizers } })
  const { namespace, name, uid } = berth.metadata
  if (finalizers.length === 0) world.caches.berths.ended(`${namespace}/${name}`, uid)
}

const patchBerth = ({ client, caches }: World, berth: Berth, patch: object, subresource?: 'status') =>
  patchSeen(client, berths, caches.berths, berth, patch, subresource)
