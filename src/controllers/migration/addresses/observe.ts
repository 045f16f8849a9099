// What a decision about one node on one migration network is made on, gathered in one look at the caches and the ledger. Nothing is
// written and nothing is asked of the API server; `plan.ts` decides on it.

import type { Hold } from '../../../api/hold.ts'
import { namespaceNameLabel } from '../../../api/names.ts'
import { type Identity, identityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { type Range, rangeOfIP } from '../../../ip/range.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { nodesToServe } from '../../../migration/nodes.ts'
import { attachmentKind } from '../../../networks/network.ts'
import { othersAt } from '../../office/disputes.ts'
import { readable } from '../../office/kept.ts'
import { macHoldAt } from '../../office/mac-holds.ts'
import { holdOf } from '../../office/parsed.ts'
import type { PartsApplicant, PartsLedger } from '../../office/parts.ts'
import { holdsOfClaim } from '../../office/views.ts'
import { attachments, nodes } from '../kinds.ts'
import { counting, readOrders } from '../orders.ts'
import { type Handler, readHandler } from '../rollout.ts'
import type { AddressesWorld } from './node-addresses.ts'

/** A node on a network: what is held for it there is one claim. */
export interface Place {
  readonly node: string
  /** The NetworkAttachmentDefinition. */
  readonly network: Identity
}

export interface Seen {
  readonly place: Place
  /** When the node was made. */
  readonly createdAt: string
  /** Whether nodes like this one are to migrate over the network that is asked for. */
  readonly isSelected: boolean
  /** `unknown`: the cache has no such network that this desk made, and the API server was not asked. */
  readonly network: 'there' | 'unknown' | 'gone'
  /** Of the network, one for each family; none while nothing is given out of it. */
  readonly pools: readonly Pool[]
  /** All networks that nodes have addresses of. */
  readonly networks: readonly Identity[]
  /** What is held in the name of the node, on all of them. */
  readonly held: readonly Hold[]
  /** `held`, and whether the network is there, is what the API server answered, not what a cache shows. */
  readonly isLive: boolean
  /** What nodes hold on any of the networks. */
  readonly taken: readonly Range[]
  /** The virt-handler of the node says that it has addresses of the network. */
  readonly isInUse: boolean
  readonly applicant: PartsApplicant
  readonly ledger: PartsLedger
}

type World = Pick<AddressesWorld, 'caches' | 'views' | 'ledger' | 'sources' | 'random'>

export function observe(node: KubeObject, place: Place, world: World): Seen {
  const { caches, views, ledger, sources, random } = world
  const { name = '', uid = '' } = node.metadata
  const networks = networksOfNodes(world)
  const isOffered = networks.some(one => isSame(one, place.network))
  const own = { kind: nodes.kind, key: name }
  return {
    place,
    createdAt: node.metadata.creationTimestamp ?? '',
    isSelected: isSelected(node, world),
    network: caches.made.get(`${place.network.namespace}/${place.network.name}`) === undefined ? 'unknown' : 'there',
    pools: isOffered ? sources.poolsOf(place.network) : [],
    networks,
    held: heldFor(holdsOfClaim(views, uid)),
    isLive: false,
    taken: networks.flatMap(network => takenOn(network, world)),
    isInUse: isInUse(place, world),
    applicant: {
      claim: { apiGroup: nodes.group, kind: nodes.kind, namespace: '', name, uid },
      owner: undefined,
      // A node is in no namespace: it takes what is offered to that of the network.
      namespaceLabels: { [namespaceNameLabel]: place.network.namespace },
      random: random(),
    },
    ledger: {
      indexOf: space => ledger.indexOf(space),
      holdAt: (space, ip) => ledger.holdAt(space, ip),
      macHoldAt: (space, mac) => macHoldAt(views, space, mac),
      isDisputed: (space, ip) => othersAt(ledger, space, ip, [own]).length > 0,
    },
  }
}

/** The node on every network that it has, or is to have, addresses of. */
export function placesOf(node: KubeObject, world: Pick<World, 'caches' | 'views' | 'sources'>): Place[] {
  const { name = '', uid = '' } = node.metadata
  const networks = new Map(networksOfNodes(world).map(network => [identityKey(network), network]))
  for (const { pool } of heldFor(holdsOfClaim(world.views, uid))) networks.set(identityKey(pool), pool)
  return [...networks.values()].map(network => ({ node: name, network }))
}

export const heldFor = (holds: readonly Hold[]): Hold[] =>
  holds.filter(({ state, pool }) => state === 'held' && pool.kind === attachmentKind)

export const isSame = (one: Identity, other: Identity): boolean => identityKey(one) === identityKey(other)

export const partOf = ({ name }: Identity, { family }: Pick<Pool, 'family'>): string => `${name}/v${family}`

/** The pools of a network that a node holds no address of. */
export function missingOf(network: Identity, pools: readonly Pool[], held: readonly Hold[]): readonly Pool[] {
  return pools.filter(
    pool => !held.some(hold => isSame(hold.pool, network) && hold.claim.part === partOf(network, pool)),
  )
}

export const networkNamed = ({ namespace = '', name = '' }: Partial<Identity>): Identity => ({
  apiGroup: attachments.group,
  kind: attachmentKind,
  namespace,
  name,
})

/** The networks of nodes that this desk made: they are in the namespace of KubeVirt, which no tenant writes to. */
function networksOfNodes({ caches, sources }: Pick<World, 'caches' | 'sources'>): Identity[] {
  const order = counting(readOrders(caches))
  const own = [...caches.made.values()].filter(
    ({ metadata }) => metadata.namespace === order?.kubeVirt.namespace && !metadata.deletionTimestamp,
  )
  return own.map(({ metadata }) => networkNamed(metadata)).filter(network => sources.poolsOf(network).length > 0)
}

function isSelected({ metadata: { name = '', labels = {} } }: KubeObject, { caches }: Pick<World, 'caches'>): boolean {
  const asks = counting(readOrders(caches))?.asks
  const { nodeSelector } = asks?.kind === 'network' ? asks.network : { nodeSelector: {} }
  return nodesToServe([{ name, labels }], { nodeSelector }).length > 0
}

function takenOn(network: Identity, { views }: Pick<World, 'views'>): Range[] {
  return views.holds.byIndex('pool', identityKey(network)).flatMap(object => {
    const ip = readable(object, holdOf)?.ip
    return ip === undefined ? [] : [rangeOfIP(ip)]
  })
}

function isInUse({ node, network }: Place, { caches }: Pick<World, 'caches'>): boolean {
  const pods = [...caches.handlers.values()].filter(({ metadata }) => metadata.namespace === network.namespace)
  const has = ({ addresses = [], ...pod }: Handler) =>
    pod.node === node && pod.network === network.name && addresses.length > 0
  return pods.map(readHandler).some(has)
}
