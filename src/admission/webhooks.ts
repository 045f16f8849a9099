// Every review that can be asked for: under which name it is registered, at which path it is answered, and by what. Names and
// paths of the in-cluster kinds and of Cluster API's own are the ones that clusters already have, so an installation that
// was set up for the reference provider finds an answer where it asks.

import { addressPoolKind, clusterAddressPoolKind } from '../api/address-pool.ts'
import { globalInClusterPoolKind, inClusterPoolKind } from '../api/in-cluster-pool.ts'
import { ipAddressKind } from '../api/ip-address.ts'
import { ipAddressClaimKind } from '../api/ip-address-claim.ts'
import type { Kind } from '../api/object.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../api/prefix-pool.ts'
import { admitAddressPool } from './address-pool.ts'
import { admitInClusterPool } from './in-cluster-pool.ts'
import { admitIPAddress, type ClaimFacts } from './ip-address.ts'
import { admitIPAddressClaim } from './ip-address-claim.ts'
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

interface WebhookPlace {
  readonly kind: Kind
  readonly name: string
  readonly path: string
  /** Of a kind that belongs to Cluster API: where Cluster API is installed, it reviews these itself. */
  readonly isCore: boolean
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
  validating(ipAddressClaimKind('v1beta2'), admitIPAddressClaim, true),
  validating(ipAddressKind('v1beta2'), admitIPAddress, true),
]

function validating(kind: Kind, admit: Admit, isCore = false): Webhook {
  const name = `validation.${kind.kind.toLowerCase()}.${kind.group}`
  return { type: 'validating', kind, name, path: pathFor('validate', kind), admit, isCore }
}

function mutating(kind: Kind, defaults: Defaults): Webhook {
  const name = `default.${kind.kind.toLowerCase()}.${kind.group}`
  return { type: 'mutating', kind, name, path: pathFor('mutate', kind), defaults, isCore: false }
}

/** `/validate-ipam-cluster-x-k8s-io-v1alpha2-inclusterippool`. */
function pathFor(verb: string, { group, version, kind }: Kind): string {
  return `/${verb}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`
}
