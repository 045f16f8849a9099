// The life of virtual machines: people do what KubeVirt and a node would do, so that faults fall between any two of its steps.

import type { MachineWish, People, Scenario } from './scenario.ts'

/** Two addresses of each family. */
const scarce = { subnets: '10.9.0.0/30,fd00:9::/126', excludeSubnets: 'fd00:9::3/128' }

const on = (network: string): MachineWish => ({ interfaces: { net1: network } })

/** Everything that runs ends; the virtual machine stays. */
async function stop(people: People, vm: string, pod: string): Promise<void> {
  await people.endPod(pod)
  await people.endInstance(vm)
}

async function destroy(people: People, vm: string): Promise<void> {
  await people.deleteMachine(vm)
  await people.letMachineGo(vm)
  await people.untilNoClaim(`${vm}.net1`)
}

export const machineScenarios: readonly Scenario[] = [
  {
    name: 'S38: a network that an administrator defines is rendered, used, spoiled, and stays until its machine is gone',
    async play(people) {
      await people.makeDefinedNetwork('blue', '10.9.0.0/29')
      await people.untilRendered('blue')
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.spoilAttachment('blue')
      await stop(people, 'a', 'a-1')
      await people.deleteDefinedNetwork('blue')
      await people.untilNotRendered('blue')
      await destroy(people, 'a')
      await people.untilNoDefinedNetwork('blue')
    },
  },
  {
    name: 'S38: a network that an administrator defines is deleted and made again at once',
    async play(people) {
      await people.makeDefinedNetwork('blue', '10.9.0.0/29')
      await people.untilRendered('blue')
      await people.deleteDefinedNetwork('blue')
      await people.untilNoDefinedNetwork('blue')
      await people.makeDefinedNetwork('blue', '10.9.0.0/29')
      await people.untilRendered('blue')
      await people.makeMachine('a', on('blue'))
      await people.untilAddressed('a.net1')
    },
  },
  {
    name: 'S23: a machine is stopped and started, and keeps its addresses until it is deleted',
    async play(people) {
      await people.makeAttachment('blue', scarce)
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await stop(people, 'a', 'a-1')
      await people.startInstance('a', on('blue'))
      await people.makePod('a-2', 'a', on('blue'))
      await people.untilTold('a-2')
      await stop(people, 'a', 'a-2')
      await destroy(people, 'a')
    },
  },
  {
    name: 'S23: a live migration: two pods, one claim',
    async play(people) {
      await people.makeAttachment('blue', scarce)
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.makePod('a-2', 'a', { ...on('blue'), isTarget: true })
      await people.untilTold('a-2')
      await people.targetIsReady('a-2')
      await people.endPod('a-1')
      await people.untilOwnerPod('a.net1', 'a-2')
    },
  },
  {
    name: 'S36: a failed migration, then the machine starts elsewhere',
    async play(people) {
      await people.makeAttachment('blue', scarce)
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.makePod('a-2', 'a', { ...on('blue'), isTarget: true })
      await people.endPod('a-2', 'Failed')
      await people.untilOwnerPod('a.net1', 'a-1')
      await stop(people, 'a', 'a-1')
      await people.startInstance('a', on('blue'))
      await people.makePod('a-3', 'a', on('blue'))
      await people.untilTold('a-3')
      await people.untilOwnerPod('a.net1', 'a-3')
    },
  },
  {
    name: 'S36: a machine is deleted with the orphan policy while it runs, and another waits for its addresses',
    async play(people) {
      await people.makeAttachment('blue', { subnets: '10.9.0.0/30', excludeSubnets: '10.9.0.2/32' })
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.makeMachine('b', on('blue'))
      await people.untilNoAddress('b.net1')
      await people.orphanInstance('a')
      await people.deleteMachine('a')
      await people.letMachineGo('a')
      await people.pass(60)
      await stop(people, 'a', 'a-1')
      await people.untilNoClaim('a.net1')
      await people.untilAddressed('b.net1')
    },
  },
  {
    name: 'S36: a machine is deleted while its pod still runs, and another waits for its addresses',
    async play(people) {
      await people.makeAttachment('blue', { subnets: '10.9.0.0/30', excludeSubnets: '10.9.0.2/32' })
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.makeMachine('b', on('blue'))
      await people.untilNoAddress('b.net1')
      await people.deleteMachine('a')
      await people.deleteClaim('a.net1')
      await people.pass(60)
      await stop(people, 'a', 'a-1')
      await people.letMachineGo('a')
      await people.untilNoClaim('a.net1')
      await people.untilAddressed('b.net1')
    },
  },
  {
    name: 'S36: a claim is edited while its machine runs',
    needsPatience: true,
    async play(people) {
      await people.makeAttachment('blue', scarce)
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.editClaim('a.net1', { status: { ips: ['10.9.0.2/30', 'fd00:9::2/126'] } }, 'status')
      await people.editClaim('a.net1', { metadata: { labels: { 'kubevirt.io/vm': null } } })
      await people.pass(60)
      await people.makePod('a-2', 'a', { ...on('blue'), isTarget: true })
      await people.untilTold('a-2')
    },
  },
  {
    name: 'S23: an interface is unplugged and another plugged in',
    async play(people) {
      const both: MachineWish = { interfaces: { net1: 'blue', net2: 'green' } }
      await people.makeAttachment('blue', scarce)
      await people.makeAttachment('green', { subnets: '10.8.0.0/29' })
      await people.makeMachine('a', on('blue'))
      await people.startInstance('a', on('blue'))
      await people.makePod('a-1', 'a', on('blue'))
      await people.untilTold('a-1')
      await people.replug('a', both, 'a-1')
      await people.untilAddressed('a.net1', 'a.net2')
      await people.replug('a', on('blue'), 'a-1')
      await people.untilNoClaim('a.net2')
    },
  },
]
