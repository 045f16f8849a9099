// What only a store on disk can promise: one process, honest refusals, backups that can be trusted.

import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open as openEnvironment } from 'lmdb'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Meta } from './backend.ts'
import { openStore } from './lmdb.ts'
import { parseMeta, toMetaBytes } from './meta.ts'
import { restoreStore } from './restore.ts'
import { CompactedError, DamagedStoreError, type Store, StoreInUseError } from './store.ts'

let root: string
let dir: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'mooring-store-'))
  dir = join(root, 'data')
})

afterEach(async () => {
  await rm(root, { recursive: true })
})

const as = (text: string) => () => Buffer.from(text)

/** A store with revisions 1 to 20 on keys /0 to /9, each written twice. */
async function fill(at = dir): Promise<void> {
  const store = await openStore(at)
  for (let key = 0; key < 10; key += 1) await store.create(`/${key}`, as('old'))
  for (let key = 0; key < 10; key += 1) await store.update(`/${key}`, key + 1, as('new'))
  await store.close()
}

interface Raw {
  readonly log: {
    get(revision: number): Buffer | undefined
    putSync(revision: number, bytes: Buffer): void
    removeSync(revision: number): boolean
  }
  readonly readMeta: () => Meta
  readonly writeMeta: (bytes: Buffer) => void
}

/** Changes the file behind the store's back. */
async function tamper(change: (raw: Raw) => void): Promise<void> {
  const environment = openEnvironment<Buffer>({
    path: join(dir, 'mooring.mdb'),
    noSubdir: true,
    maxDbs: 2,
    encoding: 'binary',
  })
  const log = environment.openDB<Buffer, number>('log', { encoding: 'binary' })
  const facts = environment.openDB<Buffer, string>('meta', { encoding: 'binary' })
  change({
    log,
    readMeta: () => parseMeta(facts.get('meta') ?? Buffer.alloc(0)),
    writeMeta: bytes => facts.putSync('meta', bytes),
  })
  await environment.close()
}

async function refusalOf(opening: Promise<Store>): Promise<unknown> {
  return opening.then(
    async store => {
      await store.close()
      throw new Error('the store opened')
    },
    (error: unknown) => error,
  )
}

describe('one process at a time', () => {
  test('refuses a second opener and names the process that has it', async () => {
    const store = await openStore(dir)
    const refusal = await refusalOf(openStore(dir))
    expect(refusal).toBeInstanceOf(StoreInUseError)
    expect(refusal).toMatchObject({ message: `the data in ${dir} is in use by the process ${process.pid}` })
    expect((await store.create('/a', as('still works'))).ok).toBe(true)
    await store.close()
  })

  test('lets the next one in after a close, and leaves no lock behind', async () => {
    for (let time = 0; time < 3; time += 1) await (await openStore(dir)).close()
    expect((await readdir(dir)).filter(name => name.startsWith('lock-'))).toEqual([])
  })

  test('is not stopped by what a killed process left', async () => {
    await fill()
    const stale = join(dir, 'lock-1-0123abcd')
    await leaveDeadSocket(stale)
    expect(await readdir(dir)).toContain('lock-1-0123abcd')
    await (await openStore(dir)).close()
    expect(await readdir(dir)).not.toContain('lock-1-0123abcd')
  })

  test('lets at most one of many processes that start together have it', async () => {
    const openings = await Promise.allSettled(Array.from({ length: 8 }, () => openStore(dir)))
    const opened = openings.filter(opening => opening.status === 'fulfilled')
    expect(opened.length).toBeLessThanOrEqual(1)
    for (const { value } of opened) await value.close()
    await (await openStore(dir)).close()
  })

  test('works in a directory whose path is longer than a socket path may be', async () => {
    const deep = join(dir, 'd'.repeat(100), 'e'.repeat(100))
    await (await openStore(deep)).close()
  })
})

/** A socket file on which no process listens, as after a kill. */
async function leaveDeadSocket(path: string): Promise<void> {
  const server = createServer()
  server.listen(`${path}-live`)
  await once(server, 'listening')
  const { link } = await import('node:fs/promises')
  await link(`${path}-live`, path)
  server.close()
  await once(server, 'close')
}

