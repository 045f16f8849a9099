// Over which network a live migration went, told from what KubeVirt leaves in its object: the address that the target listened on.
// virt-handler that has no interface of the migration network takes the pod network without a word: only this shows it.

import { isRecord } from '../api/shape.ts'
import { hasSubnetOf, type MigrationRange } from './range.ts'

export interface Went {
  /** namespace/name. */
  readonly machine: string
  readonly targetNode: string
  readonly targetAddress: string
  /** As KubeVirt wrote it; empty where it did not. */
  readonly endedAt: string
  /** In KubeVirt's words. */
  readonly network: 'Migration' | 'Pod'
}

/** Undefined of a migration that is not over, or that never had a target. */
export function wentOf(migration: unknown, ranges: readonly MigrationRange[]): Went | undefined {
  const phase = textIn(migration, 'status', 'phase')
  const inState = (field: string) => textIn(migration, 'status', 'migrationState', field)
  const targetAddress = inState('targetNodeAddress')
  if (targetAddress === '' || (phase !== 'Succeeded' && phase !== 'Failed')) return undefined
  return {
    machine: `${textIn(migration, 'metadata', 'namespace')}/${textIn(migration, 'spec', 'vmiName')}`,
    targetNode: inState('targetNode'),
    targetAddress,
    endedAt: inState('endTimestamp'),
    network: hasSubnetOf(ranges, targetAddress) ? 'Migration' : 'Pod',
  }
}

/** The last ones first. KubeVirt keeps some of each machine. */
export function lastOf(migrations: Iterable<unknown>, ranges: readonly MigrationRange[], count: number): Went[] {
  return [...migrations]
    .flatMap(one => wentOf(one, ranges) ?? [])
    .toSorted((one, other) => (one.endedAt > other.endedAt ? -1 : 1))
    .slice(0, count)
}

function textIn(object: unknown, ...path: readonly string[]): string {
  const at = path.reduce<unknown>(
    (one, key) => (isRecord(one) && Object.hasOwn(one, key) ? one[key] : undefined),
    object,
  )
  return typeof at === 'string' ? at : ''
}
