// What a change of the migration network would do, before it is made: what is wrong with it, what becomes of the NetworkAttachmentDefinition,
// which pods restart, whether the addresses are enough. Nothing is written.

import { parseMigrationNetwork } from '../api/migration-network.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { KubeObject } from '../kube/object.ts'
import { attachmentName, type ConfigDifference, differencesFrom } from '../migration/attachment.ts'
import { type Checked, checkMigrationNetwork, checkSettingValue } from '../migration/check.ts'
import { settingName } from '../migration/names.ts'
import { nodesToServe } from '../migration/nodes.ts'
import type { Problem } from '../migration/problem.ts'
import { countUsable } from '../migration/range.ts'
import { type ReadWanted, readMigrationNetwork, readSettingValue, type Wanted } from '../migration/wanted.ts'
import type { SeenCluster } from './migration-network-cluster.ts'

/** What is to be written: `value` of the Setting, or `spec` of the MigrationNetwork. */
export type Asked =
  | { readonly kind: 'Setting'; readonly value: string }
  | { readonly kind: 'MigrationNetwork'; readonly spec: object }

export interface Preview {
  readonly problems: readonly Problem[]
  readonly warnings: readonly string[]
  /** Undefined where the value says nothing that could be made. */
  readonly attachment: PreviewedAttachment | undefined
  /** Names of pods. */
  readonly restarts: readonly string[]
  readonly addresses: { readonly needed: number; readonly usable: bigint; readonly spare: bigint } | undefined
  /** What has to be over first. */
  readonly waits: readonly string[]
}

interface PreviewedAttachment {
  readonly action: 'make' | 'change' | 'keep'
  /** namespace/name. */
  readonly key: string
  readonly differences: readonly ConfigDifference[]
}

export function preview(asked: Asked, cluster: SeenCluster): Preview {
  const { read, checked } = judge(asked, cluster)
  const wanted = read === 'default' || 'problems' in read ? undefined : read.wanted
  const common = { problems: checked.problems, warnings: checked.warnings }
  if (wanted === undefined) {
    return { ...common, attachment: undefined, restarts: [], addresses: undefined, waits: [] }
  }
  const { facts, kubeVirt, components, migrating } = cluster
  const needed = nodesToServe(facts.nodes, wanted).length + facts.consumers
  const usable = countUsable(wanted.ranges)
  const isInUse = kubeVirt?.network === attachmentName(wanted)
  return {
    ...common,
    attachment: attachmentOf(wanted, cluster),
    restarts: isInUse ? [] : components,
    addresses: { needed, usable, spare: usable - BigInt(needed) },
    waits: isInUse ? [] : migrating.map(machine => `the migration of ${machine}`),
  }
}

function judge(asked: Asked, { facts }: SeenCluster): { readonly read: ReadWanted; readonly checked: Checked } {
  if (asked.kind === 'Setting') {
    return { read: readSettingValue(asked.value), checked: checkSettingValue(asked.value, facts) }
  }
  const network = parseMigrationNetwork({ metadata: { name: settingName }, spec: asked.spec })
  if (!isMalformed(network)) {
    return { read: readMigrationNetwork(network), checked: checkMigrationNetwork(network, facts) }
  }
  const problems = [{ place: [], message: network.malformed, fix: 'correct the flag' }]
  return { read: { problems }, checked: { problems, warnings: [] } }
}

function attachmentOf(wanted: Wanted, { attachments, kubeVirt }: SeenCluster): PreviewedAttachment {
  const [name, { namespace }] = [attachmentName(wanted), wanted.kubevirt]
  const named = (one: string) => attachments.find(({ metadata }) => metadata.name === one)
  const stored = named(name)
  const key = `${namespace}/${name}`
  // A new one is shown beside the one in use.
  const before = stored ?? (kubeVirt?.network ? named(kubeVirt.network) : undefined)
  const differences = differencesFrom(configIn(before), wanted)
  if (stored === undefined) return { action: 'make', key, differences }
  return { action: differences.length === 0 ? 'keep' : 'change', key, differences }
}

function configIn(object: KubeObject | undefined): string {
  const { spec } = (object ?? {}) as { readonly spec?: { readonly config?: unknown } }
  return typeof spec?.config === 'string' ? spec.config : '{}'
}
