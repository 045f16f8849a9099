// A whole API server in one process, without sockets and without waiting: the real handler on a store in memory, a
// clock that stands still until it is moved, random numbers that repeat, timers that fire when the world says so.

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import type { AdmissionRequest } from '../../src/apiserver/call.ts'
import { type KeptCertificates, keepCertificates } from '../../src/apiserver/certificates/keep.ts'
import type { InFlightLimits } from '../../src/apiserver/edge/in-flight.ts'
import { type APIServer, createAPIServer } from '../../src/apiserver/server.ts'
import { StatusError } from '../../src/apiserver/status.ts'
import type { Store } from '../../src/store/store.ts'
import { type Client, createClient } from './client.ts'
import { type MemoryDisk, memoryDisk, memoryStore } from './memory-store.ts'

export interface WorldOptions {
  readonly inFlight?: InFlightLimits
  readonly onAudit?: (event: object) => void
  /** What an earlier world left behind; without it the world is new. */
  readonly disk?: MemoryDisk
}

export interface World {
  readonly admin: Client
  readonly server: APIServer
  readonly store: Store
  readonly disk: MemoryDisk
  /** What the server thought was a fault of its own. A test that expects none looks here. */
  readonly faults: readonly { readonly error: unknown; readonly what: string }[]
  as(user: string, groups?: readonly string[]): Client
  withToken(token: string): Client
  now(): Date
  /** Moves the clock and fires the timers that are due. */
  pass(milliseconds: number): Promise<void>
  /** Resolves when the controllers have nothing left to do, retries and second looks included. */
  settled(): Promise<void>
  /** Runs `act` once, between the checks of a write and the write itself, as may happen with a slow webhook. */
  meanwhile(of: (request: AdmissionRequest) => boolean, act: () => Promise<unknown>): void
  /** As a crash and a new start would: another server on the same disk. */
  restart(): Promise<World>
  stop(): void
}

const birth = new Date('2030-01-01T00:00:00Z')

/** A world that ends with the test. */
export async function aWorld(options: WorldOptions = {}): Promise<World> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] })
  const world = await begin({ ...options, disk: options.disk ?? copyOf(await newborn()) })
  onTestFinished(() => {
    world.stop()
    vi.useRealTimers()
  })
  return world
}

async function begin({ inFlight, onAudit, disk = memoryDisk() }: WorldOptions): Promise<World> {
  const store = memoryStore({ disk, id: 'world' })
  const faults: { error: unknown; what: string }[] = []
  let elapsedMs = 0
  const now = () => new Date(birth.getTime() + elapsedMs)
  const random = seededRandom(store.revision)
  const server = createAPIServer({
    store,
    certificates: certificates(),
    address: () => '127.0.0.1:6443',
    now,
    random,
    randomUUID: seededUUIDs(random),
    onError: (error, what) => faults.push({ error, what }),
    onAudit,
    ...(inFlight && { inFlight }),
  })
  await server.start()
  const peerCertificate = toDER(certificates().admin().certificate)
  const settled = () => settle(store)
  await settled()

  const world: World = {
    admin: createClient(server.handler, { peerCertificate }),
    server,
    store,
    disk,
    faults,
    as: (user, groups = []) =>
      createClient(server.handler, {
        peerCertificate,
        headers: { 'impersonate-user': [user], ...(groups.length > 0 && { 'impersonate-group': [...groups] }) },
      }),
    withToken: token => createClient(server.handler, { headers: { authorization: [`Bearer ${token}`] } }),
    now,
    async pass(milliseconds) {
      elapsedMs += milliseconds
      await vi.advanceTimersByTimeAsync(milliseconds)
      await stillness(store)
    },
    settled,
    meanwhile(of, act) {
      const { admission } = server.world
      const validate = admission.validate.bind(admission)
      let isDone = false
      const wrapped: typeof validate = async request => {
        await validate(request)
        if (isDone || !of(request)) return
        isDone = true
        await act()
      }
      Object.assign(admission, { validate: wrapped })
    },
    async restart() {
      world.stop()
      return begin({ disk, ...(inFlight && { inFlight }) })
    },
    stop: () => server.stop(),
  }
  return world
}

/** Deletes are refused as a webhook would, until the answer is called. */
export function refuseDeletes(
  { server }: World,
  of: (request: AdmissionRequest) => boolean,
  message: string,
): () => void {
  const { admission } = server.world
  const validate = admission.validate.bind(admission)
  const refusing: typeof validate = async request => {
    if (request.operation === 'DELETE' && of(request)) throw new StatusError(403, '', message)
    return validate(request)
  }
  Object.assign(admission, { validate: refusing })
  return () => void Object.assign(admission, { validate })
}

/** Longer than the second looks of the controllers, shorter than anything that a test measures. */
const secondLookMs = 250

async function settle(store: Store): Promise<void> {
  for (;;) {
    await stillness(store)
    const before = store.revision
    await vi.advanceTimersByTimeAsync(secondLookMs)
    await stillness(store)
    if (store.revision === before) return
  }
}

const quietTurns = 12

/** Nothing here waits for anything but turns of the event loop, so enough turns without a write mean rest. */
async function stillness(store: Store): Promise<void> {
  let revision = store.revision
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await new Promise(resolve => setImmediate(resolve))
    if (store.revision === revision) continue
    revision = store.revision
    quiet = 0
  }
}

let firstDisk: Promise<MemoryDisk> | undefined

/** What a new cluster holds takes a hundred writes: they are made once and copied. */
function newborn(): Promise<MemoryDisk> {
  firstDisk ??= begin({}).then(world => {
    world.stop()
    return world.disk
  })
  return firstDisk
}

function copyOf(disk: MemoryDisk): MemoryDisk {
  return { meta: disk.meta, rows: new Map(disk.rows) }
}

let kept: KeptCertificates | undefined

export function certificates(): KeptCertificates {
  if (kept !== undefined) return kept
  const directory = mkdtempSync(join(tmpdir(), 'mooring-world-'))
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] }
  kept = keepCertificates({ directory, names, clock: () => birth })
  rmSync(directory, { recursive: true })
  return kept
}

export function toDER(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
}

/** Park and Miller's generator: short, repeatable, even enough for names. */
function seededRandom(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

function seededUUIDs(random: () => number): () => string {
  return () => {
    const hex = createHash('sha256').update(String(random())).digest('hex')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join('-')
  }
}
