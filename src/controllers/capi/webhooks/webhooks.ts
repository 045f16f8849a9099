// What the API server asks about claims and addresses of Cluster API. Where Cluster API is installed it answers for its own
// kinds under the names that it always had; there, only what Mooring adds to a claim is asked about.

import { standInFor } from '../../../admission/policy.ts'
import { type Operation, validatingWebhook, type Webhook } from '../../../admission/webhook.ts'
import { ipAddressKind } from '../../../api/ip-address.ts'
import { ipAddressClaimKind } from '../../../api/ip-address-claim.ts'
import type { CapiFacts } from '../facts.ts'
import { addressAuthors, claimAuthors } from './author.ts'
import { admitChoice, whenChoiceChanges } from './choice.ts'
import { admitIPAddress, whenAddressMatters } from './ip-address.ts'
import { admitIPAddressClaim, whenClaimMatters } from './ip-address-claim.ts'
import { warnOfPoolKind, whenPoolIsOdd } from './pool-kind.ts'

const claimKind = ipAddressClaimKind('v1beta2')

/** Cluster API is not there to answer. A deletion is never refused, so it is not asked about. */
const standIn = { operations: ['CREATE', 'UPDATE'] as readonly Operation[], isStandIn: true }

export const capiWebhooks: readonly Webhook<CapiFacts>[] = [
  {
    type: 'validating',
    kind: claimKind,
    // A name and a path of our own, beside what Cluster API has under the names of the kind.
    name: 'choice.ipaddressclaim.mooring.dev',
    path: '/validate-mooring-dev-ipaddressclaim-choice',
    operations: ['UPDATE'],
    versions: 'all',
    // No machine waits for Mooring: a claim can be written while it is away, and soon.
    failurePolicy: 'Ignore',
    timeoutSeconds: 2,
    matchConditions: whenChoiceChanges,
    answer: ({ old, next }, facts) => admitChoice(old, next, facts),
  },
  {
    type: 'validating',
    kind: claimKind,
    name: 'pool.ipaddressclaim.mooring.dev',
    path: '/validate-mooring-dev-ipaddressclaim-pool',
    operations: ['CREATE'],
    versions: 'all',
    failurePolicy: 'Ignore',
    timeoutSeconds: 2,
    matchConditions: whenPoolIsOdd,
    answer: ({ next }) => warnOfPoolKind(next),
  },
  {
    ...validatingWebhook<CapiFacts>(claimKind, ({ old, next }) => admitIPAddressClaim(old, next)),
    ...standIn,
    matchConditions: whenClaimMatters,
  },
  {
    ...validatingWebhook<CapiFacts>(ipAddressKind('v1beta2'), ({ old, next }, facts) =>
      admitIPAddress(old, next, facts),
    ),
    ...standIn,
    matchConditions: whenAddressMatters,
  },
  standInFor(claimAuthors),
  standInFor(addressAuthors),
]
