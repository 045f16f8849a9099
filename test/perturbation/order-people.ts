// What administrators and the machine API of OpenShift do with Machines in a perturbed world, through the API itself.

import type { People } from '../scenarios/scenario.ts'
import type { Ways } from './machine-people.ts'
import { claimedOf } from './order-observer.ts'
import type { PerturbedWorld } from './world.ts'

type OrderPeople = Pick<
  People,
  'orderMachine' | 'cancelMachine' | 'letOrderGo' | 'untilClaimed' | 'untilNotClaimed' | 'untilNoOrder'
>

const path = '/apis/machine.openshift.io/v1beta1/namespaces/default/machines'

export function orderPeopleOf(world: PerturbedWorld, { create, send, wait }: Ways): OrderPeople {
  const { machines } = world.observer.orders
  const saidBy = (name: string) => claimedOf(machines.get(`default/${name}`))
  return {
    orderMachine: (name, ...pools) =>
      create(path, {
        apiVersion: 'machine.openshift.io/v1beta1',
        kind: 'Machine',
        metadata: { name, namespace: 'default', finalizers: ['machine.machine.openshift.io'] },
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
  }
}

const providerSpecOf = (pools: readonly string[]) => ({
  kind: 'VSphereMachineProviderSpec',
  network: {
    devices: [
      {
        networkName: 'lab',
        addressesFromPools: pools.map(name => ({ group: 'mooring.dev', resource: 'AddressPool', name })),
      },
    ],
  },
})
