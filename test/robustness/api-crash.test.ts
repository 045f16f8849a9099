// The whole server in a real process, killed without warning again and again under many clients: nothing acknowledged
// is lost, no version is used twice, and a watch that goes on from its last version tells exactly what happened.

import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openStore } from '../../src/store/lmdb.ts'
import type { Entry } from '../../src/store/store.ts'
import { type Build, theBuild } from '../harness/build.ts'
import { connectWith, type Process, type Remote, run, untilReady } from '../harness/mooring.ts'
import { aWidget, aWidgetDefinition, definitions, widgets } from '../harness/objects.ts'
import {
  checkAgreement,
  checkHistory,
  checkStream,
  type Operation,
  type Outcome,
  type Stream,
  type Told,
} from './history-checker.ts'

const writesWanted = Number(process.env.MOORING_CRASH_WRITES ?? 2_000)
const kills = 5
const clients = 16
const watchers = 4
const names = Array.from({ length: 160 }, (_, i) => `w${i}`)
const prefix = '/example.com/widgets/default/'

let build: Build
beforeAll(async () => {
  build = await theBuild()
})

test(`loses nothing over ${kills} kills under ${clients} clients`, async () => {
  const data = mkdtempSync(join(tmpdir(), 'mooring-crash-'))
  try {
    const history = await liveAndDie(data)
    const log = await readLog(data)
    const operations = history.operations.map(operation => withDeletedRevision(operation, log))
    expect(operations.filter(operation => operation.answer?.outcome.ok).length).toBeGreaterThanOrEqual(writesWanted)
    // A refusal does not say what it met; that it left no trace is part of what is checked.
    const unrefused = operations.filter(operation => operation.answer?.outcome.ok !== false)
    expect(checkHistory(unrefused, log)).toEqual([])
    const streams = history.streams.map(stream => withWhatWatchesDoNotSay(stream, log))
    for (const stream of streams) expect(checkStream(stream, log)).toEqual([])
    const [first, ...others] = streams
    for (const other of others) expect(first && checkAgreement(first, other)).toEqual([])
    for (const stream of streams) expect(stream.told.at(-1)?.revision).toBe(log.at(-1)?.revision)
    expect(history.wrongTypes).toEqual([])
  } finally {
    await rm(data, { recursive: true })
  }
}, 180_000)

interface History {
  readonly operations: Operation[]
  readonly streams: Stream[]
  readonly wrongTypes: string[]
}

/** The server as clients see it: there, or coming back. */
class Server {
  #process: Process | undefined
  #ready: Promise<Remote> = Promise.reject(new Error('not started'))
  #listen = '127.0.0.1:0'
  readonly #data: string
  isOver = false

  constructor(data: string) {
    this.#data = data
    this.#ready.catch(() => {})
  }

  start(): Promise<Remote> {
    const args = ['up', '--data', this.#data, '--listen', this.#listen, '--dashboard', '127.0.0.1:0', '--desks', 'none']
    const process = run(build, args)
    this.#process = process
    this.#ready = untilReady(process).then(({ api, kubeconfig }) => {
      this.#listen = api.replace('https://', '')
      return connectWith(kubeconfig, clients + watchers)
    })
    return this.#ready
  }

  remote(): Promise<Remote> {
    return this.#ready
  }

  async kill(): Promise<void> {
    const remote = await this.#ready
    this.#process?.child.kill('SIGKILL')
    expect(await this.#process?.ended).toMatchObject({ signal: 'SIGKILL' })
    const started = this.isOver ? undefined : this.start()
    await remote.close()
    await started
  }
}

async function liveAndDie(data: string): Promise<History> {
  const server = new Server(data)
  const remote = await server.start()
  await remote.send('POST', definitions, aWidgetDefinition())
  let from: number | undefined
  while (from === undefined) {
    const list = await remote.send('GET', widgets())
    if (list.code === 200) from = Number((list.body.metadata as { resourceVersion: string }).resourceVersion)
  }

  const book = new Book()
  const writing = Array.from({ length: clients }, (_, i) => write(server, book, `c${i}`))
  const watching = Array.from({ length: watchers }, () => follow(server, from, book))
  for (let life = 1; life <= kills; life++) {
    await book.untilAcknowledged((writesWanted * life) / (kills + 1))
    await server.kill()
  }
  await book.untilAcknowledged(writesWanted)
  book.isClosed = true
  await Promise.all(writing)
  // One last write that every watch must see.
  await put(await server.remote(), book, 'last', names[0] ?? '')
  const streams = await Promise.all(watching)
  server.isOver = true
  await server.kill()
  return { operations: book.operations, streams, wrongTypes: book.wrongTypes }
}

/** What the clients did and were told, and what they believe to be there. */
class Book {
  readonly operations: Operation[] = []
  readonly wrongTypes: string[] = []
  readonly believed = new Map<string, { revision: number; value: string }>()
  isClosed = false
  /** The value of the last write, after which watchers may stop. */
  finalValue: string | undefined
  #clock = 0
  #acknowledged = 0
  #waiting: { count: number; wake: () => void }[] = []

  tick(): number {
    return this.#clock++
  }

  acknowledged(): void {
    this.#acknowledged++
    const due = this.#waiting.filter(({ count }) => count <= this.#acknowledged)
    this.#waiting = this.#waiting.filter(entry => !due.includes(entry))
    for (const { wake } of due) wake()
  }

