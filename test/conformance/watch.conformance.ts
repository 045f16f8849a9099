// Watches: every change once, in order, from any version that is still known.

import { describe, expect } from 'vitest'
import { asTable, type WatchEvent } from './client.ts'
import {
  type CustomKind,
  configMap,
  configMaps,
  conforms,
  customKind,
  eventually,
  namespace,
  ok,
  server,
} from './world.ts'

const seen = (events: WatchEvent[]): string[] => events.map(event => `${event.type} ${event.object.metadata.name}`)

async function kindWithOne(): Promise<{ kind: CustomKind; path: string; version: string }> {
  const kind = await customKind({ scope: 'Cluster' })
  ok(await server.create(kind.at(), kind.object('one', { spec: { step: 0 } }, { labels: { colour: 'red' } })))
  const version = ok(await server.get(kind.at())).metadata.resourceVersion
  return { kind, path: kind.at(), version }
}

describe('watch', () => {
  conforms('from a list continues with exactly what came after it', async () => {
    const { kind, path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}`)
    const two = ok(await server.create(path, kind.object('two')))
    ok(await server.merge(`${path}/one`, { spec: { step: 1 } }))
    ok(await server.delete(`${path}/two`))
    const events = await watch.take(3)
    expect(seen(events)).toEqual(['ADDED two', 'MODIFIED one', 'DELETED two'])
    expect(events[0]?.object).toEqual(two)
    watch.close()
  })

  conforms('resumes after the version of the last event', async () => {
    const { kind, path, version } = await kindWithOne()
    for (const name of ['a', 'b', 'c']) ok(await server.create(path, kind.object(name)))
    const first = await server.watch(`${path}?resourceVersion=${version}`)
    const [event] = await first.take(1)
    first.close()
    const second = await server.watch(`${path}?resourceVersion=${event?.object.metadata.resourceVersion}`)
    expect(seen(await second.take(2))).toEqual(['ADDED b', 'ADDED c'])
    second.close()
  })

  conforms('gives a deleted object the version of its deletion', async () => {
    const { path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}`)
    ok(await server.delete(`${path}/one`))
    const [event] = await watch.take(1)
    expect(event?.type).toBe('DELETED')
    expect(Number(event?.object.metadata.resourceVersion)).toBeGreaterThan(Number(version))
    expect(event?.object.spec).toEqual({ step: 0 })
    watch.close()
  })

  conforms('without a version starts with what is there', async () => {
    const { kind, path } = await kindWithOne()
    ok(await server.create(path, kind.object('two')))
    for (const query of ['', '?resourceVersion=0']) {
      await eventually(async () => {
        const watch = await server.watch(path + query)
        const events = await watch.take(2)
        watch.close()
        expect(seen(events).toSorted()).toEqual(['ADDED one', 'ADDED two'])
      })
    }
  })

  conforms('shows objects that begin or cease to match as added or deleted', async () => {
    const { path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}&labelSelector=colour%3Dred`)
    const turn = (colour: string) => server.merge(`${path}/one`, { metadata: { labels: { colour } } })
    const blue = ok(await turn('blue'))
    ok(await server.merge(`${path}/one`, { spec: { step: 5 } }))
    ok(await turn('red'))
    ok(await server.merge(`${path}/one`, { spec: { step: 6 } }))
    const events = await watch.take(3)
    expect(events.map(event => event.type)).toEqual(['DELETED', 'ADDED', 'MODIFIED'])
    // An object that no longer matches is shown as the client last knew it, at the version of the change.
    expect(events[0]?.object.metadata.labels).toEqual({ colour: 'red' })
    expect(events[0]?.object.metadata.resourceVersion).toBe(blue.metadata.resourceVersion)
    watch.close()
  })

  conforms('of one name sees that name only', async () => {
    const { kind, path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}&fieldSelector=metadata.name%3Dthree`)
    for (const name of ['two', 'three', 'four']) ok(await server.create(path, kind.object(name)))
    ok(await server.delete(`${path}/three`))
    expect(seen(await watch.take(2))).toEqual(['ADDED three', 'DELETED three'])
    watch.close()
  })

  conforms('ends cleanly after timeoutSeconds', async () => {
    const { path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}&timeoutSeconds=1`)
    expect(await watch.rest()).toEqual([])
  })

  conforms('sends a bookmark before it closes to clients that asked for bookmarks', async () => {
    const { kind, path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}&timeoutSeconds=5&allowWatchBookmarks=true`)
    const two = ok(await server.create(path, kind.object('two')))
    const events = await watch.rest()
    const bookmarks = events.filter(event => event.type === 'BOOKMARK')
    expect(bookmarks.length).toBeGreaterThanOrEqual(1)
    for (const { object } of bookmarks) {
      expect(object).toMatchObject({ apiVersion: kind.apiVersion, kind: 'Widget' })
      expect(Number(object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(version))
      expect(object.metadata.name).toBeUndefined()
    }
    const last = Number(bookmarks.at(-1)?.object.metadata.resourceVersion)
    expect(last).toBeGreaterThanOrEqual(Number(two.metadata.resourceVersion))
  })

  conforms('sends the initial state and marks its end on request', async () => {
    const { kind, path } = await kindWithOne()
    const two = ok(await server.create(path, kind.object('two')))
    const watch = await server.watch(
      `${path}?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
    )
    const initial = [await watch.next(), await watch.next()]
    expect(seen(initial).toSorted()).toEqual(['ADDED one', 'ADDED two'])
    const mark = await watch.next()
    expect(mark.type).toBe('BOOKMARK')
    expect(mark.object.metadata.annotations).toMatchObject({ 'k8s.io/initial-events-end': 'true' })
    expect(Number(mark.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(two.metadata.resourceVersion))
    ok(await server.create(path, kind.object('three')))
    expect(seen([await watch.nextChange()])).toEqual(['ADDED three'])
    watch.close()
  })

  conforms('refuses initial events without the parameters they need', async () => {
    const { path } = await kindWithOne()
    const answer = await server.get(`${path}?watch=true&sendInitialEvents=true`)
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain(
      'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    )
    const listing = await server.get(`${path}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan`)
    expect(listing.code).toBe(422)
    expect(listing.body.message).toContain('sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list')
  })

  conforms('from a forgotten version sends one error with 410', async () => {
    const { path } = await kindWithOne()
    const [event, ...more] = await eventually(async () => {
      ok(await server.merge(`${path}/one`, { spec: { at: Date.now() } }))
      const watch = await server.watch(`${path}?resourceVersion=1&timeoutSeconds=1`)
      const events = await watch.rest()
      expect(events[0]?.type).toBe('ERROR')
      return events
    }, 50_000)
    expect(more).toEqual([])
    expect(event?.object).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      code: 410,
      reason: 'Expired',
      message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
    })
  })

  conforms('from a version that is no number is refused', async () => {
    const { path } = await kindWithOne()
    const answer = await server.get(`${path}?watch=true&resourceVersion=abc`)
    expect(answer.code).toBeGreaterThanOrEqual(400)
    expect(answer.body.message).toContain('Invalid value: "abc"')
  })

  conforms('shows the same order to every client', async () => {
    const { kind, path, version } = await kindWithOne()
    const watches = await Promise.all([1, 2, 3].map(() => server.watch(`${path}?resourceVersion=${version}`)))
    await Promise.all(Array.from({ length: 20 }, (_, i) => server.create(path, kind.object(`n${i}`))))
    const orders = await Promise.all(watches.map(async watch => seen(await watch.take(20))))
    expect(orders[1]).toEqual(orders[0])
    expect(orders[2]).toEqual(orders[0])
    for (const watch of watches) watch.close()
  })

  conforms('gives versions that only grow', async () => {
    const { kind, path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}`)
    await Promise.all(Array.from({ length: 15 }, (_, i) => server.create(path, kind.object(`n${i}`))))
    const versions = (await watch.take(15)).map(event => Number(event.object.metadata.resourceVersion))
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(15)
    watch.close()
  })

  conforms('sends tables, with columns once', async () => {
    const { kind, path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}`, asTable)
    ok(await server.create(path, kind.object('two')))
    ok(await server.create(path, kind.object('three')))
    const [first, second] = await watch.take(2)
    expect(first?.object).toMatchObject({ apiVersion: 'meta.k8s.io/v1', kind: 'Table' })
    expect(first?.object.columnDefinitions.map(column => column.name)).toEqual(['Name', 'Age'])
    expect(first?.object.rows[0]?.cells[0]).toBe('two')
    expect(second?.object.columnDefinitions ?? null).toBeNull()
    expect(second?.object.rows[0]?.cells[0]).toBe('three')
    watch.close()
  })

  conforms('of a single object works through its old path', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const watch = await server.watch(`/api/v1/watch/namespaces/${ns}/configmaps/one`)
    expect(seen(await watch.take(1))).toEqual(['ADDED one'])
    watch.close()
  })

  conforms('across namespaces sees all of them, in one only that one', async () => {
    const kind = await customKind()
    const [a, b] = [await namespace(), await namespace()]
    const version = ok(await server.get(`/apis/${kind.group}/v1/${kind.plural}`)).metadata.resourceVersion
    const all = await server.watch(`/apis/${kind.group}/v1/${kind.plural}?resourceVersion=${version}`)
    const one = await server.watch(`${kind.at(b)}?resourceVersion=${version}`)
    ok(await server.create(kind.at(a), kind.object('x')))
    ok(await server.create(kind.at(b), kind.object('y')))
    expect(seen(await all.take(2))).toEqual(['ADDED x', 'ADDED y'])
    expect(seen(await one.take(1))).toEqual(['ADDED y'])
    all.close()
    one.close()
  })

  conforms('shows a deletion that waits for a finalizer as modified, modified, deleted', async () => {
    const { kind, path, version } = await kindWithOne()
    const watch = await server.watch(`${path}?resourceVersion=${version}`)
    ok(await server.create(path, kind.object('held', {}, { finalizers: ['example.com/hold'] })))
    ok(await server.delete(`${path}/held`))
    ok(await server.merge(`${path}/held`, { metadata: { finalizers: [] } }))
    const events = await watch.take(3)
    expect(seen(events)).toEqual(['ADDED held', 'MODIFIED held', 'DELETED held'])
    expect(events[1]?.object.metadata.deletionTimestamp).toBeTruthy()
    watch.close()
  })
})
