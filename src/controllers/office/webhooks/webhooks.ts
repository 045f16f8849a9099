// What the API server asks about pools. Names and paths of the in-cluster kinds are the ones that clusters already have, so an
// installation that was set up for the reference provider finds an answer where it asks. While no webhook answers, requests
// fail: a pool that was written unchecked makes claims wait later, which is harder to understand than a write that says "try
// again". What would be allowed in any case is not asked about, so that clusterctl can take a pool along while Mooring is away:
// it marks the pool, deletes it and takes the finalizers off.

import { carries, isCreated, type MatchCondition, specChanges } from '../../../admission/match-conditions.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { mutatingWebhook, validatingWebhook, type Webhook } from '../../../admission/webhook.ts'
import {
  addressPoolKind,
  clusterAddressPoolKind,
  installerPoolKind,
  machinePoolKind,
} from '../../../api/address-pool.ts'
import { globalInClusterPoolKind, inClusterPoolKind } from '../../../api/in-cluster-pool.ts'
import type { VersionedKind } from '../../../api/object.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../../../api/prefix-pool.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { admitAddressPool } from './address-pool.ts'
import { admitInClusterPool } from './in-cluster-pool.ts'
import { mayGoAnywayAnnotations } from './pool-change.ts'
import { admitPrefixPool, prefixPoolDefaults } from './prefix-pool.ts'

/** A delete that is not asked about is held up by our finalizer while a claim holds an address of the pool. */
const mayGoAnyway = mayGoAnywayAnnotations.map(key => carries('oldObject', key)).join(' || ')

const isDeleted = 'object == null'

const whenPoolMatters: readonly MatchCondition[] = [
  {
    name: 'pool-is-new-or-changes-or-goes',
    expression: `${isCreated} || (${isDeleted} ? !(${mayGoAnyway}) : ${specChanges})`,
  },
]

const whenDefaultsMatter: readonly MatchCondition[] = [
  { name: 'pool-is-new-or-changes', expression: `${isCreated} || ${specChanges}` },
]

export const poolWebhooks: readonly Webhook<PoolFacts>[] = [
  validating(addressPoolKind, admitAddressPool),
  validating(clusterAddressPoolKind, admitAddressPool),
  validating(inClusterPoolKind, admitInClusterPool),
  validating(globalInClusterPoolKind, admitInClusterPool),
  validating(prefixPoolKind, admitPrefixPool),
  validating(globalPrefixPoolKind, admitPrefixPool),
  validating(installerPoolKind, admitAddressPool),
  validating(machinePoolKind, admitAddressPool),
  // Nothing is missing in these, but installations of the reference provider ask.
  mutating(inClusterPoolKind, () => allowed()),
  mutating(globalInClusterPoolKind, () => allowed()),
  mutating(prefixPoolKind, prefixPoolDefaults),
  mutating(globalPrefixPoolKind, prefixPoolDefaults),
]

function validating(
  kind: VersionedKind,
  admit: (old: unknown, next: unknown, facts: PoolFacts, isCallerProven: boolean) => Ruling,
): Webhook<PoolFacts> {
  const webhook = validatingWebhook<PoolFacts>(kind, ({ old, next, isCallerProven }, facts) =>
    admit(old, next, facts, isCallerProven),
  )
  return { ...webhook, matchConditions: whenPoolMatters }
}

function mutating(kind: VersionedKind, defaults: (object: unknown) => Ruling): Webhook<PoolFacts> {
  const webhook = mutatingWebhook<PoolFacts>(kind, ({ next }) => defaults(next))
  return { ...webhook, matchConditions: whenDefaultsMatter }
}
