// What keeps the ground under a migration network that is in use: its NetworkAttachmentDefinition is not deleted, the VlanConfig under it does
// not leave a node, and no virtual machine takes addresses that are for nodes. While Mooring does not answer, requests go on: what
// was taken away is made again, and what a node lacks is said.

import { type Fault, forbidden } from '../../../admission/fault.ts'
import { allowed, type Ruling, refused } from '../../../admission/ruling.ts'
import { type Fields, recordIn, specOf } from '../../../admission/spec.ts'
import type { Webhook, WebhookRequest } from '../../../admission/webhook.ts'
import { parseVlanConfig, type VlanConfig, vlanConfigKind } from '../../../api/harvester.ts'
import { cniGroup } from '../../../api/names.ts'
import { isRecord } from '../../../api/shape.ts'
import { virtualMachineKind } from '../../../api/virtual-machine.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { attachmentPrefix, settingName } from '../../../migration/names.ts'
import { nodesToServe } from '../../../migration/nodes.ts'
import type { MigrationFacts } from '../facts.ts'
import { counting, readOrders } from '../orders.ts'
import { clusterFactsOf } from './cluster.ts'

type Facts = Pick<MigrationFacts, 'kubeVirt'>

/** `namespace/name` of the NetworkAttachmentDefinition that KubeVirt migrates over; undefined for the management network, and another's. */
function inUse({ kubeVirt }: Facts): string | undefined {
  const { namespace, network = '' } = kubeVirt() ?? {}
  return network.startsWith(attachmentPrefix) ? `${namespace}/${network}` : undefined
}

export function keepAttachment({ namespace, name }: Pick<WebhookRequest, 'namespace' | 'name'>, facts: Facts): Ruling {
  const key = `${namespace}/${name}`
  if (key !== inUse(facts)) return allowed()
  const what = `cannot delete NetworkAttachmentDefinition ${key} which is used by Harvester setting ${settingName}`
  return refused(`${what}, or by a MigrationNetwork: reset that first`)
}

// --- virtual machines ---

/** What a machine has already stays: it must be possible to correct the rest of it. */
export function keepMachinesOff(
  { old, next, namespace }: Pick<WebhookRequest, 'old' | 'next' | 'namespace'>,
  { kubeVirt }: Facts,
): Ruling {
  const home = `${kubeVirt()?.namespace}/${attachmentPrefix}`
  const before = new Set(networkNamesOf(old).map(({ name }) => name))
  const faults: Fault[] = networkNamesOf(next).flatMap(({ name, field }) => {
    const key = name.includes('/') ? name : `${namespace}/${name}`
    if (!key.startsWith(home) || before.has(name)) return []
    return [
      forbidden(field, `${key} is the network of live migrations, and its addresses are for nodes: name another one`),
    ]
  })
  return faults.length === 0 ? allowed() : { kind: 'invalid', faults, warnings: [] }
}

function networkNamesOf(object: unknown): { readonly name: string; readonly field: string }[] {
  const { networks } = recordIn(recordIn(specOf(object), 'template'), 'spec') as Fields & {
    readonly networks?: unknown
  }
  return (Array.isArray(networks) ? networks : []).flatMap((network: unknown, i) => {
    const { networkName: name } = isRecord(network) ? recordIn(network, 'multus') : { networkName: undefined }
    return typeof name === 'string' ? [{ name, field: `spec.template.spec.networks[${i}].multus.networkName` }] : []
  })
}

// --- VlanConfigs ---

export function keepVlanConfig({ old, next }: Pick<WebhookRequest, 'old' | 'next'>, facts: MigrationFacts): Ruling {
  const key = inUse(facts)
  const before = parseVlanConfig(old)
  const order = counting(readOrders(facts.caches))
  const wanted = order?.asks.kind === 'network' ? order.asks.network : undefined
  if (key === undefined || isMalformed(before) || wanted?.wire.clusterNetwork !== before.clusterNetwork)
    return allowed()
  const cluster = clusterFactsOf(facts)
  const others = cluster.vlanConfigs.filter(({ metadata }) => metadata.name !== before.metadata.name)
  const after = next === undefined ? undefined : parseVlanConfig(next)
  const left = matchedBy(
    [...others, ...(after === undefined || isMalformed(after) ? [] : [after])],
    before.clusterNetwork,
  )
  const lost = nodesToServe(cluster.nodes, wanted).filter(
    ({ name }) => before.matchedNodes.includes(name) && !left.has(name),
  )
  if (lost.length === 0) return allowed()
  const nodes = lost.map(({ name }) => name).join(', ')
  return refused(
    `the system network nad ${key} is still attached, on ${nodes}: have another VlanConfig select them first, or reset ${settingName}`,
  )
}

const matchedBy = (configs: readonly VlanConfig[], clusterNetwork: string): ReadonlySet<string> =>
  new Set(configs.filter(one => one.clusterNetwork === clusterNetwork).flatMap(({ matchedNodes }) => matchedNodes))

// --- as webhooks ---

const guard = { type: 'validating', failurePolicy: 'Ignore', timeoutSeconds: 5 } as const

const networksOfMachine = 'object.spec.template.spec.networks'

export const guardWebhooks: readonly Webhook<MigrationFacts>[] = [
  {
    ...guard,
    kind: {
      group: cniGroup,
      version: 'v1',
      kind: 'NetworkAttachmentDefinition',
      plural: 'network-attachment-definitions',
      isNamespaced: true,
    },
    name: 'in-use.network-attachment-definition.mooring.dev',
    path: '/validate-mooring-dev-network-attachment-definition-in-use',
    operations: ['DELETE'],
    matchConditions: [{ name: 'is-of-migrations', expression: `request.name.startsWith('${attachmentPrefix}')` }],
    answer: keepAttachment,
  },
  {
    ...guard,
    kind: virtualMachineKind,
    name: 'migration-network.virtualmachine.mooring.dev',
    path: '/validate-mooring-dev-virtualmachine-migration-network',
    operations: ['CREATE', 'UPDATE'],
    matchConditions: [
      {
        name: 'names-a-migration-network',
        expression: `has(object.spec.template.spec) && has(${networksOfMachine}) && ${networksOfMachine}.exists(n, has(n.multus) && n.multus.networkName.contains('${attachmentPrefix}'))`,
      },
    ],
    answer: keepMachinesOff,
  },
  {
    ...guard,
    kind: vlanConfigKind,
    name: 'in-use.vlanconfig.mooring.dev',
    path: '/validate-mooring-dev-vlanconfig-in-use',
    operations: ['UPDATE', 'DELETE'],
    answer: keepVlanConfig,
  },
]
