// The webhook of Settings of Harvester: of `vm-migration-network`, and of `kubevirt-migration`, which may not say what the other one says. All
// that is wrong is told at once, each with a JSON pointer into the value and what to write instead. The default is always accepted.

import { type Fault, forbidden, invalid } from '../../../admission/fault.ts'
import { allowed, notAllowed, type Ruling } from '../../../admission/ruling.ts'
import { validatingWebhook, type Webhook, type WebhookRequest } from '../../../admission/webhook.ts'
import { settingKind } from '../../../api/harvester.ts'
import { isRecord } from '../../../api/shape.ts'
import { checkSettingValue, checkTuning } from '../../../migration/check.ts'
import { settingName, tuningName } from '../../../migration/names.ts'
import { describeProblem, type Problem } from '../../../migration/problem.ts'
import { readSettingValue } from '../../../migration/wanted.ts'
import type { MigrationFacts } from '../facts.ts'
import { whyNotNow } from './change.ts'
import { clusterFactsOf } from './cluster.ts'

type Request = Pick<WebhookRequest, 'operation' | 'old' | 'next' | 'name'>

/** Both texts of a setting that are judged, in Harvester's order. */
const fields = ['default', 'value'] as const

export function admitSetting({ operation, old, next, name }: Request, facts: MigrationFacts): Ruling {
  if (name === tuningName) return admitTuning(old, next)
  if (name !== settingName) return allowed()
  if (operation === 'DELETE') return notAllowed(`Disallow delete setting name ${settingName}`)
  if (old !== undefined && fields.every(field => textAt(old, field) === textAt(next, field))) return allowed()
  if (fields.every(field => textAt(next, field) === '')) return allowed()
  const cluster = clusterFactsOf(facts)
  const checked = fields.map(field => ({ field, ...checkSettingValue(textAt(next, field), cluster) }))
  const faults = checked.flatMap(({ field, problems }) => problems.map(one => toFault(field, one)))
  const warnings = [...checked.flatMap(one => one.warnings), ...otherWarnings(next, facts)]
  if (faults.length > 0) return { kind: 'invalid', faults, warnings }
  const [before, after] = [old, next].map(object => readSettingValue(textAt(object, 'value')))
  const refusal = whyNotNow({ old, before: before ?? 'default', after: after ?? 'default' }, facts)
  return refusal ?? allowed(warnings)
}

function otherWarnings(next: unknown, { caches }: MigrationFacts): string[] {
  const isShadowed = textAt(next, 'value') !== '' && caches.migrationNetworks.get(settingName) !== undefined
  return isShadowed ? [`MigrationNetwork ${settingName} is there too: the Setting counts while it has a value`] : []
}

function admitTuning(old: unknown, next: unknown): Ruling {
  if (next === undefined || (old !== undefined && textAt(old, 'value') === textAt(next, 'value'))) return allowed()
  const faults = checkTuning(textAt(next, 'value')).map(one => toFault('value', one))
  return faults.length === 0 ? allowed() : { kind: 'invalid', faults, warnings: [] }
}

const toFault = (field: string, one: Problem): Fault =>
  one.value === undefined ? forbidden(field, describeProblem(one)) : invalid(field, one.value, describeProblem(one))

function textAt(object: unknown, field: (typeof fields)[number]): string {
  const text = isRecord(object) ? object[field] : undefined
  return typeof text === 'string' ? text : ''
}

const names = [settingName, tuningName].map(name => `'${name}'`).join(', ')

export const settingWebhook: Webhook<MigrationFacts> = {
  ...validatingWebhook<MigrationFacts>(settingKind, admitSetting),
  // Harvester's own are asked too.
  name: 'migration-network.setting.mooring.dev',
  path: '/validate-mooring-dev-setting',
  matchConditions: [
    { name: 'is-of-migrations', expression: `request.name in [${names}]` },
    {
      // Harvester makes it at its start, and resets it, whether Mooring answers or not.
      name: 'says-something',
      expression: `object == null || ${fields.map(field => `(has(object.${field}) && object.${field} != '')`).join(' || ')}`,
    },
  ],
}
