// The reconciler `vm.claims`, and what wakes it. Its keys are those of virtual machines, and of instances of the same name.
//
//   changed                                        wakes
//   a virtual machine, an instance                 itself
//   a launcher pod                                 the virtual machine whose it is
//   a claim                                        its virtual machine, by its owner and by its label; those that wait for it to go
//   a NetworkAttachmentDefinition, or its network  the virtual machines with an interface on it

import { keyOf, namespaceOfKey } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler, type RunningReconciler } from '../../../runtime/reconciler.ts'
import type { Office } from '../../office/office.ts'
import { ipamClaims } from '../kinds.ts'
import { podNetworkOf, type VMWorld, vmKeysOfClaim, vmKeysOfPod } from '../world.ts'
import { reconcileVM } from './reconcile.ts'

/** Namespaces take turns. */
const concurrency = 16

type World = Pick<VMWorld, 'client' | 'caches' | 'networks' | 'recorder' | 'launchersOf'>

export function openClaims({ scope }: Pick<Office, 'scope'>, domain: Domain, world: World): RunningReconciler {
  const { client, caches, networks } = world
  const kept = { told: new Map<string, string>(), inTheWay: new Map<string, Set<string>>() }
  const claims = domain.addReconciler(
    defineReconciler({
      name: 'vm.claims',
      claimKind: ipamClaims.kind,
      reconcile: (key, pass) => reconcileVM(key, scope, { ...world, ...kept, client: client.withPass(pass) }),
      concurrency,
      groupOf: key => [namespaceOfKey(key)],
    }),
  )
  for (const cache of [caches.vms, caches.vmis]) {
    cache.subscribe(({ key, new: next }) => {
      if (next === undefined) kept.told.delete(key)
      claims.mark(key)
    })
  }
  caches.pods.subscribe(({ old, new: next }) => {
    for (const pod of [old, next]) {
      if (pod !== undefined) for (const key of vmKeysOfPod(pod)) claims.mark(key)
    }
  })
  caches.claims.subscribe(({ key, old, new: next }) => {
    for (const claim of [old, next]) {
      if (claim !== undefined) for (const vm of vmKeysOfClaim(claim)) claims.mark(vm)
    }
    for (const vm of kept.inTheWay.get(key) ?? []) claims.mark(vm)
  })
  networks.subscribe(({ attachments }) => {
    for (const attachment of attachments) {
      for (const at of [attachment, podNetworkOf(namespaceOfKey(attachment))]) {
        for (const object of [...caches.vms.byIndex('attachment', at), ...caches.vmis.byIndex('attachment', at)]) {
          claims.mark(keyOf(object))
        }
      }
    }
  })
  return claims
}
