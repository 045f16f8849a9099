// A node, and what a container runtime does on it: it calls the plugin for interfaces of pods. The agent is that of the product; the
// disk is in memory, and the way to the API server can be cut.

import { onTestFinished } from 'vitest'
import { networksAnnotation } from '../../src/api/names.ts'
import { ApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { type NodeAgent, startNodeAgent } from '../../src/node/agent.ts'
import { memoryState } from '../harness/memory-state.ts'
import { silentLog } from '../harness/silent-log.ts'
import { configOf, nextName } from './machines.ts'
import type { Stored, Thing, World } from './world.ts'

export interface Sandbox {
  readonly pod: Stored
  /** The NetworkAttachmentDefinition that the interface is on. */
  readonly on: KubeObject
  readonly container?: string
  readonly ifname?: string
  readonly version?: string
  /** Beside what the configuration says. */
  readonly config?: object
}

export interface Answered {
  readonly exit: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read deep into what is printed
  readonly printed: any
}

const cuttable = ['get', 'list', 'listPage', 'create', 'update', 'mergePatch', 'apply', 'delete', 'watch'] as const

export class TestNode {
  readonly name: string
  readonly world: World
  readonly disk = memoryState()
  /** Network namespaces that are there, by their paths. */
  readonly netns = new Set<string>()
  /** What the API server was asked by the agent: `create ipamclaims`. */
  readonly asked: string[] = []
  #agent: NodeAgent
  #isCut = false
  #boot = 1

  private constructor(world: World, name: string) {
    this.world = world
    this.name = name
    this.#agent = this.#start()
    onTestFinished(() => void this.#agent.stop())
  }

  static async started(world: World, name = nextName('node')): Promise<TestNode> {
    await world.create({ apiVersion: 'v1', kind: 'Node', metadata: { name } })
    const node = new TestNode(world, name)
    await node.ready()
    return node
  }

  async ready(): Promise<void> {
    await this.#settled(this.#agent.synced())
    await this.world.pass(250)
  }

  /** From here on no request of the agent is answered, and its watches end. */
  cut(): void {
    this.#isCut = true
  }

  heal(): void {
    this.#isCut = false
  }

  /** The process ends and comes back; with the machine, the kernel is another. */
  async restarted({ withMachine = false } = {}): Promise<void> {
    void this.#agent.stop()
    if (withMachine) {
      this.#boot++
      this.netns.clear()
    }
    this.#agent = this.#start()
    if (!this.#isCut) await this.ready()
  }

  problem(): string | undefined {
    return this.#agent.problem()
  }

  add(sandbox: Sandbox): Promise<Answered> {
    return this.call('ADD', sandbox)
  }

  del(sandbox: Sandbox): Promise<Answered> {
    return this.call('DEL', sandbox)
  }

  /** With the result of an ADD. */
  check(sandbox: Sandbox, prevResult: unknown): Promise<Answered> {
    return this.call('CHECK', { ...sandbox, config: { prevResult } })
  }

  gc(on: KubeObject, valid: readonly { readonly containerID: string; readonly ifname: string }[]): Promise<Answered> {
    const stdin = { ...configOf(on), cniVersion: '1.1.0', 'cni.dev/valid-attachments': valid }
    return this.raw({ CNI_COMMAND: 'GC' }, JSON.stringify(stdin))
  }

  status(): Promise<Answered> {
    return this.raw({ CNI_COMMAND: 'STATUS' }, JSON.stringify({ cniVersion: '1.1.0', name: 'any' }))
  }

  call(verb: string, { pod, on, container = 'c1', ifname = 'net1', version = '1.1.0', config }: Sandbox) {
    const { namespace, name, uid } = pod.metadata
    const env = {
      CNI_COMMAND: verb,
      CNI_CONTAINERID: `${name}-${container}`,
      CNI_NETNS: netnsOf(pod, container),
      CNI_IFNAME: ifname,
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=${uid}`,
      CNI_PATH: '/opt/cni/bin',
    }
    return this.raw(env, JSON.stringify({ ...configOf(on), cniVersion: version, ...config }))
  }

  async raw(env: Readonly<Record<string, string>>, stdin: string): Promise<Answered> {
    const { exit, stdout } = await this.#settled(this.#agent.answer(JSON.stringify({ env, stdin })))
    return { exit, printed: stdout === '' ? undefined : JSON.parse(stdout) }
  }

  #start(): NodeAgent {
    const { client, clock } = this.world
    return startNodeAgent({
      node: this.name,
      client: this.#guarded(client),
      clock,
      random: () => 0.5,
      log: silentLog,
      disk: this.disk,
      boot: String(this.#boot),
      hasNetns: path => this.netns.has(path),
    })
  }

  #guarded(client: Client): Client {
    const guard = (method: (typeof cuttable)[number]) => {
      const call = client[method].bind(client) as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        if (this.#isCut) throw unreachable()
        this.asked.push(`${method} ${(args[0] as { readonly plural: string }).plural}`)
        const answer = await call(...args)
        return method === 'watch' ? this.#guardedStream(answer as AsyncIterable<unknown>) : answer
      }
    }
    const methods = Object.fromEntries(cuttable.map(method => [method, guard(method)]))
    return { ...client, ...methods, withPass: () => this.#guarded(client) } as Client
  }

  async *#guardedStream(events: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    for await (const event of events) {
      if (this.#isCut) throw unreachable()
      yield event
    }
  }

  /** Time passes until it is so. */
  async #settled<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const end = () => {
      isSettled = true
    }
    promise.then(end, end)
    for (let i = 0; i < 400 && !isSettled; i++) await this.world.pass(i < 20 ? 10 : 100)
    return promise
  }
}

const unreachable = () => new ApiError('the API server is cut off', { reason: 'Unreachable', code: 0 })

export const netnsOf = ({ metadata }: Stored, container = 'c1'): string => `/run/netns/${metadata.name}-${container}`

export interface PodDraft {
  readonly node: string
  /** Network selection elements; of an object its name. */
  readonly on: readonly (KubeObject | object)[]
  readonly namespace?: string
  readonly name?: string
  readonly ownerReferences?: readonly object[]
}

/** A pod of no virtual machine. */
export async function aPlainPod(world: World, draft: PodDraft): Promise<Stored> {
  const { node, on, namespace = world.home, name = nextName('pod'), ownerReferences = [] } = draft
  const elements = on.map(one => ('kind' in one ? { name: (one as KubeObject).metadata.name } : one))
  return world.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: { [networksAnnotation]: JSON.stringify(elements) }, ownerReferences },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'main' }] },
  } as KubeObject)
}

/** Without grace: the object goes, whatever runs on the node. */
export async function forceDelete(world: World, pod: Thing): Promise<void> {
  const { metadata } = pod as KubeObject
  const { pods } = await import('../../src/node/kinds.ts')
  await world.client.delete(
    pods,
    { namespace: metadata.namespace ?? '', name: metadata.name ?? '' },
    { graceSeconds: 0 },
  )
}
