// The webhook of MigrationNetworks: what is asked of Harvester's setting is asked of them too, in the paths of their fields.

import { invalid } from '../../../admission/fault.ts'
import { allowed, type Ruling, refused } from '../../../admission/ruling.ts'
import { isSameSpec, specOf } from '../../../admission/spec.ts'
import { validatingWebhook, type Webhook, type WebhookRequest } from '../../../admission/webhook.ts'
import { parseSetting } from '../../../api/harvester.ts'
import { migrationNetworkKind, parseMigrationNetwork } from '../../../api/migration-network.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { checkMigrationNetwork } from '../../../migration/check.ts'
import { settingName } from '../../../migration/names.ts'
import { fieldAt } from '../../../migration/problem.ts'
import { type ReadWanted, readMigrationNetwork } from '../../../migration/wanted.ts'
import type { MigrationFacts } from '../facts.ts'
import { whyNotNow } from './change.ts'
import { clusterFactsOf } from './cluster.ts'

type Request = Pick<WebhookRequest, 'old' | 'next' | 'name'>

export function admitMigrationNetwork({ old, next, name }: Request, facts: MigrationFacts): Ruling {
  if (next === undefined || (old !== undefined && isSameSpec(old, next))) return allowed()
  if (name !== settingName) {
    return refused(`a cluster has one MigrationNetwork, which is called ${settingName}: write that as its name`)
  }
  const network = parseMigrationNetwork(next)
  if (isMalformed(network)) {
    return { kind: 'invalid', faults: [invalid('spec', specOf(next), network.malformed)], warnings: [] }
  }
  const setting = parseSetting(facts.caches.settings.get(settingName))
  if (old === undefined && !isMalformed(setting) && setting.value !== '') {
    return refused(`Setting ${settingName} of Harvester has a value, which counts: change that, or reset it first`)
  }
  const { problems, warnings } = checkMigrationNetwork(network, clusterFactsOf(facts))
  const faults = problems.map(one => invalid(fieldAt('spec', one.place), one.value, `${one.message}: ${one.fix}`))
  if (faults.length > 0) return { kind: 'invalid', faults, warnings }
  return whyNotNow({ old, before: readOld(old), after: readMigrationNetwork(network) }, facts) ?? allowed(warnings)
}

function readOld(old: unknown): ReadWanted {
  if (old === undefined) return 'default'
  const network = parseMigrationNetwork(old)
  return isMalformed(network) ? { problems: [] } : readMigrationNetwork(network)
}

export const migrationNetworkWebhook: Webhook<MigrationFacts> = {
  ...validatingWebhook<MigrationFacts>(migrationNetworkKind, admitMigrationNetwork),
  operations: ['CREATE', 'UPDATE'],
}
