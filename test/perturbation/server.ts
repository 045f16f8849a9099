// The API server of a world: the real one on a store in memory, with the kinds installed from birth, its time and chance
// the world's. Installing kinds takes hundreds of writes, so that is done once and copied.

import { createHash } from 'node:crypto'
import type { KubeObject } from '../../src/apiserver/object.ts'
import { type APIServer, createAPIServer } from '../../src/apiserver/server.ts'
import { embeddedWire } from '../../src/cli/embedded-wire.ts'
import type { Wire } from '../../src/kube/wire.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Random } from '../../src/runtime/random.ts'
import type { Entry, Store } from '../../src/store/store.ts'
import { type Client, createClient, ok } from '../harness/client.ts'
import { type MemoryDisk, memoryDisk, memoryStore } from '../harness/memory-store.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import { certificates, toDER } from '../harness/world.ts'
import { definitions } from './lean-server.ts'
import { takeTimers } from './timers.ts'

/** One published write, as the observers of the world get it. */
export interface Seen {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
  readonly object: KubeObject
  readonly previous?: KubeObject
}

export interface Admin {
  request(method: string, path: string, body?: unknown): Promise<{ readonly code: number; readonly text: string }>
}

export interface Server {
  readonly wire: () => Wire
  readonly admin: Admin
  readonly revision: number
  /** What the server thought was a fault of its own. */
  readonly faults: readonly string[]
  /** Answers how to stop. */
  onChange(tell: (seen: Seen) => void): () => void
  stop(): Promise<void>
}

interface Embedded {
  readonly api: APIServer
  readonly store: Store
  readonly admin: Client
  readonly faults: readonly string[]
}

const adminCertificate = (): Buffer => toDER(certificates().admin().certificate)

async function startServer(disk: MemoryDisk, clock: Clock, random: Random): Promise<Embedded> {
  const store = memoryStore({ disk, id: 'world', now: () => clock.monotonicMs() })
  const faults: string[] = []
  const api = createAPIServer({
    store,
    certificates: certificates(),
    address: () => '127.0.0.1:6443',
    now: () => new Date(clock.now()),
    random,
    randomUUID: () => toUUID(random()),
    onError: (error, what) => faults.push(`${what}: ${String(error)}`),
  })
  await api.start()
  const admin = createClient(api.handler, { peerCertificate: adminCertificate() })
  return { api, store, admin, faults }
}

export async function embeddedServer(clock: Clock, seed: number): Promise<Server> {
  const { meta, rows } = await newborn()
  const { api, store, admin, faults } = await startServer({ meta, rows: new Map(rows) }, clock, seededRandom(seed))
  return {
    wire: () => embeddedWire({ handler: () => api.handler, peerCertificate: adminCertificate() }),
    admin: {
      request: (method, path, body) =>
        admin.request(method, path, body, method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'),
    },
    faults,
    get revision() {
      return store.revision
    },
    onChange(tell) {
      const watch = store.watch('', store.revision, ({ type, entry, previous }) => {
        const { key, revision } = entry
        tell({ type, key, revision, object: decode(entry), ...(previous && { previous: decode(previous) }) })
      })
      return () => watch.stop()
    },
    async stop() {
      api.stop()
      await store.close()
    },
  }
}

const decode = ({ value }: Entry): KubeObject => JSON.parse(value.toString('utf8')) as KubeObject

let first: Promise<MemoryDisk> | undefined

/** To be called once before the first world takes the timers. */
export function newborn(): Promise<MemoryDisk> {
  first ??= install()
  return first
}

async function install(): Promise<MemoryDisk> {
  const clock = new VirtualClock()
  const giveBack = takeTimers(clock)
  try {
    const disk = memoryDisk()
    const { api, admin, store } = await startServer(disk, clock, seededRandom(1))
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    for (const definition of definitions) ok(await admin.create(path, definition))
    for (let before = -1; before !== store.revision; await clock.advance(1_000)) before = store.revision
    api.stop()
    return disk
  } finally {
    giveBack()
  }
}

function toUUID(random: number): string {
  const hex = createHash('sha256').update(String(random)).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
