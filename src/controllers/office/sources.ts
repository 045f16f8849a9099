// Where the ledger finds ranges of addresses: pools, and networks. A source gives one pool per family. Pools are followed here
// by themselves; a network is put in by the code that reads networks, once, however many attachments it has.
//
// A pool of a namespace that asks to join a space of the cluster is judged by the sources that have it (ipam/joining.ts).

import { isDeepStrictEqual } from 'node:util'
import { clusterUDNOfNetwork } from '../../api/cluster-user-defined-network.ts'
import { type Identity, identityKey, parseIdentityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { poolKey } from '../../api/pool.ts'
import { selects } from '../../api/selector.ts'
import { spaceOfNamespace } from '../../api/space.ts'
import type { Family } from '../../ip/address.ts'
import { overlapsSet } from '../../ip/range-set.ts'
import { decideSpace, type Joining, type SpaceMember } from '../../ipam/joining.ts'
import { type Refusal, spaceUndecided } from '../../ipam/refusal.ts'
import { type Change, isSpecChange } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import { readable } from './kept.ts'
import type { Ledger } from './ledger.ts'
import { poolOf } from './parsed.ts'
import type { Views } from './views.ts'

export type Labels = Readonly<Record<string, string>>

export interface Source {
  readonly identity: Identity
  /** One per family, all of one space. */
  readonly pools: readonly Pool[]
  /** Of the cluster: pools of namespaces may join its space if it is offered to them. */
  readonly isOfCluster: boolean
  /** A network is in the space of its name, which it shares where pools of the cluster have it: these decide then. */
  readonly isNetwork: boolean
  /** So that its pools may join. Labels are undefined while the namespace is not known. */
  offersSpaceTo(namespace: string, labels: Labels | undefined): boolean
}

/** A network as the name of a space: one whether it is offered to a namespace, or one that is defined and cannot be used yet. */
export type NamedNetwork = { readonly offers: boolean } | 'announced'

export interface SourceChange {
  /** Key of the pool. */
  readonly key: string
  readonly old: Pool | undefined
  readonly new: Pool | undefined
  /** It offers something else than before, or to others; what is merely counted in its status is no change. */
  readonly isChanged: boolean
}

export class Sources {
  readonly #views: Pick<Views, 'namespaces'>
  readonly #ledger: Pick<Ledger, 'indexOf'>
  readonly #sources = new Map<string, Source>()
  readonly #pools = new Map<string, Pool>()
  /** Keys of sources, and of pools, by space. */
  readonly #bySpace = new Map<string, { readonly sources: Set<string>; readonly pools: Set<string> }>()
  /** The pools that ask for a space, by what they ask for, then by their namespace. */
  readonly #asking = new Map<string, Map<string, Asking>>()
  readonly #subscribers = new Set<(change: SourceChange) => void>()
  #networkNamed: (name: string, namespace: string) => NamedNetwork | undefined = () => undefined

  constructor(views: Pick<Views, 'pools' | 'namespaces'>, ledger: Pick<Ledger, 'indexOf'>) {
    this.#views = views
    this.#ledger = ledger
    for (const cache of views.pools.values()) cache.subscribe(change => this.#followPool(change))
    // By its labels a space may be offered to it, or no longer.
    views.namespaces.subscribe(({ key, old, new: next }) => {
      if (old !== undefined && next !== undefined && isDeepStrictEqual(labelsIn(old), labelsIn(next))) return
      for (const space of this.#asking.keys()) this.judgeAgain(space, key)
    })
  }

  /** How networks are found that are no sources, as they have no addresses, or none yet. Of such a change `judgeAgain` is told. */
  findNetworks(networkNamed: (name: string, namespace: string) => NamedNetwork | undefined): void {
    this.#networkNamed = networkNamed
  }

  subscribe(onChange: (change: SourceChange) => void): void {
    this.#subscribers.add(onChange)
  }

  /** By the key of a pool. */
  poolOf(key: string): Pool | undefined {
    return this.#pools.get(key)
  }

  /** What a source gives: one pool per family. */
  poolsOf(source: Identity): readonly Pool[] {
    return this.#sources.get(identityKey(source))?.pools ?? []
  }

  /** Key of the pool that a source gives of a family; of a source that is not known, that of the source. */
  keyOf(source: string, family: Family): string {
    const pool = this.#sources.get(source)?.pools.find(one => one.family === family)
    return pool === undefined ? source : poolKey(pool)
  }

  all(): IterableIterator<Pool> {
    return this.#pools.values()
  }

  /** Keys of the pools that give addresses out of one space: a holder of one takes from the others too. */
  keysOf(space: string): Iterable<string> {
    return this.#bySpace.get(space)?.pools ?? []
  }

  /** The pools themselves. */
  *poolsIn(space: string): Generator<Pool, void, undefined> {
    for (const key of this.keysOf(space)) {
      const pool = this.#pools.get(key)
      if (pool !== undefined) yield pool
    }
  }

  /** Whether two pools of one space offer some of the same addresses. */
  isShared(key: string, other: string): boolean {
    const [one, two] = [this.#pools.get(key), this.#pools.get(other)]
    if (
      one === undefined ||
      two === undefined ||
      one.space === '' ||
      one.space !== two.space ||
      one.family !== two.family
    )
      return false
    return overlapsSet(one.addresses, two.addresses)
  }

  put(source: Source, isChanged = true): void {
    this.#replace(identityKey(source.identity), source, isChanged)
  }

  remove(source: Identity): void {
    this.#replace(identityKey(source), undefined, true)
  }

  /** Which space a pool gets that asks for one, or why it gets none; undefined for a pool that depends on no other. */
  spaceFor(pool: Pool): Joining | undefined {
    if (!asksForSpace(pool)) return undefined
    const { namespace } = pool.identity
    const labels = this.#labelsOf(namespace)
    const deciding = this.#deciding(pool.spaceAsked).map(source => {
      const { isNetwork } = source
      return { offers: source.offersSpaceTo(namespace, labels), isNetwork }
    })
    // While the namespace is not in view, it is not known that a network there is one of another namespace.
    const isMember = ({ offers, isNetwork }: SpaceMember) =>
      !isNetwork || offers || labels === undefined || !isNameOf(namespace, pool.spaceAsked)
    const sources = deciding.filter(isMember)
    const network = sources.length > 0 ? undefined : this.#networkNamed(pool.spaceAsked, namespace)
    const isAnnounced = network === 'announced'
    const networks = network === undefined || isAnnounced ? [] : [{ ...network, isNetwork: true }].filter(isMember)
    const key = parseIdentityKey(pool.spaceAsked)
    const [named] = key === undefined ? [] : this.poolsOf(key)
    const members = [...sources, ...networks]
    return decideSpace(pool, { members, isAnnounced, namespaceHas: this.#namespaceHas(pool), named })
  }

  /** What other pools of its namespace have that ask for the same, or what holds are left of such pools. */
  #namespaceHas(pool: AskingPool): 'own' | 'joined' | undefined {
    const { identity, spaceAsked, space } = pool
    const { namespace } = identity
    const has = this.#poolsHave(namespace, spaceAsked)
    if (has === 'own' || space !== '') return has
    if (this.#ledger.indexOf(spaceOfNamespace(namespace, spaceAsked)).size > 0) return 'own'
    // Of a former pool of its name, where that had joined.
    const joined = this.#ledger.indexOf(spaceAsked)
    return joined.heldOfPool(pool) > 0 || joined.restingOfNamespace(pool, namespace) > 0 ? 'joined' : has
  }

  #poolsHave(namespace: string, asked: string): 'own' | 'joined' | undefined {
    if (this.#bySpace.has(spaceOfNamespace(namespace, asked))) return 'own'
    return (this.#asking.get(asked)?.get(namespace)?.joined ?? 0) > 0 ? 'joined' : undefined
  }

  /** Whether the pools of the cluster in a space, if there are any, all offer it to this namespace. Networks are not asked. */
  isSpaceOffered(space: string, namespace: string): boolean {
    const labels = this.#labelsOf(namespace)
    for (const key of this.#bySpace.get(space)?.sources ?? []) {
      const source = this.#sources.get(key)
      if (source === undefined || !source.isOfCluster || source.isNetwork) continue
      if (!source.offersSpaceTo(namespace, labels)) return false
    }
    return true
  }

  /** Pools of the cluster; where there are none, networks: a tenant's network keeps no pool out of an administrator's space. */
  #deciding(space: string): readonly Source[] {
    const members = [...(this.#bySpace.get(space)?.sources ?? [])].flatMap(key => {
      const source = this.#sources.get(key)
      return source?.isOfCluster === true ? [source] : []
    })
    const pools = members.filter(({ isNetwork }) => !isNetwork)
    return pools.length > 0 ? pools : members
  }

  #labelsOf(namespace: string): Labels | undefined {
    const known = this.#views.namespaces.get(namespace)
    return known && labelsIn(known)
  }

  /** Why nothing new is given from a pool on account of its space; undefined if something may be. */
  whySpaceRefused(pool: Pool): Refusal | undefined {
    const decision = this.spaceFor(pool)
    if (decision === undefined) return undefined
    if ('refused' in decision) return decision.refused
    if (decision.space === pool.space) return undefined
    return spaceUndecided(pool.identity)
  }

  #followPool(change: Change<KubeObject>): void {
    const [before, after] = [readable(change.old, poolOf), readable(change.new, poolOf)]
    const isChanged = isSpecChange(change) || before?.isDeleting !== after?.isDeleting || before?.space !== after?.space
    if (after !== undefined) this.put(toSource([after]), isChanged)
    else if (before !== undefined) this.remove(before.identity)
  }

  #replace(key: string, source: Source | undefined, isChanged: boolean): void {
    const before = this.#sources.get(key)
    const old = new Map((before?.pools ?? []).map(pool => [poolKey(pool), pool]))
    const next = new Map((source?.pools ?? []).map(pool => [poolKey(pool), pool]))
    const asking = [...old.values(), ...next.values()].filter(asksForSpace)
    const hadBefore = asking.map(({ identity, spaceAsked }) => this.#poolsHave(identity.namespace, spaceAsked))
    for (const [poolKey, pool] of old) {
      this.#pools.delete(poolKey)
      this.#leaveSpace(pool.space, key, poolKey)
      if (asksForSpace(pool)) this.#removeAsking(pool, poolKey)
    }
    if (source === undefined) this.#sources.delete(key)
    else this.#sources.set(key, source)
    for (const [poolKey, pool] of next) {
      this.#pools.set(poolKey, pool)
      this.#joinSpace(pool.space, key, poolKey)
      if (asksForSpace(pool)) this.#addAsking(pool, poolKey)
    }
    for (const poolKey of new Set([...old.keys(), ...next.keys()])) {
      this.#publish({ key: poolKey, old: old.get(poolKey), new: next.get(poolKey), isChanged })
    }
    if (!isChanged) return
    // A pool of a namespace decides for no other which space it gets, but for those that name it by its key.
    const deciding = [before, source].flatMap(one => (one?.isOfCluster === true ? one.pools : []))
    const spaces = new Set(deciding.map(({ space }) => space))
    // Of a pool that is in another space than its own, those that name it by its key are told so.
    for (const space of spaces.add(key)) this.judgeAgain(space)
    for (const [i, { identity, spaceAsked }] of asking.entries()) {
      const has = this.#poolsHave(identity.namespace, spaceAsked)
      if (has !== hadBefore[i]) this.judgeAgain(spaceAsked, identity.namespace)
    }
  }

  #publish(change: SourceChange): void {
    for (const onChange of this.#subscribers) onChange(change)
  }

  /** What the pools that ask for a space, all or those of a namespace, may have of it may be decided otherwise now. */
  judgeAgain(space: string, namespace?: string): void {
    const asking = this.#asking.get(space)
    const ofNamespaces = namespace === undefined ? [...(asking?.values() ?? [])] : [asking?.get(namespace)]
    for (const key of ofNamespaces.flatMap(one => [...(one?.pools ?? [])])) {
      const pool = this.#pools.get(key)
      if (pool !== undefined) this.#publish({ key, old: pool, new: pool, isChanged: true })
    }
  }

  #addAsking({ identity: { namespace }, spaceAsked, space }: AskingPool, key: string): void {
    const asking = this.#asking.get(spaceAsked) ?? new Map<string, Asking>()
    const one = asking.get(namespace) ?? { pools: new Set<string>(), joined: 0 }
    one.pools.add(key)
    if (space === spaceAsked) one.joined++
    this.#asking.set(spaceAsked, asking.set(namespace, one))
  }

  #removeAsking({ identity: { namespace }, spaceAsked, space }: AskingPool, key: string): void {
    const asking = this.#asking.get(spaceAsked)
    const one = asking?.get(namespace)
    if (one === undefined) return
    one.pools.delete(key)
    if (space === spaceAsked) one.joined--
    if (one.pools.size === 0) asking?.delete(namespace)
    if (asking?.size === 0) this.#asking.delete(spaceAsked)
  }

  #joinSpace(space: string, source: string, pool: string): void {
    // It is not decided yet: such pools have nothing in common.
    if (space === '') return
    const known = this.#bySpace.get(space) ?? { sources: new Set<string>(), pools: new Set<string>() }
    known.sources.add(source)
    known.pools.add(pool)
    this.#bySpace.set(space, known)
  }

  #leaveSpace(space: string, source: string, pool: string): void {
    const known = this.#bySpace.get(space)
    known?.sources.delete(source)
    known?.pools.delete(pool)
    if (known?.pools.size === 0) this.#bySpace.delete(space)
  }
}

