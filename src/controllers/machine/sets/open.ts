// The reconcilers `machine.sets` and `machine.control-plane`, and what wakes them.
//
//   changed                                wakes
//   a MachineSet, a ControlPlaneMachineSet itself
//   a Machine                              the sets of its namespace
//   the Infrastructure                     every ControlPlaneMachineSet

import type { Cache } from '../../../kube/cache.ts'
import { type KubeObject, keyOf, namespaceOfKey } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler, type RunningReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../../office/journal.ts'
import { reconcileControlPlane } from './control-plane-set.ts'
import { reconcileSet } from './machine-set.ts'
import type { SetsWorld } from './world.ts'

export function openSets(domain: Domain, world: Omit<SetsWorld, 'note'>): void {
  const { client, caches, sets } = world
  const about = { desk: domain.name, claimKind: '' }
  const add = (name: string, reconcile: typeof reconcileSet): RunningReconciler =>
    domain.addReconciler(
      defineReconciler({
        name,
        reconcile: (key, pass) =>
          reconcile(key, { ...world, client: client.withPass(pass), note: noteIn(pass, undefined, about) }),
        groupOf: key => [namespaceOfKey(key)],
      }),
    )
  const machineSets = add('machine.sets', reconcileSet)
  const controlPlanes = add('machine.control-plane', reconcileControlPlane)
  sets.machineSets.subscribe(({ key }) => machineSets.mark(key))
  sets.controlPlanes.subscribe(({ key }) => controlPlanes.mark(key))
  sets.infrastructures.subscribe(() => markIn(sets.controlPlanes, controlPlanes))
  caches.machines.subscribe(({ key }) => {
    markIn(sets.machineSets, machineSets, namespaceOfKey(key))
    markIn(sets.controlPlanes, controlPlanes, namespaceOfKey(key))
  })
}

function markIn(cache: Cache<KubeObject>, reconciler: RunningReconciler, namespace?: string): void {
  for (const object of cache.values()) {
    if (namespace === undefined || object.metadata.namespace === namespace) reconciler.mark(keyOf(object))
  }
}
