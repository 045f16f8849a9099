// The reconciler `pod.addresses`, and what wakes it.
//
//   changed        wakes
//   a pod          itself; if it is gone, those that name the same claims
//   a claim        the pods that name it
//   a hold         the pods that name its claim
//   an instance    its pods
//   a network      the pods on it

import { type KubeObject, keyOf, namespaceOfKey } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import type { Office } from '../../office/office.ts'
import { onHoldsOf } from '../../office/views.ts'
import { ipamClaims } from '../kinds.ts'
import { podOf } from '../parsed.ts'
import { podNetworkOf, type VMWorld } from '../world.ts'
import { claimNamesOf, primarySelectionOf, selectionsOf } from './annotation.ts'
import { isPodSettled, reconcilePod } from './reconcile.ts'

/** Namespaces take turns. */
const concurrency = 32

export function openPods(office: Office, domain: Domain, world: Omit<VMWorld, 'note'>): void {
  const { metrics, scope } = office
  const { client, caches, ledger, networks, podMetrics } = world
  const about = { desk: 'vm', claimKind: ipamClaims.kind }
  const toldToPods = new Map<string, string>()
  const addresses = domain.addReconciler(
    defineReconciler({
      name: 'pod.addresses',
      claimKind: ipamClaims.kind,
      reconcile: (key, pass) => {
        const note = noteIn(pass, metrics, about)
        return reconcilePod(key, scope, { ...world, client: client.withPass(pass), note, toldToPods })
      },
      isSettled: key => isPodSettled(key, { ...world, toldToPods }),
      concurrency,
      groupOf: key => [namespaceOfKey(key)],
    }),
  )
  const markAll = (pods: readonly KubeObject[]) => {
    for (const pod of pods) addresses.mark(keyOf(pod))
  }
  caches.pods.subscribe(({ key, old, new: next }) => {
    addresses.mark(key)
    const { uid = '', creationTimestamp } = (next ?? old).metadata
    if (old === undefined && isUnserved(next)) podMetrics?.seen(uid, creationTimestamp ?? '')
    if (next === undefined) podMetrics?.gone(key, uid)
    // A claim without an owner is for one machine at a time.
    if (next === undefined) for (const claim of claimKeysOf(old)) markAll(caches.pods.byIndex('claim', claim))
  })
  caches.claims.subscribe(({ key }) => markAll(caches.pods.byIndex('claim', key)))
  onHoldsOf(caches, ledger, ipamClaims, key => markAll(caches.pods.byIndex('claim', key)))
  caches.vmis.subscribe(({ key }) => markAll(caches.pods.byIndex('vm', key)))
  networks.subscribe(({ attachments }) => {
    const keys = new Set(attachments.flatMap(key => [key, podNetworkOf(namespaceOfKey(key))]))
    for (const key of keys) markAll(caches.pods.byIndex('attachment', key))
  })
}

/** Asks for networks, and is configured with none. */
function isUnserved(object: KubeObject | undefined): boolean {
  const pod = readable(object, podOf)
  const isAsking = pod !== undefined && (selectionsOf(pod).length > 0 || primarySelectionOf(pod) !== undefined)
  return isAsking && pod.podNetworks === undefined
}

function claimKeysOf(object: KubeObject): string[] {
  const pod = readable(object, podOf)
  if (pod === undefined) return []
  return claimNamesOf(pod).map(name => `${pod.metadata.namespace}/${name}`)
}
