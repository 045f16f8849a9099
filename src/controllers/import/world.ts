// What the import desk knows and may touch. Its reconcilers take all of it from here and nothing from anywhere else.

import { parseUserDefinedNetwork, type UserDefinedNetwork } from '../../api/user-defined-network.ts'
import { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import { type Kind, type KubeObject, keyOfRef, type OwnerReference } from '../../kube/object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Note } from '../office/journal.ts'
import { reader } from '../office/kept.ts'
import { clusterUserDefinedNetworks, userDefinedNetworks } from '../office/kinds.ts'
import type { UDNMode } from '../office/networks.ts'
import type { Scope } from '../office/scope.ts'
import type { Views } from '../office/views.ts'

export interface Caches extends Views {
  readonly udns: Cache<KubeObject, 'namespace'>
  /**
   * NetworkAttachmentDefinitions with the label of those that are made of a (Cluster)UserDefinedNetwork; by their controller, as
   * `ownerKey` has it. Whole: all that they have is compared with what they should say.
   */
  readonly rendered: Cache<KubeObject, 'owner'>
}

export interface ImportWorld {
  readonly client: Client
  readonly clock: Clock
  readonly caches: Caches
  readonly scope: Scope
  readonly mode: UDNMode
  /** Of the pass that runs. */
  readonly note: Note
  /**
   * By the flag; with `auto`, whether OVN-Kubernetes is installed: only administrators install kinds. It is asked in each pass, so
   * that an installation that comes later is seen.
   */
  isRendering(): Promise<boolean>
}

export function createCaches(isFrozen: boolean, views: Views): Caches {
  const options = { isFrozen }
  return {
    ...views,
    udns: new Cache<KubeObject, 'namespace'>({
      ...options,
      keep: keepUDN,
      indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ''] },
    }),
    rendered: new Cache<KubeObject, 'owner'>({ ...options, indexes: { owner: object => ownerKeysOf(object) } }),
  }
}

export const { of: udnOf, keep: keepUDN } = reader<UserDefinedNetwork>(parseUserDefinedNetwork)

/** Both kinds are rendered by the same code; this is all in which they differ to it. */
const kinds = [userDefinedNetworks, clusterUserDefinedNetworks] as const

export const ownerKey = ({ kind }: Pick<Kind, 'kind'>, key: string): string => `${kind}/${key}`

/** The (Cluster)UserDefinedNetwork that has it under control: one of another name is not made by a renderer. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind, name, controller }) =>
      controller === true &&
      name === metadata.name &&
      apiVersion.startsWith('k8s.ovn.org/') &&
      kinds.some(one => one.kind === kind),
  )
}

function ownerKeysOf(object: KubeObject): string[] {
  const owner = controllerOf(object)
  const kind = kinds.find(one => one.kind === owner?.kind)
  if (owner === undefined || kind === undefined) return []
  const { namespace = '' } = object.metadata
  return [ownerKey(kind, keyOfRef({ name: owner.name, ...(kind.namespaced && { namespace }) }))]
}
