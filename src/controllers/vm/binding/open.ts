// The reconciler `ipamclaim.binding`, and what wakes it.
//
//   changed               wakes
//   a claim               itself
//   a hold                its claim
//   a pod                 the claims of its machine
//   a VM or an instance   the claims of that name
//   a network             the claims that name it
//
// What wakes claims that wait for an address is the office's work (office/waiting.ts).

import { identityKey } from '../../../api/object.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { Cache } from '../../../kube/cache.ts'
import { type KubeObject, keyOf, namespaceOfKey } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import type { AnyHold } from '../../office/hold/steps.ts'
import { noteIn } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import type { Office } from '../../office/office.ts'
import { holdsOfClaim, onHoldsOf } from '../../office/views.ts'
import { markOldestFirst } from '../../office/waiting.ts'
import { ipamClaims } from '../kinds.ts'
import { claimOf, podOf } from '../parsed.ts'
import { usedBy } from '../use.ts'
import type { Caches, VMWorld } from '../world.ts'
import { isClaimSettled, reconcileClaim } from './binding.ts'
import { counted } from './counted.ts'
import { askUnused, isUsedBy } from './in-use.ts'
import { unknownNetwork } from './observe.ts'
import { standsBy } from './plan.ts'

/** Namespaces take turns, and in each its networks; this many claims are worked on at once, of one network too. */
const concurrency = 64

export function openBinding(office: Office, domain: Domain, world: Omit<VMWorld, 'note'>): void {
  const { metrics, scope } = office
  const { client, caches, ledger, networks } = world
  const about = { desk: 'vm', claimKind: ipamClaims.kind }
  const line = office.waiting.ofDesk(about, claim => binding.mark(claim))
  const binding = domain.addReconciler(
    defineReconciler({
      name: 'ipamclaim.binding',
      claimKind: ipamClaims.kind,
      reconcile: (key, pass) => {
        const inPass = { ...world, client: client.withPass(pass), note: noteIn(pass, metrics, about) }
        return line.during(key, () => reconcileClaim(key, scope, inPass))
      },
      isSettled: key => !line.has(key) && isClaimSettled(key, scope, world),
      onStart: line.goOn,
      onPause: line.pause,
      onRest: line.rests,
      concurrency,
      groupOf: key => [namespaceOfKey(key), sourceKeyOf(key, world)],
    }),
  )
  const markVM = (vm: string) => {
    for (const claim of caches.claims.byIndex('vm', vm)) binding.mark(keyOf(claim))
  }

  for (const one of counted) metrics?.begin(about, one)
  caches.claims.subscribe(({ key, old, new: next }) => {
    const { uid = '', creationTimestamp } = (next ?? old).metadata
    if (old === undefined && readable(next, claimOf)?.ips.length === 0) metrics?.claimSeen(uid, creationTimestamp ?? '')
    if (next === undefined) metrics?.claimGone(uid)
    if (caches.claims.hasSynced) binding.mark(key)
  })
  // A list comes in the order of names: of each namespace the claim that was made first is served first.
  void caches.claims.synced().then(() => markOldestFirst([...caches.claims.values()], binding))
  onHoldsOf(caches, ledger, ipamClaims, key => binding.mark(key))
  caches.pods.subscribe(({ old, new: next }) => {
    const pods = [old, next].flatMap(object => readable(object, podOf) ?? [])
    for (const vm of new Set(pods.map(({ metadata, domain }) => `${metadata.namespace}/${domain}`))) markVM(vm)
  })
  for (const cache of [caches.vms, caches.vmis] as readonly Cache<KubeObject>[]) {
    cache.subscribe(({ key }) => markVM(key))
  }
  networks.subscribe(({ names }) => {
    for (const name of names) markOldestFirst(caches.claims.byIndex('network', name), binding)
  })
  office.addClaimKind({
    kind: ipamClaims,
    cache: caches.claims,
    holdsMACs: true,
    standsBy: (object, hold) => standsByHold(object, hold, caches),
    // Launcher pods are read for several passes at once, so none of them lends its client.
    isUsed: async (object, hold) => {
      const claim = claimOf(object)
      return isMalformed(claim) || (await askUnused(claim, [hold], world)).unused.length === 0
    },
  })
}

function sourceKeyOf(key: string, { caches, networks }: Pick<VMWorld, 'caches' | 'networks'>): string {
  const claim = readable(caches.claims.get(key), claimOf)
  const network = claim && networks.ofClaim(claim)
  return identityKey(network === undefined || 'kind' in network ? unknownNetwork : network.source)
}

/** While pods cannot be read, it is not known what they show. */
function standsByHold(object: KubeObject, hold: AnyHold, caches: Caches): boolean {
  const claim = claimOf(object)
  if (isMalformed(claim) || !caches.pods.hasSynced) return true
  const held = holdsOfClaim(caches, claim.metadata.uid)
  return standsBy(claim, hold, held, () => isUsedBy(usedBy(claim, caches).pods, hold))
}
