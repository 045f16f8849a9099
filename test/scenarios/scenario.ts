// A scenario is what people do, through the API alone, and what they wait for before they go on. It says nothing about
// how desks work or what goes wrong meanwhile, so the same script serves every world it can be played in.

import type { Desk } from '../../src/controllers/desk.ts'

export interface Scenario {
  readonly name: string
  /** Claims of which it is chance which one gets what. */
  readonly interchangeable?: readonly string[]
  /** How it ends depends on what had come about before people went on. */
  readonly needsPatience?: boolean
  /** The table of desks: by default the product's. */
  readonly table?: readonly Desk[]
  play(people: People): Promise<void>
}

export interface PoolWish {
  readonly kind?: 'AddressPool' | 'ClusterAddressPool' | 'InClusterIPPool' | 'GlobalInClusterIPPool'
  readonly namespace?: string
  readonly name?: string
  readonly addresses: readonly string[]
  /** Any further field of the spec. */
  readonly more?: object
}

export interface ClaimWish {
  readonly namespace?: string
  readonly pool?: string
  readonly poolKind?: string
  /** The address it asks for. */
  readonly asks?: string
  readonly cluster?: string
  /** The machine it is made for. */
  readonly machine?: string
}

/** What a berth of the toy desk asks for. */
export interface BerthWish {
  readonly network: string
  readonly mac?: string
  readonly addresses?: readonly string[]
}

export type Kind = 'pool' | 'claim' | 'namespace' | 'cluster' | 'berth'

/** Names are of the namespace `default` unless they say `namespace/name`. */
export interface People {
  makePool(wish: PoolWish): Promise<void>
  makeClaim(name: string, wish?: ClaimWish): Promise<void>
  makeNetwork(name: string, spec: object): Promise<void>
  makeBerth(name: string, wish: BerthWish): Promise<void>
  makeNamespace(name: string, labels?: Readonly<Record<string, string>>): Promise<void>
  makeCluster(name: string, isPaused: boolean): Promise<void>
  /** A merge patch. Answers the code. */
  change(kind: Kind, name: string, patch: object, poolKind?: string): Promise<number>
  remove(kind: Kind, name: string, poolKind?: string): Promise<void>
  untilBound(...claims: readonly string[]): Promise<void>
  untilServed(...berths: readonly string[]): Promise<void>
  /** The first of these that is served. */
  whoIsServed(...berths: readonly string[]): Promise<string>
  /** Until the berth says why it waits, and holds nothing. */
  untilWaiting(berth: string, reason: string): Promise<void>
  /** The first of these that is bound. */
  whoIsBound(...claims: readonly string[]): Promise<string>
  untilGone(kind: Kind, ...names: readonly string[]): Promise<void>
  /** Until it says why it has no address. */
  untilRefused(claim: string, reason: string): Promise<void>
  /** Until some hold of it is there, however far the rest has come. */
  untilHeld(claim: string): Promise<void>
  untilChosen(claim: string): Promise<void>
  pass(seconds: number): Promise<void>
}
