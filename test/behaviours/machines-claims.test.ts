// Machines of OpenShift that take addresses from pools: which claims they get, what they say while they wait, and what becomes of the
// claims when they go.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { aClaim, anAddressFor, anAddressPool } from './builders.ts'
import { coreVersion } from './definitions.ts'
import { nextName } from './machines.ts'
import {
  aDevice,
  aMachine,
  aMachinePool,
  anInstallerPool,
  claimOf,
  claimsOfHome,
  from,
  isClaimed,
  isOrdered,
  machineFinalizer,
  protection,
  saidBy,
  saidInProviderStatus,
  waitsWith,
} from './openshift-machines.ts'
import { eventsAbout, holdsBecome, isGone, isServed, reportIsGone } from './promises.ts'
import { aWorld, isInProcess, type Stored, type World } from './world.ts'

const bound = 'All IP address claims are bound'

async function aPool(world: World, spec = {}): Promise<Stored> {
  return world.create(aMachinePool(spec))
}

describe('A Machine that takes addresses from pools', () => {
  test('gets a claim for each entry, which is its own and stays until its virtual machine is gone, and says that all are bound', async () => {
    const world = await aWorld()
    const [one, two] = [await aPool(world), await aPool(world, { addresses: ['192.168.102.10'] })]
    const machine = await world.create(aMachine([aDevice(one, two), { networkName: 'storage' }, aDevice(two)]))
    await waitsWith(world, machine, /^Waiting on 1 IP address claims to be bound: .*-claim-2-0 \(PoolExhausted: /)
    await isServed(world, claimOf(machine), '192.168.101.10')
    await isServed(world, claimOf(machine, 0, 1), '192.168.102.10')
    const claim = (await world.get(claimOf(machine))) as Stored
    expect(claim.spec.poolRef).toEqual({ apiGroup: 'machine.openshift.io', kind: 'IPPool', name: one.metadata.name })
    expect(claim.metadata.finalizers).toContain(protection)
    expect(claim.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'machine.openshift.io/v1beta1',
        kind: 'Machine',
        name: machine.metadata.name,
        uid: machine.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ])
    // More addresses come: it goes on at once.
    await world.patch(two, { spec: { addresses: ['192.168.102.10-192.168.102.11'] } })
    const claimed = await isClaimed(world, machine)
    expect(claimed.metadata.annotations?.['mooring.dev/claimed-addresses']).toBe(
      [
        `${machine.metadata.name}-claim-0-0=192.168.101.10/24`,
        `${machine.metadata.name}-claim-0-1=192.168.102.10/24`,
        `${machine.metadata.name}-claim-2-0=192.168.102.11/24`,
      ].join(', '),
    )
    await world.eventually(async () =>
      expect(await eventsAbout(world, machine.metadata.uid ?? '')).toContainEqual({
        type: 'Normal',
        reason: 'IPAddressesClaimed',
      }),
    )
  })

  test('says it in the provider status too where Mooring is the controller of Machines, and there alone', async () => {
    const world = await aWorld({ machineMode: 'full' })
    const machine = await world.create(aMachine([aDevice(await aPool(world))]))
    const claimed = await isClaimed(world, machine)
    await world.eventually(async () =>
      expect(saidInProviderStatus(await world.get(machine))).toMatchObject({ status: 'True', message: bound }),
    )
    expect(claimed.status.providerStatus.kind).toBe('VSphereMachineProviderStatus')
  })

  test('leaves the provider status to the machine API where that orders virtual machines', async () => {
    const world = await aWorld()
    const machine = await world.create(aMachine([aDevice(await aPool(world))]))
    expect((await isClaimed(world, machine)).status.providerStatus).toBeUndefined()
  })

  test('says how many it waits for, by what, and moves the time of its condition only when that turns true', async () => {
    const world = await aWorld()
    const [one, two] = [aMachinePool(), aMachinePool({ addresses: ['192.168.102.10'] })]
    const machine = await world.create(aMachine([aDevice(one, two)]))
    const message =
      /^Waiting on 2 IP address claims .*-claim-0-0 \(PoolNotReady: IPPool .* of machine\.openshift\.io does not exist.*-claim-0-1 \(/
    const first = await waitsWith(world, machine, message)
    await world.idle(3_000)
    await world.create(one)
    const second = await waitsWith(world, machine, /^Waiting on 1 IP address claims to be bound: .*-claim-0-1 \(/)
    expect(saidBy(second)?.lastTransitionTime).toBe(saidBy(first)?.lastTransitionTime)
    await world.create(two)
    const third = await isClaimed(world, machine)
    expect(Date.parse(saidBy(third)?.lastTransitionTime ?? '')).toBeGreaterThan(
      Date.parse(saidBy(first)?.lastTransitionTime ?? ''),
    )
  })

  test('is written to no more once all is said', async () => {
    const world = await aWorld()
    const machine = await world.create(aMachine([aDevice(await aPool(world))]))
    const { metadata } = await isClaimed(world, machine)
    await world.always(async () =>
      expect((await world.get(machine))?.metadata.resourceVersion).toBe(metadata.resourceVersion),
    )
  })

  test('keeps the conditions that other programs wrote, with all their fields', async () => {
    const world = await aWorld()
    const machine = await world.create(aMachine([aDevice(aMachinePool())]))
    await waitsWith(world, machine, /does not exist/)
    const other = {
      type: 'Drainable',
      status: 'False',
      severity: 'Warning',
      reason: 'HookPresent',
      message: 'x',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const ours = saidBy(await world.get(machine))
    await world.patch(machine, { status: { conditions: [other, ours] } }, 'status')
    await world.create({
      ...aMachinePool(),
      metadata: { name: (await world.get(claimOf(machine)))?.spec.poolRef.name },
    })
    expect((await isClaimed(world, machine)).status.conditions[0]).toEqual(other)
  })

  test.each([
    ['only names its network', { networkName: 'lab' }, undefined],
    ['lists its addresses itself', { networkName: 'lab', ipAddrs: ['10.0.0.5/24'], gateway: '10.0.0.1' }, bound],
    ['lists name servers alone', { networkName: 'lab', nameservers: ['10.0.0.2'] }, bound],
  ])('that %s needs no claim', async (_, device, message) => {
    const world = await aWorld()
    const machine = await world.create(aMachine([device]))
    if (message !== undefined) await isClaimed(world, machine)
    await world.always(async () => expect(saidBy(await world.get(machine))?.message).toBe(message))
    expect(await claimsOfHome(world)).toEqual([])
  })

  test('of another platform is left alone', async () => {
    const world = await aWorld()
    const draft = aMachine([])
    const spec = {
      providerSpec: { value: { kind: 'AWSMachineProviderConfig', network: { devices: [aDevice(aMachinePool())] } } },
    }
    const machine = await world.create({ ...draft, spec } as Stored)
    await world.always(async () => expect((await world.get(machine))?.status).toBeUndefined())
  })

  test('may name the pool by its plural, as the type of the field suggests', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(
      aMachine([{ networkName: 'lab', addressesFromPools: [{ ...from(pool), resource: 'ippools' }] }]),
    )
    await isClaimed(world, machine)
    await holdsBecome(world, pool, 1)
  })

  test('may take them from a pool of any kind that claims may name', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('10.1.0.5'))
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await isServed(world, claimOf(machine), '10.1.0.5')
  })

  test('says what is wrong with its provider spec, and makes no claim until it is corrected', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const wrong = { networkName: 'lab', addressesFromPools: [{ ...from(pool), name: 'No Name' }] }
    const machine = await world.create(aMachine([wrong]))
    const path = /addressesFromPools\[0\]\.name is "No Name": must be the name of the pool/
    await waitsWith(world, machine, path, 'InvalidProviderSpec')
    expect(await claimsOfHome(world)).toEqual([])
    await world.patch(machine, { spec: { providerSpec: { value: { network: { devices: [aDevice(pool)] } } } } })
    await isClaimed(world, machine)
  })

  test('with a pool in each of too many entries gets none of them', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(aMachine([aDevice(...Array.from({ length: 65 }, () => pool))]))
    await waitsWith(world, machine, /may take 64 addresses from pools at most/, 'InvalidProviderSpec')
    expect(await claimsOfHome(world)).toEqual([])
  })
})

