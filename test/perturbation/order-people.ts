// What administrators and the machine API of OpenShift do with Machines in a perturbed world, through the API itself.

import type { People } from '../scenarios/scenario.ts'
import type { Ways } from './machine-people.ts'
import type { Stored } from './observer.ts'
import { claimedOf } from './order-observer.ts'
import type { PerturbedWorld } from './world.ts'

type OrderPeople = Pick<
  People,
  | 'orderMachine'
  | 'cancelMachine'
  | 'letOrderGo'
  | 'untilClaimed'
  | 'untilNotClaimed'
  | 'untilNoOrder'
  | 'giveCredentials'
  | 'untilRunning'
  | 'untilCloned'
  | 'untilCloneOrdered'
  | 'scaleSet'
  | 'untilScaled'
>

const group = '/apis/machine.openshift.io/v1beta1/namespaces/default'
const path = `${group}/machines`
const setPath = `${group}/machinesets`

export function orderPeopleOf(world: PerturbedWorld, { create, send, wait }: Ways): OrderPeople {
  const { machines } = world.observer.orders
  const { vcenter } = world
  const machineNamed = (name: string) => machines.get(`default/${name}`)
  const isRunning = (machine: Stored | undefined): boolean =>
    machine?.status?.phase === 'Provisioned' &&
    vcenter?.vms.some(
      ({ instanceUuid, powerState }) => instanceUuid === machine.metadata.uid && powerState === 'poweredOn',
    ) === true
  const saidBy = (name: string) => claimedOf(machineNamed(name))
  return {
    orderMachine: (name, ...pools) =>
      create(path, {
        apiVersion: 'machine.openshift.io/v1beta1',
        kind: 'Machine',
        // Where Mooring makes the virtual machines, it protects its Machines itself.
        metadata: {
          name,
          namespace: 'default',
          ...(vcenter === undefined && { finalizers: ['machine.machine.openshift.io'] }),
        },
        spec: { providerSpec: { value: providerSpecOf(pools) } },
      }),
    async cancelMachine(name) {
      await send('DELETE', `${path}/${name}`)
    },
    async letOrderGo(name) {
      await send('PATCH', `${path}/${name}`, { metadata: { finalizers: null } })
    },
    untilClaimed: (...names) =>
      wait(`${names.join(', ')} claimed`, () => names.every(name => saidBy(name)?.status === 'True')),
    untilNotClaimed: (name, text) =>
      wait(
        `${name} waits: ${text}`,
        () => saidBy(name)?.status === 'False' && saidBy(name)?.message?.includes(text) === true,
      ),
    untilNoOrder: (...names) =>
      wait(`${names.join(', ')} gone`, () => names.every(name => !machines.has(`default/${name}`))),
    async giveCredentials() {
      const secret = (name: string, texts: Readonly<Record<string, string>>) => ({
        ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' } },
        data: Object.fromEntries(
          Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
        ),
      })
      const login = { 'vcenter.example.username': 'u', 'vcenter.example.password': 'p' }
      await create('/api/v1/namespaces/default/secrets', secret('login', login))
      await create('/api/v1/namespaces/default/secrets', secret('first-boot', { userData: '{}' }))
    },
    untilRunning: (...names) =>
      wait(`${names.join(', ')} running`, () => names.every(name => isRunning(machineNamed(name)))),
    untilCloned: name => wait(`${name} cloned`, () => vcenter?.named(name) !== undefined),
    untilCloneOrdered: name =>
      wait(
        `${name} ordered`,
        () => machineNamed(name)?.status?.providerStatus?.cloneOrderedAt !== undefined || isRunning(machineNamed(name)),
      ),
    async scaleSet(name, replicas, pool) {
      const code = await send('PATCH', `${setPath}/${name}`, { spec: { replicas } })
      if (code !== 404) return
      await create(setPath, {
        apiVersion: 'machine.openshift.io/v1beta1',
        kind: 'MachineSet',
        metadata: { name, namespace: 'default' },
        spec: {
          replicas,
          selector: { matchLabels: { set: name } },
          template: { metadata: { labels: { set: name } }, spec: { providerSpec: { value: providerSpecOf([pool]) } } },
        },
      })
    },
    untilScaled: (name, replicas) =>
      wait(`${name} has ${replicas}`, () => {
        const own = [...machines.values()].filter(({ metadata }) => metadata.labels?.set === name)
        return own.length === replicas && own.every(isRunning)
      }),
  }
}

const providerSpecOf = (pools: readonly string[]) => ({
  kind: 'VSphereMachineProviderSpec',
  template: 'rhcos',
  credentialsSecret: { name: 'login' },
  userDataSecret: { name: 'first-boot' },
  workspace: {
    server: 'vcenter.example',
    datacenter: 'dc',
    datastore: 'ds',
    folder: '/dc/vm/c1',
    resourcePool: '/dc/host/cluster/Resources',
  },
  network: {
    devices: [
      {
        networkName: 'lab',
        addressesFromPools: pools.map(name => ({ group: 'mooring.dev', resource: 'AddressPool', name })),
      },
    ],
  },
})
