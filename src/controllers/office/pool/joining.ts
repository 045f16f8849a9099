// Which space a pool of a namespace belongs to that asks for one by name, by the pools in view (src/ipam/joining.ts).

import type { Pool } from '../../../api/pool.ts'
import { selects } from '../../../api/selector.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { decideSpace, type Joining } from '../../../ipam/joining.ts'
import { poolText } from '../../../ipam/refusal.ts'
import { pools as poolKinds } from '../kinds.ts'
import { poolOf } from '../parsed.ts'
import type { Views } from '../views.ts'

export function joiningOf(pool: Pool, views: Pick<Views, 'pools' | 'namespaces'>): Joining {
  const { spaceAsked, identity } = pool
  if (spaceAsked === undefined || identity.namespace === '') return { space: pool.space }
  const namespace = views.namespaces.get(identity.namespace)
  const labels = namespace && (namespace.metadata.labels ?? {})
  const members = poolsOfCluster(views).flatMap(other => {
    if (other.space !== spaceAsked) return []
    const { allowedNamespaces } = other
    const offers = allowedNamespaces === undefined || (labels !== undefined && selects(allowedNamespaces, labels))
    return [{ text: poolText(other.identity), offers }]
  })
  return decideSpace(pool, members)
}

export const isRefused = (pool: Pool, views: Pick<Views, 'pools' | 'namespaces'>): boolean =>
  'refused' in joiningOf(pool, views)

function poolsOfCluster({ pools }: Pick<Views, 'pools'>): Pool[] {
  const ofCluster = poolKinds.filter(({ namespaced }) => !namespaced).map(({ kind }) => pools.get(kind))
  const all = ofCluster.flatMap(cache => [...(cache?.values() ?? [])].map(poolOf))
  return all.flatMap(pool => (isMalformed(pool) ? [] : [pool]))
}
