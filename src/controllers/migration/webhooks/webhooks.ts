// What the API server asks about migrations, and about what sets their network.

import type { Webhook } from '../../../admission/webhook.ts'
import { kubevirtGroup } from '../../../api/names.ts'
import type { MigrationFacts } from '../facts.ts'
import { admitMigration } from './gate.ts'
import { guardWebhooks } from './guards.ts'
import { migrationNetworkWebhook } from './migration-network.ts'
import { settingWebhook } from './setting.ts'

export const migrationWebhooks: readonly Webhook<MigrationFacts>[] = [
  settingWebhook,
  migrationNetworkWebhook,
  ...guardWebhooks,
  {
    type: 'validating',
    kind: {
      group: kubevirtGroup,
      version: 'v1',
      kind: 'VirtualMachineInstanceMigration',
      plural: 'virtualmachineinstancemigrations',
      isNamespaced: true,
    },
    name: 'gate.virtualmachineinstancemigration.mooring.dev',
    path: '/validate-mooring-dev-virtualmachineinstancemigration-gate',
    operations: ['CREATE'],
    // Open while Mooring does not answer: a node must be drained then too, and a migration that meets a restart fails and is tried
    // again, whereas a gate that stays shut stops every drain of the cluster (docs/adr/0024).
    failurePolicy: 'Ignore',
    timeoutSeconds: 5,
    answer: (request, facts) => admitMigration(request, facts),
  },
]
