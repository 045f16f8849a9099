import { describe, expect, test } from 'vitest'
import { type Event, ok } from '../../../test/harness/client.ts'
import { aConfigMap, aVersion, aWidget, configMaps, define, widgets } from '../../../test/harness/objects.ts'
import { aWorld } from '../../../test/harness/world.ts'
import { bookmarkIntervalMs, watchBufferBytesMax } from '../../limits.ts'

const told = (events: readonly (Event | undefined)[]) =>
  events.map(event => `${event?.type} ${event?.object.metadata.name ?? ''}`.trim())

describe('watching', () => {
  test('shows what is there, then every change in order, each with its version', async () => {
    const world = await aWorld()
    await define(world)
    const first = ok(await world.admin.create(widgets(), aWidget('one')))
    const watch = await world.admin.watch(widgets())
    ok(await world.admin.patch(`${widgets()}/one`, { spec: { a: 1 } }))
    ok(await world.admin.create(widgets(), aWidget('two')))
    ok(await world.admin.delete(`${widgets()}/one`))
    const events = await watch.take(4)
    expect(told(events)).toEqual(['ADDED one', 'MODIFIED one', 'ADDED two', 'DELETED one'])
    const versions = events.map(event => Number(event.object.metadata.resourceVersion))
    expect(versions).toEqual([...versions].sort((a, b) => a - b))
    expect(versions[0]).toBe(Number(first.metadata.resourceVersion))
    expect(versions[3]).toBe(world.store.revision)
    expect(events[3]?.object.spec).toEqual({ a: 1 })
  })

  test('goes on exactly after the version it names', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    const { resourceVersion } = ok(await world.admin.get(configMaps())).metadata
    ok(await world.admin.create(configMaps(), aConfigMap('two')))
    const watch = await world.admin.watch(`${configMaps()}?resourceVersion=${resourceVersion}`)
    ok(await world.admin.create(configMaps(), aConfigMap('three')))
    expect(told(await watch.take(2))).toEqual(['ADDED two', 'ADDED three'])
    expect(watch.arrived()).toEqual([])
  })

  test('from a version that is no longer kept is told 410 and ends', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    await world.store.compact(world.store.revision)
    const watch = await world.admin.watch(`${configMaps()}?resourceVersion=1`)
    expect(await watch.next()).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired' },
    })
    expect(await watch.next()).toBeUndefined()
  })

  test('of one namespace hears nothing from another', async () => {
    const world = await aWorld()
    const from = world.store.revision
    const watch = await world.admin.watch(`${configMaps('kube-public')}?resourceVersion=${from}`)
    ok(await world.admin.create(configMaps('kube-system'), aConfigMap('theirs')))
    ok(await world.admin.create(configMaps('kube-public'), aConfigMap('ours')))
    expect(told(await watch.take(1))).toEqual(['ADDED ours'])
  })

  test('of one name sees only that', async () => {
    const world = await aWorld()
    const watch = await world.admin.watch(`${configMaps()}?fieldSelector=metadata.name%3Done`)
    ok(await world.admin.create(configMaps(), aConfigMap('two')))
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    ok(await world.admin.delete(`${configMaps()}/one`))
    expect(told(await watch.take(2))).toEqual(['ADDED one', 'DELETED one'])
  })

  test('leaves nothing behind when it is stopped', async () => {
    const world = await aWorld({ inFlight: { reads: 10, writes: 10, watches: 1 } })
    const watch = await world.admin.watch(configMaps())
    watch.arrived()
    expect((await world.admin.get(`${configMaps()}?watch=1`)).code).toBe(429)
    watch.stop()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    expect(watch.arrived()).toEqual([])
    const again = await world.admin.watch(configMaps())
    expect(again.arrived().length).toBeGreaterThan(0)
  })
})

