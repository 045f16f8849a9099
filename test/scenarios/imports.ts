// Machines that move in with their MAC and their addresses, while others are given addresses as usual: what comes from outside
// (an IPPool, a claim made beforehand, a status, a running pod) falls into a choice that is under way. Each ends with nothing
// left, whichever machine was first.

import type { MachineWish, People, Scenario } from './scenario.ts'

/** One address: 10.9.0.1. */
const single = { subnets: '10.9.0.0/30', excludeSubnets: '10.9.0.2/32' }
const roomy = { subnets: '10.9.0.0/29' }
const ip = '10.9.0.1'
const cidr = `${ip}/30`
const mac = '02:00:5e:10:00:01'
const otherMAC = '02:00:5e:10:00:02'

const on = (network: string): MachineWish => ({ interfaces: { net1: network } })
const withMAC = (of: string, network = 'blue'): MachineWish => ({ ...on(network), macs: { net1: of } })
const withIP: MachineWish = { ...on('blue'), ips: { net1: [ip] } }

async function start(people: People, vm: string, pod: string, wish: MachineWish): Promise<void> {
  await people.startInstance(vm, wish)
  await people.makePod(pod, vm, wish)
}

async function stop(people: People, vm: string, pod: string): Promise<void> {
  await people.endPod(pod)
  await people.endInstance(vm)
}

async function destroy(people: People, ...vms: readonly string[]): Promise<void> {
  for (const vm of vms) {
    await people.deleteMachine(vm)
    await people.letMachineGo(vm)
    await people.untilNoClaim(`${vm}.net1`)
  }
}

/** The first of two that has what both want goes; then the other has it. */
async function inTurn(people: People, wishes: Readonly<Record<'a' | 'b', MachineWish>>): Promise<void> {
  const winner = (await people.whoIsAddressed('a.net1', 'b.net1')).startsWith('a') ? 'a' : 'b'
  const other = winner === 'a' ? 'b' : 'a'
  await destroy(people, winner)
  await people.untilAddressed(`${other}.net1`)
  await start(people, other, `${other}-1`, wishes[other])
  await people.untilTold(`${other}-1`)
  await stop(people, other, `${other}-1`)
  await destroy(people, other)
}