describe('A claim that is there already', () => {
  const ofMachine = (machine: Stored, pool: Stored) => {
    const { apiVersion = '', kind = '', metadata } = pool
    const poolRef = { apiGroup: apiVersion.split('/')[0], kind, name: metadata.name }
    return aClaim()
      .named(claimOf(machine).metadata.name ?? '')
      .on({ apiVersion, kind, metadata, poolRef } as Stored)
  }

  test('and has no owner becomes the one of the Machine, and keeps its address', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = aMachine([aDevice(pool)])
    await world.create(ofMachine(machine, pool).asking('192.168.101.15'))
    await isServed(world, claimOf(machine), '192.168.101.15')
    const stored = await world.create(machine)
    await isClaimed(world, stored)
    const claim = (await world.get(claimOf(machine))) as Stored
    expect(claim.metadata.ownerReferences?.map(({ uid, controller }) => [uid, controller])).toEqual([
      [stored.metadata.uid, true],
    ])
    expect(claim.metadata.finalizers).toContain(protection)
    await isServed(world, claim, '192.168.101.15')
  })

  test('and belongs to another object is not used, and the Machine says whose it is', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const owner = await world.create(anAddressPool())
    const machine = aMachine([aDevice(pool)])
    await world.create(ofMachine(machine, pool).ownedBy(owner))
    await isServed(world, claimOf(machine))
    const stored = await world.create(machine)
    await waitsWith(world, stored, /it belongs to AddressPool .*: delete it, or give the Machine another name/)
    expect((await world.get(claimOf(machine)))?.metadata.ownerReferences).toHaveLength(1)
  })

  test('and names another pool is not used', async () => {
    const world = await aWorld()
    const [pool, other] = [await aPool(world), await aPool(world)]
    const machine = aMachine([aDevice(pool)])
    const claim = await world.create(ofMachine(machine, other))
    const stored = await world.create(machine)
    await waitsWith(world, stored, /it names IPPool .* of machine\.openshift\.io, and the Machine IPPool/)
    await world.delete(claim)
    await isClaimed(world, stored)
    await holdsBecome(world, pool, 1)
  })

  test('and is being deleted is waited for, then made anew', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = aMachine([aDevice(pool)])
    const claim = await world.create(ofMachine(machine, pool).guardedBy('example.org/mine'))
    await isServed(world, claim)
    await world.delete(claim)
    const stored = await world.create(machine)
    await waitsWith(world, stored, /it is being deleted, and is made anew when it is gone/)
    const { metadata } = (await world.get(claim)) as Stored
    await world.patch(claim, {
      metadata: { finalizers: metadata.finalizers?.filter(one => one !== 'example.org/mine') },
    })
    await isClaimed(world, stored)
    expect((await world.get(claim))?.metadata.uid).not.toBe(metadata.uid)
  })

  test('and is bound to an IPAddress of another claim is refused, as is one whose IPAddress is missing', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const first = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, first)
    // A provider that Mooring does not serve: its claims are bound by hand.
    const foreign = { group: 'example.org', resource: 'Elsewhere', name: 'e' }
    const second = await world.create(aMachine([{ networkName: 'lab', addressesFromPools: [foreign] }]))
    await waitsWith(world, second, /no provider of Elsewhere e of example\.org has answered yet/)
    await world.patch(claimOf(second), { status: { addressRef: { name: claimOf(first).metadata.name } } }, 'status')
    await waitsWith(world, second, /it is bound to IPAddress .*, which is of claim /)
    await world.patch(claimOf(second), { status: { addressRef: { name: 'nowhere' } } }, 'status')
    await waitsWith(world, second, /it is bound to IPAddress nowhere, which does not exist/)
    const claim = claimOf(second).metadata.name ?? ''
    const { object } = anAddressFor(aClaim().named(claim).on(aMachinePool()), '10.9.0.5')
    await world.create({ ...object, metadata: { name: 'nowhere' } })
    await isClaimed(world, second)
  })
})

