// Where the playground is tried: the API server of the product in one process, with one clock that moves when the test says so.

import { onTestFinished } from 'vitest'
import { standInsOf } from '../../src/cli/definitions.ts'
import type { Client } from '../../src/kube/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { speak } from '../../src/kube/speak.ts'
import { WireError } from '../../src/kube/wire.ts'
import { instances, machines, migrations, pods } from '../../src/playground/kinds.ts'
import { startNodeAgent } from '../../src/playground/node-agent/agent.ts'
import type { Instance, Interface, Machine, Migration, Network, Pod } from '../../src/playground/shapes.ts'
import { startVMController } from '../../src/playground/vm-controller/controller.ts'
import { pause } from '../../src/runtime/clock.ts'
import { ok } from '../harness/client.ts'
import { kubeWire } from '../harness/kube-wire.ts'
import type { MemoryDisk } from '../harness/memory-store.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { silentLog } from '../harness/silent-log.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import { aWorld, certificates, toDER, type World } from '../harness/world.ts'

export interface Ground {
  readonly client: Client
  readonly server: World
  readonly clock: VirtualClock
  /** After so many more writes the stand-ins reach the server no more, and do not hear what became of the last one. */
  cutOffAfter(writes: number): void
  /** Ends both stand-ins, as a process that is stopped. */
  stop(): Promise<void>
  /** New ones, which know nothing of those before. */
  start(): Promise<void>
  /** Until it does not throw; what it threw last is the failure. */
  eventually<T>(look: () => Promise<T> | T, withinMs?: number): Promise<T>
  /** Lets so much time pass, and everything happen that happens by itself meanwhile. */
  pass(milliseconds: number): Promise<void>
  machine(name: string): Promise<Machine | undefined>
  instance(name: string): Promise<Instance | undefined>
  /** Launcher pods of the machine, the oldest first. */
  podsOf(name: string): Promise<readonly Pod[]>
  migration(name: string): Promise<Migration | undefined>
}

export const home = 'default'

export interface GroundOptions {
  /** Writes of the stand-ins, as they are sent: `agent POST /api/v1/...`; by agent, handler and controller. */
  readonly onWrite?: (what: string) => void
  /** The answer to every new pod is lost on its way, and the stand-ins hear of pods so much later. */
  readonly podsHeardAfterMs?: number
  /** Not started by itself. */
  readonly isIdle?: boolean
}