  untilAcknowledged(count: number): Promise<void> {
    if (this.#acknowledged >= count) return Promise.resolve()
    return new Promise(wake => this.#waiting.push({ count, wake }))
  }
}

async function write(server: Server, book: Book, client: string): Promise<void> {
  for (let turn = 0; !book.isClosed; turn++) {
    const remote = await server.remote()
    const name = names[(turn * 7 + Number(client.slice(1)) * 11) % names.length] ?? ''
    try {
      if (turn % 5 === 4) await remove(remote, book, client, name)
      else await put(remote, book, `${client}-${turn}`, name)
    } catch {
      // The server died during the request: its outcome is unknown until the log is read.
      book.believed.delete(name)
    }
  }
}

async function put(remote: Remote, book: Book, value: string, name: string): Promise<void> {
  if (value === 'last') book.finalValue = value
  const known = book.believed.get(name) ?? (await look(remote, book, name))
  const widget = aWidget(name, { value }, known === undefined ? {} : { resourceVersion: String(known.revision) })
  const kind = known === undefined ? 'create' : 'update'
  const answer = await record(
    book,
    { client: value, key: prefix + name, kind, expected: known?.revision, value },
    () =>
      known === undefined ? remote.send('POST', widgets(), widget) : remote.send('PUT', `${widgets()}/${name}`, widget),
  )
  if (answer === undefined) book.believed.delete(name)
  else book.believed.set(name, { revision: answer, value })
  if (value === 'last' && answer === undefined) await put(remote, book, value, name)
}

async function remove(remote: Remote, book: Book, client: string, name: string): Promise<void> {
  const known = book.believed.get(name)
  if (known === undefined) return
  const preconditions = { resourceVersion: String(known.revision) }
  const what = { client, key: prefix + name, kind: 'delete', expected: known.revision, value: known.value } as const
  await record(book, what, () => remote.send('DELETE', `${widgets()}/${name}`, { preconditions }))
  book.believed.delete(name)
}

/** Notes the operation with its outcome, except refusals, which are not in the log. Returns the new version. */
async function record(
  book: Book,
  what: Omit<Operation, 'calledAt' | 'answer'>,
  send: () => Promise<{ code: number; body: Record<string, unknown> }>,
): Promise<number | undefined> {
  const calledAt = book.tick()
  const at = book.operations.push({ ...what, calledAt, answer: undefined }) - 1
  const { code, body } = await send()
  const refused = code === 409 || code === 404
  if (!refused && code !== 200 && code !== 201) throw new Error(`${what.kind} was answered with ${code}`)
  const revision = Number(
    (body.metadata as { resourceVersion?: string } | undefined)?.resourceVersion ?? unknownRevision,
  )
  const outcome: Outcome = refused ? { ok: false, current: unknownRevision } : { ok: true, revision }
  book.operations[at] = { ...what, calledAt, answer: { at: book.tick(), outcome } }
  if (refused) return undefined
  book.acknowledged()
  return revision
}

const unknownRevision = -1

async function look(
  remote: Remote,
  book: Book,
  name: string,
): Promise<{ revision: number; value: string } | undefined> {
  const { code, body } = await remote.send('GET', `${widgets()}/${name}`)
  if (code !== 200) return undefined
  const found = { revision: revisionOf(body), value: readValue(body) }
  book.believed.set(name, found)
  return found
}

/** A watch over all lives of the server, each time from the last version that was told. */
async function follow(server: Server, from: number, book: Book): Promise<Stream> {
  const told: Told[] = []
  for (;;) {
    const remote = await server.remote()
    const last = told.at(-1)?.revision ?? from
    try {
      for await (const line of remote.lines(`${widgets()}?watch=true&resourceVersion=${last}`)) {
        const { type, object } = JSON.parse(line) as { type: string; object: Record<string, unknown> }
        if (type === 'ERROR') throw new Error(`after ${last} the watch was refused: ${line}`)
        const { name } = object.metadata as { name: string }
        const change = type === 'DELETED' ? 'delete' : 'put'
        const value = readValue(object)
        told.push({
          type: change,
          key: prefix + name,
          revision: revisionOf(object),
          value,
          created: 0,
          previous: undefined,
        })
        if (type === 'ADDED' && told.filter(({ key }) => key === prefix + name).at(-2)?.type === 'put') {
          book.wrongTypes.push(`${name} was ADDED twice`)
        }
        if (value === 'last' && change === 'put') return { prefix, from, told }
      }
    } catch (error) {
      if (error instanceof Error && error.message.includes('was refused')) throw error
    }
  }
}

function revisionOf(object: Record<string, unknown>): number {
  return Number((object.metadata as { resourceVersion: string }).resourceVersion)
}

function readValue(object: Record<string, unknown>): string {
  return (object.spec as { value: string }).value
}

async function readLog(data: string): Promise<Told[]> {
  const store = await openStore(join(data, 'store'))
  const log: Told[] = []
  const read = (entry: Entry) => ({ revision: entry.revision, value: readValue(JSON.parse(entry.value.toString())) })
  const watch = store.watch(prefix, store.compacted, ({ type, entry, previous }) => {
    log.push({ type, key: entry.key, created: entry.created, ...read(entry), previous: previous && read(previous) })
  })
  watch.stop()
  await store.close()
  return log
}

/** The answer to a delete does not say its version; what it deleted does. */
function withDeletedRevision(operation: Operation, log: readonly Told[]): Operation {
  const { answer, kind, key, expected } = operation
  if (kind !== 'delete' || answer?.outcome.ok !== true) return operation
  const found = log.find(
    change => change.type === 'delete' && change.key === key && change.previous?.revision === expected,
  )
  return { ...operation, answer: { ...answer, outcome: { ok: true, revision: found?.revision ?? unknownRevision } } }
}

function withWhatWatchesDoNotSay(stream: Stream, log: readonly Told[]): Stream {
  const byRevision = new Map(log.map(change => [change.revision, change]))
  const told = stream.told.map(change => {
    const { created = 0, previous } = byRevision.get(change.revision) ?? {}
    return { ...change, created, previous }
  })
  return { ...stream, told }
}
