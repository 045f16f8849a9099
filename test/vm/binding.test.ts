// IPAMClaims of virtual machines: what users of them see.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import type { WireRequest } from '../../src/kube/wire.ts'
import { eventsAbout, isGone } from '../behaviours/promises.ts'
import type { World } from '../behaviours/world.ts'
import { withUpstreamClaims } from './upstream-claims.ts'
import { aClaim, aMachine, aPod, aVMWorld, ends, heldBy, isServed, locksIn, saidBy, waits } from './world.ts'

const blue = { name: 'blue', subnets: ['192.168.1.0/29'] }
const dual = { name: 'blue', subnets: ['10.9.0.0/28', 'fd00:9::/64'] }
/** So many addresses of each family, no more. */
const scarce = (v4: number, v6: number) => ({
  ...dual,
  excludes: [`10.9.0.${v4 + 1}-10.9.0.14`, `fd00:9::${(v6 + 1).toString(16)}-fd00:9::ffff:ffff:ffff:ffff`],
})

const setIPs = (world: World, claim: KubeObject, ...ips: string[]) => world.patch(claim, { status: { ips } }, 'status')

describe('A claim', () => {
  test('of a network with one subnet gets an address of it, and says so in both conditions', async () => {
    const world = await aVMWorld([blue])
    const { vm } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm }))
    await isServed(world, claim, ['192.168.1.1/29'])
    expect(saidBy(await world.get(claim), 'IPAllocated')?.message).toBe('IP 192.168.1.1 allocated successfully')
    const [hold] = await locksIn(world, 'blue')
    expect(hold?.spec).toMatchObject({
      claimRef: { kind: 'IPAMClaim', part: 'v4', uid: claim.metadata.uid },
      owner: { kind: 'VirtualMachine', name: vm.metadata.name, uid: vm.metadata.uid },
      poolRef: { kind: 'Network', name: 'blue' },
    })
    await world.eventually(async () =>
      expect(await eventsAbout(world, claim.metadata.uid ?? '')).toEqual([
        { type: 'Normal', reason: 'SuccessfulAllocation' },
      ]),
    )
  })

  test('of a network of both families gets one of each', async () => {
    const world = await aVMWorld([dual])
    await isServed(world, await world.create(aClaim()), ['10.9.0.1/28', 'fd00:9::1/64'])
    await isServed(world, await world.create(aClaim()), ['10.9.0.2/28', 'fd00:9::2/64'])
  })

  test('gets neither when one family is exhausted, and is served when one is given back', async () => {
    const world = await aVMWorld([scarce(5, 1)])
    const first = await world.create(aClaim())
    await isServed(world, first)
    const second = await world.create(aClaim())
    await waits(world, second, 'SubnetExhausted', /^v6: no address available in Network blue/)
    expect(await locksIn(world, 'blue')).toHaveLength(2)
    expect((await world.get(second))?.status.ips).toEqual([])
    await world.delete(first)
    await isServed(world, second, ['10.9.0.1/28', 'fd00:9::1/64'])
  })

  test('that waits is served before a younger one', async () => {
    const world = await aVMWorld([scarce(1, 9)])
    const first = await world.create(aClaim())
    await isServed(world, first)
    const second = await world.create(aClaim({ name: 'zz' }))
    await waits(world, second, 'SubnetExhausted', /^v4/)
    await world.pass(1_500)
    const third = await world.create(aClaim({ name: 'aa' }))
    await waits(world, third, 'SubnetExhausted', /^v4/)
    await world.delete(first)
    await isServed(world, second)
    await world.delete(second)
    await isServed(world, third)
  })

  test('waits for its network to come, and keeps what it has when it goes', async () => {
    const world = await aVMWorld([])
    const claim = await world.create(aClaim())
    await waits(world, claim, 'NetworkNotFound', /there is no network blue/)
    world.networks.put(blue)
    const ips = await isServed(world, claim)
    world.networks.remove('blue')
    await world.always(() => isServed(world, claim, ips).then(() => {}), 1_000)
  })

  test('that was made by hand is guarded before it holds anything', async () => {
    const world = await aVMWorld([blue])
    const claim = await world.create(aClaim({ isGuarded: false }))
    await isServed(world, claim)
    expect((await world.get(claim))?.metadata.finalizers).toEqual(['kubevirt.io/persistent-ipam'])
    const own = world.desk.writes.filter(write => /ipamclaims|holds/.test(write))
    expect(own.map(write => write.replace(/.*\/(ipamclaims|holds)/, '$1').replace(/\?.*/, ''))).toEqual([
      `ipamclaims/${claim.metadata.name}`,
      'holds',
      `ipamclaims/${claim.metadata.name}/status`,
    ])
  })

  test('whose status a user changes says so, and what its machine uses stays its own', async () => {
    const world = await aVMWorld([blue], { define: withUpstreamClaims })
    const claim = await world.create(aClaim())
    await isServed(world, claim, ['192.168.1.1/29'])
    await setIPs(world, claim, '192.168.1.4/29')
    const message = /shows 192\.168\.1\.4, and the claim holds 192\.168\.1\.1: write that back/
    await waits(world, claim, 'IPAddressMismatch', message)
    await world.always(async () => expect(await heldBy(world, await world.get(claim))).toEqual(['192.168.1.1']), 2_000)
    await setIPs(world, claim, '192.168.1.1/29')
    await isServed(world, claim, ['192.168.1.1/29'])
  })

  test('is served only where its network is offered to its namespace', async () => {
    const world = await aVMWorld([{ ...blue, namespaces: ['elsewhere'] }])
    const claim = await world.create(aClaim())
    await waits(world, claim, 'NotPermitted', /not offered to namespace default/)
    expect(await locksIn(world, 'blue')).toEqual([])
  })

  test('has its addresses back out of quarantine when its virtual machine is made again', async () => {
    const world = await aVMWorld([{ ...dual, pool: { quarantineSeconds: 600 } }])
    const { vm, vmi } = await aMachine(world, 'again')
    const claim = await world.create(aClaim({ owner: vm }))
    const ips = await isServed(world, claim)
    for (const gone of [vmi, vm, claim]) await world.delete(gone)
    await isGone(world, claim)
    const other = await isServed(world, await world.create(aClaim()))
    for (const ip of other) expect(ips).not.toContain(ip)
    const remade = await aMachine(world, 'again')
    await isServed(world, await world.create(aClaim({ owner: remade.vm, name: 'another-name' })), ips)
  })

  test('of a machine with two interfaces on one network has its own address back, and not that of the other', async () => {
    const world = await aVMWorld([{ ...blue, pool: { quarantineSeconds: 600 } }])
    const { vm } = await aMachine(world)
    const claims = ['first', 'second'].map(name => aClaim({ owner: vm, name: `${vm.metadata.name}.${name}` }))
    const had: (readonly string[])[] = []
    for (const claim of claims) had.push(await isServed(world, await world.create(claim)))
    for (const claim of claims) await world.delete(claim)
    for (const claim of claims) await isGone(world, claim)
    for (const [at, claim] of [...claims.entries()].toReversed()) {
      await world.create(claim)
      await isServed(world, claim, had[at])
    }
  })

  test('whose status was wiped is given what it holds, and nothing else', async () => {
    const world = await aVMWorld([dual], { define: withUpstreamClaims })
    const claim = await world.create(aClaim())
    const ips = await isServed(world, claim)
    await setIPs(world, claim)
    await isServed(world, claim, ips)
    await world.patch(claim, { status: null }, 'status')
    await isServed(world, claim, ips)
  })
})

