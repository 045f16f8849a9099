import { expect, test } from 'vitest'
import { Cache } from '../../kube/cache.ts'
import type { Client, DeleteResult } from '../../kube/client.ts'
import type { KubeObject } from '../../kube/object.ts'
import { reportOf } from './parsed.ts'
import { removeReport } from './steps.ts'

const guard = 'ipam.cluster.x-k8s.io/ProtectAddress'

/** One IPAddress on a server that does with it what Kubernetes does, and everything it ever was. */
function aServer(finalizers: string[]) {
  const made = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name: 'web', namespace: 'prod', uid: 'u-1', resourceVersion: '1', finalizers },
    spec: { address: '10.0.0.2', prefix: 24, poolRef: { apiGroup: 'mooring.dev', kind: 'AddressPool', name: 'vms' } },
  }
  let stored: KubeObject | undefined = made
  const history: (KubeObject | undefined)[] = [stored]
  const write = (change: Partial<KubeObject['metadata']>) => {
    if (stored === undefined) throw new Error('it is gone')
    const metadata = { ...stored.metadata, ...change, resourceVersion: String(history.length + 1) }
    const isGone = metadata.deletionTimestamp !== undefined && metadata.finalizers?.length === 0
    stored = isGone ? undefined : { ...stored, metadata }
    history.push(stored)
    return stored
  }
  const expectVersion = (options?: { resourceVersion?: string | undefined }) =>
    expect(options?.resourceVersion).toBe(stored?.metadata.resourceVersion)
  const client: Partial<Client> = {
    get: async () => stored as never,
    delete: async (_kind, _ref, options): Promise<DeleteResult> => {
      expectVersion(options)
      return write({ deletionTimestamp: '2026-01-01T00:00:00Z' }) === undefined ? 'deleted' : 'deleting'
    },
    mergePatch: async (_kind, _ref, patch, options) => {
      expectVersion(options)
      return write((patch as { metadata: object }).metadata) as never
    },
  }
  const reports = new Cache<KubeObject>()
  reports.put(made)
  const world = { client, caches: { reports } } as unknown as Parameters<typeof removeReport>[0]
  return { history, reports, world }
}

test.each([
  ['guarded', [guard], true],
  ['guarded also by another controller', [guard, 'example.org/mine'], false],
  ['without a guard', [], true],
])('an IPAddress that is removed, %s, never lives without its guard', async (_, finalizers, goes) => {
  const { history, reports, world } = aServer(finalizers)
  const report = reportOf(history[0] ?? {})
  if ('malformed' in report) throw new Error(report.malformed)
  await removeReport(world, report)
  const unguarded = history.slice(1).filter(one => one && !one.metadata.deletionTimestamp)
  expect(unguarded).toEqual([])
  expect(history.at(-1) === undefined).toBe(goes)
  expect(reports.size).toBe(goes ? 0 : 1)
  expect(history.at(-1)?.metadata.finalizers ?? []).not.toContain(guard)
})