describe('A Machine whose virtual machine runs', () => {
  test('has a claim that was deleted made again with the address that it had', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const neighbour = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, neighbour)
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await isOrdered(world, machine)
    const before = (await world.get(claimOf(machine))) as Stored
    await world.delete(neighbour)
    await isGone(world, claimOf(neighbour))
    await world.delete(claimOf(machine))
    await world.patch(claimOf(machine), { metadata: { finalizers: null } })
    await world.eventually(async () => {
      const claim = await world.get(claimOf(machine))
      expect(claim).toBeDefined()
      expect(claim?.metadata.uid).not.toBe(before.metadata.uid)
    })
    await isServed(world, claimOf(machine), '192.168.101.11')
    await isClaimed(world, machine)
  })

  test('says so if its claim is bound to another address than it runs with, and goes on remembering that one', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await isOrdered(world, machine)
    await world.patch(machine, {
      metadata: {
        annotations: { 'mooring.dev/claimed-addresses': `${claimOf(machine).metadata.name}=192.168.101.99/24` },
      },
    })
    const text = /is bound to 192\.168\.101\.10\/24, and was to 192\.168\.101\.99\/24/
    const said = await waitsWith(world, machine, text, 'IPAddressDrifted')
    expect(said.metadata.annotations?.['mooring.dev/claimed-addresses']).toContain('192.168.101.99')
  })

  test('whose addresses were never remembered gets no claim made anew, for it could be another address', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(aMachine([aDevice(aMachinePool())]))
    await waitsWith(world, machine, /does not exist/)
    await isOrdered(world, machine)
    await world.patch(machine, {
      spec: { providerSpec: { value: { network: { devices: [aDevice(pool), aDevice(pool)] } } } },
    })
    await waitsWith(world, machine, /-claim-1-0 \(it does not exist, and which address it had is not known/)
    expect(await world.get(claimOf(machine, 1))).toBeUndefined()
  })
})

