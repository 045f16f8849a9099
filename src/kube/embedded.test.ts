// The client, discovery and reflector against the real API server, in one process.

import { describe, expect, test } from 'vitest'
import { kubeWire } from '../../test/harness/kube-wire.ts'
import { aConfigMap, define } from '../../test/harness/objects.ts'
import { aWorld, certificates, toDER, type World } from '../../test/harness/world.ts'
import { seededRandom } from '../runtime/random.ts'
import { settle, VirtualClock } from '../runtime/virtual-clock.ts'
import { silentLog } from '../telemetry/log.ts'
import { Cache } from './cache.ts'
import { createClient } from './client.ts'
import { createDiscovery } from './discovery.ts'
import { defineKind, type KubeObject } from './object.ts'
import { Reflector } from './reflector.ts'
import { outcomeOf } from './refusal.ts'

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
  const wire = kubeWire({
    handler: () => world.server.handler,
    peerCertificate: toDER(certificates().admin().certificate),
  })
  const discovery = createDiscovery({ wire, clock, name: 'tester' })
  const client = createClient({ wire, clock, versionOf: discovery.versionOf, name: 'tester' })
  return {
    clock,
    discovery,
    client,
    get world() {
      return world
    },
    set world(next: World) {
      world = next
    },
  }
}

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

    const add = [{ op: 'add', path: '/data/d', value: '4' }] as const
    expect(await outcomeOf(client.jsonPatch(configMaps, here, add, { resourceVersion }))).toMatchObject({
      reason: 'Conflict',
    })
    expect(await outcomeOf(client.jsonPatch(configMaps, here, add, { uid: 'another' }))).toMatchObject({
      reason: 'Conflict',
    })
    expect((await client.jsonPatch(configMaps, here, add, { uid })).data).toHaveProperty('d', '4')

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
  function reflect(parts: Awaited<ReturnType<typeof connect>>) {
    const cache = new Cache<ConfigMap>({ isFrozen: true })
    const reflector = new Reflector({
      ...parts,
      client: parts.client,
      clock: parts.clock,
      kind: configMaps,
      namespace: 'default',
      cache,
      random: seededRandom(1),
      log: silentLog,
    })
    reflector.start()
    return { cache, reflector }
  }

  test('lists two thousand objects by pages and follows them', async () => {
    const parts = await connect()
    const { world, clock } = parts
    for (let i = 0; i < 2000; i++) {
      await world.admin.create('/api/v1/namespaces/default/configmaps', aConfigMap(`c-${i}`))
    }
    const { cache, reflector } = reflect(parts)
    await cache.synced()
    const listed = await world.admin.get('/api/v1/namespaces/default/configmaps')
    expect([...cache.keys()].toSorted()).toEqual(
      listed.body.items.map(item => `default/${item.metadata.name}`).toSorted(),
    )
    await world.admin.create('/api/v1/namespaces/default/configmaps', aConfigMap('another'))
    await settle()
    expect(cache.get('default/another')).toBeDefined()
    await reflector.stop('shutdown')
    expect(clock.timers).toBe(0)
  })
})
