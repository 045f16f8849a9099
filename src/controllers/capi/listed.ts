// The world of the desk, filled from lists instead of watches: what a command rests on that says beforehand what the desk will do. The
// same caches, ledger and sources, so that no rule of the desk exists twice.

import { isApiError } from '../../kube/api-error.ts'
import type { Client } from '../../kube/client.ts'
import type { Kind, KubeObject } from '../../kube/object.ts'
import * as kinds from '../office/kinds.ts'
import { Ledger } from '../office/ledger.ts'
import type { Scope } from '../office/scope.ts'
import { Sources } from '../office/sources.ts'
import { followHolds, keyOfKind } from '../office/views.ts'
import { claims, clusters, reports } from './kinds.ts'
import { isMarkedForMove, leavingMs } from './moved.ts'
import { followShown, showChoices } from './shown.ts'
import { type CapiWorld, createCaches } from './world.ts'

/** Everything the desk looks at, as it was listed. */
export interface Listed {
  /** By kind and group. */
  readonly pools: ReadonlyMap<string, readonly KubeObject[]>
  readonly claims: readonly KubeObject[]
  readonly reports: readonly KubeObject[]
  readonly holds: readonly KubeObject[]
  readonly clusters: readonly KubeObject[]
  readonly namespaces: readonly KubeObject[]
}

export interface ListedWorld extends Pick<CapiWorld, 'caches' | 'random' | 'moved'> {
  readonly ledger: Ledger
  readonly sources: Sources
}

/** Of a kind with namespaces only what the caches of the desk would have. A kind that is not installed has no objects. */
export async function listAll(
  client: Pick<Client, 'list'>,
  kind: Kind,
  { namespace }: Pick<Scope, 'namespace'>,
): Promise<readonly KubeObject[]> {
  try {
    return (await client.list(kind, kind.namespaced && namespace !== '' ? { namespace } : {})).items
  } catch (error) {
    if (isApiError(error, 'NotInstalled')) return []
    throw error
  }
}

/** Addresses last: the address of a claim that is bound in between is then listed too. */
export async function listWorld(client: Pick<Client, 'list'>, scope: Scope): Promise<Listed> {
  const pools = new Map<string, readonly KubeObject[]>()
  for (const kind of kinds.pools) pools.set(keyOfKind(kind), await listAll(client, kind, scope))
  return {
    pools,
    holds: await listAll(client, kinds.holds, scope),
    clusters: await listAll(client, clusters, scope),
    namespaces: await listAll(client, kinds.namespaces, scope),
    claims: await listAll(client, claims, scope),
    reports: await listAll(client, reports, scope),
  }
}

export function worldOf(listed: Listed): ListedWorld {
  const caches = createCaches()
  const ledger = new Ledger()
  const sources = new Sources(caches, ledger)
  followHolds(caches, ledger)
  const seen = { ...caches, sources }
  followShown(seen, ledger)
  // Pools first: an address shows only once it is known in which space.
  for (const [kind, cache] of caches.pools) cache.replace(listed.pools.get(kind) ?? [], '')
  caches.holds.replace(listed.holds, '')
  caches.claims.replace(listed.claims, '')
  caches.reports.replace(listed.reports, '')
  caches.clusters.replace(listed.clusters, '')
  caches.namespaces.replace(listed.namespaces, '')
  showChoices(seen, ledger)
  return {
    caches,
    ledger,
    sources,
    random: () => 0,
    moved: { leavesForMs: claim => (isMarkedForMove(claim) ? leavingMs : 0) },
  }
}
