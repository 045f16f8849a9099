// Every review that can be asked for: under which name it is registered, at which path it is answered, and by what. Names and
// paths of the in-cluster kinds and of Cluster API's own are the ones that clusters already have, so an installation that
// was set up for the reference provider finds an answer where it asks.

import { addressPoolKind, clusterAddressPoolKind } from '../api/address-pool.ts'
import { globalInClusterPoolKind, inClusterPoolKind } from '../api/in-cluster-pool.ts'
import { ipAddressKind } from '../api/ip-address.ts'
import { ipAddressClaimKind } from '../api/ip-address-claim.ts'
import type { VersionedKind } from '../api/object.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../api/prefix-pool.ts'
import { admitAddressPool } from './address-pool.ts'
import { admitChoice, whenChoiceChanges } from './choice.ts'
import { admitInClusterPool } from './in-cluster-pool.ts'
import { admitIPAddress, type ClaimFacts, whenAddressMatters } from './ip-address.ts'
import { admitIPAddressClaim, whenClaimMatters } from './ip-address-claim.ts'
import type { MatchCondition } from './match-conditions.ts'
import type { PoolFacts } from './pool-facts.ts'
import { admitPrefixPool, prefixPoolDefaults } from './prefix-pool.ts'
import type { Ruling } from './ruling.ts'
import type { Fields } from './spec.ts'

/** All that reviews may ask about the world. */
export interface Facts extends PoolFacts, ClaimFacts {}

/** `old` is undefined on create, `next` on delete. */
export type Admit = (old: unknown, next: unknown, facts: Facts) => Ruling

/** Fields to add to the spec; undefined where nothing is missing. */
export type Defaults = (object: unknown) => Fields | undefined

/** What the API server asks about; the rest it decides without a question. */
interface Asked {
  readonly operations: readonly Operation[]
  /** All of them. */
  readonly when?: readonly MatchCondition[]
}

type Operation = 'CREATE' | 'UPDATE' | 'DELETE'

interface WebhookPlace extends Asked {
  readonly kind: VersionedKind
  readonly name: string
  readonly path: string
  /** Of a kind that belongs to Cluster API: where Cluster API is installed, it reviews these itself. */
  readonly isCore: boolean
  /**
   * Asked in every version of the kind, so that nothing is converted for it; and whoever cannot be reached, or does not
   * know, stands in nobody's way.
   */
  readonly failsOpen: boolean
}

export type Webhook =
  | (WebhookPlace & { readonly type: 'validating'; readonly admit: Admit })
  | (WebhookPlace & { readonly type: 'mutating'; readonly defaults: Defaults })

const nothingMissing: Defaults = () => undefined

export const webhooks: readonly Webhook[] = [
  validating(addressPoolKind, admitAddressPool),
  validating(clusterAddressPoolKind, admitAddressPool),
  validating(inClusterPoolKind, admitInClusterPool),
  validating(globalInClusterPoolKind, admitInClusterPool),
  validating(prefixPoolKind, admitPrefixPool),
  validating(globalPrefixPoolKind, admitPrefixPool),
  mutating(inClusterPoolKind, nothingMissing),
  mutating(globalInClusterPoolKind, nothingMissing),
  mutating(prefixPoolKind, prefixPoolDefaults),
  mutating(globalPrefixPoolKind, prefixPoolDefaults),
  courtesy(ipAddressClaimKind('v1beta2'), 'choice', admitChoice, { operations: ['UPDATE'], when: whenChoiceChanges }),
  core(ipAddressClaimKind('v1beta2'), admitIPAddressClaim, whenClaimMatters),
  core(ipAddressKind('v1beta2'), admitIPAddress, whenAddressMatters),
]

function validating(kind: VersionedKind, admit: Admit): Webhook {
  const name = `validation.${kind.kind.toLowerCase()}.${kind.group}`
  const operations: readonly Operation[] = ['CREATE', 'UPDATE', 'DELETE']
  const path = pathFor('validate', kind)
  return { type: 'validating', kind, name, path, admit, operations, isCore: false, failsOpen: false }
}

/** Whoever is deleted has nothing to fear here. */
function core(kind: VersionedKind, admit: Admit, when: readonly MatchCondition[]): Webhook {
  return { ...validating(kind, admit), operations: ['CREATE', 'UPDATE'], when, isCore: true }
}

/** Under a name and at a path of our own: beside what Cluster API has under the names of the kind. */
function courtesy(kind: VersionedKind, subject: string, admit: Admit, asked: Asked): Webhook {
  const name = `${subject}.${kind.kind.toLowerCase()}.mooring.dev`
  const path = `/validate-mooring-dev-${kind.kind.toLowerCase()}-${subject}`
  return { type: 'validating', kind, name, path, admit, ...asked, isCore: false, failsOpen: true }
}

function mutating(kind: VersionedKind, defaults: Defaults): Webhook {
  const name = `default.${kind.kind.toLowerCase()}.${kind.group}`
  const operations: readonly Operation[] = ['CREATE', 'UPDATE']
  const path = pathFor('mutate', kind)
  return { type: 'mutating', kind, name, path, defaults, operations, isCore: false, failsOpen: false }
}

/** `/validate-ipam-cluster-x-k8s-io-v1alpha2-inclusterippool`. */
function pathFor(verb: string, { group, version, kind }: VersionedKind): string {
  return `/${verb}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`
}
