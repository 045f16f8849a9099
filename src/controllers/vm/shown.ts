// What IPAMClaims (status.ips) and launcher pods (the annotation of OVN-Kubernetes) show to have. The ledger is kept equal to it
// whichever desks are on.
//
// Neither is believed: any user who may write a status, or a pod, can show any address. It counts if there is a hold of it in the
// name of the claim, or if the namespace could be given it now: by what the network offers to it, and its quota. Else a user
// would keep addresses from others that are not for that user.

import { ownerOf } from '../../api/claim-use.ts'
import { type IPAMClaim, ipamClaimReference } from '../../api/ipam-claim.ts'
import type { LauncherPod } from '../../api/launcher-pod.ts'
import type { ClaimReference } from '../../api/lock.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, toIPText } from '../../ip/address.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { keysOfKept, whyNotForClaim } from '../../ipam/choose.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import type { Network } from '../../networks/network.ts'
import { readable } from '../office/kept.ts'
import type { Ledger, ShownBy } from '../office/ledger.ts'
import { macHoldAt } from '../office/mac-holds.ts'
import type { NetworksView } from '../office/networks.ts'
import { type ChosenIP, chosenOf } from './binding/choice.ts'
import { keptFor, macApplicant } from './binding/kept.ts'
import { ipamClaims, pods as podKind } from './kinds.ts'
import { claimOf, podOf } from './parsed.ts'
import { placesOf } from './places.ts'
import { shownNetworksOf } from './pods/annotation.ts'

import type { Caches, VMWorld } from './world.ts'

const claimNamed = (key: string): ShownBy => ({ kind: ipamClaims.kind, key })
const podNamed = (key: string): ShownBy => ({ kind: podKind.kind, key })

/** The objects of a claim: itself, and the pods that may use it. */
export const ownOf = (claim: IPAMClaim, pods: readonly LauncherPod[]): readonly [ShownBy, ...ShownBy[]] => [
  claimNamed(keyOf(claim)),
  ...pods.map(pod => podNamed(keyOf(pod))),
]

interface Seen extends Pick<Caches, 'claims' | 'pods' | 'holds' | 'macHolds' | 'namespaces'> {
  readonly networks: NetworksView
  readonly sources: VMWorld['sources']
}

/** What one object shows: the parts that it had before and has no longer are hidden. */
interface Showings {
  readonly by: ShownBy
  readonly parts: readonly string[]
}

/** Answers whether all of it is in the ledger. */
export function followShown(seen: Seen, ledger: Ledger): () => boolean {
  const { claims, pods, holds, namespaces, networks } = seen
  const known = [claims, holds, namespaces]
  const isAllKnown = () => networks.hasSynced && known.every(cache => cache.hasSynced)
  const partsOfPods = new Map<string, readonly string[]>()
  const claimChanged = (key: string, object: KubeObject | undefined) => showClaim(key, object, seen, ledger)
  const podChanged = (key: string, object: KubeObject | undefined) => {
    const before = { by: podNamed(key), parts: partsOfPods.get(key) ?? [] }
    const parts = showPod(before, object, seen, ledger)
    if (parts.length === 0) partsOfPods.delete(key)
    else partsOfPods.set(key, parts)
  }
  let hasBegun = false
  const begin = (): boolean => {
    if (hasBegun || !isAllKnown()) return hasBegun
    hasBegun = true
    showAll(seen, ledger, podChanged)
    return true
  }
  claims.subscribe(({ key, new: object }) => {
    if (hasBegun) claimChanged(key, object)
  })
  pods.subscribe(({ key, new: object }) => {
    if (hasBegun) podChanged(key, object)
  })
  // A claim or a pod may come before its network: it counts from now on. Of a network that offers less, some addresses count no more.
  networks.subscribe(({ names, attachments }) => {
    if (!hasBegun) return void begin()
    for (const name of names) for (const object of claims.byIndex('network', name)) claimChanged(keyOf(object), object)
    for (const key of attachments) for (const pod of pods.byIndex('attachment', key)) podChanged(keyOf(pod), pod)
  })
  // By its labels a network may be offered to it, or no longer.
  namespaces.subscribe(({ key, old, new: next }) => {
    if (!hasBegun || JSON.stringify(old?.metadata.labels) === JSON.stringify(next?.metadata.labels)) return
    for (const object of claims.values()) if (object.metadata.namespace === key) claimChanged(keyOf(object), object)
    for (const object of pods.values()) if (object.metadata.namespace === key) podChanged(keyOf(object), object)
  })
  // Lists come in any order, and no address is given before all of them are there.
  void Promise.all(known.map(cache => cache.synced())).then(begin)
  return begin
}

/** Once all is known: what is held counts before what is only shown, and of that what was made first. */
function showAll(seen: Seen, ledger: Ledger, showPod: (key: string, object: KubeObject) => void): void {
  const unproven: { readonly key: string; readonly choice: Choice }[] = []
  for (const [key, object] of seen.claims.entries()) {
    const choice = choiceIn(object, seen)
    if (choice === undefined || choice.chosen.length === 0) continue
    if (choice.chosen.every(one => isHeldBy(choice, one, ledger))) showChoice(key, choice, seen, ledger)
    else unproven.push({ key, choice })
  }
  const createdAt = ({ choice }: (typeof unproven)[number]) => choice.claim.metadata.creationTimestamp
  unproven.sort((a, b) => (createdAt(a) < createdAt(b) ? -1 : 1))
  for (const { key, choice } of unproven) showChoice(key, choice, seen, ledger)
  for (const [key, object] of seen.pods.entries()) showPod(key, object)
}

function showClaim(key: string, object: KubeObject | undefined, seen: Seen, ledger: Ledger): void {
  showChoice(key, choiceIn(object, seen), seen, ledger)
}

