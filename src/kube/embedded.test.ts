// The client, discovery and reflector against the real API server, in one process.

import { describe, expect, test } from 'vitest'
import { kubeWire } from '../../test/harness/kube-wire.ts'
import { aConfigMap, aWidget, define } from '../../test/harness/objects.ts'
import { outcomeOf } from '../../test/harness/outcome.ts'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { aWorld, certificates, toDER, type World } from '../../test/harness/world.ts'
import { Cache } from './cache.ts'
import { createClient } from './client.ts'
import { createDiscovery } from './discovery.ts'
import { defineKind, type Kind, type KubeObject } from './object.ts'
import { Reflector } from './reflector.ts'
import { type Wire, WireError } from './wire.ts'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const configMaps = defineKind<ConfigMap>({
  group: '',
  versions: ['v1'],
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
})

const widgets = defineKind<KubeObject & { spec?: object }>({
  group: 'example.com',
  versions: ['v2', 'v1'],
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
})

async function connect() {
  let world = await aWorld()
  const clock = new VirtualClock()
  const server = kubeWire({
    handler: () => world.server.handler,
    peerCertificate: toDER(certificates().admin().certificate),
  })
  const requests: string[] = []
  const streams = new Set<AbortController>()
  let isDown = false
  const wire: Wire = request => {
    requests.push(request.path)
    if (isDown) return Promise.reject(new WireError('down', false))
    if (request.isStream !== true) return server(request)
    const stream = new AbortController()
    streams.add(stream)
    return server({ ...request, signal: AbortSignal.any([request.signal, stream.signal]) })
  }
  const discovery = createDiscovery({ wire, clock, name: 'tester' })
  const client = createClient({ wire, clock, versionOf: discovery.versionOf, name: 'tester' })
  return {
    clock,
    discovery,
    client,
    requests,
    /** As when a server goes away: connections break. */
    cutStreams() {
      for (const stream of streams) stream.abort()
      streams.clear()
    },
    set isDown(next: boolean) {
      isDown = next
    },
    get world() {
      return world
    },
    set world(next: World) {
      world = next
    },
  }
}

const nameOf = (object: KubeObject) => object.metadata.name ?? ''
const byText = (one: string, other: string) => (one < other ? -1 : 1)

const here = { namespace: 'default', name: 'one' }

describe('the client', () => {
  test('creates, reads, patches and deletes one object', async () => {
    const { client } = await connect()
    const made = await client.create(configMaps, aConfigMap('one', { a: '1' }, { namespace: 'default' }) as ConfigMap)
    const { uid = '', resourceVersion = '' } = made.metadata
    expect((await client.get(configMaps, here))?.data).toEqual({ a: '1' })

    const again = await outcomeOf(client.create(configMaps, made))
    expect(again).toMatchObject({ ok: false })
    const twice = await outcomeOf(client.create(configMaps, { metadata: { name: 'one', namespace: 'default' } }))
    expect(twice).toMatchObject({ ok: false, reason: 'AlreadyExists' })

    const patched = await client.mergePatch(configMaps, here, { data: { b: '2' } }, { uid, resourceVersion })
    expect(patched.data).toEqual({ a: '1', b: '2' })
    const outdated = await outcomeOf(client.mergePatch(configMaps, here, { data: {} }, { resourceVersion }))
    expect(outdated).toMatchObject({ ok: false, reason: 'Conflict' })
    const stranger = await outcomeOf(client.mergePatch(configMaps, here, { data: { c: '3' } }, { uid: 'another' }))
    expect(stranger).toMatchObject({ ok: false, reason: 'Conflict' })

    const applied = await client.apply(configMaps, here, { data: { e: '5' } }, { uid })
    expect(applied.data).toHaveProperty('e', '5')

    expect(await outcomeOf(client.delete(configMaps, here, { uid: 'another' }))).toMatchObject({ reason: 'Conflict' })
    expect(await client.delete(configMaps, here, { uid })).toBe('deleted')
    expect(await client.delete(configMaps, here, { uid })).toBe('absent')
    expect(await client.get(configMaps, here)).toBeUndefined()
  })

  test('says that an object is still being deleted while a finalizer holds it', async () => {
    const { client } = await connect()
    const metadata = { name: 'one', namespace: 'default', finalizers: ['example.com/hold'] }
    await client.create(configMaps, { metadata })
    expect(await client.delete(configMaps, here)).toBe('deleting')
  })

  test('tells a missing object from a kind that is not installed', async () => {
    const world = await connect()
    expect(await outcomeOf(world.client.get(widgets, here))).toMatchObject({ reason: 'NotInstalled' })
    await define(world.world)
    expect(await outcomeOf(world.client.get(widgets, here))).toMatchObject({ reason: 'NotInstalled' })
    await world.clock.advance(2_000)
    expect(await world.client.get(widgets, here)).toBeUndefined()
  })
})

