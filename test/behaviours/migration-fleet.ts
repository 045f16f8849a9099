// A fleet whose virtual machines migrate: nodes, KubeVirt with a stand-in for its operator that rolls pods of virt-handler, and the
// setting of Harvester. What the desk does is read from what is stored.

import { expect, onTestFinished } from 'vitest'
import { isApiError } from '../../src/kube/api-error.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'
import { refOf } from '../../src/kube/object.ts'
import { startKubeVirtOperator } from '../../src/playground/kubevirt-operator/operator.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { silentLog } from '../harness/silent-log.ts'
import { attachments, events, kubeVirts, migrationNetworks, migrations, nodes, pods, settings } from './kinds.ts'
import { aWorld, type Stored, type World, type WorldOptions } from './world.ts'

export const kubeVirtHome = 'harvester-system'
export const settingName = 'vm-migration-network'
export const prefix = 'vm-migration-network.settings.harvesterhci.io'
export const nothingHash = 'da39a3ee5e6b4b0d3255bfef95601890afd80709'
/** Without progress for so long a roll-out is given up. */
export const patienceMs = 15 * 60_000

export interface Fleet {
  readonly world: World
  /** What is asked for; an object is written as JSON. */
  set(value: object | string): Promise<void>
  setting(): Promise<Stored>
  condition(): Promise<Said | undefined>
  kubeVirt(): Promise<Stored>
  /** Over which network KubeVirt migrates; undefined for the management network. */
  network(): Promise<string | undefined>
  /** NetworkAttachmentDefinitions of migration networks, by name. */
  attachments(): Promise<Stored[]>
  /** Pods of virt-handler, by node. */
  handlers(): Promise<Stored[]>
  addNode(name: string, labels?: Readonly<Record<string, string>>): Promise<void>
  removeNode(name: string): Promise<void>
  /** Until the setting says this. */
  says(said: Partial<Said>, withinMs?: number): Promise<Said>
  /** Until the network that is asked for is the one that every node has. */
  works(): Promise<string>
}

export interface Said {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export const aValue = (more: object = {}): object => ({
  clusterNetwork: 'migration',
  vlan: 100,
  range: '10.1.2.0/24',
  ...more,
})

export interface FleetOptions extends WorldOptions {
  readonly nodes?: readonly string[]
  /** What the KubeVirt object is configured with besides. */
  readonly migrations?: object
  /** Not started: a test plays the operator. */
  readonly hasOperator?: boolean
  /** The Setting, where it is not empty. */
  readonly setting?: object
  /** What is there before the Setting is. */
  readonly before?: (world: World) => Promise<void>
}

const threeNodes = ['node-1', 'node-2', 'node-3']

export async function aFleet(options: FleetOptions = {}): Promise<Fleet> {
  const {
    nodes: names = threeNodes,
    hasOperator = true,
    migrations: configured,
    setting = {},
    before,
    ...rest
  } = options
  const world = await aWorld(rest)
  await clean(world)
  const { client } = world
  const made = async (kind: Kind, object: KubeObject) => {
    await client.create(kind, object).catch(error => {
      if (!isApiError(error, 'AlreadyExists')) throw error
    })
  }
  const fleet: Fleet = {
    world,
    async set(value) {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      await client.mergePatch(settings, { name: settingName }, { value: text })
    },
    setting: async () => (await client.get(settings, { name: settingName })) as Stored,
    async condition() {
      const { status } = await fleet.setting()
      return ((status?.conditions ?? []) as Said[]).find(({ type }) => type === 'configured')
    },
    kubeVirt: async () => (await client.get(kubeVirts, { namespace: kubeVirtHome, name: 'kubevirt' })) as Stored,
    async network() {
      const { spec } = await fleet.kubeVirt()
      return spec?.configuration?.migrations?.network
    },
    async attachments() {
      const { items } = await client.list(attachments, { namespace: kubeVirtHome })
      return items.filter(({ metadata }) => metadata.name?.startsWith('vm-migration-network-')) as Stored[]
    },
    async handlers() {
      const { items } = await client.list(pods, { namespace: kubeVirtHome, labelSelector: 'kubevirt.io=virt-handler' })
      const node = ({ spec }: Stored) => spec.nodeName as string
      return (items as Stored[]).toSorted((one, other) => (node(one) < node(other) ? -1 : 1))
    },
    async addNode(name, labels = {}) {
      const metadata = { name, labels: { 'kubevirt.io/schedulable': 'true', ...labels } }
      await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata })
      const conditions = [{ type: 'Ready', status: 'True' }]
      await client.mergePatch(nodes, { name }, { status: { conditions } }, { subresource: 'status' })
    },
    removeNode: async name => void (await client.delete(nodes, { name })),
    says: (said, withinMs = 120_000) =>
      world.eventually(async () => {
        const now = await fleet.condition()
        expect(now).toMatchObject(said)
        return now as Said
      }, withinMs),
    async works() {
      await fleet.says({ status: 'True', reason: 'Completed' })
      const network = await fleet.network()
      for (const pod of await fleet.handlers()) expect(networkOf(pod)).toBe(network)
      return network ?? ''
    },
  }
  await made(namespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: kubeVirtHome } })
  for (const name of names) await fleet.addNode(name)
  const spec = { configuration: { migrations: configured ?? {} } }
  await made(kubeVirts, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'KubeVirt',
    metadata: { namespace: kubeVirtHome, name: 'kubevirt' },
    spec,
  } as KubeObject)
  if (hasOperator) await startOperator(world)
  if (hasOperator) await isSettled(fleet, names.length)
  await before?.(world)
  await made(settings, {
    apiVersion: 'harvesterhci.io/v1beta1',
    kind: 'Setting',
    metadata: { name: settingName },
    default: '',
    value: '',
    ...setting,
  } as KubeObject)
  return fleet
}