describe('a directory that is not ours', () => {
  test('is refused by name and left as it is', async () => {
    await mkdir(dir)
    await writeFile(join(dir, 'photos.zip'), 'precious')
    expect(await refusalOf(openStore(dir))).toMatchObject({
      name: 'DamagedStoreError',
      message: `${dir} is not a data directory: it holds photos.zip, which this program did not write`,
    })
    expect(await readdir(dir)).toEqual(['photos.zip'])
  })

  test('is refused when its data file is something else', async () => {
    await mkdir(dir)
    const bytes = Buffer.alloc(100_000, 'not a database')
    await writeFile(join(dir, 'mooring.mdb'), bytes)
    expect(await refusalOf(openStore(dir))).toBeInstanceOf(DamagedStoreError)
    expect((await readFile(join(dir, 'mooring.mdb'))).equals(bytes)).toBe(true)
  })

  test.skipIf(process.getuid?.() === 0)('is refused when it cannot be written to', async () => {
    await mkdir(dir)
    await chmod(dir, 0o500)
    expect(await refusalOf(openStore(dir))).toMatchObject({ message: `${dir} cannot be written to` })
  })
})

describe('damage', () => {
  beforeEach(() => fill())

  test.each<[string, (raw: Raw) => void, string]>([
    [
      'a flipped bit in a record',
      ({ log }) => {
        const bytes = Buffer.from(log.get(15) ?? '')
        bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
        log.putSync(15, bytes)
      },
      'the record of revision 15 is damaged: its checksum does not match',
    ],
    [
      'a record in the place of another',
      ({ log }) => log.putSync(15, log.get(14) ?? Buffer.alloc(0)),
      'the record of revision 15 says it is revision 14',
    ],
    ['a missing record', ({ log }) => void log.removeSync(15), 'the record of revision 15 is missing'],
    ['a missing last record', ({ log }) => void log.removeSync(20), 'the record of revision 20 is missing'],
    [
      'a record from nowhere',
      ({ log }) => log.putSync(21, log.get(20) ?? Buffer.alloc(0)),
      'there is a record of revision 21, but the newest is 20',
    ],
    [
      'a missing record below the compacted revision',
      ({ log, readMeta, writeMeta }) => {
        writeMeta(toMetaBytes({ ...readMeta(), compacted: 20 }))
        log.removeSync(3)
        log.removeSync(13)
      },
      'there should be 10 living keys, but the records found make 9',
    ],
    [
      'a description that was changed',
      ({ readMeta, writeMeta }) =>
        writeMeta(Buffer.from(toMetaBytes(readMeta()).toString().replace('"last":20', '"last":19'))),
      'the description of the data is damaged: its checksum does not match',
    ],
    [
      'a description that is something else',
      ({ writeMeta }) => writeMeta(Buffer.from('hello')),
      'the description of the data cannot be read',
    ],
    [
      'a newer format',
      ({ readMeta, writeMeta }) =>
        writeMeta(Buffer.from(toMetaBytes(readMeta()).toString().replace('mooring-store 1 ', 'mooring-store 2 '))),
      'the data has format 2, and this program knows formats up to 1',
    ],
  ])('is refused in one sentence: %s', async (_name, change, sentence) => {
    await tamper(change)
    const before = await readFile(join(dir, 'mooring.mdb'))
    const refusal = await refusalOf(openStore(dir))
    expect(refusal).toBeInstanceOf(DamagedStoreError)
    expect(refusal).toMatchObject({ message: sentence })
    expect((await readFile(join(dir, 'mooring.mdb'))).equals(before)).toBe(true)
    expect(await refusalOf(openStore(dir))).toMatchObject({ message: sentence })
  })

  test('is noticed when the data file is gone', async () => {
    await rm(join(dir, 'mooring.mdb'))
    expect(await refusalOf(openStore(dir))).toMatchObject({
      message: `${join(dir, 'mooring.mdb')} is missing, but it had come to revision 20`,
    })
  })

  test('is noticed when the data file was emptied', async () => {
    await truncate(join(dir, 'mooring.mdb'), 0)
    expect(await refusalOf(openStore(dir))).toBeInstanceOf(DamagedStoreError)
  })

  test('is noticed when the data file was swapped for an older copy', async () => {
    await cp(join(dir, 'mooring.mdb'), join(root, 'older'))
    const store = await openStore(dir)
    await store.create('/later', as('acknowledged'))
    await store.close()
    await cp(join(root, 'older'), join(dir, 'mooring.mdb'))
    expect(await refusalOf(openStore(dir))).toMatchObject({
      message: `${join(dir, 'mooring.mdb')} ends at revision 20, but revision 21 had been kept here`,
    })
  })

  test('of the witness alone does not stop the store', async () => {
    await writeFile(join(dir, 'witness'), 'garbage')
    const store = await openStore(dir)
    expect(store.revision).toBe(20)
    await store.close()
  })
})