describe('What the status of a claim shows without a hold', () => {
  test('is a wish, and is served as it is', async () => {
    const world = await aVMWorld([dual])
    await world.desk.stop()
    const claim = await world.create(aClaim())
    await setIPs(world, claim, 'fd00:9::00ab/64', '10.9.0.9/28')
    await world.desk.start()
    await world.eventually(async () => {
      expect(saidBy(await world.get(claim), 'IPAllocated')?.status).toBe('True')
      expect(await heldBy(world, await world.get(claim))).toEqual(['10.9.0.9', 'fd00:9::ab'])
    })
    expect((await world.get(claim))?.status.ips).toEqual(['fd00:9::00ab/64', '10.9.0.9/28'])
  })

  test.each<[string, string[], string, RegExp]>([
    ['an address that is excluded', ['10.9.0.3/28', 'fd00:9::5/64'], 'IPAddressExcluded', /10\.9\.0\.3 is excluded/],
    ['one outside of the subnet', ['10.8.0.3/28', 'fd00:9::5/64'], 'IPAddressOutOfSubnet', /10\.8\.0\.3 is not among/],
    ['one family of two', ['10.9.0.5/28'], 'IPFamilyMismatch', /no IPv6 address/],
    ['another length', ['10.9.0.5/24', 'fd00:9::5/64'], 'IPPrefixMismatch', /its length is 28/],
    ['no address', ['10.9.0.256/28'], 'InvalidIPAddress', /status\.ips cannot be read/],
    ['two of one family', ['10.9.0.5/28', '10.9.0.6/28'], 'InvalidIPAddress', /two addresses of IPv4/],
  ])('is refused if it is %s, and harms no other claim', async (_, ips, reason, message) => {
    const world = await aVMWorld([{ ...dual, excludes: ['10.9.0.3'] }])
    await world.desk.stop()
    const claim = await world.create(aClaim())
    await setIPs(world, claim, ...ips)
    const other = await world.create(aClaim())
    await world.desk.start()
    await waits(world, claim, reason, message)
    expect((await world.get(claim))?.status.ips).toEqual(ips)
    expect(await heldBy(world, await world.get(claim))).toEqual([])
    await isServed(world, other, ['10.9.0.1/28', 'fd00:9::1/64'])
  })

  test('is refused in the words of the proposal while another claim has it, and had when that goes', async () => {
    const world = await aVMWorld([{ name: 'blue', subnets: ['192.168.1.0/24'] }])
    const first = await world.create(aClaim())
    await isServed(world, first, ['192.168.1.1/24'])
    await world.desk.stop()
    const second = await world.create(aClaim())
    await setIPs(world, second, '192.168.1.1/24')
    await world.desk.start()
    const sentence = /^Requested IP 192\.168\.1\.1 is already assigned in the network$/
    await waits(world, second, 'IPAddressConflict', sentence, 'IPAlreadyExists')
    await world.delete(first)
    await isServed(world, second, ['192.168.1.1/24'])
  })

  test('keeps no address from others that the network does not offer to its namespace', async () => {
    const world = await aVMWorld([{ ...blue, namespaces: ['default'] }])
    const elsewhere = await world.anotherNamespace()
    const forged = await world.create(aClaim({ namespace: elsewhere }))
    await setIPs(world, forged, '192.168.1.1/29')
    await waits(world, forged, 'NotPermitted', /not offered/)
    await isServed(world, await world.create(aClaim()), ['192.168.1.1/29'])
  })
})

