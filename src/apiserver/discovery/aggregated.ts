// Aggregated discovery: every group, version and resource in one answer, with an ETag so that a client that already
// has it downloads nothing. Both spellings of the document (v2 and the older v2beta1) have the same shape.

import { createHash } from 'node:crypto'
import type { ServedKind } from '../kinds/kind.ts'
import { parseAccept } from '../media.ts'
import { inServedOrder, inVerbOrder } from './documents.ts'
import type { GroupVersions, VersionKinds } from './version-order.ts'

export type AggregatedVersion = 'v2' | 'v2beta1'

/** The aggregated form that the client names first; undefined when it names none and gets the plain document. */
export function negotiateAggregated(accept: string | undefined): AggregatedVersion | undefined {
  for (const { type, parameters } of parseAccept(accept ?? '')) {
    if (type !== 'application/json' && type !== 'application/*' && type !== '*/*') continue
    const { g, v, as } = parameters
    if (g !== 'apidiscovery.k8s.io' || as !== 'APIGroupDiscoveryList') continue
    if (v === 'v2' || v === 'v2beta1') return v
  }
  return undefined
}

export function aggregatedContentType(version: AggregatedVersion): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
}

export function toAggregated(groups: readonly GroupVersions[], version: AggregatedVersion) {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ group, versions }) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map(toVersion),
    })),
  }
}

/** A group version whose server does not answer is shown as stale, so that clients know that something is missing. */
function toVersion({ version, kinds, foreign }: VersionKinds) {
  if (foreign === undefined) return { version, resources: kinds.map(toResource), freshness: 'Current' }
  if (foreign.resources === undefined) return { version, freshness: 'Stale' }
  return { version, ...(foreign.resources.length > 0 && { resources: foreign.resources }), freshness: 'Current' }
}

function toResource(kind: ServedKind) {
  // Built-in kinds leave group and version to the place where they stand; clients fill them in from there.
  const own = { group: kind.isCustom ? kind.group : '', version: kind.isCustom ? kind.version : '' }
  const subresources = inServedOrder(kind).map(sub => ({
    subresource: sub.name,
    responseKind: { group: sub.group ?? own.group, version: sub.version ?? own.version, kind: sub.kind ?? kind.kind },
    verbs: inVerbOrder(kind, sub.verbs),
  }))
  return {
    resource: kind.plural,
    responseKind: { ...own, kind: kind.kind },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: inVerbOrder(kind, kind.verbs),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}

/** A content hash in the form of a header; equal content has an equal tag, also after a restart. */
export function toETag(content: string | Buffer): string {
  return `"${createHash('sha512').update(content).digest('hex').toUpperCase()}"`
}

/** Whether `If-None-Match` says that the client already has it. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
}