export async function aGround({ onWrite, podsHeardAfterMs, isIdle = false }: GroundOptions = {}): Promise<Ground> {
  const server = await aWorld({ disk: await withKinds() })
  const clock = new VirtualClock()
  const peerCertificate = toDER(certificates().admin().certificate)
  const wire = kubeWire({ handler: () => server.server.handler, peerCertificate })
  let left = Number.POSITIVE_INFINITY
  const counted: typeof wire = async request => {
    if (left <= 0) throw new WireError('cut off', false)
    const isOfPods = /\/pods(\?|$)/.test(request.path)
    if (request.method === 'GET') {
      const answer = await wire(request)
      const { body } = answer
      if (podsHeardAfterMs === undefined || !isOfPods || typeof body === 'string') return answer
      return { ...answer, body: late(body, clock, podsHeardAfterMs) }
    }
    onWrite?.(`${request.headers['user-agent']} ${request.method} ${request.path}`)
    left--
    const answer = await wire(request)
    const isLost = podsHeardAfterMs !== undefined && isOfPods && request.method === 'POST'
    if (left <= 0 || isLost) throw new WireError('cut off', true)
    return answer
  }
  const { client } = speak({ wire, clock, name: 'tester', absentMs: 0 })
  let running: { stop(): Promise<void> }[] = []

  async function pass(milliseconds: number): Promise<void> {
    for (let leftMs = milliseconds; leftMs > 0; leftMs -= stepMs) {
      await server.pass(Math.min(stepMs, leftMs))
      await clock.advance(Math.min(stepMs, leftMs))
    }
    await server.pass(0)
  }
  async function start(): Promise<void> {
    left = Number.POSITIVE_INFINITY
    const by = (name: string) => speak({ wire: counted, clock, name, absentMs: 0 })
    const others = { clock, random: seededRandom(7), log: silentLog }
    const starting = [
      startNodeAgent({ ...by('agent'), handler: by('handler').client, ...others }),
      startVMController({ ...by('controller'), ...others }),
    ]
    await pass(100)
    running = await Promise.all(starting)
  }
  async function stop(): Promise<void> {
    const stopping = running.map(one => one.stop())
    running = []
    await Promise.all(stopping)
  }
  if (!isIdle) await start()
  onTestFinished(() => void stop())
  return {
    client,
    server,
    clock,
    cutOffAfter(writes) {
      left = writes
    },
    start,
    stop,
    pass,
    async eventually(look, withinMs = 10_000) {
      for (let leftMs = withinMs; ; leftMs -= 100) {
        await pass(leftMs === withinMs ? 0 : 100)
        try {
          return await look()
        } catch (error) {
          if (leftMs <= 0) throw error
        }
      }
    },
    machine: name => client.get(machines, { namespace: home, name }),
    instance: name => client.get(instances, { namespace: home, name }),
    migration: name => client.get(migrations, { namespace: home, name }),
    async podsOf(name) {
      const { items } = await client.list(pods, { namespace: home, labelSelector: 'kubevirt.io=virt-launcher' })
      const own = items.filter(({ metadata }) => metadata.annotations?.['kubevirt.io/domain'] === name)
      const age = ({ metadata }: Pod) =>
        `${metadata.labels?.['kubevirt.io/migrationJobUID'] === undefined ? 0 : 1} ${metadata.creationTimestamp}`
      return own.toSorted((one, other) => (age(one) < age(other) ? -1 : 1))
    },
  }
}

async function* late(chunks: AsyncIterable<Uint8Array>, clock: VirtualClock, delayMs: number) {
  for await (const chunk of chunks) {
    await pause(clock, delayMs)
    yield chunk
  }
}

const stepMs = 250

let diskWithKinds: Promise<MemoryDisk> | undefined

async function withKinds(): Promise<MemoryDisk> {
  diskWithKinds ??= aWorld().then(async server => {
    for (const definition of standInsOf([{ standIns: ['crd/kubevirt/', 'crd/networks/'] }])) {
      ok(await server.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
    }
    await server.settled()
    return server.disk
  })
  const { meta, rows } = await diskWithKinds
  return { meta, rows: new Map(rows) }
}

// --- builders ---

export interface MachineDraft {
  readonly runStrategy?: string
  readonly running?: boolean
  readonly interfaces?: readonly Interface[]
  readonly networks?: readonly Network[]
  readonly annotations?: Readonly<Record<string, string>>
}

export function aMachine(name: string, draft: MachineDraft = {}): Machine {
  const { runStrategy, running, interfaces = [], networks = [], annotations = {} } = draft
  const isOld = running !== undefined
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace: home },
    spec: {
      ...(isOld ? { running } : { runStrategy: runStrategy ?? 'Always' }),
      template: {
        metadata: { annotations, labels: { app: name } },
        spec: { domain: { devices: { interfaces } }, networks },
      },
    },
  }
}

/** An interface of a bridge, and its network, of this NetworkAttachmentDefinition. */
export function aBridge(
  name: string,
  networkName: string,
  more: object = {},
): { interfaces: Interface[]; networks: Network[] } {
  return { interfaces: [{ name, bridge: {}, ...more }], networks: [{ name, multus: { networkName } }] }
}

export function anAttachment(name: string, config: object): KubeObject & { readonly spec: object } {
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace: home },
    spec: { config: JSON.stringify({ cniVersion: '1.0.0', ...config }) },
  }
}

export function aMigration(
  name: string,
  vmiName: string,
  annotations: Readonly<Record<string, string>> = {},
): Migration {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstanceMigration',
    metadata: { name, namespace: home, annotations },
    spec: { vmiName },
  }
}
