// How many holds each pool has given to each namespace and Cluster: what quotas and counts go by. Every hold is entered
// under a small number, its tag, whose lowest bit says "in quarantine"; the number is all that is kept per hold, and it is
// given up and used again when the last hold under it leaves.

import { type Identity, identityKey } from '../api/object.ts'
import type { Family } from '../ip/address.ts'

/** A pool as it is counted: one that offers both families counts each by itself. */
export interface CountedPool {
  readonly identity: Identity
  readonly family: Family
}

interface PoolCount {
  held: number
  quarantined: number
}

interface NamespaceCount {
  held: number
  /** How many tallies count into it; with the last one it goes. */
  tallies: number
}

interface Tally {
  readonly key: string
  readonly pool: string
  readonly ofPool: PoolCount
  readonly namespaceKey: string
  readonly ofNamespace: NamespaceCount
  held: number
  quarantined: number
}

export class Tallies {
  readonly #tallies: (Tally | undefined)[] = [undefined]
  readonly #unused: number[] = []
  readonly #numbers = new Map<string, number>()
  readonly #pools = new Map<string, PoolCount>()
  readonly #namespaces = new Map<string, NamespaceCount>()
  // One controller enters thousands of holds for one namespace in a row.
  #lastPool: Identity | undefined
  #lastFamily: Family = 4
  #lastNamespace = ''
  #lastCluster = ''
  #lastNumber = 0

  enter(
    pool: Identity,
    family: Family,
    { namespace, clusterName = '' }: { readonly namespace: string; readonly clusterName?: string },
    isQuarantined: boolean,
  ): number {
    const number = this.#numberOf(pool, family, namespace, clusterName)
    this.#count(number, isQuarantined, 1)
    return number * 2 + (isQuarantined ? 1 : 0)
  }

  leave(tag: number): void {
    this.#count(tag >>> 1, (tag & 1) === 1, -1)
  }

  ofPool(pool: CountedPool): Readonly<PoolCount> {
    return this.#pools.get(countedKey(pool)) ?? { held: 0, quarantined: 0 }
  }

  ofNamespace(pool: CountedPool, namespace: string): number {
    return this.#namespaces.get(namespaceKey(countedKey(pool), namespace))?.held ?? 0
  }

  ofCluster(pool: CountedPool, namespace: string, clusterName: string): number {
    const number = this.#numbers.get(clusterKey(countedKey(pool), namespace, clusterName)) ?? 0
    return this.#tallies[number]?.held ?? 0
  }

  isOnlyPool(pool: CountedPool): boolean {
    return this.#pools.size === 0 || (this.#pools.size === 1 && this.#pools.has(countedKey(pool)))
  }

  /** Whether a tag is of this pool. Good until the next hold is entered or leaves. */
  tagsOf(pool: CountedPool): (tag: number) => boolean {
    const key = countedKey(pool)
    return tag => this.#tallies[tag >>> 1]?.pool === key
  }

  #numberOf(pool: Identity, family: Family, namespace: string, clusterName: string): number {
    if (
      this.#lastNumber !== 0 &&
      pool === this.#lastPool &&
      family === this.#lastFamily &&
      namespace === this.#lastNamespace &&
      clusterName === this.#lastCluster
    ) {
      return this.#lastNumber
    }
    const key = countedKey({ identity: pool, family })
    const tallyKey = clusterKey(key, namespace, clusterName)
    let number = this.#numbers.get(tallyKey)
    if (number === undefined) {
      number = this.#unused.pop() ?? this.#tallies.length
      this.#tallies[number] = this.#newTally(tallyKey, key, namespaceKey(key, namespace))
      this.#numbers.set(tallyKey, number)
    }
    this.#lastPool = pool
    this.#lastFamily = family
    this.#lastNamespace = namespace
    this.#lastCluster = clusterName
    this.#lastNumber = number
    return number
  }

  #newTally(key: string, pool: string, namespace: string): Tally {
    const ofPool = this.#pools.get(pool) ?? { held: 0, quarantined: 0 }
    const ofNamespace = this.#namespaces.get(namespace) ?? { held: 0, tallies: 0 }
    this.#pools.set(pool, ofPool)
    this.#namespaces.set(namespace, ofNamespace)
    ofNamespace.tallies++
    return { key, pool, ofPool, namespaceKey: namespace, ofNamespace, held: 0, quarantined: 0 }
  }

  #count(number: number, isQuarantined: boolean, change: 1 | -1): void {
    const tally = this.#tallies[number]
    if (tally === undefined) return
    if (isQuarantined) {
      tally.quarantined += change
      tally.ofPool.quarantined += change
    } else {
      tally.held += change
      tally.ofPool.held += change
      tally.ofNamespace.held += change
    }
    if (tally.held + tally.quarantined === 0) this.#drop(number, tally)
  }

  #drop(number: number, { key, pool, ofPool, namespaceKey, ofNamespace }: Tally): void {
    if (ofPool.held + ofPool.quarantined === 0) this.#pools.delete(pool)
    ofNamespace.tallies--
    if (ofNamespace.tallies === 0) this.#namespaces.delete(namespaceKey)
    this.#numbers.delete(key)
    this.#tallies[number] = undefined
    this.#unused.push(number)
    this.#lastNumber = 0
  }
}

// No name has a blank in it, so parts joined by one cannot be mistaken for each other.
const countedKey = ({ identity, family }: CountedPool): string => `${family} ${identityKey(identity)}`
const namespaceKey = (pool: string, namespace: string): string => `${pool} ${namespace}`
const clusterKey = (pool: string, namespace: string, clusterName: string): string =>
  `${pool} ${namespace} ${clusterName}`
