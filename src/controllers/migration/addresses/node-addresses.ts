// migration.addresses - every node that a migration network of Mooring's own addresses is for holds one of each family, and keeps it.
//
// Reads:   nodes, the networks that this desk made, holds.
// Writes:  holds, by the steps of the office. The node is the claim, the network the part; the hold itself is the choice.
// Safe:    the name of a hold is the lock. A pass that was cut off is found again by the holds in the name of the node, asked of the API
//          server. Nothing is stored on the node itself, so two processes may each take one: the earlier stays.
//
// A node that moves to another network keeps its address where that one gives it out; else it gets the lowest one that no other node has
// on any of these networks: for a while both are on one wire.

import type { Hold } from '../../../api/hold.ts'
import { namespaceNameLabel } from '../../../api/names.ts'
import { type Identity, identityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { type IP, toIPText } from '../../../ip/address.ts'
import { rangeOfIP } from '../../../ip/range.ts'
import { toRangeSet } from '../../../ip/range-set.ts'
import { poolSetOf, whyNotOffered } from '../../../ipam/pool-set.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { nodesToServe } from '../../../migration/nodes.ts'
import type { Wanted } from '../../../migration/wanted.ts'
import { attachmentKind } from '../../../networks/network.ts'
import type { Random } from '../../../runtime/random.ts'
import { done, type PassResult, requeue } from '../../../runtime/reconciler.ts'
import { othersAt } from '../../office/disputes.ts'
import { askHoldsOf } from '../../office/hold/of-claim.ts'
import { restSecondsOf } from '../../office/hold/quarantine.ts'
import { quarantineHold } from '../../office/hold/steps.ts'
import { takeAll } from '../../office/hold/take-all.ts'
import type { Entry, Note } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import type { Ledger } from '../../office/ledger.ts'
import { macHoldAt } from '../../office/mac-holds.ts'
import type { Counted } from '../../office/metrics.ts'
import { holdOf } from '../../office/parsed.ts'
import { chooseParts, type PartAsk, type PartsLedger } from '../../office/parts.ts'
import type { Sources } from '../../office/sources.ts'
import { holdsOfClaim, type Views } from '../../office/views.ts'
import { attachments, nodes } from '../kinds.ts'
import { counting, readOrders } from '../orders.ts'
import type { Unaddressed } from '../plan.ts'
import type { MigrationWorld } from '../world.ts'

export interface AddressesWorld extends Pick<MigrationWorld, 'client' | 'clock' | 'caches'> {
  readonly random: Random
  readonly views: Views
  readonly ledger: Ledger
  readonly sources: Sources
  /** Of the pass that runs. */
  readonly note: Note
}

/** A node asks for the lowest address that no other node has. */
const strategy = 'lowestFree'

/** What is refused is not in another's use, as far as the ledger knows: it is used up, or shown by another object. */
export const counted: Counted = {
  decisions: ['bound', 'waiting', 'lost race', 'released'],
  sources: [{ kind: attachmentKind, strategies: [strategy] }],
  reasons: ['KindNotRead', 'PoolExhausted', 'AddressInUse'],
}

/** Why a node has no address, by its name. */
export type Refusals = Map<string, string>

export async function reconcileNode(name: string, refusals: Refusals, world: AddressesWorld): Promise<PassResult> {
  const node = world.caches.nodes.get(name)
  // What is known until now stays said while the API server is asked.
  const { result, refusal } = node === undefined ? { result: done() } : await serve(node, world)
  if (refusal === undefined) refusals.delete(name)
  else {
    if (refusals.get(name) !== refusal.message) world.note({ what: 'waiting', ...refusal })
    refusals.set(name, refusal.message)
  }
  return result
}

interface Served {
  readonly result: PassResult
  /** Why it gets no address. */
  readonly refusal?: Pick<Entry, 'claim' | 'pool' | 'reason'> & { readonly message: string }
}

async function serve(node: KubeObject, world: AddressesWorld): Promise<Served> {
  const { uid = '' } = node.metadata
  const known = isHeld(holdsOfClaim(world.views, uid))
  const sources = isServed(node, world) ? nodeNetworks(world) : []
  const isMissing = sources.some(source => missingOf(source, known, world).length > 0)
  // The cache may be older than what another process took for the node.
  const held = isMissing || surplusOf(known).length > 0 ? isHeld(await askHoldsOf(uid, inLedger(world))) : known
  for (const hold of surplusOf(held)) await rest(hold, world)
  await restOfGone(held, world)
  let refused: Served | undefined
  for (const source of sources) {
    const asks = asksOf(source, sources, held, world)
    const served = asks.length === 0 ? { result: done() } : await take(node, source, asks, held, world)
    if (served.result.kind !== 'done') return served
    if (served.refusal !== undefined) refused = served
  }
  return refused ?? { result: done() }
}

const isHeld = (holds: readonly Hold[]): Hold[] => holds.filter(({ state }) => state === 'held')

/**
 * I2: two processes took an address for one node at once. Each sees both, and by the same order the same one stays: KubeVirt is not
 * told of the network before that, or the node has the first of them already.
 */
function surplusOf(held: readonly Hold[]): Hold[] {
  const order = ({ metadata }: Hold) => `${metadata.creationTimestamp} ${metadata.name}`
  const first = new Map<string | undefined, Hold>()
  for (const hold of held.toSorted((one, other) => (order(one) < order(other) ? -1 : 1))) {
    if (!first.has(hold.claim.part)) first.set(hold.claim.part, hold)
  }
  return held.filter(hold => first.get(hold.claim.part) !== hold)
}

type Known = Pick<AddressesWorld, 'caches' | 'sources'>

/** The networks of nodes that this desk made: they are in the namespace of KubeVirt, which no tenant writes to. */
function nodeNetworks({ caches, sources }: Known): Identity[] {
  const order = counting(readOrders(caches))
  const own = [...caches.made.values()].filter(
    ({ metadata }) => metadata.namespace === order?.kubeVirt.namespace && !metadata.deletionTimestamp,
  )
  return own.map(({ metadata }) => sourceNamed(metadata)).filter(source => sources.poolsOf(source).length > 0)
}

const sourceNamed = ({
  namespace = '',
  name = '',
}: {
  readonly namespace?: string
  readonly name?: string
}): Identity => ({
  apiGroup: attachments.group,
  kind: attachmentKind,
  namespace,
  name,
})

function isServed({ metadata: { name = '', labels = {} } }: KubeObject, { caches }: Known): boolean {
  const asks = counting(readOrders(caches))?.asks
  const { nodeSelector } = asks?.kind === 'network' ? asks.network : { nodeSelector: {} }
  return nodesToServe([{ name, labels }], { nodeSelector }).length > 0
}

/** A hold that changed meanwhile is looked at again: nothing but this pass puts it to rest. */
const rest = (hold: Hold, world: AddressesWorld) =>
  quarantineHold(inLedger(world), hold, restSecondsOf(hold, inLedger(world)))

/** As the API server answers: what a cache does not know may be there. */
async function restOfGone(held: readonly Hold[], world: AddressesWorld): Promise<void> {
  const { client, caches } = world
  for (const hold of held) {
    const { namespace, name } = hold.pool
    if (hold.pool.kind !== attachmentKind || caches.made.get(`${namespace}/${name}`) !== undefined) continue
    if ((await client.get(attachments, { namespace, name })) !== undefined) continue
    await rest(hold, world)
    world.note({ what: 'released', claim: hold.claim, pool: hold.pool, space: hold.space, ip: hold.ip })
  }
}

const inLedger = ({ views, ...world }: AddressesWorld) => ({ ...world, caches: views })

// --- what a node is to have ---

const partOf = ({ name }: Identity, { family }: Pick<Pool, 'family'>): string => `${name}/v${family}`

const isOf = ({ pool }: Hold, source: Identity): boolean => identityKey(pool) === identityKey(source)

/** Families of a network that a node holds no address of, by its holds. */
function missingOf(source: Identity, held: readonly Hold[], { sources }: Pick<Known, 'sources'>): readonly Pool[] {
  return sources
    .poolsOf(source)
    .filter(pool => !held.some(hold => isOf(hold, source) && hold.claim.part === partOf(source, pool)))
}

function asksOf(source: Identity, all: readonly Identity[], held: readonly Hold[], world: AddressesWorld): PartAsk[] {
  const missing = missingOf(source, held, world)
  if (missing.length === 0) return []
  return world.sources.poolsOf(source).map(pool => {
    const ip = missing.includes(pool) ? addressFor(pool, all, held, world) : undefined
    return { part: partOf(source, pool), pool, ...(ip !== undefined && { requested: toIPText(ip) }) }
  })
}

/** Its own on another of the networks, or the lowest; undefined where none is free. */
function addressFor(
  pool: Pool,
  all: readonly Identity[],
  held: readonly Hold[],
  world: AddressesWorld,
): IP | undefined {
  const { family } = pool
  const free = (part: Partial<Pool>) => world.ledger.indexOf(pool.space).lowestFree(poolSetOf({ ...pool, ...part }))
  const own = held.filter(hold => hold.ip.family === family && all.some(source => isOf(hold, source)))
  for (const { ip } of own) {
    const kept = offers(pool, ip) ? free({ addresses: toRangeSet(family, [rangeOfIP(ip)]) }) : undefined
    if (kept !== undefined) return kept
  }
  const others = all.flatMap(source => world.views.holds.byIndex('pool', identityKey(source)))
  const taken = others.flatMap(object => {
    const ip = readable(object, holdOf)?.ip
    return ip?.family === family ? [rangeOfIP(ip)] : []
  })
  return free({ excluded: toRangeSet(family, [...pool.excluded.ranges, ...taken]) })
}

const offers = (pool: Pool, ip: IP): boolean => whyNotOffered(pool, ip) === undefined

async function take(
  { metadata: { name = '', uid = '' } }: KubeObject,
  source: Identity,
  asks: readonly PartAsk[],
  held: readonly Hold[],
  world: AddressesWorld,
): Promise<Served> {
  const { ledger, views, random } = world
  const own = { kind: nodes.kind, key: name }
  const about = { claim: { namespace: '', name, uid }, pool: source }
  const parts: PartsLedger = {
    indexOf: space => ledger.indexOf(space),
    holdAt: (space, ip) => ledger.holdAt(space, ip),
    macHoldAt: (space, mac) => macHoldAt(views, space, mac),
    isDisputed: (space, ip) => othersAt(ledger, space, ip, [own]).length > 0,
  }
  const applicant = {
    claim: { apiGroup: nodes.group, kind: nodes.kind, namespace: '', name, uid },
    owner: undefined,
    // A node is in no namespace: it takes what is offered to that of the network.
    namespaceLabels: { [namespaceNameLabel]: source.namespace },
    random: random(),
  }
  const isUsedUp = asks.find(
    ({ part, ...ask }) => !('mac' in ask) && ask.requested === undefined && isMissing(part, held),
  )
  const plan = isUsedUp === undefined ? chooseParts(asks, applicant, held, parts) : undefined
  if (plan === undefined || plan.kind === 'refused') {
    const usedUp = `no address of ${source.name} is free: widen its range, or exclude less of it`
    const { reason, message } = plan ?? { reason: 'PoolExhausted', message: usedUp }
    return { result: done(), refusal: { ...about, reason, message } }
  }
  const taken = await takeAll(inLedger(world), plan.parts, { own: [own] })
  if (taken.kind === 'lost') world.note({ what: 'lost race', ...about })
  if (taken.kind !== 'taken') return { result: requeue() }
  world.note({ what: 'bound', ...about, strategy })
  return { result: done() }
}

const isMissing = (part: string, held: readonly Hold[]): boolean => !held.some(({ claim }) => claim.part === part)

/** Nodes that have no address of the network yet, each with the reason. */
export function unaddressedOf(
  { ipam, kubevirt, nodeSelector }: Wanted,
  attachment: string,
  refusals: Refusals,
  { caches, views, sources }: Pick<AddressesWorld, 'caches' | 'views' | 'sources'>,
): Unaddressed {
  if (ipam !== 'mooring') return new Map()
  const source = sourceNamed({ namespace: kubevirt.namespace, name: attachment })
  const all = [...caches.nodes.values()].map(({ metadata }) => ({
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? {},
  }))
  const isThere = sources.poolsOf(source).length > 0
  const without = nodesToServe(all, { nodeSelector }).filter(({ uid }) => {
    const held = holdsOfClaim(views, uid).filter(({ state }) => state === 'held')
    return !isThere || missingOf(source, held, { sources }).length > 0
  })
  return new Map(without.map(({ name }) => [name, refusals.get(name)]))
}
