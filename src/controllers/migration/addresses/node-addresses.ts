// migration.addresses - every node that a migration network of Mooring's own addresses is for holds one of each family, or none of
// either, and keeps them.
//
// Reads:   the node, the networks that this desk made, holds, the ledger (observe.ts); decides in plan.ts.
// Writes:  holds, by the steps of the office. The node is the claim, network and family the part; the hold itself is the choice.
// Safe:    the name of a hold is the lock. A pass that was cut off is found again by the holds in the name of the node, asked of the API
//          server.
//
// A node on one network is one claim in the line of those that wait, so that what it waits for on one holds up no other.

import type { KubeObject } from '../../../kube/object.ts'
import { nodesToServe } from '../../../migration/nodes.ts'
import type { Wanted } from '../../../migration/wanted.ts'
import { attachmentKind } from '../../../networks/network.ts'
import type { Random } from '../../../runtime/random.ts'
import { done, type PassResult, requeue } from '../../../runtime/reconciler.ts'
import { askHoldsOf } from '../../office/hold/of-claim.ts'
import { restSecondsOf } from '../../office/hold/quarantine.ts'
import { quarantineHold } from '../../office/hold/steps.ts'
import { letGo, takeAll } from '../../office/hold/take-all.ts'
import type { Note } from '../../office/journal.ts'
import type { Ledger } from '../../office/ledger.ts'
import { type Counted, reasonsIn } from '../../office/metrics.ts'
import type { Sources } from '../../office/sources.ts'
import { holdsOfClaim, type Views } from '../../office/views.ts'
import { type ClaimPass, type DeskLine, settled } from '../../office/waiting.ts'
import { attachments, nodes } from '../kinds.ts'
import type { Unaddressed } from '../plan.ts'
import type { MigrationWorld } from '../world.ts'
import { heldFor, missingOf, networkNamed, observe, type Place, placesOf, type Seen } from './observe.ts'
import { decide, type Plan } from './plan.ts'

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

/** A node asks for nothing in particular, of pools that no administrator pauses or offers to some: few reasons are left. */
export const counted: Counted = {
  decisions: ['bound', 'waiting', 'lost race', 'released'],
  sources: [{ kind: attachmentKind, strategies: [strategy] }],
  reasons: reasonsIn({
    KindNotRead: true,
    PoolExhausted: true,
    AddressInUse: true,
    PoolNotFound: false,
    PoolMalformed: false,
    PoolDeleting: false,
    PoolPaused: false,
    NamespaceNotAllowed: false,
    SpaceNotOffered: false,
    SpaceUndecided: false,
    QuotaReached: false,
    RestQuotaReached: false,
    NotAnAddress: false,
    NotCanonical: false,
    WrongFamily: false,
    AddressOutOfRange: false,
    AddressExcluded: false,
    AddressReserved: false,
    AddressDraining: false,
    AddressQuarantined: false,
    RequestsConflict: false,
    RequestMalformed: false,
    MACInUse: false,
    MACQuarantined: false,
    MACReserved: false,
    NetworkNotFound: false,
    NetworkMalformed: false,
    NetworkNotOffered: false,
    NetworkDiffers: false,
  }),
}

interface Refused {
  readonly place: Place
  /** Why the node has no address there. */
  readonly message: string
}

/** By the key of the place. */
export type Refusals = Map<string, Refused>

export const keyOfPlace = ({ node, network }: Place): string => `${network.namespace}/${network.name}/${node}`
export const nodeOfKey = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

export async function reconcileNode(
  name: string,
  line: Pick<DeskLine, 'during'>,
  refusals: Refusals,
  world: AddressesWorld,
): Promise<PassResult> {
  const node = world.caches.nodes.get(name)
  const places = new Map((node === undefined ? [] : placesOf(node, world)).map(place => [keyOfPlace(place), place]))
  // A network may be gone, or the node, while the node waits for an address there.
  for (const [key, { place }] of refusals) if (place.node === name) places.set(key, place)
  for (const [key, place] of places) {
    const result = await line.during(key, () =>
      node === undefined ? leave(key, refusals) : serve(node, place, refusals, world),
    )
    if (result.kind !== 'done') return result
  }
  return done()
}

async function leave(key: string, refusals: Refusals): Promise<ClaimPass> {
  refusals.delete(key)
  return settled()
}