describe('a watch under a selector', () => {
  const selected = `${configMaps()}?labelSelector=team%3Dred`

  test('tells of objects that begin and cease to match as if they came and went', async () => {
    const world = await aWorld()
    const watch = await world.admin.watch(selected)
    const path = `${configMaps()}/one`
    const label = (team: string | null) => ({ metadata: { labels: { team } } })
    ok(await world.admin.create(configMaps(), aConfigMap('one', { a: '1' })))
    ok(await world.admin.patch(path, label('red')))
    ok(await world.admin.patch(path, { data: { a: '2' } }))
    const left = ok(await world.admin.patch(path, { ...label('blue'), data: { a: '3' } }))
    ok(await world.admin.patch(path, { data: { a: '4' } }))
    ok(await world.admin.patch(path, label('red')))
    ok(await world.admin.delete(path))
    const events = await watch.take(5)
    expect(events.map(event => event.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED'])
    // As it last matched, at the version of the change that took it away.
    expect(events[2]?.object).toMatchObject({
      data: { a: '2' },
      metadata: { labels: { team: 'red' }, resourceVersion: left.metadata.resourceVersion },
    })
    expect(events[4]?.object.metadata.resourceVersion).toBe(String(world.store.revision))
  })

  test('keeps the version of the change even when the object itself speaks of resource versions', async () => {
    const world = await aWorld()
    const watch = await world.admin.watch(selected)
    const made = ok(await world.admin.create(configMaps(), aConfigMap('one', {}, { labels: { team: 'red' } })))
    const note = `"resourceVersion":"${Number(made.metadata.resourceVersion) + 1}"`
    ok(await world.admin.patch(`${configMaps()}/one`, { metadata: { annotations: { note } } }))
    const left = ok(await world.admin.patch(`${configMaps()}/one`, { metadata: { labels: { team: 'blue' } } }))
    const [, , deleted] = await watch.take(3)
    expect(deleted).toMatchObject({
      type: 'DELETED',
      object: { metadata: { resourceVersion: left.metadata.resourceVersion, annotations: { note } } },
    })
  })
})

describe('bookmarks', () => {
  test('say where the initial events end', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const watch = await world.admin.watch(`${configMaps()}?${query}`)
    const events = watch.arrived()
    expect(told(events)).toEqual(['ADDED kube-root-ca.crt', 'ADDED one', 'BOOKMARK'])
    expect(events[2]?.object).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {
        resourceVersion: String(world.store.revision),
        annotations: { 'k8s.io/initial-events-end': 'true' },
      },
    })
  })

  test('come once a minute when something happened elsewhere, and only to clients that asked', async () => {
    const world = await aWorld()
    const from = `resourceVersion=${world.store.revision}`
    const asked = await world.admin.watch(`${configMaps()}?${from}&allowWatchBookmarks=true`)
    const plain = await world.admin.watch(`${configMaps()}?${from}`)
    ok(await world.admin.create(configMaps('kube-public'), aConfigMap('elsewhere')))
    await world.pass(bookmarkIntervalMs)
    expect(asked.arrived()).toMatchObject([
      { type: 'BOOKMARK', object: { metadata: { resourceVersion: String(world.store.revision) } } },
    ])
    await world.pass(bookmarkIntervalMs)
    expect(asked.arrived()).toEqual([])
    expect(plain.arrived()).toEqual([])
  })

  test('a last one comes before the time is up', async () => {
    const world = await aWorld()
    const query = `resourceVersion=${world.store.revision}&allowWatchBookmarks=true&timeoutSeconds=5`
    const watch = await world.admin.watch(`${configMaps()}?${query}`)
    ok(await world.admin.create(configMaps('kube-public'), aConfigMap('elsewhere')))
    await world.pass(5_000)
    expect(await watch.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(world.store.revision) } },
    })
    expect(await watch.next()).toBeUndefined()
  })
})

describe('a watcher that does not read', () => {
  const large = 'x'.repeat(900_000)

  test('is cut off with 410, and costs nothing afterwards', async () => {
    const world = await aWorld({ inFlight: { reads: 10, writes: 10, watches: 1 } })
    const from = world.store.revision
    const watch = await world.admin.watch(`${configMaps()}?resourceVersion=${from}`)
    watch.stall()
    for (let i = 0; i * large.length < watchBufferBytesMax + 2 * large.length; i++) {
      ok(await world.admin.create(configMaps(), aConfigMap(`large${i}`, { large })))
    }
    const events = watch.arrived()
    expect(events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })
    expect(events.filter(event => event.type === 'ERROR')).toHaveLength(1)
    expect(await watch.next()).toBeUndefined()
    // Its place is free, and its timers are gone.
    const next = await world.admin.watch(`${configMaps()}?resourceVersion=${world.store.revision}`)
    expect(next.arrived()).toEqual([])
  })

  test('is given all of what it asked for to begin with, however much that is', async () => {
    const world = await aWorld()
    const count = Math.ceil(watchBufferBytesMax / large.length) + 2
    for (let i = 0; i < count; i++) ok(await world.admin.create(configMaps(), aConfigMap(`large${i}`, { large })))
    const whole = await world.admin.watch(configMaps(), 'stalled')
    expect(told(whole.arrived()).filter(line => line.startsWith('ADDED large'))).toHaveLength(count)
    const past = await world.admin.watch(`${configMaps()}?resourceVersion=${world.store.revision - count}`, 'stalled')
    expect(told(past.arrived())).toHaveLength(count)
    ok(await world.admin.create(configMaps(), aConfigMap('small')))
    expect(told(whole.arrived())).toEqual(['ADDED small'])
  })
})

describe('a watch at another version than the stored one', () => {
  test('tells everything in the order it happened', async () => {
    const world = await aWorld()
    await define(world, { versions: [aVersion('v1'), aVersion('v2', { storage: false })] })
    const watch = await world.admin.watch(widgets('default', 'v2'))
    for (let i = 0; i < 20; i++) {
      ok(await world.admin.create(widgets(), aWidget(`w${i}`)))
      ok(await world.admin.delete(`${widgets()}/w${i}`))
    }
    const events = await watch.take(40)
    expect(told(events)).toEqual(Array.from({ length: 20 }, (_, i) => [`ADDED w${i}`, `DELETED w${i}`]).flat())
    expect(new Set(events.map(event => event.object.apiVersion))).toEqual(new Set(['example.com/v2']))
  })
})