describe('A Machine that is deleted', () => {
  test('keeps its claims and addresses until the machine API says that its virtual machine is gone, then all is given back', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(aMachine([aDevice(pool, pool)], { finalizers: [machineFinalizer] }))
    await isClaimed(world, machine)
    await world.delete(machine)
    await world.always(async () => {
      expect((await world.get(claimOf(machine)))?.metadata.finalizers).toContain(protection)
      expect(await world.report(claimOf(machine))).toBeDefined()
    })
    await world.patch(machine, { metadata: { finalizers: null } })
    for (const claim of [claimOf(machine), claimOf(machine, 0, 1)]) {
      await isGone(world, claim)
      await reportIsGone(world, claim)
    }
    await holdsBecome(world, pool, 0)
  })

  test('lets go of its claims once its virtual machine is gone, though it waits for others itself', async () => {
    const world = await aWorld()
    const finalizers = [machineFinalizer, 'example.com/audit']
    const machine = await world.create(aMachine([aDevice(await aPool(world))], { finalizers }))
    await isClaimed(world, machine)
    await world.delete(machine)
    await world.patch(machine, { metadata: { finalizers: ['example.com/audit'] } })
    // One that is deleted in the foreground waits for its claims: they must not wait for it.
    await world.eventually(async () =>
      expect((await world.get(claimOf(machine)))?.metadata.finalizers).not.toContain(protection),
    )
    expect(await world.get(machine)).toBeDefined()
    await world.patch(machine, { metadata: { finalizers: null } })
    await isGone(world, claimOf(machine))
  })

  test('while it waits for an address leaves nothing behind', async () => {
    const world = await aWorld()
    const [full, free] = [await aPool(world, { addresses: ['192.168.102.10'] }), await aPool(world)]
    await world.create(aMachine([aDevice(full)]))
    const machine = await world.create(aMachine([aDevice(free, full, full)]))
    await waitsWith(world, machine, /PoolExhausted/)
    await world.delete(machine)
    for (const i of [0, 1, 2]) await isGone(world, claimOf(machine, 0, i))
    await holdsBecome(world, free, 0)
  })

  test('gives back claims that carry the other spelling of the finalizer too', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await world.patch(claimOf(machine), {
      metadata: { finalizers: ['machines.openshift.io/ip-claim-protection', 'ipam.cluster.x-k8s.io/ReleaseAddress'] },
    })
    await world.delete(machine)
    await isGone(world, claimOf(machine))
    await holdsBecome(world, pool, 0)
  })

  test('while no desk was there is cleaned up after when one is', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await world.desk.stop()
    await world.delete(machine)
    await world.pass(1_000)
    expect((await world.get(claimOf(machine)))?.metadata.finalizers).toContain(protection)
    await world.anotherDesk()
    await isGone(world, claimOf(machine))
  })

  test('and made anew under its name waits for the claims of the former to go, and does not take them over', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const draft = aMachine([aDevice(pool)], { finalizers: [machineFinalizer] })
    const first = await world.create(draft)
    await isClaimed(world, first)
    const { metadata } = (await world.get(claimOf(first))) as Stored
    await world.delete(first)
    await world.patch(first, { metadata: { finalizers: null } })
    const second = await world.create({ ...draft, metadata: { name: draft.metadata.name } } as Stored)
    await isClaimed(world, second)
    expect((await world.get(claimOf(second)))?.metadata.uid).not.toBe(metadata.uid)
    await holdsBecome(world, pool, 1)
  })

  test('leaves claims of other owners as they are', async () => {
    const world = await aWorld()
    const pool = await aPool(world)
    const [machine, other] = [
      await world.create(aMachine([aDevice(pool)])),
      await world.create(aMachine([aDevice(pool)])),
    ]
    await isClaimed(world, machine)
    await isClaimed(world, other)
    const before = (await world.get(claimOf(other))) as Stored
    await world.delete(machine)
    await isGone(world, claimOf(machine))
    expect((await world.get(claimOf(other)))?.metadata).toEqual(before.metadata)
  })
})