/** KubeVirt says that all of it is ready. */
export const isSettled = (fleet: Fleet, count: number) =>
  fleet.world.eventually(async () => {
    const { status, metadata } = await fleet.kubeVirt()
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Available', status: 'True', reason: 'AllComponentsReady' }),
    )
    expect(status.observedGeneration).toBe(metadata.generation)
    expect(await fleet.handlers()).toHaveLength(count)
  }, 60_000)

async function startOperator(world: World): Promise<void> {
  const { client, clock } = world
  const discovery = { forget() {} }
  const starting = startKubeVirtOperator({ client, discovery, clock, random: seededRandom(5), log: silentLog })
  await world.pass(100)
  const operator = await starting
  onTestFinished(() => void operator.stop())
}

/** The network that a pod of virt-handler was given, without the namespace; undefined for none. */
export function networkOf({ metadata }: Stored): string | undefined {
  return statusOf({ metadata })?.name.split('/')[1]
}

export const addressOf = (pod: Pick<Stored, 'metadata'>): string | undefined => statusOf(pod)?.ips[0]

function statusOf({ metadata }: Pick<Stored, 'metadata'>) {
  const text = metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]'
  const list = JSON.parse(text) as { name: string; interface: string; ips: string[] }[]
  return list.find(one => one.interface === 'migration0')
}

export const aMigration = (name: string, phase?: string): Stored => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstanceMigration',
  metadata: { name },
  spec: { vmiName: 'web' },
  ...(phase !== undefined && { status: { phase } }),
})

/** What was announced of the setting, in the order in which it was. */
export async function announced({ world, setting }: Fleet): Promise<string[]> {
  const { metadata } = await setting()
  const { items } = await world.client.list(events, { namespace: 'default' })
  const own = (items as Stored[]).filter(({ regarding }) => regarding?.uid === metadata.uid)
  return own
    .toSorted((one, other) => (one.eventTime < other.eventTime ? -1 : 1))
    .map(({ type, reason, note }) => `${type} ${reason}: ${note}`)
}

/** On a server that other tests of the file have used. */
async function clean({ client }: World): Promise<void> {
  const ended = (error: unknown) => {
    if (!isApiError(error, 'NotFound')) throw error
  }
  await client.delete(settings, { name: settingName }).catch(async error => {
    if (!isApiError(error, 'Other')) return ended(error)
    // Where webhooks are asked, it is never deleted.
    const nothing = { metadata: { annotations: null }, value: '', default: '', status: null }
    await client.mergePatch(settings, { name: settingName }, nothing)
  })
  await client.delete(migrationNetworks, { name: settingName }).catch(ended)
  await client.mergePatch(migrationNetworks, { name: settingName }, { metadata: { finalizers: null } }).catch(ended)
  await client.delete(kubeVirts, { namespace: kubeVirtHome, name: 'kubevirt' }).catch(ended)
  for (const pod of (await client.list(pods, { namespace: kubeVirtHome })).items) {
    await client.delete(pods, refOf(pod), { graceSeconds: 0 }).catch(ended)
  }
  for (const one of (await client.list(attachments, { namespace: kubeVirtHome })).items) {
    await client.delete(attachments, refOf(one)).catch(ended)
  }
  for (const one of (await client.list(migrations)).items) await client.delete(migrations, refOf(one)).catch(ended)
  for (const node of (await client.list(nodes)).items) await client.delete(nodes, refOf(node)).catch(ended)
}

const namespaceKind: Kind = { group: '', versions: ['v1'], plural: 'namespaces', kind: 'Namespace', namespaced: false }
