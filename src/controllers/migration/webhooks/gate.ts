// The gate: no live migration begins while KubeVirt restarts what it would run through. It is asked about every
// VirtualMachineInstanceMigration, whichever client makes it: a user, a drain, a hot-plug, a workload update. One that runs is not
// looked at: nothing here ends a migration.

import { allowed, type Ruling, refused } from '../../../admission/ruling.ts'
import type { WebhookRequest } from '../../../admission/webhook.ts'
import type { MigrationFacts } from '../facts.ts'

export function admitMigration(
  { operation }: Pick<WebhookRequest, 'operation'>,
  facts: Pick<MigrationFacts, 'kubeVirt' | 'pendingChange'>,
): Ruling {
  if (operation !== 'CREATE') return allowed()
  const kubeVirt = facts.kubeVirt()
  if (kubeVirt === undefined) return closed('there is no KubeVirt object')
  const { namespace, name, whyNotReady } = kubeVirt
  if (whyNotReady !== undefined) return closed(`KubeVirt ${namespace}/${name}: ${whyNotReady}`)
  const pending = facts.pendingChange()
  return pending === undefined ? allowed() : closed(pending)
}

const closed = (why: string): Ruling =>
  refused(`KubeVirt is not ready: ${why}; live migrations begin again when all of its components are ready`)