describe('A Machine that replaces another', () => {
  test('waits while the only address of the pool rests, and has it when its quarantine is over', async () => {
    const world = await aWorld()
    const pool = await aPool(world, { addresses: ['192.168.101.10'], quarantineSeconds: 8 })
    const first = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, first)
    await world.delete(first)
    await isGone(world, claimOf(first))
    const second = await world.create(aMachine([aDevice(pool)], { name: nextName('master') }))
    await waitsWith(world, second, /PoolExhausted/)
    await world.eventually(async () => void (await isClaimed(world, second)), 20_000)
    await isServed(world, claimOf(second), '192.168.101.10')
  })
})

describe('What the installer of OpenShift generates', () => {
  const finalizers = [protection]
  const installed = (pool: Stored, address: string, machine: Stored) => {
    const { name } = claimOf(machine).metadata
    const { group: apiGroup, resource: kind } = from(pool)
    const poolRef = { apiGroup, kind, name: pool.metadata.name }
    const apiVersion = `ipam.cluster.x-k8s.io/${coreVersion}`
    return {
      claim: { apiVersion, kind: 'IPAddressClaim', metadata: { name, finalizers }, spec: { poolRef } } as Stored,
      report: {
        apiVersion,
        kind: 'IPAddress',
        metadata: { name },
        spec: { address, claimRef: { name }, gateway: '192.168.101.1', poolRef, prefix: 24 },
      } as Stored,
    }
  }
  const apply = async (world: World, pool: Stored, address: string, machine: Stored) => {
    const { claim, report } = installed(pool, address, machine)
    await world.create(report)
    await world.create(claim)
    await world.patch(claim, { status: { addressRef: { name: claim.metadata.name } } }, 'status')
    return claim
  }

  test('is adopted: the claims keep just their addresses, and those are owned, protected and held', async () => {
    const world = await aWorld()
    const pool = await world.create(anInstallerPool({ addresses: ['192.168.101.241-192.168.101.249'] }))
    const machine = aMachine([aDevice(pool)])
    const claim = await apply(world, pool, '192.168.101.243', machine)
    const stored = await world.create(machine)
    await isOrdered(world, stored)
    await isClaimed(world, stored)
    await isServed(world, claim, '192.168.101.243')
    const report = (await world.report(claim)) as Stored
    expect(report.metadata.finalizers).toEqual(['ipam.cluster.x-k8s.io/ProtectAddress'])
    expect(report.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['IPAddressClaim', 'IPPool'])
    await holdsBecome(world, pool, 1)
    // A Machine that is added takes another one; with its Machine all of it goes.
    const added = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, added)
    await isServed(world, claimOf(added), '192.168.101.241')
    await world.delete(stored)
    await isGone(world, claim)
    await reportIsGone(world, claim)
    await holdsBecome(world, pool, 1)
  })

  test('and is applied with a status that a create drops is bound to the same address, and applied again stays as it is', async () => {
    const world = await aWorld()
    const pool = await world.create(anInstallerPool({ addresses: ['192.168.101.241-192.168.101.249'] }))
    const machine = aMachine([aDevice(pool)])
    const { claim, report } = installed(pool, '192.168.101.245', machine)
    await world.create(report)
    const whole: Stored = { ...claim, status: { addressRef: { name: claim.metadata.name } } }
    const made = await world.create(whole)
    expect(made.status?.addressRef).toBeUndefined()
    await isClaimed(world, await world.create(machine))
    await isServed(world, claim, '192.168.101.245')
    const { status } = (await world.get(claim)) as Stored
    await world.patch(claim, {
      metadata: { labels: { again: 'applied' } },
      status: { addressRef: { name: 'another' } },
    })
    await world.idle(5_000)
    expect((await world.get(claim))?.status).toEqual(status)
  })

  test('with one address twice is refused the second time, also while there is no pool', async () => {
    const world = await aWorld()
    const pool = { ...anInstallerPool(), metadata: { name: nextName('dangling') } }
    const machines = [aMachine([aDevice(pool)]), aMachine([aDevice(pool)])]
    const [first, second] = machines as [Stored, Stored]
    for (const machine of machines) await apply(world, pool, '192.168.101.243', machine)
    await isClaimed(world, await world.create(first))
    const { name } = claimOf(first).metadata
    await waitsWith(
      world,
      await world.create(second),
      new RegExp(
        `its address 192\\.168\\.101\\.243 is that of IPAddress ${name} too, which was there before: delete one of them`,
      ),
    )
    // The other one goes, and it has the address.
    await world.delete(first)
    await isClaimed(world, second)
  })

  test('stays bound while there is no pool, and an added Machine says which pool is to be made', async () => {
    const world = await aWorld()
    const pool = anInstallerPool({ addresses: ['192.168.101.241-192.168.101.249'] })
    const machine = aMachine([aDevice(pool)])
    const claim = await apply(world, pool, '192.168.101.241', machine)
    const stored = await world.create(machine)
    await isClaimed(world, stored)
    const added = await world.create(aMachine([aDevice(pool)]))
    await waitsWith(world, added, /IPPool .* of installer\.openshift\.io does not exist: create it/)
    await world.idle(5_000)
    expect((await world.get(claim))?.status.addressRef).toEqual({ name: claim.metadata.name })
    expect((await world.report(claim))?.spec.address).toBe('192.168.101.241')
    await world.create(pool)
    await isClaimed(world, added)
    await isServed(world, claimOf(added), '192.168.101.242')
    await isServed(world, claim, '192.168.101.241')
  })

  test('goes with its Machine also where there never was a pool', async () => {
    const world = await aWorld()
    const pool = anInstallerPool()
    const machine = aMachine([aDevice(pool)])
    const claim = await apply(world, pool, '192.168.101.241', machine)
    const stored = await world.create(machine)
    await isClaimed(world, stored)
    await world.delete(stored)
    await isGone(world, claim)
    await reportIsGone(world, claim)
  })
})