describe('Which pod uses a claim', () => {
  test('is said from its first pod on, through live migrations and stops', async () => {
    const world = await aVMWorld([blue])
    const { vm, vmi } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm }))
    const says = (pod: string | undefined, message: RegExp | string) =>
      world.eventually(async () => {
        const stored = await world.get(claim)
        expect(stored?.status?.ownerPod?.name).toBe(pod)
        expect(saidBy(stored, 'IPsAllocated')?.message).toMatch(message)
      })
    await says(undefined, /^IP 192\.168\.1\.1 allocated successfully$/)
    const source = await world.create(aPod(vmi, { name: 'source', claim: claim.metadata.name ?? '' }))
    await says('source', /allocated successfully$/)
    await world.pass(1_500)
    const target = await world.create(aPod(vmi, { name: 'target', node: 'node-2', claim: claim.metadata.name ?? '' }))
    await says('source', /under way from pod source to pod target$/)
    const ready = { 'kubevirt.io/migration-target-ready-timestamp': '2030-01-01T00:00:00Z' }
    await world.patch(target, { metadata: { annotations: ready } })
    await says('target', /under way from pod source to pod target$/)
    await ends(world, source)
    await says('target', /allocated successfully$/)
    await ends(world, target)
    await world.always(() => says('target', /allocated successfully$/), 1_000)
  })

  test('is not said by a pod that only bears the name of the machine', async () => {
    const world = await aVMWorld([blue])
    const { vm, vmi } = await aMachine(world)
    const claim = await world.create(aClaim({ owner: vm }))
    await isServed(world, claim)
    const stranger = await aMachine(world)
    const forged = aPod(stranger.vmi, { annotations: { 'kubevirt.io/domain': vmi.metadata.name ?? '' } })
    await world.create(forged)
    await world.always(async () => expect((await world.get(claim))?.status.ownerPod).toBeUndefined(), 1_000)
  })
})

