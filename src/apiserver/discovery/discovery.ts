// Discovery over one list of served kinds, and of group versions of other servers. The lists change only when a
// CustomResourceDefinition or an APIService does, or what the server of one says, so every
// document is made on first use, kept as bytes, and thrown away together with the list.

import type { ServedKind } from '../kinds/kind.ts'
import { type AggregatedVersion, aggregatedContentType, toAggregated, toETag } from './aggregated.ts'
import { toAPIGroup, toAPIGroupList, toAPIResourceList, toAPIVersions } from './documents.ts'
import { type ForeignDiscovery, inOrder } from './version-order.ts'

export interface AggregatedDocument {
  readonly body: Buffer
  readonly etag: string
  readonly contentType: string
}

export interface Discovery {
  /** `/api` */
  versions(serverAddress: string): object
  /** `/apis` */
  groups(): object
  /** `/apis/GROUP`; undefined when no such group is served. */
  group(group: string): object | undefined
  /** `/api/v1` (group '') and `/apis/GROUP/VERSION`; undefined when no such version is served. */
  resources(group: string, version: string): object | undefined
  /** `/api` or `/apis` in the aggregated form. */
  aggregated(root: 'api' | 'apis', version: AggregatedVersion): AggregatedDocument
}

export function createDiscovery(kinds: readonly ServedKind[], foreign: readonly ForeignDiscovery[] = []): Discovery {
  const groups = inOrder(kinds, foreign)
  const documents = new Map<string, AggregatedDocument>()
  return {
    versions: toAPIVersions,
    groups: () => toAPIGroupList(groups),
    group(group) {
      const found = group === '' ? undefined : groups.find(candidate => candidate.group === group)
      return found && { kind: 'APIGroup', apiVersion: 'v1', ...toAPIGroup(found) }
    },
    resources(group, version) {
      const versions = groups.find(candidate => candidate.group === group)?.versions
      const found = versions?.find(candidate => candidate.version === version)
      return found && toAPIResourceList(group, version, found.kinds)
    },
    aggregated(root, version) {
      const key = `${root} ${version}`
      const made = documents.get(key)
      if (made !== undefined) return made
      const document = toAggregated(
        groups.filter(({ group }) => (group === '') === (root === 'api')),
        version,
      )
      const body = Buffer.from(JSON.stringify(document))
      const fresh = { body, etag: toETag(body), contentType: aggregatedContentType(version) }
      documents.set(key, fresh)
      return fresh
    },
  }
}
