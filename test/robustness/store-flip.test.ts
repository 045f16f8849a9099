// A bit flips somewhere in the data file, or the file is cut short: the store either refuses to start or holds exactly
// what it held.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkDataFile } from '../../src/store/data-file.ts'
import { openStore } from '../../src/store/lmdb.ts'

const child = fileURLToPath(new URL('./store-open-child.ts', import.meta.url))
const pageBytes = 4096
const flipsPerPage = 6

test('a flipped bit anywhere in the file is noticed or harmless, never silently believed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mooring-flip-'))
  try {
    const original = join(root, 'original')
    await fill(original)
    const bytes = await readFile(join(original, 'mooring.mdb'))
    const places = placesIn(bytes.length)
    // The first copy is whole: what it says is the truth.
    await cp(original, join(root, '0'), { recursive: true })
    for (const [at, place] of places.entries()) await flip(original, join(root, String(at + 1)), bytes, place)
    const [truth, ...verdicts] = await judge(root, places.length + 1)
    expect(truth).toMatch(/^opened /)
    const wrong = verdicts.flatMap((verdict, at) =>
      verdict === truth || verdict?.startsWith('refused DamagedStoreError')
        ? []
        : [`byte ${places[at]?.at}: ${verdict}`],
    )
    expect(wrong).toEqual([])
    // An administrator who reads that looks for a full disk.
    expect(verdicts.filter(verdict => verdict?.includes('cut short'))).toEqual([])
    expect(verdicts.filter(verdict => verdict?.startsWith('refused')).length).toBeGreaterThan(places.length / 4)
  } finally {
    await rm(root, { recursive: true })
  }
})

test('a file that was cut short is noticed, wherever it was cut', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mooring-cut-'))
  try {
    const original = join(root, 'original')
    await fill(original)
    const bytes = await readFile(join(original, 'mooring.mdb'))
    const lengths = Array.from({ length: 40 }, (_, at) => Math.floor((bytes.length * at) / 40))
    await cp(original, join(root, '0'), { recursive: true })
    for (const [at, length] of lengths.entries()) {
      await mkdir(join(root, String(at + 1)))
      await cp(join(original, 'witness'), join(root, String(at + 1), 'witness'))
      await writeFile(join(root, String(at + 1), 'mooring.mdb'), bytes.subarray(0, length))
    }
    const [truth, ...verdicts] = await judge(root, lengths.length + 1)
    // The end of the file may be pages that nothing uses any more; without them everything is still there.
    const wrong = verdicts.filter(verdict => verdict !== truth && !verdict.startsWith('refused DamagedStoreError'))
    expect(wrong).toEqual([])
    expect(verdicts.slice(0, 20).filter(verdict => verdict === truth)).toEqual([])
  } finally {
    await rm(root, { recursive: true })
  }
})

test('a file whose descriptions are older than its pages is noticed, and crashes nothing', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mooring-old-'))
  try {
    const original = join(root, '0')
    await fill(original)
    const before = await readFile(join(original, 'mooring.mdb'))
    const store = await openStore(original)
    for (let at = 30; at < 50; at += 1) {
      await store.update(`/keys/${at}`, store.get(`/keys/${at}`)?.revision ?? 0, () => Buffer.alloc(300, 'new'))
    }
    await store.close()
    await cp(original, join(root, '1'), { recursive: true })
    const bytes = await readFile(join(original, 'mooring.mdb'))
    before.copy(bytes, 0, 0, 2 * pageBytes)
    await writeFile(join(root, '1', 'mooring.mdb'), bytes)
    const [truth, verdict] = await judge(root, 2)
    expect(truth).toMatch(/^opened /)
    expect(verdict).toMatch(/^refused DamagedStoreError: .* is damaged in page/)
  } finally {
    await rm(root, { recursive: true })
  }
})

test('a link to a page beyond all numbers is damage like any other', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mooring-link-'))
  try {
    await fill(root)
    const path = join(root, 'mooring.mdb')
    const bytes = await readFile(path)
    const pages = Array.from({ length: bytes.length / pageBytes }, (_, page) => page)
    const kindOf = (page: number) => bytes.readUInt16LE(page * pageBytes + 18)
    const verdicts: unknown[] = []
    for (const large of pages.filter(page => (kindOf(page) & 4) !== 0)) {
      const link = Buffer.alloc(8)
      link.writeBigUInt64LE(BigInt(large))
      for (const leaf of pages.filter(page => (kindOf(page) & 2) !== 0)) {
        const at = bytes.subarray(leaf * pageBytes + 24, (leaf + 1) * pageBytes).indexOf(link)
        if (at === -1) continue
        const damaged = Buffer.from(bytes)
        damaged[leaf * pageBytes + 24 + at + 7] = 0x10
        await writeFile(path, damaged)
        verdicts.push(outcomeOf(() => checkDataFile(path)))
      }
    }
    expect(verdicts).toContain('DamagedStoreError')
    expect(verdicts.filter(verdict => verdict !== 'DamagedStoreError' && verdict !== 'whole')).toEqual([])
  } finally {
    await rm(root, { recursive: true })
  }
})

function outcomeOf(check: () => void): string {
  try {
    check()
    return 'whole'
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}

interface Place {
  readonly at: number
  readonly bit: number
}

/** In every page the first bytes, where the tree is kept together, and some further on, where the records are. */
function placesIn(size: number): Place[] {
  const places: Place[] = []
  for (let page = 0; page < size / pageBytes; page += 1) {
    for (let flip = 0; flip < flipsPerPage; flip += 1) {
      const offset = flip < 3 ? (page * 5 + flip * 11) % 64 : (page * 977 + flip * 1_361) % pageBytes
      places.push({ at: page * pageBytes + offset, bit: (page + flip) % 8 })
    }
  }
  return places
}

async function fill(dir: string): Promise<void> {
  const store = await openStore(dir)
  const value = (revision: number) => Buffer.alloc(revision % 17 === 0 ? 9_000 : 300, `value ${revision} `)
  await Promise.all(Array.from({ length: 60 }, (_, at) => store.create(`/keys/${at}`, value)))
  for (let at = 0; at < 30; at += 1) {
    const revision = store.get(`/keys/${at}`)?.revision ?? 0
    await (at % 3 === 0 ? store.delete(`/keys/${at}`, revision, value) : store.update(`/keys/${at}`, revision, value))
  }
  await store.compact(50)
  await store.close()
}

async function flip(original: string, copy: string, bytes: Buffer, { at, bit }: Place): Promise<void> {
  await mkdir(copy)
  await cp(join(original, 'witness'), join(copy, 'witness'))
  const flipped = Buffer.from(bytes)
  flipped[at] = (flipped[at] ?? 0) ^ (1 << bit)
  await writeFile(join(copy, 'mooring.mdb'), flipped)
}

async function judge(root: string, count: number): Promise<string[]> {
  const verdicts: string[] = []
  while (verdicts.length < count) {
    const running = fork(child, [root, String(verdicts.length), String(count)], {
      execArgv: ['--import', 'tsx'],
      silent: true,
    })
    running.on('message', (message: { at: number; verdict: string }) => {
      verdicts[message.at] = message.verdict
    })
    const [code, signal] = await once(running, 'exit')
    const last = verdicts.length - 1
    if (verdicts[last] === 'began') verdicts[last] = `crashed ${signal ?? code}`
  }
  return verdicts
}
