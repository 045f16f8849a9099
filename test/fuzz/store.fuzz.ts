// The data file after damage that knows its pages: flipped bytes, pages that were lost, written to another place, written
// only in part, or left as they were before. The store holds all that it held, or refuses.

import { type ChildProcess, fork } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openStore } from '../../src/store/lmdb.ts'
import { type FuzzTarget, must } from './target.ts'

const pageBytes = 4096
const childFile = fileURLToPath(new URL('./store-child.ts', import.meta.url))

interface Bench {
  readonly root: string
  readonly original: string
  /** The file as it is, and as it was some writes ago. */
  readonly bytes: Buffer
  readonly before: Buffer
  /** What it held: also before old changes were let go, which is the last thing that was done and may be undone. */
  readonly truths: readonly string[]
}

let bench: Bench
let child: ChildProcess | undefined
let answer = (_verdict: string) => {}

async function prepare(): Promise<Bench> {
  const root = await mkdtemp(join(tmpdir(), 'mooring-fuzz-store-'))
  const original = join(root, 'original')
  const file = join(original, 'mooring.mdb')
  const value = (revision: number) => Buffer.alloc(revision % 17 === 0 ? 9_000 : 300, `value ${revision} `)
  const first = await openStore(original)
  for (let at = 0; at < 40; at++) await first.create(`/keys/${at}`, value)
  await first.close()
  const before = await readFile(file)
  const second = await openStore(original)
  for (let at = 0; at < 20; at++) await second.update(`/keys/${at}`, second.get(`/keys/${at}`)?.revision ?? 0, value)
  await second.close()
  await cp(original, join(root, 'uncompacted'), { recursive: true })
  const third = await openStore(original)
  await third.compact(30)
  await third.close()
  const bytes = await readFile(file)
  await cp(original, join(root, 'whole'), { recursive: true })
  const truths = [await judge(join(root, 'uncompacted')), await judge(join(root, 'whole'))]
  return { root, original, bytes, before, truths }
}

/** A crash of the process that opens it is an answer too: the next question goes to another process. */
function judge(dir: string): Promise<string> {
  return new Promise(resolve => {
    answer = resolve
    child ??= start()
    child.send(dir)
  })
}

function start(): ChildProcess {
  const started = fork(childFile, { execArgv: ['--import', 'tsx'], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  started.on('message', (text: string) => answer(text))
  started.on('exit', (code, signal) => {
    child = undefined
    answer(`crashed ${signal ?? code}`)
  })
  return started
}

/** Five bytes are one damage: what, in which page, and where or from which other page. */
function damage(bytes: Buffer, before: Buffer, plan: Buffer): Buffer {
  const pages = Math.max(1, Math.floor(bytes.length / pageBytes))
  const pageOf = (file: Buffer, page: number) => file.subarray(page * pageBytes, (page + 1) * pageBytes)
  let file = Buffer.from(bytes)
  for (let at = 0; at + 5 <= plan.length && at < 20; at += 5) {
    const [what = 0, page = 0, high = 0, low = 0, byte = 0] = plan.subarray(at, at + 5)
    const [to, from, offset] = [page % pages, high % pages, ((high << 8) | low) % pageBytes]
    const place = to * pageBytes + offset
    if (place >= file.length) continue
    switch (what % 6) {
      case 0:
        file[place] = (file[place] ?? 0) ^ (byte || 1)
        break
      case 1:
        file.fill(0, to * pageBytes, Math.min((to + 1) * pageBytes, file.length))
        break
      case 2:
        pageOf(bytes, from).copy(file, to * pageBytes)
        break
      case 3:
        pageOf(before, to).copy(file, to * pageBytes)
        break
      case 4:
        pageOf(before, to)
          .subarray(0, 512 * (byte % 8))
          .copy(file, to * pageBytes)
        break
      case 5:
        file = file.subarray(0, place)
        break
    }
  }
  return file
}

export const storeFiles: FuzzTarget = {
  name: 'files of the store',
  corpus: [
    Buffer.from([0, 3, 0, 40, 8]),
    Buffer.from([1, 0, 0, 0, 0]),
    Buffer.from([2, 4, 7, 0, 0]),
    Buffer.from([3, 0, 0, 0, 0, 3, 1, 0, 0, 0]),
    Buffer.from([4, 5, 0, 0, 3]),
    Buffer.from([5, 9, 1, 0, 0]),
    Buffer.from([3, 2, 0, 0, 0, 3, 5, 0, 0, 0, 3, 8, 0, 0, 0]),
  ],
  async run(input) {
    const { root, original, bytes, before, truths } = bench
    must(
      truths.every(truth => truth.startsWith('opened ')),
      String(truths),
    )
    const copy = join(root, 'copy')
    await rm(copy, { recursive: true, force: true })
    await cp(original, copy, { recursive: true })
    await writeFile(join(copy, 'mooring.mdb'), damage(bytes, before, input))
    const first = await judge(copy)
    // A process that has opened a thousand damaged files may be at its end by itself: a fresh one is asked.
    const verdict = first.startsWith('crashed') ? await judge(copy) : first
    must(
      truths.includes(verdict) || verdict.startsWith('refused DamagedStoreError'),
      `it holds what it held: ${verdict}`,
    )
  },
  async begin() {
    bench = await prepare()
  },
  async end() {
    child?.kill()
    await rm(bench.root, { recursive: true })
  },
}