describe('the reflector', () => {
  const path = '/api/v1/namespaces/default/configmaps'

  function reflect<T extends KubeObject>(parts: Awaited<ReturnType<typeof connect>>, kind: Kind<T>) {
    const cache = new Cache<T>({ isFrozen: true })
    const { client, clock, discovery } = parts
    const reflector = new Reflector({
      kind,
      cache,
      client,
      clock,
      namespace: 'default',
      random: seededRandom(1),
      log: silentLog,
      onNotInstalled: () => discovery.forget(kind),
    })
    reflector.start()
    const names = () => [...cache.values()].map(nameOf).toSorted(byText)
    return { cache, reflector, names }
  }

  async function listed({ world }: Awaited<ReturnType<typeof connect>>, where = path) {
    const { body } = await world.admin.get(where)
    return body.items.map(nameOf).toSorted(byText)
  }

  test('lists two thousand objects by pages, and follows them', async () => {
    const parts = await connect()
    const { world, clock } = parts
    for (let i = 0; i < 2000; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => world.admin.create(path, aConfigMap(`c-${i + j}`))))
    }
    const { cache, reflector, names } = reflect(parts, configMaps)
    await cache.synced()
    expect(cache.size).toBeGreaterThanOrEqual(2000)
    expect(names()).toEqual(await listed(parts))
    await world.admin.create(path, aConfigMap('another'))
    await world.admin.delete(`${path}/c-7`)
    await settle()
    expect(names()).toEqual(await listed(parts))
    await reflector.stop('shutdown')
    expect(clock.timers).toBe(0)
  })

  test('goes on where it was when the server is started again, without a new list', async () => {
    const parts = await connect()
    const { clock } = parts
    await parts.world.admin.create(path, aConfigMap('before'))
    const { reflector, names } = reflect(parts, configMaps)
    await settle()
    expect(names()).toContain('before')
    parts.world = await parts.world.restart()
    parts.cutStreams()
    const lists = parts.requests.filter(request => !request.includes('watch=')).length
    await parts.world.admin.create(path, aConfigMap('after'))
    await clock.advance(10_000)
    expect(names()).toEqual(await listed(parts))
    expect(parts.requests.filter(request => !request.includes('watch=')).length).toBe(lists)
    await reflector.stop('shutdown')
  })

  test('lists again when what it missed was compacted away', async () => {
    const parts = await connect()
    const { clock, world } = parts
    await world.admin.create(path, aConfigMap('one'))
    await world.admin.create(path, aConfigMap('two'))
    const { reflector, names } = reflect(parts, configMaps)
    await settle()
    parts.isDown = true
    parts.cutStreams()
    await world.admin.delete(`${path}/one`)
    await world.admin.create(path, aConfigMap('three'))
    await world.store.compact(world.store.revision)
    parts.isDown = false
    const before = parts.requests.length
    await clock.advance(60_000)
    expect(names()).toEqual(await listed(parts))
    expect(parts.requests.slice(before).some(request => !request.includes('watch='))).toBe(true)
    await reflector.stop('shutdown')
  })

  test('waits for a kind, follows it in the version that is served, and notices its end and its return', async () => {
    const parts = await connect()
    const { clock } = parts
    const there = '/apis/example.com/v1/namespaces/default/widgets'
    const { cache, reflector, names } = reflect(parts, widgets)
    await cache.synced()
    expect([reflector.state, cache.size]).toEqual(['not installed', 0])
    await define(parts.world)
    await parts.world.admin.create(there, aWidget('one'))
    await clock.advance(10_000)
    expect([reflector.state, names()]).toEqual(['watching', ['one']])
    await parts.world.admin.delete('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com')
    await parts.world.settled()
    await clock.advance(10 * 60_000)
    expect([reflector.state, names()]).toEqual(['not installed', []])
    await define(parts.world)
    await parts.world.admin.create(there, aWidget('two'))
    await clock.advance(10_000)
    expect([reflector.state, names()]).toEqual(['watching', ['two']])
    await reflector.stop('shutdown')
  })
})