type AskingPool = Pool & { readonly spaceAsked: string }

/** Those of one namespace that ask for one space: their keys, and how many of them joined it. */
interface Asking {
  readonly pools: Set<string>
  joined: number
}

const labelsIn = ({ metadata }: KubeObject): Labels => metadata.labels ?? {}

/** OVN-Kubernetes calls the networks of a namespace so. A network of another namespace cannot take such a name from this one. */
const isNameOf = (namespace: string, space: string): boolean =>
  space.startsWith(`${namespace}_`) && clusterUDNOfNetwork(space) === undefined

/** A pool of a namespace that names a space, or any that names another pool. */
function asksForSpace(pool: Pool): pool is AskingPool {
  const { spaceAsked, identity } = pool
  if (spaceAsked === undefined) return false
  return identity.namespace !== '' || parseIdentityKey(spaceAsked) !== undefined
}

/** Of one object, or one network: its pools differ in the family alone. */
export function toSource(pools: readonly [Pool, ...Pool[]]): Source {
  const { identity, allowedNamespaces } = pools[0]
  return {
    identity,
    pools,
    isOfCluster: identity.namespace === '',
    isNetwork: false,
    offersSpaceTo(_, labels) {
      if (allowedNamespaces === undefined) return true
      return labels !== undefined && selects(allowedNamespaces, labels)
    },
  }
}
