// Which space a pool of a namespace belongs to that asks for one by name, by the pools in view (src/ipam/joining.ts).

import type { Pool } from '../../../api/pool.ts'
import { selects } from '../../../api/selector.ts'
import { decideSpace, type Joining } from '../../../ipam/joining.ts'
import { poolText } from '../../../ipam/refusal.ts'
import { allPools, type Views } from '../views.ts'

export function joiningOf(pool: Pool, views: Pick<Views, 'pools' | 'namespaces'>): Joining {
  const { spaceAsked, identity } = pool
  if (spaceAsked === undefined || identity.namespace === '') return { space: pool.space }
  const namespace = views.namespaces.get(identity.namespace)
  const labels = namespace && (namespace.metadata.labels ?? {})
  const members = [...allPools(views)].flatMap(other => {
    if (other.identity.namespace !== '' || other.space !== spaceAsked) return []
    const { allowedNamespaces } = other
    const offers = allowedNamespaces === undefined || (labels !== undefined && selects(allowedNamespaces, labels))
    return [{ text: poolText(other.identity), offers }]
  })
  return decideSpace(pool, members)
}