/** A claim, and where in the ledger what it says to have lies. */
interface Choice {
  readonly claim: IPAMClaim
  readonly network: Network
  readonly places: readonly Pool[]
  readonly chosen: readonly ChosenIP[]
}

/** Undefined where it cannot be read, or its network is not known. */
function choiceIn(object: KubeObject | undefined, seen: Seen): Choice | undefined {
  const claim = readable<IPAMClaim>(object, claimOf)
  const chosen = claim && chosenOf(claim.ips)
  if (claim === undefined || chosen === undefined || isMalformed(chosen)) return undefined
  const network = seen.networks.ofClaim(claim)
  return 'kind' in network ? undefined : { claim, network, places: placesOf(network, seen), chosen }
}

function showChoice(key: string, choice: Choice | undefined, seen: Seen, ledger: Ledger): void {
  const by = (part: string) => ({ ...claimNamed(key), part })
  const shown =
    choice === undefined ? [] : choice.chosen.filter(one => showPart(by(one.part), one, choice, seen, ledger))
  for (const part of ['v4', 'v6']) if (!shown.some(one => one.part === part)) ledger.hide(by(part), 'choice')
}

/** Answers whether it counts. */
function showPart(by: ShownBy, one: ChosenIP, choice: Choice, seen: Seen, ledger: Ledger): boolean {
  const { claim, network, places } = choice
  const { part, ip } = one
  const pool = places.find(({ family }) => family === ip.family)
  if (pool === undefined) return false
  const keys = (offered: Pool) => keysOfClaim(claim, offered, ip, seen)
  if (
    !isHeldBy(choice, one, ledger) &&
    !isOffered(claim, ip, network, by, referenceOf(claim, part, seen), seen, ledger, keys)
  )
    return false
  show(by, pool, ip, claim.metadata.namespace, ledger)
  return true
}

/** Answers the parts that are shown now. */
function showPod(before: Showings, object: KubeObject | undefined, seen: Seen, ledger: Ledger): readonly string[] {
  const pod = readable<LauncherPod>(object, podOf)
  const shown: string[] = []
  for (const { attachment, key, ips } of pod === undefined || pod.isCompleted ? [] : shownNetworksOf(pod)) {
    const found = seen.networks.attachment(attachment)
    const network = found !== undefined && 'network' in found ? found.network : undefined
    if (network?.ovn === undefined || pod === undefined) continue
    for (const ip of ips.slice(0, 2)) {
      const part = `${key} v${ip.family}`
      const by = { ...before.by, part }
      const pool = placesOf(network, seen).find(({ family }) => family === ip.family)
      if (pool === undefined || shown.includes(part)) continue
      if (!isOffered(pod, ip, network, by, referenceOf(pod, `v${ip.family}`, seen), seen, ledger)) continue
      show(by, pool, ip, pod.metadata.namespace, ledger)
      shown.push(part)
    }
  }
  for (const part of before.parts) if (!shown.includes(part)) ledger.hide({ ...before.by, part }, 'choice')
  return shown
}

function show(by: ShownBy, { identity, space, bits }: Pool, ip: IP, namespace: string, ledger: Ledger): void {
  ledger.show({ by, as: 'choice', pool: identity, space, ip, bits, namespace })
}

function isHeldBy({ claim, places }: Choice, { ip }: ChosenIP, ledger: Pick<Ledger, 'holdAt'>): boolean {
  const pool = places.find(({ family }) => family === ip.family)
  return pool !== undefined && ledger.holdAt(pool.space, ip)?.claim.uid === claim.metadata.uid
}

/** Whether the network would give this address to a claim of the namespace, be it free or not. */
function isOffered(
  { metadata }: Pick<IPAMClaim, 'metadata'>,
  ip: IP,
  network: Network,
  by: ShownBy,
  claim: ClaimReference,
  seen: Seen,
  ledger: Ledger,
  keysIn: (pool: Pool) => readonly string[] = pool => keysOfKept(pool, metadata),
): boolean {
  const pools = seen.networks.poolsFor(network, metadata.namespace)
  const pool = 'kind' in pools ? undefined : pools.find(({ family }) => family === ip.family)
  if (pool === undefined) return false
  const { space } = pool
  const namespace = seen.namespaces.get(metadata.namespace)
  const isCounted = ledger.holdAt(space, ip) === undefined && ledger.isShownBy(by, 'choice', space, ip)
  const why = whyNotForClaim(pool, ledger.indexOf(space), {
    claim,
    namespaceLabels: namespace && (namespace.metadata.labels ?? {}),
    keptFor: keysIn(pool),
    requested: toIPText(ip),
    counted: isCounted ? 1 : 0,
  })
  return why === undefined
}

/** What an IPPool may keep the address for: the claim, its owner, and its MAC. A MAC that another claim holds is not this one's. */
function keysOfClaim(claim: IPAMClaim, pool: Pool, ip: IP, seen: Seen): readonly string[] {
  const owner = ownerOf(claim)
  const mac = macApplicant(claim, owner)?.mac
  const holder = mac && macHoldAt(seen, pool.space, mac)?.claim.uid
  const isOfAnother = holder !== undefined && holder !== claim.metadata.uid
  return isOfAnother ? keysOfKept(pool, claim.metadata) : keptFor(pool, claim, owner, ip)
}

/** For a pod too: what asks is its namespace. */
function referenceOf({ metadata }: Pick<IPAMClaim, 'metadata'>, part: string, seen: Seen): ClaimReference {
  const home = seen.namespaces.get(metadata.namespace)
  return { ...ipamClaimReference({ metadata }, home?.metadata.uid), part }
}
