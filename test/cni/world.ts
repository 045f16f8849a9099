// A server with Mooring at work on it, two nodes with their `mooring node`, and what KubeVirt and the kubelet would write, written by
// hand. On the embedded server the desks are its own; on a real kube-apiserver `mooring controller` runs beside it.

import { type ChildProcess, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment } from '../../scripts/config/manifests.ts'
import { startCluster } from '../../scripts/real/cluster.ts'
import { connect } from '../../scripts/real/connect.ts'
import { startController } from '../../scripts/real/controller.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import { installKinds, shippedDefinitions } from '../../scripts/real/kinds.ts'
import { attachments, holds, ipamClaims, namespaces, pods } from '../../src/controllers/office/kinds.ts'
import { virtualMachineInstances, virtualMachines } from '../../src/controllers/vm/kinds.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type KubeObject } from '../../src/kube/object.ts'
import { lastLines, type Processes } from '../capi/processes.ts'
import { until } from '../capi/until.ts'
import { aPodObject, aVMIObject, aVMObject } from '../vm/builders.ts'
import { accountOf, installAccount } from './account.ts'
import { Gate, throughGate } from './gate.ts'
import { type Attachment, addressesIn, makeNodes, type Namespaces, type Node, pathOf, type Tools } from './nodes.ts'

export const serverKinds = ['embedded', 'cluster'] as const
export type ServerKind = (typeof serverKinds)[number]

export const home = 'lab'

const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'main.js')

export const nodeKind = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
})

/** Objects as they come from the API. */
export interface Stored extends KubeObject {
  // biome-ignore lint/suspicious/noExplicitAny: tests read deep into objects of many kinds
  readonly [field: string]: any
}

/** `mooring node` of one node, which can be killed at any moment. */
export class Agent {
  readonly node: Node
  /** With the token of its account. */
  readonly kubeconfig: string
  readonly #args: readonly string[]
  readonly #log: string
  #child: ChildProcess | undefined

  constructor(node: Node, kubeconfig: string, more: readonly string[] = []) {
    this.node = node
    this.kubeconfig = kubeconfig
    this.#log = join(node.dir, 'mooring-node.log')
    const { dir, socket, name } = node
    const own = [
      `--node-name=${name}`,
      `--kubeconfig=${kubeconfig}`,
      `--socket=${socket}`,
      `--state=${join(dir, 'state')}`,
    ]
    this.#args = [process.env.MOORING_MAIN ?? main, 'node', ...own, ...more]
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async start(): Promise<void> {
    const out = openSync(this.#log, 'a')
    this.#child = spawn(process.execPath, this.#args, {
      stdio: ['ignore', out, out],
      env: { ...process.env, ...nodeEnvironment },
    })
  }

  /** Until it gives addresses to new pods. */
  async ready(): Promise<void> {
    await until(`${this.node.name} is ready`, async () => {
      if (this.#child?.exitCode) throw new Error(`mooring node ended:\n${lastLines(this.#log)}`)
      const { code, out } = await this.node.plugin('STATUS', { cniVersion: '1.1.0', name: 'any', type: 'mooring' })
      return code === 0 ? undefined : out
    })
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise<void>(done => child.once('exit', () => done()))
    child.kill(signal)
    const force = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await gone
    clearTimeout(force)
  }
}

export interface World {
  readonly server: ServerKind
  readonly client: Client
  /** With the shipped role of nodes, by way of the gate. */
  agentOf(node: Node, more?: readonly string[]): Promise<Agent>
  readonly tools: Tools
  readonly processes: Processes
  readonly gate: Gate
  readonly agents: readonly [Agent, Agent]
  readonly namespaces: Namespaces
  /** The API server, ended as by a power cut, and started again where it was. */
  restartServer(): Promise<void>
}

export interface WorldOptions {
  readonly server: ServerKind
  readonly tools: Tools
  readonly namespaces: Namespaces
  readonly processes: Processes
}

export async function startWorld({ server, tools, namespaces: spaces, processes }: WorldOptions): Promise<World> {
  const dir = join(tools.dir, server)
  const { kubeconfig, url, restart } = await startServer(server, dir, processes)
  const { client, close } = connect(kubeconfig)
  processes.keep(close)
  // The embedded server brings its own; KubeVirt is what it does not have.
  const isMissing = ({ spec }: Stored) => server === 'cluster' || spec.group === 'kubevirt.io'
  await installKinds(client, (shippedDefinitions as readonly Stored[]).filter(isMissing))
  if (server === 'cluster') {
    const controller = await startController({ kubeconfig, dir, args: ['--desks=vm,migration'] })
    processes.keep(() => controller.stop())
  }
  const gate = await Gate.open(url)
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } })
  if (server === 'cluster') await untilPodsMayCome(client)
  const nodes = await makeNodes(spaces, { ...tools, dir })
  for (const { name } of nodes) await client.create(nodeKind, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
  await installAccount(kubeconfig)
  const agentOf = async (node: Node, more?: readonly string[]) => {
    const own = await accountOf(node.name, kubeconfig, dir)
    return new Agent(node, throughGate(own, gate, own), more)
  }
  const agents = [await agentOf(nodes[0]), await agentOf(nodes[1])] as const
  for (const agent of agents) {
    await agent.start()
    processes.keep(() => agent.end('SIGTERM'))
    await agent.ready()
  }
  return {
    server,
    client,
    agentOf,
    tools: { ...tools, dir },
    processes,
    gate,
    agents,
    namespaces: spaces,
    restartServer: restart,
  }
}

