import { describe, expect, test } from 'vitest'
import { type Body, ok } from '../../../test/harness/client.ts'
import {
  aConfigMap,
  aNamespace,
  aWidget,
  configMaps,
  define,
  namespaces,
  ownedBy,
  widgets,
} from '../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../test/harness/world.ts'

const hold = 'example.com/hold'
const foreground = { propagationPolicy: 'Foreground' }

async function make(world: World, name: string, owners: readonly object[] = [], metadata: object = {}): Promise<Body> {
  const object = aConfigMap(name, {}, { ...metadata, ...(owners.length > 0 && { ownerReferences: owners as never }) })
  return ok(await world.admin.create(configMaps(), object))
}

async function left(world: World): Promise<string[]> {
  await world.settled()
  const { items } = ok(await world.admin.get(configMaps()))
  expect(world.faults).toEqual([])
  return items.map(item => item.metadata.name ?? '').filter(name => name !== 'kube-root-ca.crt')
}

const owner = (object: Body, more: object = {}) => ownedBy({ ...object, kind: 'ConfigMap', apiVersion: 'v1' }, more)
const remove = (world: World, name: string, options?: object) => world.admin.delete(`${configMaps()}/${name}`, options)

describe('an object whose owner goes', () => {
  test('goes as well, and so do its own', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    const b = await make(world, 'b', [owner(a)])
    await make(world, 'c', [owner(b)])
    await make(world, 'bystander')
    expect(await left(world)).toEqual(['a', 'b', 'bystander', 'c'])
    ok(await remove(world, 'a'))
    expect(await left(world)).toEqual(['bystander'])
  })

  test('stays while another owner is there, and forgets the one that went', async () => {
    const world = await aWorld()
    const [a, b] = [await make(world, 'a'), await make(world, 'b')]
    await make(world, 'c', [owner(a), owner(b)])
    ok(await remove(world, 'a'))
    expect(await left(world)).toEqual(['b', 'c'])
    const c = ok(await world.admin.get(`${configMaps()}/c`))
    expect(c.metadata.ownerReferences).toMatchObject([{ name: 'b' }])
    ok(await remove(world, 'b'))
    expect(await left(world)).toEqual([])
  })

  test('is orphaned when that is asked for', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    await make(world, 'b', [owner(a)])
    ok(await remove(world, 'a', { propagationPolicy: 'Orphan' }))
    expect(await left(world)).toEqual(['b'])
    expect(ok(await world.admin.get(`${configMaps()}/b`)).metadata.ownerReferences).toBeUndefined()
  })
})

describe('an owner that was never there', () => {
  test.each([
    ['no such object', { name: 'ghost', uid: 'ghost' }],
    ['an object of that name and another uid', { name: 'real', uid: 'another' }],
  ])('%s: the object goes', async (_, reference) => {
    const world = await aWorld()
    await make(world, 'real')
    await make(world, 'b', [{ apiVersion: 'v1', kind: 'ConfigMap', ...reference }])
    expect(await left(world)).toEqual(['real'])
  })

  test('in another namespace is no owner', async () => {
    const world = await aWorld()
    ok(await world.admin.create(namespaces, aNamespace('elsewhere')))
    const a = ok(await world.admin.create(configMaps('elsewhere'), aConfigMap('a')))
    await make(world, 'b', [owner(a)])
    expect(await left(world)).toEqual([])
  })

  test('of a cluster-wide object cannot be namespaced: nothing is decided', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    const claimed = { ...aNamespace('claimed'), metadata: { name: 'claimed', ownerReferences: [owner(a)] } }
    ok(await world.admin.create(namespaces, claimed))
    ok(await remove(world, 'a'))
    await world.settled()
    expect((await world.admin.get(`${namespaces}/claimed`)).code).toBe(200)
  })

  test('of a kind that is not served is waited for; when the kind is served, it is judged', async () => {
    const world = await aWorld()
    await make(world, 'b', [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'w' }])
    expect(await left(world)).toEqual(['b'])
    await define(world)
    expect(await left(world)).toEqual([])
  })
})

describe('a deletion in the foreground', () => {
  test('keeps the owner until those that block it are gone', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    await make(world, 'b', [owner(a, { blockOwnerDeletion: true })], { finalizers: [hold] })
    const doomed = ok(await remove(world, 'a', foreground))
    expect(doomed.metadata.finalizers).toEqual(['foregroundDeletion'])
    expect(await left(world)).toEqual(['a', 'b'])
    ok(await world.admin.patch(`${configMaps()}/b`, { metadata: { finalizers: null } }))
    expect(await left(world)).toEqual([])
  })

  test('does not wait for those that do not block it', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    await make(world, 'b', [owner(a)], { finalizers: [hold] })
    ok(await remove(world, 'a', foreground))
    expect(await left(world)).toEqual(['b'])
    expect(ok(await world.admin.get(`${configMaps()}/b`)).metadata.deletionTimestamp).toBeDefined()
  })

  test('goes down level by level', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    const b = await make(world, 'b', [owner(a, { blockOwnerDeletion: true })])
    await make(world, 'c', [owner(b, { blockOwnerDeletion: true })], { finalizers: [hold] })
    ok(await remove(world, 'a', foreground))
    expect(await left(world)).toEqual(['a', 'b', 'c'])
    ok(await world.admin.patch(`${configMaps()}/c`, { metadata: { finalizers: null } }))
    expect(await left(world)).toEqual([])
  })

  test('of objects that own each other ends', async () => {
    const world = await aWorld()
    const a = await make(world, 'a')
    const b = await make(world, 'b', [owner(a, { blockOwnerDeletion: true })])
    const ownerReferences = [owner(b, { blockOwnerDeletion: true })]
    ok(await world.admin.patch(`${configMaps()}/a`, { metadata: { ownerReferences } }))
    expect(await left(world)).toEqual(['a', 'b'])
    ok(await remove(world, 'a', foreground))
    expect(await left(world)).toEqual([])
  })
})

test('what was left to do when the server stopped is done when it starts', async () => {
  const world = await aWorld()
  await define(world)
  const w = ok(await world.admin.create(widgets(), aWidget('w')))
  await make(world, 'b', [ownedBy(w)])
  await world.settled()
  const gone = world.admin.delete(`${widgets()}/w`)
  world.stop()
  ok(await gone)
  const next = await world.restart()
  expect(await left(next)).toEqual([])
  next.stop()
})

test('an object that is let go at the last moment is not deleted for its former owner', async () => {
  const world = await aWorld()
  const a = await make(world, 'a')
  await make(world, 'b', [owner(a)])
  await world.settled()
  world.meanwhile(
    request => request.operation === 'DELETE' && request.name === 'b',
    () => world.admin.patch(`${configMaps()}/b`, { metadata: { ownerReferences: null } }),
  )
  ok(await remove(world, 'a'))
  expect(await left(world)).toEqual(['b'])
})