async function serve(node: KubeObject, place: Place, refusals: Refusals, world: AddressesWorld): Promise<ClaimPass> {
  const seen = observe(node, place, world)
  return settle(decide(seen), seen, refusals, world)
}

async function settle(plan: Plan, seen: Seen, refusals: Refusals, world: AddressesWorld): Promise<ClaimPass> {
  const key = keyOfPlace(seen.place)
  // What is known until now stays said while the API server is asked, and while holds are written.
  switch (plan.kind) {
    case 'nothing':
      return leave(key, refusals)
    case 'ask': {
      const live = await askAgain(seen, world)
      return settle(decide(live), live, refusals, world)
    }
    case 'rest':
      await rest(plan, seen, world)
      return settled(requeue())
    case 'take':
      return take(plan, seen, refusals, world)
    case 'wait':
      return wait(plan, seen, refusals, world)
  }
}

/** The same, as the API server has it now. The cache may be older than what another process took for the node. */
async function askAgain(seen: Seen, world: AddressesWorld): Promise<Seen> {
  const { namespace, name } = seen.place.network
  const held = heldFor(await askHoldsOf(seen.applicant.claim.uid, inLedger(world)))
  const isThere = async () => (await world.client.get(attachments, { namespace, name })) !== undefined
  const network = seen.network === 'unknown' && !(await isThere()) ? 'gone' : 'there'
  return { ...seen, isLive: true, held, network }
}

/** A hold that changed meanwhile is looked at again: nothing but this pass puts it to rest. */
async function rest({ why, holds }: Extract<Plan, { kind: 'rest' }>, { place }: Seen, world: AddressesWorld) {
  for (const hold of holds) {
    await quarantineHold(inLedger(world), hold, restSecondsOf(hold, inLedger(world)))
    if (why === 'surplus') continue
    world.note({ what: 'released', claim: hold.claim, pool: place.network, space: hold.space, ip: hold.ip })
  }
}

async function take(
  { parts }: Extract<Plan, { kind: 'take' }>,
  { place, applicant }: Seen,
  refusals: Refusals,
  world: AddressesWorld,
): Promise<ClaimPass> {
  const about = { claim: applicant.claim, pool: place.network }
  const taken = await takeAll(inLedger(world), parts, { own: [{ kind: nodes.kind, key: place.node }] })
  if (taken.kind === 'lost') world.note({ what: 'lost race', ...about })
  if (taken.kind !== 'taken') return settled(requeue())
  if (parts.some(({ how }) => how !== 'found')) world.note({ what: 'bound', ...about, strategy })
  return leave(keyOfPlace(place), refusals)
}

async function wait(
  { refusal, letGo: half }: Extract<Plan, { kind: 'wait' }>,
  { place, applicant, createdAt }: Seen,
  refusals: Refusals,
  world: AddressesWorld,
): Promise<ClaimPass> {
  const key = keyOfPlace(place)
  const { needs, reason, message } = refusal
  const { network } = place
  if (refusals.get(key)?.message !== message) {
    world.note({ what: 'waiting', claim: applicant.claim, pool: network, reason, message })
  }
  refusals.set(key, { place, message })
  // Another process that finds more than this one renews them first, and is left what it took.
  await letGo(inLedger(world), half)
  return { next: done(), waits: { needs, pool: network, namespace: '', tenant: '', createdAt, reason } }
}

const inLedger = ({ views, ...world }: AddressesWorld) => ({ ...world, caches: views })

/** Nodes that have no address of the network yet, each with the reason. */
export function unaddressedOf(
  { ipam, kubevirt, nodeSelector }: Wanted,
  attachment: string,
  refusals: Refusals,
  { caches, views, sources }: Pick<AddressesWorld, 'caches' | 'views' | 'sources'>,
): Unaddressed {
  if (ipam !== 'mooring') return new Map()
  const network = networkNamed({ namespace: kubevirt.namespace, name: attachment })
  const all = [...caches.nodes.values()].map(({ metadata }) => ({
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? {},
  }))
  const pools = sources.poolsOf(network)
  const without = nodesToServe(all, { nodeSelector }).filter(
    ({ uid }) => pools.length === 0 || missingOf(network, pools, heldFor(holdsOfClaim(views, uid))).length > 0,
  )
  return new Map(without.map(({ name: node }) => [node, refusals.get(keyOfPlace({ node, network }))?.message]))
}