describe('A claim that is deleted', () => {
  test('gives its addresses back, and another claim has them', async () => {
    const world = await aVMWorld([dual])
    const claim = await world.create(aClaim())
    await isServed(world, claim)
    await world.delete(claim)
    await isGone(world, claim)
    await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]))
    await isServed(world, await world.create(aClaim()), ['10.9.0.1/28', 'fd00:9::1/64'])
  })

  test.each(['Succeeded', 'Failed', 'gone'] as const)(
    'stays until the last pod of its virtual machine has %s',
    async end => {
      const world = await aVMWorld([blue])
      const { vm, vmi } = await aMachine(world)
      const claim = await world.create(aClaim({ owner: vm }))
      const runs = { finalizers: ['example.org/runs'] }
      const pod = await world.create(aPod(vmi, { claim: claim.metadata.name ?? '', ...runs }))
      await isServed(world, claim)
      await world.delete(vmi)
      await world.delete(vm)
      await world.delete(claim)
      await world.always(
        async () => expect(await heldBy(world, await world.get(claim))).toEqual(['192.168.1.1']),
        2_000,
      )
      if (end === 'gone') await world.patch(pod, { metadata: { finalizers: null } })
      else await ends(world, pod, end)
      await isGone(world, claim)
      await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]))
    },
  )

  test('keeps its addresses while another controller keeps the claim', async () => {
    const world = await aVMWorld([blue])
    const claim = await world.create(aClaim())
    await isServed(world, claim)
    await world.patch(claim, { metadata: { finalizers: ['kubevirt.io/persistent-ipam', 'example.org/other'] } })
    await world.delete(claim)
    await world.always(async () => expect(await locksIn(world, 'blue')).toHaveLength(1), 2_000)
    await world.patch(claim, { metadata: { finalizers: ['kubevirt.io/persistent-ipam'] } })
    await isGone(world, claim)
  })
})

describe('On a network that OVN-Kubernetes gives out', () => {
  const observed = { ...blue, isObserved: true, excludes: ['192.168.1.3'] }

  test('what it wrote is held, excluded or not, and nothing is written to the claim', async () => {
    const world = await aVMWorld([observed])
    const claim = await world.create(aClaim())
    await world.always(async () => expect((await world.get(claim))?.status).toBeUndefined(), 1_000)
    await setIPs(world, claim, '192.168.1.3/29')
    await world.eventually(async () => expect(await heldBy(world, await world.get(claim))).toEqual(['192.168.1.3']))
    expect((await world.get(claim))?.status).toEqual({ ips: ['192.168.1.3/29'] })
    await world.delete(claim)
    await isGone(world, claim)
    await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]))
  })

  test('one address of two claims is reported to the operator, and held for the first', async () => {
    const world = await aVMWorld([observed])
    const first = await world.create(aClaim())
    await setIPs(world, first, '192.168.1.4/29')
    await world.eventually(async () => expect(await heldBy(world, await world.get(first))).toEqual(['192.168.1.4']))
    const second = await world.create(aClaim())
    await setIPs(world, second, '192.168.1.4/29')
    await world.eventually(() =>
      expect(world.desk.log.filter(({ msg }) => msg === 'a claim is refused')).toMatchObject([
        { claim: second.metadata.name, reason: 'AddressInUse' },
      ]),
    )
    expect((await world.get(second))?.status).toEqual({ ips: ['192.168.1.4/29'] })
    await world.eventually(async () =>
      expect(await eventsAbout(world, second.metadata.uid ?? '')).toMatchObject([{ reason: 'IPAddressConflict' }]),
    )
    await world.delete(first)
    await world.eventually(async () => expect(await heldBy(world, await world.get(second))).toEqual(['192.168.1.4']))
  })
})

