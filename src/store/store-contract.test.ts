// What every store promises, told once and run over each backend.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type MemoryDisk, memoryDisk, memoryStore } from '../../test/harness/memory-store.ts'
import { openStore } from './lmdb.ts'
import type { StoreOptions } from './log-store.ts'
import { type Change, CompactedError, type Entry, FutureRevisionError, type Store } from './store.ts'

interface Place {
  open(options?: StoreOptions): Promise<Store>
  remove(): Promise<void>
}

const places: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const disk: MemoryDisk = memoryDisk()
    return { open: async options => memoryStore({ ...options, disk }), remove: async () => undefined }
  },
  lmdb: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'mooring-store-'))
    return { open: options => openStore(dir, options), remove: () => rm(dir, { recursive: true }) }
  },
}

const as = (text: string) => () => Buffer.from(text)

async function written(result: Promise<{ ok: boolean; entry?: Entry }>): Promise<Entry> {
  const { entry } = await result
  if (entry === undefined) throw new Error('the write was refused')
  return entry
}

const textOf = (entry: Entry | undefined) => entry?.value.toString()
const keysOf = (entries: readonly Entry[]) => entries.map(entry => entry.key)

function recorder() {
  const changes: Change[] = []
  const sink = (change: Change) => void changes.push(change)
  const told = () =>
    changes.map(({ type, entry }) => `${entry.revision} ${type} ${entry.key}=${entry.value.toString()}`)
  return { changes, sink, told }
}