export const importScenarios: readonly Scenario[] = [
  {
    name: 'S21: an IPPool keeps an address that a machine is just choosing',
    async play(people) {
      await people.makeAttachment('blue', single)
      await Promise.all([
        people.makeMachine('b', on('blue')),
        people.makeIPPool('blue', { entries: { [mac]: [cidr] } }),
        people.makeMachine('a', withMAC(mac)),
      ])
      await people.whoIsAddressed('a.net1', 'b.net1')
      await destroy(people, 'b')
      await people.untilAddressed('a.net1')
      await destroy(people, 'a')
    },
  },
  {
    name: 'S21: what an IPPool keeps is given to no other machine, until it is kept no longer',
    needsPatience: true,
    async play(people) {
      await people.makeAttachment('blue', single)
      await people.makeIPPool('blue', { entries: { [mac]: [cidr] } })
      await people.pass(120)
      await people.makeMachine('b', on('blue'))
      await people.untilNoAddress('b.net1')
      await people.makeMachine('a', withMAC(mac))
      await people.untilAddressed('a.net1')
      await destroy(people, 'a')
      await people.pass(60)
      await people.untilNoAddress('b.net1')
      await people.changeIPPool('blue', { entries: { [mac]: null } })
      await people.untilAddressed('b.net1')
      await destroy(people, 'b')
    },
  },
  {
    name: 'S21: a claim is made beforehand for an address that a machine is just choosing',
    async play(people) {
      await people.makeAttachment('blue', single)
      await Promise.all([
        people.makeMachine('b', on('blue')),
        people.makeClaimBeforehand('a.net1', 'blue', { ips: [ip], mac }),
      ])
      await people.makeMachine('a', on('blue'))
      await people.whoIsAddressed('a.net1', 'b.net1')
      await destroy(people, 'b')
      await people.untilAddressed('a.net1')
      await start(people, 'a', 'a-1', on('blue'))
      await people.untilTold('a-1')
      await stop(people, 'a', 'a-1')
      await people.deleteMachine('a')
      await people.letMachineGo('a')
      await people.deleteClaim('a.net1')
      await people.untilNoClaim('a.net1')
    },
  },
  {
    name: 'S21: another program writes a status with an address that a machine is just choosing',
    async play(people) {
      await people.makeAttachment('blue', single)
      await people.makeClaimBeforehand('c', 'blue', {})
      await Promise.all([people.makeMachine('b', on('blue')), people.writeIPs('c', [cidr])])
      await people.whoIsAddressed('c', 'b.net1')
      await destroy(people, 'b')
      await people.untilAddressed('c')
      await people.deleteClaim('c')
      await people.untilNoClaim('c')
    },
  },
  {
    name: 'S21: a pod runs with an address that a machine is just choosing',
    async play(people) {
      await people.makeAttachment('blue', single)
      await Promise.all([
        people.makeMachine('b', on('blue')),
        people
          .startInstance('a', on('blue'))
          .then(() => people.makePod('a-1', 'a', { ...on('blue'), shows: { net1: [cidr] } })),
      ])
      await people.whoIsAddressed('a.net1', 'b.net1')
      await destroy(people, 'b')
      await people.untilAddressed('a.net1')
      await stop(people, 'a', 'a-1')
      await people.untilNoClaim('a.net1')
    },
  },
  {
    name: 'S21: a machine asks for its old address while another is just choosing it',
    async play(people) {
      const wishes = { a: { ...withIP, macs: { net1: mac } }, b: on('blue') }
      await people.makeAttachment('blue', single)
      await Promise.all([people.makeMachine('b', wishes.b), people.makeMachine('a', wishes.a)])
      await inTurn(people, wishes)
    },
  },
  {
    name: 'S21: two machines ask for one address',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await Promise.all([people.makeMachine('a', withIP), people.makeMachine('b', withIP)])
      await inTurn(people, { a: withIP, b: withIP })
    },
  },
  {
    name: 'S22: a MAC is in use in one network and not in another; a machine that is stopped keeps it',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeAttachment('green', { subnets: '10.8.0.0/29' })
      await people.makeMachine('a', withMAC(mac))
      await start(people, 'a', 'a-1', withMAC(mac))
      await people.untilTold('a-1')
      await people.makeMachine('b', withMAC(mac))
      await people.makeMachine('c', withMAC(mac, 'green'))
      await people.untilNoAddress('b.net1', 'MACAddressConflict')
      await people.untilAddressed('c.net1')
      await stop(people, 'a', 'a-1')
      await people.pass(60)
      await destroy(people, 'a')
      await people.untilAddressed('b.net1')
      await start(people, 'b', 'b-1', withMAC(mac))
      await people.untilTold('b-1')
      await stop(people, 'b', 'b-1')
      await destroy(people, 'b', 'c')
    },
  },
  {
    name: 'S22: two machines ask for one MAC at once',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await Promise.all([people.makeMachine('a', withMAC(mac)), people.makeMachine('b', withMAC(mac))])
      await inTurn(people, { a: withMAC(mac), b: withMAC(mac) })
    },
  },
  {
    name: 'S22: the MAC of a machine changes while it runs, and another waits for the former one',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeMachine('a', withMAC(mac))
      await start(people, 'a', 'a-1', withMAC(mac))
      await people.untilTold('a-1')
      await people.makeMachine('b', withMAC(mac))
      await people.untilNoAddress('b.net1', 'MACAddressConflict')
      await people.changeTemplate('a', withMAC(otherMAC))
      await people.pass(60)
      await stop(people, 'a', 'a-1')
      await start(people, 'a', 'a-2', withMAC(otherMAC))
      await people.untilTold('a-2')
      await people.untilAddressed('b.net1')
      await stop(people, 'a', 'a-2')
      await destroy(people, 'a', 'b')
    },
  },
  {
    name: 'S22: an instance has another MAC plugged in while it runs, and goes back to the former one',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeMachine('a', withMAC(mac))
      await start(people, 'a', 'a-1', withMAC(mac))
      await people.untilTold('a-1')
      await people.replug('a', withMAC(otherMAC), 'a-1')
      await people.makeMachine('b', withMAC(mac))
      await people.untilNoAddress('b.net1', 'MACAddressConflict')
      await people.replug('a', withMAC(mac), 'a-1')
      await people.pass(60)
      await stop(people, 'a', 'a-1')
      await destroy(people, 'a')
      await people.untilAddressed('b.net1')
      await destroy(people, 'b')
    },
  },
  {
    name: 'S22: a machine changes to a MAC that is in use, keeps its address, and has the MAC once it is free',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeMachine('a', withMAC(mac))
      await people.makeMachine('b', withMAC(otherMAC))
      await people.untilAddressed('a.net1', 'b.net1')
      await people.changeTemplate('a', withMAC(otherMAC))
      await people.untilNoAddress('a.net1', 'MACAddressConflict')
      await start(people, 'a', 'a-1', withMAC(otherMAC))
      await people.pass(60)
      await destroy(people, 'b')
      await people.untilTold('a-1')
      await stop(people, 'a', 'a-1')
      await destroy(people, 'a')
    },
  },
  {
    name: 'S22: a machine that waits for a MAC in use gives up its own once it is stopped',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeMachine('a', withMAC(mac))
      await people.makeMachine('b', withMAC(otherMAC))
      await start(people, 'a', 'a-1', withMAC(mac))
      await people.untilTold('a-1')
      await people.untilAddressed('b.net1')
      await people.replug('a', withMAC(otherMAC), 'a-1')
      await people.makeMachine('c', withMAC(mac))
      await people.untilNoAddress('a.net1', 'MACAddressConflict')
      await people.untilNoAddress('c.net1', 'MACAddressConflict')
      await people.pass(60)
      await stop(people, 'a', 'a-1')
      await people.untilAddressed('c.net1')
      await destroy(people, 'a', 'b', 'c')
    },
  },
  {
    name: 'S22: two machines that run exchange their MACs',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeMachine('a', withMAC(mac))
      await people.makeMachine('b', withMAC(otherMAC))
      await start(people, 'a', 'a-1', withMAC(mac))
      await start(people, 'b', 'b-1', withMAC(otherMAC))
      await people.untilTold('a-1')
      await people.untilTold('b-1')
      await people.changeTemplate('a', withMAC(otherMAC))
      await people.changeTemplate('b', withMAC(mac))
      await people.replug('a', withMAC(otherMAC), 'a-1')
      await people.untilNoAddress('a.net1', 'MACAddressConflict')
      await stop(people, 'a', 'a-1')
      await stop(people, 'b', 'b-1')
      await start(people, 'a', 'a-2', withMAC(otherMAC))
      await start(people, 'b', 'b-2', withMAC(mac))
      await people.untilTold('a-2')
      await people.untilTold('b-2')
      await stop(people, 'a', 'a-2')
      await stop(people, 'b', 'b-2')
      await destroy(people, 'a', 'b')
    },
  },
  {
    name: 'S22: two pods of a machine with a MAC, in a live migration',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeMachine('a', { ...withMAC(mac), ips: { net1: [ip] } })
      await start(people, 'a', 'a-1', { ...withMAC(mac), ips: { net1: [ip] } })
      await people.untilTold('a-1')
      await people.makePod('a-2', 'a', { ...withMAC(mac), isTarget: true })
      await people.untilTold('a-2')
      await people.targetIsReady('a-2')
      await people.endPod('a-1')
      await people.untilOwnerPod('a.net1', 'a-2')
      await people.makeMachine('b', withMAC(mac))
      await people.untilNoAddress('b.net1', 'MACAddressConflict')
      await stop(people, 'a', 'a-2')
      await destroy(people, 'a', 'b')
    },
  },
  {
    name: 'S22: two machines take the entry of an IPPool that is bound to none of them, at once',
    async play(people) {
      await people.makeAttachment('blue', roomy)
      await people.makeIPPool('blue', { entries: { [mac]: ['10.9.0.5/29'] } })
      await Promise.all([people.makeMachine('a', withMAC(mac)), people.makeMachine('b', withMAC(mac))])
      await inTurn(people, { a: withMAC(mac), b: withMAC(mac) })
    },
  },
  {
    name: 'S22: two machines take the entry of an IPPool that is bound to one of them, then to the other',
    async play(people) {
      const boundTo = (virtualMachine: string) => ({ bindings: { [mac]: { namespace: 'default', virtualMachine } } })
      await people.makeAttachment('blue', roomy)
      await people.makeIPPool('blue', { entries: { [mac]: ['10.9.0.5/29'] }, ...boundTo('a') })
      await people.pass(120)
      await Promise.all([people.makeMachine('b', withMAC(mac)), people.makeMachine('a', withMAC(mac))])
      await people.untilAddressed('a.net1')
      await people.untilNoAddress('b.net1', 'MACAddressReserved')
      await people.changeIPPool('blue', boundTo('b'))
      await people.pass(60)
      await destroy(people, 'a')
      await people.untilAddressed('b.net1')
      await destroy(people, 'b')
    },
  },
]