describe('A process that is killed', () => {
  // Two holds and the status; then nothing is left to be cut.
  test.each([1, 2, 3, 4])('before write %i of a binding leaves nothing half taken', async nth => {
    const world = await aVMWorld([dual])
    const claim = aClaim()
    const isBound = async () => saidBy(await world.get(claim), 'IPsAllocated')?.status === 'True'
    expect(await killBefore(world, nthWrite(nth), () => world.create(claim), isBound)).toBe(nth < 4)
    await world.desk.start()
    await isServed(world, claim, ['10.9.0.1/28', 'fd00:9::1/64'])
    expect(await locksIn(world, 'blue')).toHaveLength(2)
  })

  test.each([1, 2, 3])('before write %i of a release leaves nothing behind', async nth => {
    const world = await aVMWorld([dual])
    const claim = await world.create(aClaim())
    await isServed(world, claim)
    const hasGone = async () => (await world.get(claim)) === undefined
    expect(await killBefore(world, nthWrite(nth), () => world.delete(claim), hasGone)).toBe(true)
    await world.desk.start()
    await isGone(world, claim)
    await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]))
  })

  test('between two parts gives the first one back when the second is no longer to be had', async () => {
    const world = await aVMWorld([scarce(5, 1)])
    const claim = aClaim()
    await killBefore(
      world,
      nthWrite(2),
      () => world.create(claim),
      async () => false,
    )
    expect(await heldBy(world, await world.get(claim))).toEqual(['10.9.0.1'])
    world.networks.put(scarce(5, 0))
    await world.desk.start()
    await waits(world, claim, 'SubnetExhausted', /^v6/)
    await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]))
    world.networks.put(scarce(5, 1))
    await isServed(world, claim)
  })

  test('beside another one has no address given twice', async () => {
    const world = await aVMWorld([{ ...scarce(6, 9) }])
    const other = await world.anotherDesk({ desks: world.desks })
    other.watchDelayMs = 500
    const claims = await Promise.all(Array.from({ length: 6 }, () => world.create(aClaim())))
    const had: (string | undefined)[] = []
    for (const claim of claims) had.push((await isServed(world, claim))[0])
    expect(new Set(had).size).toBe(6)
    expect(await locksIn(world, 'blue')).toHaveLength(12)
  })
})

describe('Figures', () => {
  test('tell how many claims of a network wait and why, what is free of it, and how long it took', async () => {
    const world = await aVMWorld([scarce(1, 9)])
    const claim = await world.create(aClaim())
    await isServed(world, claim)
    await waits(world, await world.create(aClaim()), 'SubnetExhausted', /^v4/)
    const lines = world.desk.metrics().split('\n')
    const about = 'desk="vm",claim_kind="IPAMClaim",kind="Network"'
    expect(lines).toContain(`mooring_claim_ready_seconds_count{${about}} 1`)
    const waiting = 'desk="vm",claim_kind="IPAMClaim",kind="Network",namespace="",name="blue",reason="PoolExhausted"'
    expect(lines).toContain(`mooring_claims_waiting{${waiting}} 1`)
    expect(lines.some(line => /^mooring_pool_addresses\{kind="Network",.*name="blue".*state="held"/.test(line))).toBe(
      true,
    )
  })
})

describe('A process that starts', () => {
  test('writes nothing for claims that have what they show', async () => {
    const world = await aVMWorld([dual])
    const claims = await Promise.all(Array.from({ length: 5 }, () => world.create(aClaim())))
    for (const claim of claims) await isServed(world, claim)
    await world.desk.stop()
    const before = world.desk.writes.length
    await world.desk.start()
    await world.idle(3_000)
    expect(world.desk.writes.slice(before).filter(write => !write.includes('/events'))).toEqual([])
  })

  test('takes over the addresses that OVN-Kubernetes gave, and says so', async () => {
    const world = await aVMWorld([dual])
    await world.desk.stop()
    const claim = await world.create(aClaim())
    const said = { type: 'IPsAllocated', status: 'True', reason: 'SuccessfulAllocation', message: 'x' }
    const conditions = [{ ...said, lastTransitionTime: '2030-01-01T00:00:00Z' }]
    await world.patch(claim, { status: { ips: ['10.9.0.7/28', 'fd00:9::7/64'], conditions } }, 'status')
    await world.desk.start()
    await isServed(world, claim, ['10.9.0.7/28', 'fd00:9::7/64'])
  })
})

/** The n-th write, counted from 1, to a claim or to a hold. */
function nthWrite(nth: number): (request: WireRequest) => boolean {
  let count = 0
  return ({ method, path }) => method !== 'GET' && /ipamclaims|\/holds/.test(path) && ++count === nth
}

/** The process is killed before the n-th of its writes. Answers false when it has done all that was to do with fewer. */
async function killBefore(
  world: World,
  isMoment: (request: WireRequest) => boolean,
  act: () => Promise<unknown>,
  isDone: () => Promise<boolean>,
) {
  let isReached = false
  world.desk.killBefore(request => {
    isReached ||= isMoment(request)
    return isReached
  })
  await act()
  await world.eventually(async () => expect(isReached || (await isDone())).toBe(true))
  await world.desk.kill()
  return isReached
}