interface StartedServer {
  readonly kubeconfig: string
  readonly url: string
  readonly restart: () => Promise<void>
}

async function startServer(server: ServerKind, dir: string, processes: Processes): Promise<StartedServer> {
  if (server === 'cluster') {
    const cluster = await startCluster({ dir, say: line => console.log(line) })
    processes.keep(() => cluster.stop())
    return { ...cluster, restart: () => Promise.resolve() }
  }
  const options = { dir, args: ['--desks=vm,migration', '--playground=none'] }
  let running = await startEmbedded(options)
  const { url, kubeconfig } = running
  let restarting = Promise.resolve()
  const restart = () => {
    restarting = running.kill().then(async () => {
      running = await startEmbedded({ ...options, listen: new URL(url).host })
    })
    return restarting
  }
  // One that is just being started is ended too.
  processes.keep(() => restarting.catch(() => {}).then(() => running.stop()))
  return { url, kubeconfig, restart }
}

/** A pod needs the account of its namespace. */
export async function untilPodsMayCome(client: Client, namespace = home): Promise<void> {
  const accounts = defineKind<KubeObject>({
    group: '',
    versions: ['v1'],
    plural: 'serviceaccounts',
    kind: 'ServiceAccount',
    namespaced: true,
  })
  await until('the namespace has its account', async () =>
    (await client.get(accounts, { namespace, name: 'default' })) ? undefined : 'it has none',
  )
}

// --- networks ---

/** The NetworkAttachmentDefinition, and the same config on both nodes, as Multus hands it to plugins. */
export async function addNetwork(world: World, name: string, config: object): Promise<void> {
  const whole = { cniVersion: '1.0.0', name, ...config }
  await world.client.create(attachments, {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace: home },
    spec: { config: JSON.stringify(whole) },
  } as KubeObject)
  for (const { node } of world.agents) node.configure(name, whole)
}

// --- virtual machines and pods ---

export interface Machine {
  readonly name: string
  readonly interface: string
  readonly claim: string
  readonly vmi: Stored
}

const podInterface = 'pod6c270ef2f25'

/** With an interface `net1`, whose name in pods is KubeVirt's hash of it. */
export async function makeMachine({ client }: World, name: string, network: string, mac: string): Promise<Machine> {
  const parts = { name, namespace: home, interfaces: [`net1:${network}`], macs: { net1: mac } }
  const vm = await client.create(virtualMachines, withRunning(aVMObject(parts)))
  const vmi = await client.create(virtualMachineInstances, aVMIObject({ ...parts, of: vm.metadata.uid ?? '' }))
  return { name, interface: podInterface, claim: `${name}.net1`, vmi: vmi as Stored }
}

const withRunning = (vm: KubeObject): KubeObject => {
  const object = vm as Stored
  return { ...object, spec: { ...object.spec, runStrategy: 'Always' } } as KubeObject
}

/** Stopped and started again: another instance of the same virtual machine. */
export async function restartMachine(
  { client }: World,
  machine: Machine,
  network: string,
  mac: string,
): Promise<Machine> {
  const ref = { namespace: home, name: machine.name }
  await client.delete(virtualMachineInstances, ref)
  await until('the instance has gone', async () =>
    (await client.get(virtualMachineInstances, ref)) === undefined ? undefined : 'it is there',
  )
  const vm = await client.get(virtualMachines, ref)
  const parts = { name: machine.name, namespace: home, interfaces: [`net1:${network}`], macs: { net1: mac } }
  const vmi = await client.create(virtualMachineInstances, aVMIObject({ ...parts, of: vm?.metadata.uid ?? '' }))
  return { ...machine, vmi: vmi as Stored }
}

