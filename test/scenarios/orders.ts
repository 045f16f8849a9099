// Machines of OpenShift that take addresses from pools. People do what the machine API does with the virtual machine; in the second
// half Mooring does, at a vCenter.

import type { People, Scenario } from './scenario.ts'

async function destroy(people: People, machine: string): Promise<void> {
  await people.cancelMachine(machine)
  await people.letOrderGo(machine)
  await people.untilNoOrder(machine)
}

export const orderScenarios: readonly Scenario[] = [
  {
    name: 'S34: a Machine with several addresses waits for a full pool, and is deleted before it has them all',
    async play(people) {
      await people.makePool({ name: 'full', addresses: ['10.9.1.10'] })
      await people.makePool({ name: 'free', addresses: ['10.9.2.10-10.9.2.12'] })
      await people.makeClaim('taker', { pool: 'full' })
      await people.untilBound('taker')
      await people.orderMachine('m', 'free', 'full', 'free')
      await people.untilNotClaimed('m', 'm-claim-0-1 (PoolExhausted')
      await destroy(people, 'm')
      await people.untilGone('claim', 'm-claim-0-0', 'm-claim-0-1', 'm-claim-0-2')
    },
  },
  {
    name: 'S34: a Machine with several addresses goes on when the full pool has room',
    async play(people) {
      await people.makePool({ name: 'full', addresses: ['10.9.1.10'] })
      await people.makePool({ name: 'free', addresses: ['10.9.2.10'] })
      await people.makeClaim('taker', { pool: 'full' })
      await people.untilBound('taker')
      await people.orderMachine('m', 'free', 'full')
      await people.untilNotClaimed('m', 'm-claim-0-1 (PoolExhausted')
      await people.remove('claim', 'taker')
      await people.untilClaimed('m')
    },
  },
  {
    name: 'S34: a Machine that replaces another meets the quarantine of its address',
    async play(people) {
      await people.makePool({ addresses: ['10.9.1.10'], more: { quarantineSeconds: 30 } })
      await people.orderMachine('old', 'pool')
      await people.untilClaimed('old')
      await destroy(people, 'old')
      await people.orderMachine('new', 'pool')
      await people.untilClaimed('new')
    },
  },
  {
    name: 'S34: a Machine is deleted and ordered again under its name at once',
    needsPatience: true,
    async play(people) {
      await people.makePool({ addresses: ['10.9.1.10-10.9.1.11'], more: { quarantineSeconds: 30 } })
      await people.orderMachine('m', 'pool')
      await people.untilClaimed('m')
      await destroy(people, 'm')
      await people.orderMachine('m', 'pool')
      await people.untilClaimed('m')
    },
  },
  {
    name: 'S34: Mooring makes the virtual machine of a Machine, and takes it down',
    isFull: true,
    async play(people) {
      await people.giveCredentials()
      await people.makePool({ addresses: ['10.9.1.10-10.9.1.11'] })
      await people.orderMachine('m', 'pool', 'pool')
      await people.untilRunning('m')
      await people.cancelMachine('m')
      await people.untilNoOrder('m')
      await people.untilGone('claim', 'm-claim-0-0', 'm-claim-0-1')
    },
  },
  {
    name: 'S34: a virtual machine that Mooring makes waits for the address of one that it takes down',
    isFull: true,
    async play(people) {
      await people.giveCredentials()
      await people.makePool({ addresses: ['10.9.1.10'] })
      await people.orderMachine('old', 'pool')
      await people.untilRunning('old')
      await people.orderMachine('new', 'pool')
      await people.untilNotClaimed('new', 'new-claim-0-0 (PoolExhausted')
      await people.cancelMachine('old')
      await people.untilRunning('new')
    },
  },
  {
    name: 'S34: a Machine is deleted while its virtual machine is being made, and made again under its name',
    isFull: true,
    async play(people) {
      await people.giveCredentials()
      await people.makePool({ addresses: ['10.9.1.10'] })
      await people.orderMachine('m', 'pool')
      await people.untilCloneOrdered('m')
      await people.cancelMachine('m')
      await people.untilNoOrder('m')
      await people.orderMachine('m', 'pool')
      await people.untilRunning('m')
    },
  },
  {
    name: 'S34: a MachineSet is scaled up, and down to nothing',
    isFull: true,
    async play(people) {
      await people.giveCredentials()
      await people.makePool({ addresses: ['10.9.1.10-10.9.1.11'] })
      await people.scaleSet('workers', 2, 'pool')
      await people.untilScaled('workers', 2)
      await people.scaleSet('workers', 0, 'pool')
      await people.untilScaled('workers', 0)
    },
  },
]