describe('a crash while forgetting', () => {
  test('leaves rows that are finished off at the next start, and no deleted key comes back', async () => {
    await fill()
    // The mark has moved and only the oldest of the superseded rows are gone.
    await tamper(({ log, readMeta, writeMeta }) => {
      writeMeta(toMetaBytes({ ...readMeta(), compacted: 20 }))
      for (const revision of [1, 2, 3]) log.removeSync(revision)
    })
    const store = await openStore(dir)
    expect(store.list('').entries.map(entry => `${entry.revision} ${entry.value.toString()}`)).toHaveLength(10)
    await store.create('/z', as('one more'))
    await store.create('/zz', as('one more'))
    await store.close()
    await tamper(({ log }) => {
      for (let revision = 1; revision <= 10; revision += 1) expect(log.get(revision)).toBeUndefined()
      for (let revision = 11; revision <= 22; revision += 1) expect(log.get(revision)).toBeDefined()
    })
  })
})

describe('a backup', () => {
  test('taken under load restores to a whole prefix of the history', async () => {
    const store = await openStore(dir)
    const told: string[] = []
    store.watch('', 0, ({ entry }) => told.push(`${entry.key}=${entry.value.toString()}`))
    let isRunning = true
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let count = 0; isRunning; count += 1) await store.create(`/${writer}/${count}`, r => Buffer.from(String(r)))
    })
    while (store.revision < 500) await store.create(`/main/${store.revision}`, as(''))
    const atLeast = store.revision
    await store.backup(join(root, 'backup'))
    const atMost = store.revision
    isRunning = false
    await Promise.all(writers)
    await store.close()

    const copy = await openStore(join(root, 'backup'))
    expect(copy.revision).toBeGreaterThanOrEqual(atLeast)
    expect(copy.revision).toBeLessThanOrEqual(atMost + 17)
    const kept: string[] = []
    copy.watch('', 0, ({ entry }) => kept.push(`${entry.key}=${entry.value.toString()}`))
    expect(kept).toEqual(told.slice(0, copy.revision))
    await copy.close()
  })

  test('restored is a new history: another id, no revision used again, old readers told to read anew', async () => {
    const store = await openStore(dir)
    await store.create('/a', as('kept'))
    await store.backup(join(root, 'backup'))
    const after = await store.create('/b', as('after the backup'))
    const { id } = store
    await store.close()

    const target = join(root, 'restored')
    const report = await restoreStore(join(root, 'backup'), target)
    const restored = await openStore(target)
    expect(restored.id).not.toBe(id)
    expect(report).toEqual({ id: restored.id, revision: restored.revision, keys: 1 })
    expect(restored.list('').entries.map(entry => `${entry.key}=${entry.value.toString()}`)).toEqual(['/a=kept'])
    expect(after.ok && restored.revision > after.entry.revision).toBe(true)
    expect(() => restored.watch('', store.revision, () => undefined)).toThrow(CompactedError)
    expect(() => restored.list('', { revision: 2 })).toThrow(CompactedError)
    const next = await restored.create('/c', as('new'))
    expect(next.ok && next.entry.revision).toBe(report.revision + 1)
    await restored.close()
    const again = await openStore(target)
    expect(again.count('')).toBe(2)
    await again.close()
  })

  test('is not restored over anything', async () => {
    await fill()
    await fill(join(root, 'other'))
    await expect(restoreStore(dir, join(root, 'other'))).rejects.toThrow(/already holds/)
    await (await openStore(join(root, 'other'))).close()
  })

  test('is not restored when it is damaged, and leaves nothing behind', async () => {
    await fill()
    await tamper(({ log }) => void log.removeSync(15))
    await expect(restoreStore(dir, join(root, 'target'))).rejects.toThrow('the record of revision 15 is missing')
    expect(await readdir(root)).toEqual(['data'])
  })

  test('is not written over anything', async () => {
    await fill()
    const store = await openStore(dir)
    await mkdir(join(root, 'backup'))
    await writeFile(join(root, 'backup', 'precious'), '')
    await expect(store.backup(join(root, 'backup'))).rejects.toThrow('is not empty')
    await store.close()
  })
})
