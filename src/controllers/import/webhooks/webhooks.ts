// What the API server asks about IPPools. While no webhook answers, requests fail: a map that was written unchecked makes virtual
// machines wait later, which is harder to understand than a write that says "try again".

import { isCreated, specChanges } from '../../../admission/match-conditions.ts'
import { validatingWebhook, type Webhook } from '../../../admission/webhook.ts'
import { ipPoolKind } from '../../../api/ip-pool.ts'
import type { ImportFacts } from '../facts.ts'
import { admitIPPool } from './ip-pool.ts'

export const importWebhooks: readonly Webhook<ImportFacts>[] = [
  {
    ...validatingWebhook<ImportFacts>(ipPoolKind, (request, facts) => admitIPPool(request, facts)),
    operations: ['CREATE', 'UPDATE'],
    matchConditions: [{ name: 'pool-is-new-or-changes', expression: `${isCreated} || ${specChanges}` }],
  },
]
