// What the checks ask of an API server for as long as the controller runs, with every desk on.

import { expect, test } from 'vitest'
import { silentLog } from '../../test/harness/silent-log.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { componentsOf } from '../controllers/assemble.ts'
import { desks } from '../controllers/desks.ts'
import type { Client } from '../kube/client.ts'
import { createDiscovery } from '../kube/discovery.ts'
import type { Kind } from '../kube/object.ts'
import type { Wire } from '../kube/wire.ts'
import { permissionSets, singlePermissions } from './permissions.ts'
import { StartUpChecks } from './start-up-checks.ts'

const on = desks.map(({ name }) => name)
const kinds = componentsOf(desks, on).flatMap(({ name, kinds }) => kinds.map(kind => ({ of: name, ...kind })))
const everywhere = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]

/** A server with the kinds of these groups, where the controller has all of its permissions or none. */
function aServer(hasGroup: (group: string) => boolean, isAllowed: boolean) {
  const clock = new VirtualClock()
  const asked = { gets: [] as string[], posts: 0 }
  const wire: Wire = async ({ path }) => {
    asked.gets.push(path)
    const [, root, ...rest] = path.split('/')
    const [group = '', version] = root === 'api' ? ['', ...rest] : rest
    if (!hasGroup(group)) return { status: 404, headers: {}, body: '{}' }
    const ofGroup = kinds.filter(({ kind }) => kind.group === group)
    const versions = [...new Set(ofGroup.flatMap(({ kind }) => kind.versions))].map(one => ({ version: one }))
    const resources = ofGroup.map(({ kind }) => ({ name: kind.plural }))
    return { status: 200, headers: {}, body: JSON.stringify(version === undefined ? { versions } : { resources }) }
  }
  const create = async (kind: Kind, object: object) => {
    asked.posts++
    const isOfRules = kind.plural === 'selfsubjectrulesreviews'
    const status = isOfRules ? { resourceRules: isAllowed ? everywhere : [] } : { allowed: isAllowed }
    return { ...object, status }
  }
  const parts = { watchedNamespace: '', ownNamespace: 'own', isElecting: true, isDiagnosing: true, isAnswering: true }
  const permissions = singlePermissions({ sets: permissionSets(desks, on), ...parts })
  const checks = new StartUpChecks({
    client: { create } as unknown as Pick<Client, 'create'>,
    discovery: createDiscovery({ wire, clock, name: 'tester' }),
    clock,
    log: silentLog,
    kinds,
    permissions,
  })
  return { clock, asked, checks, permissions }
}

test.each([
  ['has every kind', () => true, true],
  ['has the kinds of Cluster API and ours alone', (group: string) => /^$|mooring|cluster\.x-k8s/.test(group), true],
  ['allows nothing', () => true, false],
])('after some minutes there are two looks a minute at a server that %s', async (_, hasGroup, isAllowed) => {
  const { clock, asked, checks, permissions } = aServer(hasGroup, isAllowed)
  const stop = new AbortController()
  const running = checks.run(stop.signal)
  for (let second = 0; second < 180; second++) await clock.advance(1_000)
  asked.gets.length = 0
  asked.posts = 0
  for (let second = 0; second < 600; second++) await clock.advance(1_000)
  const times = new Map<string, number>()
  for (const path of asked.gets) times.set(path, (times.get(path) ?? 0) + 1)
  // Each document is read once in a look.
  expect(Math.max(...times.values())).toBeLessThanOrEqual(20)
  expect(asked.posts).toBeLessThanOrEqual(20 * (isAllowed ? 2 : permissions.length + 1))
  stop.abort()
  await running
})
