import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aPod, namespaces, pods } from '../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../test/harness/world.ts'

const claims = `${namespaces}/default/persistentvolumeclaims`
const volumes = '/api/v1/persistentvolumes'
const protection = 'kubernetes.io/pvc-protection'

const aClaim = (name: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
})

const aUser = (name: string, claim: string, spec: object = {}) =>
  aPod(name, { volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: claim } }], ...spec })

async function deleted(world: World, path: string): Promise<number> {
  ok(await world.admin.delete(path))
  await world.settled()
  return (await world.admin.get(path)).code
}

describe('a claim to a volume', () => {
  test('is protected from the start, and goes when no pod uses it', async () => {
    const world = await aWorld()
    const made = ok(await world.admin.create(claims, aClaim('one')))
    expect(made.metadata.finalizers).toEqual([protection])
    expect(await deleted(world, `${claims}/one`)).toBe(404)
    expect(world.faults).toEqual([])
  })

  test.each([
    ['stays while a pod that runs on a node names it', { nodeName: 'node' }, 'Running', 200],
    ['stays while a pod that has ended on a node names it', { nodeName: 'node' }, 'Succeeded', 200],
    ['goes although a pod that no node has seen names it', {}, 'Pending', 404],
  ])('%s', async (_, spec, phase, code) => {
    const world = await aWorld()
    ok(await world.admin.create(claims, aClaim('one')))
    ok(await world.admin.create(pods(), aUser('user', 'one', spec)))
    ok(await world.admin.patch(`${pods()}/user/status`, { status: { phase } }))
    expect(await deleted(world, `${claims}/one`)).toBe(code)
  })

  test('goes with the last pod that uses it', async () => {
    const world = await aWorld()
    ok(await world.admin.create(claims, aClaim('one')))
    for (const name of ['first', 'last']) ok(await world.admin.create(pods(), aUser(name, 'one', { nodeName: 'node' })))
    expect(await deleted(world, `${claims}/one`)).toBe(200)
    ok(await world.admin.delete(`${pods()}/first`, { gracePeriodSeconds: 0 }))
    await world.settled()
    expect((await world.admin.get(`${claims}/one`)).code).toBe(200)
    ok(await world.admin.delete(`${pods()}/last`, { gracePeriodSeconds: 0 }))
    await world.settled()
    expect((await world.admin.get(`${claims}/one`)).code).toBe(404)
  })

  test('that was deleted just before the server stopped is let go at the next start', async () => {
    const world = await aWorld()
    ok(await world.admin.create(claims, aClaim('one')))
    ok(await world.admin.patch(`${claims}/one`, { metadata: { finalizers: ['example.com/own', protection] } }))
    ok(await world.admin.delete(`${claims}/one`))
    world.stop()
    const again = await world.restart()
    await again.settled()
    expect(ok(await again.admin.get(`${claims}/one`)).metadata.finalizers).toEqual(['example.com/own'])
    again.stop()
  })

  test('gets its finalizer back', async () => {
    const world = await aWorld()
    ok(await world.admin.create(claims, aClaim('one')))
    ok(await world.admin.patch(`${claims}/one`, { metadata: { finalizers: null } }))
    await world.settled()
    expect(ok(await world.admin.get(`${claims}/one`)).metadata.finalizers).toEqual([protection])
  })
})

test('a volume is kept while it is bound', async () => {
  const world = await aWorld()
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } }
  ok(await world.admin.create(volumes, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'one' }, spec }))
  ok(await world.admin.patch(`${volumes}/one/status`, { status: { phase: 'Bound' } }))
  expect(await deleted(world, `${volumes}/one`)).toBe(200)
  ok(await world.admin.patch(`${volumes}/one/status`, { status: { phase: 'Released' } }))
  await world.settled()
  expect((await world.admin.get(`${volumes}/one`)).code).toBe(404)
})
