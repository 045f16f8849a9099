// What happens when the disk does not do as asked.

import { describe, expect, test } from 'vitest'
import { memoryDisk, memoryStore } from '../../test/harness/memory-store.ts'
import type { BackendWrite } from './backend.ts'

const as = (text: string) => () => Buffer.from(text)

describe('a disk that fails', () => {
  test('is never taken for one that succeeded: nothing is published or acknowledged, and the owner is told once', async () => {
    const disk = memoryDisk()
    const fatal: Error[] = []
    const store = memoryStore({ disk, onFatal: error => fatal.push(error) })
    await store.create('/a', as('kept'))
    const told: number[] = []
    store.watch('', 0, ({ entry }) => told.push(entry.revision))
    disk.beforeWrite = () => {
      throw new Error('no space left')
    }
    const lost = store.create('/b', as('lost'))
    const restsOnIt = store.create('/b', as('refused'))
    await expect(lost).rejects.toThrow('the store could not make a write durable: no space left')
    await expect(restsOnIt).rejects.toThrow('no space left')
    expect(fatal).toHaveLength(1)
    expect(told).toEqual([1])
    await expect(store.create('/c', as('too late'))).rejects.toThrow('no space left')
    expect(() => store.get('/a')).toThrow('no space left')
    expect(() => store.list('')).toThrow('no space left')
    await expect(store.compact(1)).rejects.toThrow('no space left')

    disk.beforeWrite = () => undefined
    const reopened = memoryStore({ disk })
    expect([reopened.revision, reopened.count('')]).toEqual([1, 1])
  })

  test('in the middle of compacting leaves a store that opens with everything', async () => {
    const disk = memoryDisk()
    const store = memoryStore({ disk, onFatal: () => undefined })
    for (let at = 0; at < 1_200; at += 1) await store.create(`/${at}`, as(''))
    for (let at = 0; at < 1_200; at += 1) {
      const { revision } = store.get(`/${at}`) ?? { revision: 0 }
      await (at % 2 === 0 ? store.update(`/${at}`, revision, as('')) : store.delete(`/${at}`, revision, as('')))
    }
    let trims = 0
    disk.beforeWrite = ({ trim }: BackendWrite) => {
      if (trim.length > 0 && ++trims === 2) throw new Error('cut')
    }
    await expect(store.compact(store.revision)).rejects.toThrow('cut')
    disk.beforeWrite = () => undefined
    const reopened = memoryStore({ disk })
    expect([reopened.revision, reopened.compacted, reopened.count('')]).toEqual([2_400, 2_400, 600])
    await reopened.create('/next', as(''))
    for (let turn = 0; turn < 5; turn += 1) await reopened.create(`/next/${turn}`, as(''))
    expect(disk.rows.size).toBe(606)
  })
})

describe('a slow disk', () => {
  test('gets everything that was asked meanwhile in one write', async () => {
    const disk = memoryDisk()
    const sizes: number[] = []
    let release = () => {}
    disk.beforeWrite = ({ rows }) => {
      sizes.push(rows.length)
      return new Promise(resolve => {
        release = resolve
      })
    }
    const store = memoryStore({ disk })
    const first = store.create('/first', as(''))
    while (sizes.length === 0) await new Promise(resolve => setImmediate(resolve))
    const others = Array.from({ length: 50 }, (_, at) => store.create(`/${at}`, as('')))
    expect(store.revision).toBe(0)
    release()
    await first
    expect(store.revision).toBe(1)
    while (sizes.length === 1) await new Promise(resolve => setImmediate(resolve))
    release()
    await Promise.all(others)
    expect(sizes).toEqual([1, 50])
  })
})

describe('a sink that throws', () => {
  test('is silenced, without harm to the writer or the other watchers', async () => {
    const thrown: unknown[] = []
    const store = memoryStore({ onSinkError: error => thrown.push(error) })
    const told: number[] = []
    let calls = 0
    store.watch('', 0, () => {
      calls += 1
      throw new Error('broken reader')
    })
    store.watch('', 0, ({ entry }) => told.push(entry.revision))
    await store.create('/a', as(''))
    await store.create('/b', as(''))
    expect([calls, told, thrown.map(String)]).toEqual([1, [1, 2], ['Error: broken reader']])
  })
})
