// What asks for a migration network: Harvester's Setting, or a MigrationNetwork. KubeVirt has one such network, so one of them counts:
// the Setting, where it asks for one. What an order asks for, and what it remembers of its way there, is read here, once.

import { parseSetting } from '../../api/harvester.ts'
import { parseMigrationNetwork } from '../../api/migration-network.ts'
import {
  appliedNetworkAnnotation,
  failedNetworkAnnotation,
  migrationNetworkFinalizer,
  rolloutAnnotation,
} from '../../api/names.ts'
import { isRecord, jsonOf, ownText } from '../../api/shape.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import { hasFinalizer, isDeleting } from '../../kube/finalizers.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import { attachmentKey, harvesterKubeVirt, hashKey, settingName } from '../../migration/names.ts'
import {
  type ReadWanted,
  readMigrationNetwork,
  readSettingValue,
  type Wanted,
  wantedOrMalformed,
} from '../../migration/wanted.ts'
import { migrationNetworks, settings } from './kinds.ts'
import type { Asks, Memory, Rollout } from './plan.ts'
import type { Caches } from './world.ts'

export interface Order {
  readonly kind: Kind
  readonly object: KubeObject
  readonly asks: Asks
  readonly memory: Memory
  /** What was in force, read again from what is remembered. */
  readonly before: Wanted | undefined
  readonly kubeVirt: Wanted['kubevirt']
  /** It stays until KubeVirt is back on the management network. */
  readonly isHeld: boolean
}

/** Both, in the order in which they count. */
export function readOrders({ settings: all, migrationNetworks: own }: Pick<Caches, 'settings' | 'migrationNetworks'>) {
  const setting = all.get(settingName)
  const network = own.get(settingName)
  return [
    ...(setting === undefined ? [] : [readSettingOrder(setting)]),
    ...(network === undefined ? [] : [readNetworkOrder(network)]),
  ]
}

/** The one that counts: the first that asks for a network; else the first that has something to undo. */
export function counting(orders: readonly Order[]): Order | undefined {
  return (
    orders.find(({ asks }) => asks.kind !== 'management') ??
    orders.find(({ memory }) => !isUntouched(memory)) ??
    orders[0]
  )
}

export const isUntouched = ({ done, rollout, failed }: Memory): boolean =>
  done === undefined && rollout === undefined && failed === undefined

function readSettingOrder(object: KubeObject): Order {
  const setting = parseSetting(object)
  const memory = memoryOf(object)
  return {
    kind: settings,
    object,
    asks: isMalformed(setting)
      ? { kind: 'unreadable', why: setting.malformed }
      : asksOf(readSettingValue(setting.value)),
    memory,
    before: remembered(memory, text => readSettingValue(text)),
    kubeVirt: harvesterKubeVirt,
    isHeld: false,
  }
}

function readNetworkOrder(object: KubeObject): Order {
  const network = parseMigrationNetwork(object)
  const memory = memoryOf(object)
  const common = { kind: migrationNetworks, object, memory, isHeld: hasFinalizer(object, migrationNetworkFinalizer) }
  if (isMalformed(network)) {
    const asks: Asks = isDeleting(object) ? { kind: 'management' } : { kind: 'unreadable', why: network.malformed }
    return { ...common, asks, before: undefined, kubeVirt: { namespace: '', name: '' } }
  }
  const again = (text: string): ReadWanted => {
    const spec = parseMigrationNetwork({ metadata: object.metadata, spec: jsonOf(text) })
    return isMalformed(spec) ? { problems: [] } : readMigrationNetwork(spec)
  }
  return {
    ...common,
    asks: isDeleting(object) ? { kind: 'management' } : asksOf(readMigrationNetwork(network)),
    before: remembered(memory, again),
    kubeVirt: network.kubevirt,
  }
}

function asksOf(read: ReadWanted): Asks {
  const wanted: Wanted | 'default' | Malformed = wantedOrMalformed(read)
  if (wanted === 'default') return { kind: 'management' }
  return isMalformed(wanted) ? { kind: 'unreadable', why: wanted.malformed } : { kind: 'network', network: wanted }
}

function remembered({ done }: Memory, read: (text: string) => ReadWanted): Wanted | undefined {
  const wanted = done === undefined || done.text === '' ? 'default' : wantedOrMalformed(read(done.text))
  // What an editor replaced in every line of the object is not what was in force.
  return wanted === 'default' || isMalformed(wanted) || wanted.hash !== done?.hash ? undefined : wanted
}

// --- what it remembers ---

function memoryOf({ metadata: { annotations = {} } }: KubeObject): Memory {
  const hash = ownText(annotations, hashKey)
  const attachment = ownText(annotations, attachmentKey) ?? ''
  const text = ownText(annotations, appliedNetworkAnnotation) ?? ''
  return {
    done: hash === undefined ? undefined : { hash, attachment: attachment.slice(attachment.indexOf('/') + 1), text },
    rollout: rolloutOf(ownText(annotations, rolloutAnnotation)),
    failed: ownText(annotations, failedNetworkAnnotation),
  }
}

/** What a user made of it is forgotten: the roll-out begins again. */
function rolloutOf(text: string | undefined): Rollout | undefined {
  const read = jsonOf(text ?? '')
  if (!isRecord(read)) return undefined
  const { hash, attachment, since, ready } = read
  const isWhole = typeof hash === 'string' && typeof attachment === 'string' && typeof since === 'string'
  return isWhole && typeof ready === 'number' ? { hash, attachment, since, ready } : undefined
}

/** As a merge patch has it: null takes away. */
export function toAnnotations({ done, rollout, failed }: Memory, namespace: string): Record<string, string | null> {
  return {
    [hashKey]: done?.hash ?? null,
    [attachmentKey]: done === undefined ? null : done.attachment === '' ? '' : `${namespace}/${done.attachment}`,
    [appliedNetworkAnnotation]: done === undefined || done.text === '' ? null : done.text,
    [rolloutAnnotation]: rollout === undefined ? null : JSON.stringify(rollout),
    [failedNetworkAnnotation]: failed ?? null,
  }
}