describe.each(Object.entries(places))('a store on %s', (_name, makePlace) => {
  let place: Place
  let store: Store

  beforeEach(async () => {
    place = await makePlace()
    store = await place.open()
  })

  afterEach(async () => {
    await store.close()
    await place.remove()
  })

  async function reopen(options?: StoreOptions): Promise<void> {
    await store.close()
    store = await place.open(options)
  }

  describe('writing', () => {
    test('starts empty at revision zero', () => {
      expect(store.revision).toBe(0)
      expect(store.compacted).toBe(0)
      expect(store.list('').entries).toEqual([])
    })

    test('hands each write the next revision, and the writer encodes with it', async () => {
      const first = await written(store.create('/a', revision => Buffer.from(`r${revision}`)))
      const second = await written(store.create('/b', revision => Buffer.from(`r${revision}`)))
      expect([first.revision, textOf(first), second.revision, textOf(second)]).toEqual([1, 'r1', 2, 'r2'])
      expect(store.revision).toBe(2)
      expect(textOf(store.get('/a'))).toBe('r1')
    })

    test('refuses to create what exists, and says what is there', async () => {
      await store.create('/a', as('one'))
      const again = await store.create('/a', as('two'))
      expect(again).toMatchObject({ ok: false, current: { key: '/a', revision: 1 } })
      expect(store.revision).toBe(1)
    })

    test('refuses an update of an old version, and says what is there', async () => {
      const first = await written(store.create('/a', as('one')))
      await store.update('/a', first.revision, as('two'))
      const late = await store.update('/a', first.revision, as('three'))
      expect(late).toMatchObject({ ok: false, current: { revision: 2, created: 1 } })
      expect(textOf(store.get('/a'))).toBe('two')
    })

    test('refuses to update or delete what is not there', async () => {
      expect(await store.update('/a', 1, as('x'))).toEqual({ ok: false, current: undefined })
      expect(await store.delete('/a', 0, as('x'))).toEqual({ ok: false, current: undefined })
      expect(store.revision).toBe(0)
    })

    test('refuses to delete an old version', async () => {
      const first = await written(store.create('/a', as('one')))
      await store.update('/a', first.revision, as('two'))
      expect(await store.delete('/a', first.revision, as('gone'))).toMatchObject({
        ok: false,
        current: { revision: 2 },
      })
      expect(textOf(store.get('/a'))).toBe('two')
    })

    test('remembers the revision that created a key, and starts anew after a delete', async () => {
      await store.create('/a', as('one'))
      expect(await written(store.update('/a', 1, as('two')))).toMatchObject({ revision: 2, created: 1 })
      expect(await written(store.delete('/a', 2, as('end')))).toMatchObject({ revision: 3, created: 1 })
      expect(await written(store.create('/a', as('three')))).toMatchObject({ revision: 4, created: 4 })
    })

    test('lets exactly one of many racing creators win, and shows the others the winner', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, (_, at) => store.create('/a', as(`by ${at}`))))
      expect(results.filter(result => result.ok)).toHaveLength(1)
      for (const result of results.slice(1)) expect(result).toMatchObject({ ok: false, current: { revision: 1 } })
    })

    test('answers a refusal only once the write it rests on can be read', async () => {
      const first = store.create('/a', as('one'))
      const second = store.create('/a', as('two')).then(() => textOf(store.get('/a')))
      expect(await second).toBe('one')
      await first
    })

    test('lets a write build on one that is not answered yet', async () => {
      const results = await Promise.all([
        store.create('/a', as('one')),
        store.update('/a', 1, as('two')),
        store.delete('/a', 2, as('end')),
        store.create('/a', as('three')),
      ])
      expect(results.map(result => result.ok)).toEqual([true, true, true, true])
      expect(store.get('/a')).toMatchObject({ revision: 4, created: 4 })
    })

    test('shows no reader a write that is not durable yet', async () => {
      const answered = store.create('/a', as('one'))
      expect(store.get('/a')).toBeUndefined()
      expect(store.revision).toBe(0)
      await answered
      expect(store.get('/a')).toBeDefined()
    })

    test('gives the error of a failing encoder to its writer, and uses no revision', async () => {
      const failing = store.create('/a', () => {
        throw new RangeError('too large')
      })
      await expect(failing).rejects.toThrow('too large')
      expect(await written(store.create('/a', as('one')))).toMatchObject({ revision: 1 })
    })

    test('keeps bytes and keys exactly, whatever they hold', async () => {
      const value = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      const keys = ['/plain', '/with space', '/\u0000', '/ÿ', '/Ω', '/😀', '/\ud800', '']
      for (const key of keys) await store.create(key, () => value)
      await store.create('/empty', as(''))
      await reopen()
      for (const key of keys) expect(store.get(key)?.value.equals(value)).toBe(true)
      expect(store.get('/empty')?.value.length).toBe(0)
    })

    test('keeps a value of several megabytes', async () => {
      const value = Buffer.alloc(3 * 1024 * 1024, 'x')
      await store.create('/large', () => value)
      await reopen()
      expect(store.get('/large')?.value.equals(value)).toBe(true)
    })

    test('is not changed by a writer that changes its buffer afterwards', async () => {
      const value = Buffer.from('one')
      await store.create('/a', () => value)
      value.write('two')
      expect(textOf(store.get('/a'))).toBe('one')
    })
  })

  describe('listing', () => {
    test('lists by key order under a prefix, and never a neighbour that merely shares its first letters', async () => {
      for (const key of ['/pods/b', '/pods/a', '/podsets/a', '/pod/a', '/pods/a/b', '/Pods/a']) {
        await store.create(key, as(key))
      }
      expect(keysOf(store.list('/pods/').entries)).toEqual(['/pods/a', '/pods/a/b', '/pods/b'])
      expect(store.count('/pods/')).toBe(3)
      expect(store.count('/pods')).toBe(4)
      expect(store.count('')).toBe(6)
    })

    test('pages exactly, and says how many follow', async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await store.create(`/x/${name}`, as(name))
      await store.create('/y/a', as('a'))
      const first = store.list('/x/', { limit: 2 })
      expect([keysOf(first.entries), first.next, first.remaining]).toEqual([['/x/a', '/x/b'], '/x/b', 3])
      const second = store.list('/x/', { limit: 2, after: '/x/b' })
      expect([keysOf(second.entries), second.next, second.remaining]).toEqual([['/x/c', '/x/d'], '/x/d', 1])
      const third = store.list('/x/', { limit: 2, after: '/x/d' })
      expect([keysOf(third.entries), third.next, third.remaining]).toEqual([['/x/e'], undefined, 0])
      const beyond = store.list('/x/', { limit: 2, after: '/x/z' })
      expect([keysOf(beyond.entries), beyond.next, beyond.remaining]).toEqual([[], undefined, 0])
    })

    test('keeps one truth over all pages while writes go on', async () => {
      for (let at = 0; at < 20; at += 1) await store.create(`/x/${String(at).padStart(2, '0')}`, as('old'))
      const wanted = store.list('/x/').entries
      const pages: Entry[] = []
      let page = store.list('/x/', { limit: 7 })
      const { revision } = page
      for (;;) {
        pages.push(...page.entries)
        const doomed = wanted[pages.length]
        if (doomed !== undefined) await store.delete(doomed.key, doomed.revision, as('gone'))
        const changed = wanted.at(-1)
        if (changed !== undefined) await store.update(changed.key, changed.revision, as('new'))
        await store.create(`/x/${pages.length}-between`, as('new'))
        if (page.next === undefined) break
        page = store.list('/x/', { limit: 7, after: page.next, revision })
        expect(page.revision).toBe(revision)
        expect(page.remaining).toBe(wanted.length - pages.length - page.entries.length)
      }
      expect(pages).toEqual(wanted)
    })

    test('lists the past: what was deleted since is there, what came since is not', async () => {
      await store.create('/x/a', as('one'))
      await store.create('/x/b', as('two'))
      await store.update('/x/a', 1, as('three'))
      await store.delete('/x/b', 2, as('end'))
      await store.create('/x/c', as('four'))
      const at = (revision: number) =>
        store.list('/x/', { revision }).entries.map(entry => `${entry.key}=${entry.value.toString()}`)
      expect(at(0)).toEqual([])
      expect(at(1)).toEqual(['/x/a=one'])
      expect(at(2)).toEqual(['/x/a=one', '/x/b=two'])
      expect(at(3)).toEqual(['/x/a=three', '/x/b=two'])
      expect(at(4)).toEqual(['/x/a=three'])
      expect(at(5)).toEqual(['/x/a=three', '/x/c=four'])
    })

    test('refuses to list a revision that is not written yet', async () => {
      await store.create('/a', as('one'))
      expect(() => store.list('', { revision: 2 })).toThrow(FutureRevisionError)
    })
  })

  describe('watching', () => {
    test('tells every change under the prefix once and in order, past first', async () => {
      await store.create('/x/a', as('1'))
      await store.create('/xy', as('2'))
      const { sink, told } = recorder()
      store.watch('/x/', 0, sink)
      expect(told()).toEqual(['1 put /x/a=1'])
      await store.update('/x/a', 1, as('3'))
      await store.create('/x', as('4'))
      await store.delete('/x/a', 3, as('5'))
      expect(told()).toEqual(['1 put /x/a=1', '3 put /x/a=3', '5 delete /x/a=5'])
    })

    test('tells what the key held before, and a delete carries its own revision and last word', async () => {
      const { changes, sink } = recorder()
      store.watch('', 0, sink)
      await store.create('/a', as('one'))
      await store.update('/a', 1, as('two'))
      await store.delete('/a', 2, as('end'))
      const [created, updated, deleted] = changes
      expect(created?.previous).toBeUndefined()
      expect(textOf(updated?.previous)).toBe('one')
      expect(deleted).toMatchObject({ type: 'delete', entry: { revision: 3, created: 1 }, previous: { revision: 2 } })
      expect([textOf(deleted?.entry), textOf(deleted?.previous)]).toEqual(['end', 'two'])
    })

    test('resumes from any kept revision with exactly what followed', async () => {
      const whole = recorder()
      store.watch('', 0, whole.sink)
      for (let at = 0; at < 10; at += 1) await store.create(`/${at}`, as('x'))
      for (let from = 0; from <= 10; from += 1) {
        const { sink, changes } = recorder()
        store.watch('', from, sink).stop()
        expect(changes).toEqual(whole.changes.slice(from))
      }
    })

    test('from the future waits, and lets nothing at or below it through', async () => {
      const { sink, told } = recorder()
      store.watch('', 2, sink)
      for (const key of ['/1', '/2', '/3']) await store.create(key, as(''))
      expect(told()).toEqual(['3 put /3='])
    })

    test('tells the writer only after the watchers', async () => {
      const order: string[] = []
      store.watch('', 0, change => order.push(`told ${change.entry.revision}`))
      const writes = ['/1', '/2'].map(key => store.create(key, as('')).then(() => order.push(`answered ${key}`)))
      await Promise.all(writes)
      expect(order).toEqual(['told 1', 'told 2', 'answered /1', 'answered /2'])
    })

    test('shows a watcher no less than what it has been told', async () => {
      const seen: boolean[] = []
      store.watch('', 0, ({ entry }) => seen.push(store.revision === entry.revision && store.get(entry.key) === entry))
      await Promise.all(['/1', '/2', '/3'].map(key => store.create(key, as(''))))
      expect(seen).toEqual([true, true, true])
    })

    test('agrees with every other watcher on the order', async () => {
      const early = recorder()
      store.watch('', 0, early.sink)
      const writes = Array.from({ length: 50 }, (_, at) => store.create(`/${at % 7}/${at}`, as('')))
      await writes[10]
      const late = recorder()
      store.watch('', 0, late.sink)
      await Promise.all(writes)
      expect(late.changes).toEqual(early.changes)
      expect(late.changes.map(change => change.entry.revision)).toEqual(writes.map((_, at) => at + 1))
    })

    test('goes silent when stopped, also from within and also in the middle of the past', async () => {
      for (const key of ['/1', '/2', '/3']) await store.create(key, as(''))
      const told: number[] = []
      const watch = store.watch('', 2, change => {
        told.push(change.entry.revision)
        if (change.entry.revision === 4) watch.stop()
      })
      await Promise.all(['/4', '/5'].map(key => store.create(key, as(''))))
      watch.stop()
      expect(told).toEqual([3, 4])
    })

    test('started by a sink hears the change of that moment once', async () => {
      const inner = recorder()
      let isStarted = false
      store.watch('', 0, change => {
        if (isStarted) return
        isStarted = true
        store.watch('', change.entry.revision - 1, inner.sink)
      })
      await Promise.all(['/1', '/2'].map(key => store.create(key, as(''))))
      expect(inner.told()).toEqual(['1 put /1=', '2 put /2='])
    })

    test('on one key hears that key and those that go on from it, as any prefix does', async () => {
      const { sink, told } = recorder()
      store.watch('/a/b', 0, sink)
      for (const key of ['/a', '/a/b', '/a/bc', '/a/b/c', '/a/c']) await store.create(key, as(''))
      expect(told()).toEqual(['2 put /a/b=', '3 put /a/bc=', '4 put /a/b/c='])
    })
  })

  describe('compacting', () => {
    test('forgets the past and keeps the present', async () => {
      await store.create('/a', as('one'))
      await store.update('/a', 1, as('two'))
      await store.create('/b', as('three'))
      await store.compact(2)
      expect(store.compacted).toBe(2)
      expect(store.list('').entries.map(textOf)).toEqual(['two', 'three'])
      expect(store.list('', { revision: 2 }).entries.map(textOf)).toEqual(['two'])
      expect(() => store.list('', { revision: 1 })).toThrow(CompactedError)
      expect(() => store.watch('', 1, () => undefined)).toThrow(CompactedError)
    })

    test('lets a watch start at the compacted revision and hear all after it', async () => {
      await store.create('/a', as('one'))
      await store.delete('/a', 1, as('end'))
      await store.create('/a', as('two'))
      await store.delete('/a', 3, as('end'))
      for (const compacted of [1, 2, 3]) {
        await store.compact(compacted)
        const { sink, changes } = recorder()
        store.watch('', compacted, sink)
        expect(changes.map(change => change.entry.revision)).toEqual([2, 3, 4].slice(compacted - 1))
      }
    })

    test('at a delete keeps the key deleted, also after reopening', async () => {
      await store.create('/a', as('one'))
      await store.update('/a', 1, as('two'))
      await store.delete('/a', 2, as('end'))
      await store.compact(3)
      await reopen()
      expect(store.get('/a')).toBeUndefined()
      expect([store.revision, store.compacted]).toEqual([3, 3])
    })

    test('still tells what was before, when that itself is forgotten', async () => {
      await store.create('/a', as('one'))
      await store.create('/b', as('x'))
      await store.delete('/a', 1, as('end'))
      await store.compact(2)
      await reopen()
      const { sink, changes } = recorder()
      store.watch('', 2, sink)
      expect(changes.map(change => textOf(change.previous))).toEqual(['one'])
    })

    test('never hands out a revision again, even when the newest record was a forgotten delete', async () => {
      await store.create('/a', as('one'))
      await store.delete('/a', 1, as('end'))
      await store.compact(2)
      await reopen()
      expect(await written(store.create('/a', as('two')))).toMatchObject({ revision: 3 })
    })

    test('goes on under a running watch without a gap', async () => {
      const { sink, changes } = recorder()
      store.watch('', 0, sink)
      for (let at = 0; at < 30; at += 1) {
        await store.create(`/${at}`, as(''))
        if (at % 3 === 0) await store.compact(store.revision)
      }
      expect(changes.map(change => change.entry.revision)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1))
    })

    test('refuses a revision that is not written yet, and does nothing below the compacted one', async () => {
      await store.create('/a', as('one'))
      await expect(store.compact(2)).rejects.toThrow(FutureRevisionError)
      await store.compact(1)
      await store.compact(0)
      expect(store.compacted).toBe(1)
    })

    test('keeps every change for the promised time, and not for ever', async () => {
      let nowMs = 0
      await reopen({ now: () => nowMs, historyMs: 60_000 })
      await store.create('/1', as(''))
      nowMs = 70_000
      await store.create('/2', as(''))
      expect(store.compacted).toBe(0)
      nowMs = 120_000
      await store.create('/3', as(''))
      await store.create('/4', as(''))
      expect(store.compacted).toBe(1)
    })

    test('keeps no more changes than told, however young', async () => {
      await reopen({ historyChangesMax: 100 })
      for (let at = 0; at < 300; at += 1) await store.create(`/${at}`, as(''))
      expect(store.revision - store.compacted).toBeLessThanOrEqual(102)
      expect(store.revision - store.compacted).toBeGreaterThanOrEqual(75)
    })

    test('keeps no more bytes of changes than told', async () => {
      await reopen({ historyBytesMax: 100_000 })
      for (let at = 0; at < 100; at += 1) await store.create(`/${at}`, () => Buffer.alloc(10_000))
      expect(store.revision - store.compacted).toBeLessThanOrEqual(12)
    })
  })

  describe('reopening', () => {
    test('finds the present, the kept past and the revision as they were', async () => {
      await store.create('/a', as('one'))
      await store.update('/a', 1, as('two'))
      await store.create('/b', as('x'))
      await store.delete('/b', 3, as('end'))
      const before = recorder()
      store.watch('', 0, before.sink)
      const present = store.list('').entries
      const { id } = store
      await reopen()
      const after = recorder()
      store.watch('', 0, after.sink)
      expect(after.changes).toEqual(before.changes)
      expect(store.list('').entries).toEqual(present)
      expect(store.list('', { revision: 3 }).entries.map(textOf)).toEqual(['two', 'x'])
      expect([store.revision, store.id]).toEqual([4, id])
      expect(await written(store.create('/c', as('')))).toMatchObject({ revision: 5 })
    })

    test('loses nothing that was asked before closing', async () => {
      const asked = Array.from({ length: 100 }, (_, at) => store.create(`/${at}`, as('')))
      await reopen()
      expect((await Promise.all(asked)).every(result => result.ok)).toBe(true)
      expect(store.count('')).toBe(100)
    })

    test('refuses everything once closed', async () => {
      await store.close()
      expect(() => store.get('/a')).toThrow('closed')
      expect(() => store.list('')).toThrow('closed')
      expect(() => store.watch('', 0, () => undefined)).toThrow('closed')
      await expect(store.create('/a', as(''))).rejects.toThrow('closed')
      await expect(store.compact(0)).rejects.toThrow('closed')
    })
  })
})