export async function claimedIPs({ client }: World, claim: string): Promise<readonly string[]> {
  let ips: readonly string[] = []
  await until(`claim ${claim} has addresses`, async () => {
    const stored = (await client.get(ipamClaims, { namespace: home, name: claim })) as Stored | undefined
    ips = stored?.status?.ips ?? []
    return ips.length > 0 ? undefined : JSON.stringify(stored?.status ?? 'there is no claim')
  })
  return ips
}

let count = 0

export interface PodOptions {
  readonly machine?: Machine
  readonly element?: object
  readonly ifname?: string
  /** One of its own unless said. */
  readonly name?: string
}

export const nextName = (what: string): string => `${what}-${++count}`

/** A pod on a node, as the kubelet sees it before it calls CNI. */
export async function makePod(world: World, agent: Agent, network: string, options: PodOptions = {}): Promise<Stored> {
  const { machine, element = {} } = options
  const ifname = options.ifname ?? machine?.interface ?? 'net1'
  const networks = [
    {
      name: network,
      namespace: home,
      interface: ifname,
      ...(machine && { 'ipam-claim-reference': machine.claim }),
      ...element,
    },
  ]
  const name = options.name ?? nextName(machine === undefined ? 'pod' : `virt-launcher-${machine.name}`)
  const whole = aPodObject({
    name,
    namespace: home,
    networks,
    node: agent.node.name,
    instance: machine?.vmi.metadata.uid ?? '',
    ...(machine && { domain: machine.name }),
  }) as Stored
  const { labels: _, annotations, ...metadata } = whole.metadata
  const { 'kubevirt.io/domain': __, ...plain } = (annotations ?? {}) as Record<string, string>
  const object = machine === undefined ? { ...whole, metadata: { ...metadata, annotations: plain } } : whole
  return (await world.client.create(pods, object as KubeObject)) as Stored
}

/** A pod with a network namespace of its own, attached by the runtime of its node. */
export class Guest {
  readonly world: World
  readonly agent: Agent
  readonly pod: Stored
  readonly netns: string
  readonly network: string
  readonly ifname: string
  readonly capabilities: object | undefined

  constructor(
    world: World,
    agent: Agent,
    pod: Stored,
    netns: string,
    network: string,
    ifname: string,
    capabilities?: object,
  ) {
    this.world = world
    this.agent = agent
    this.pod = pod
    this.netns = netns
    this.network = network
    this.ifname = ifname
    this.capabilities = capabilities
  }

  static async make(
    world: World,
    agent: Agent,
    network: string,
    options: PodOptions & { readonly capabilities?: object } = {},
  ): Promise<Guest> {
    const pod = await makePod(world, agent, network, options)
    const netns = await world.namespaces.add('guest')
    const ifname = options.ifname ?? options.machine?.interface ?? 'net1'
    return new Guest(world, agent, pod, netns, network, ifname, options.capabilities)
  }

  get attachment(): Attachment {
    const { netns, network, ifname, capabilities } = this
    const { name = '', namespace = '', uid = '' } = this.pod.metadata
    return {
      netns: pathOf(netns),
      network,
      ifname,
      pod: { name, namespace, uid },
      ...(capabilities && { capabilities }),
    }
  }

  async add(): Promise<readonly string[]> {
    const { code, err, out } = await this.agent.node.cni('add', this.attachment)
    if (code !== 0) throw new Error(`cnitool add: ${err}${out}`)
    return addressesIn(this.netns, this.ifname)
  }

  async check(): Promise<void> {
    const { code, err, out } = await this.agent.node.cni('check', this.attachment)
    if (code !== 0) throw new Error(`cnitool check: ${err}${out}`)
  }

  async del(): Promise<void> {
    const { code, err, out } = await this.agent.node.cni('del', this.attachment)
    if (code !== 0) throw new Error(`cnitool del: ${err}${out}`)
  }

  /** As the kubelet ends a pod: interface, sandbox, object. */
  async end(): Promise<void> {
    await this.del()
    await this.world.namespaces.remove(this.netns)
    await deletePod(this.world, this.pod)
  }
}

export async function deletePod({ client }: World, { metadata }: Stored): Promise<void> {
  const { name = '', namespace = '' } = metadata
  await client.delete(pods, { namespace, name }, { graceSeconds: 0 })
}

/** What the ledger holds on a network, as `address claim`. */
export async function heldOn({ client }: World, network: string): Promise<readonly string[]> {
  const { items } = await client.list(holds)
  return (items as Stored[])
    .filter(({ spec, status }) => spec.poolRef.name === network && status.state === 'held')
    .map(({ spec }) => `${spec.address} ${spec.claimRef.name}`)
}