describe('A Machine, without the kinds of Cluster API,', () => {
  test.runIf(isInProcess)(
    'says so where it wants an address of a pool, and goes on when the kinds are there',
    async () => {
      const kept: KubeObject[] = []
      const isLeftOut = ({ metadata }: KubeObject) => metadata.name?.startsWith('ipaddress') === true
      const world = await aWorld({
        define: definitions => {
          kept.push(...definitions.filter(isLeftOut))
          return definitions.filter(one => !isLeftOut(one))
        },
      })
      const pool = await aPool(world)
      const machine = await world.create(aMachine([aDevice(pool)]))
      await waitsWith(
        world,
        machine,
        /-claim-0-0 cannot be made: ipaddressclaims\.ipam\.cluster\.x-k8s\.io is not installed/,
      )
      for (const definition of kept) await world.create(definition)
      await world.eventually(async () => void (await isClaimed(world, machine)), 300_000)
    },
  )

  test.runIf(isInProcess)('with addresses of its own is served, and can go', async () => {
    const world = await aWorld({
      define: definitions => definitions.filter(({ metadata }) => !metadata.name?.startsWith('ipaddress')),
    })
    const machine = await world.create(aMachine([{ networkName: 'lab', ipAddrs: ['10.0.0.5/24'] }]))
    await isClaimed(world, machine)
    await world.delete(machine)
    await isGone(world, machine)
  })
})
