// Migration networks whose addresses Mooring gives out itself: one for each node, held in its name, and kept.

import { describe, expect, test } from 'vitest'
import { toHoldObject } from '../../src/api/hold.ts'
import { parseIP } from '../../src/ip/address.ts'
import { orThrow } from '../harness/or-throw.ts'
import { holds } from './kinds.ts'
import { addressOf, aFleet, aValue, type Fleet, kubeVirtHome } from './migration-fleet.ts'
import type { Stored } from './world.ts'

const own = (more: object = {}) => aValue({ ipam: 'mooring', range: '10.1.2.0/29', ...more })

/** What is held for nodes, as `node address part`, in the order of the nodes. */
async function held({ world }: Fleet): Promise<string[]> {
  const { items } = await world.client.list(holds)
  const ofNodes = (items as Stored[]).filter(
    ({ spec, status }) =>
      spec.claimRef.kind === 'Node' && spec.poolRef.namespace === kubeVirtHome && status.state === 'held',
  )
  return ofNodes.map(({ spec }) => `${spec.claimRef.name} ${spec.address}`).toSorted()
}

/** What pods of virt-handler have. */
const used = async (fleet: Fleet): Promise<string[]> =>
  (await fleet.handlers()).map(pod => `${pod.spec.nodeName} ${addressOf(pod)}`)

/** Which of them goes to which node is not promised: nodes are served side by side. */
const addressesOf = (given: readonly string[]): string[] => given.map(text => text.split(' ')[1] ?? '').toSorted()

describe('A migration network with addresses of Mooring', () => {
  test('holds one address for each node before KubeVirt is told, and every pod of virt-handler has that of its node', async () => {
    const fleet = await aFleet()
    await fleet.set(own({ exclude: ['10.1.2.1/32'] }))
    const network = await fleet.works()
    const given = await held(fleet)
    expect(addressesOf(given)).toEqual(['10.1.2.2', '10.1.2.3', '10.1.2.4'])
    expect(await used(fleet)).toEqual(given)
    const of = 'desk="migration",claim_kind="Node",kind="NetworkAttachmentDefinition",strategy="lowestFree"'
    expect(fleet.world.desk.metrics()).toContain(`mooring_allocations_total{${of},outcome="bound"} 3\n`)
    const bound = fleet.world.desk.log.filter(({ msg }) => msg === 'a claim is bound')
    expect(bound.map(({ desk, claimKind, claim }) => `${desk} ${claimKind} ${claim}`).toSorted()).toEqual(
      ['node-1', 'node-2', 'node-3'].map(node => `migration Node ${node}`),
    )
    const done = fleet.world.desk.log.filter(({ reconciler, object }) => reconciler === 'migration.network' && object)
    expect(done.map(({ msg, object }) => `${msg}: ${object}`)).toEqual(
      expect.arrayContaining([
        `an object is made: NetworkAttachmentDefinition ${kubeVirtHome}/${network}`,
        `an object is changed: KubeVirt ${kubeVirtHome}/kubevirt`,
      ]),
    )
    const { items } = await fleet.world.client.list(holds)
    const [hold] = (items as Stored[]).filter(
      ({ spec }) => spec.claimRef.name === 'node-1' && spec.poolRef.name === network,
    )
    expect(hold?.spec.claimRef).toMatchObject({ kind: 'Node', name: 'node-1', part: `${network}/v4` })
    expect(hold?.spec.poolRef).toMatchObject({
      kind: 'NetworkAttachmentDefinition',
      namespace: kubeVirtHome,
      name: network,
    })
  })

  test('gives each node an address of both families', async () => {
    const fleet = await aFleet({ nodes: ['node-1', 'node-2'] })
    const v6 = { rangeV6: 'fd00:1::/64', rangeV6Start: 'fd00:1::10', rangeV6End: 'fd00:1::1f' }
    await fleet.set(own(v6))
    await fleet.works()
    const given = await held(fleet)
    expect(given.map(text => text.split(' ')[0])).toEqual(['node-1', 'node-1', 'node-2', 'node-2'])
    expect(addressesOf(given)).toEqual(['10.1.2.1', '10.1.2.2', 'fd00:1::10', 'fd00:1::11'])
  })

  test('that moves to another VLAN keeps the address of each node, and lets go of the old ones when nothing uses them', async () => {
    const fleet = await aFleet({ nodes: ['node-1', 'node-2'] })
    await fleet.set(own())
    const old = await fleet.works()
    const given = await held(fleet)
    expect(addressesOf(given)).toEqual(['10.1.2.1', '10.1.2.2'])
    await fleet.set(own({ vlan: 200 }))
    await fleet.world.eventually(async () => expect(await fleet.network()).not.toBe(old))
    await fleet.works()
    expect(await used(fleet)).toEqual(given)
    await fleet.world.eventually(async () => expect(await held(fleet)).toEqual(given))
    await fleet.set('')
    await fleet.says({ status: 'True', message: '2 of 2 nodes migrate over the management network' })
    await fleet.world.eventually(async () => expect(await held(fleet)).toEqual([]))
  })

  test('warns before the range runs dry, says which node got nothing, and serves it when the range is wider or a node goes', async () => {
    const fleet = await aFleet({ nodes: ['node-1', 'node-2'] })
    const sufficient = async () => {
      const { status } = await fleet.setting()
      return ((status?.conditions ?? []) as Stored[]).find(({ type }) => type === 'addressesSufficient')
    }
    await fleet.set(own({ range: '10.1.2.0/29', exclude: ['10.1.2.4/30'] }))
    await fleet.works()
    expect(await sufficient()).toMatchObject({
      status: 'True',
      message: '2 of 3 addresses are needed, one for each node',
    })
    await fleet.addNode('node-3')
    await fleet.world.eventually(async () => {
      expect(await sufficient()).toMatchObject({ status: 'False', reason: 'NoSpareAddress' })
    })
    await fleet.works()
    await fleet.addNode('node-4')
    await fleet.world.eventually(async () => {
      expect(await sufficient()).toMatchObject({ status: 'False', reason: 'RangeUsedUp' })
    })
    await fleet.says({
      reason: 'NodesNotReady',
      message: expect.stringMatching(/^3 of 4 .*node-4: no address of \S+ is free/),
    })
    await fleet.set(own({ range: '10.1.2.0/29' }))
    await fleet.says({ status: 'True', message: expect.stringMatching(/^4 of 4/) })
    expect(addressesOf(await held(fleet))).toEqual(['10.1.2.1', '10.1.2.2', '10.1.2.3', '10.1.2.4'])
    await fleet.removeNode('node-2')
    await fleet.world.eventually(async () => expect(await held(fleet)).toHaveLength(3))
  })

  test('is not switched to while a node would be without an address', async () => {
    const fleet = await aFleet()
    await fleet.set(own({ range: '10.1.2.0/30' }))
    const message = expect.stringMatching(/node-\d: no address of vm-migration-network-\w+ is free/)
    await fleet.says({ status: 'False', reason: 'WaitingForAddresses', message })
    await fleet.world.idle(30_000)
    expect(await fleet.network()).toBeUndefined()
    await fleet.removeNode('node-1')
    await fleet.works()
  })

  test('gives a node an address of both families or of neither, also where it was killed between the two', async () => {
    const fleet = await aFleet({ nodes: ['node-1'] })
    const { world } = fleet
    const isOfIPv6 = (body = '') => /"part":"[^"]*\/v6"/.test(body)
    world.desk.killBefore(({ method, path, body }) => method === 'POST' && isHolds(path) && isOfIPv6(body))
    await fleet.set(own({ rangeV6: 'fd00:1::/64', rangeV6Start: 'fd00:1::10', rangeV6End: 'fd00:1::10' }))
    await world.eventually(async () => expect(await held(fleet)).toEqual(['node-1 10.1.2.1']))
    await world.desk.kill()
    const last = await takenByAnother(fleet, 'fd00:1::10')
    await world.desk.start()
    await fleet.says({ reason: 'WaitingForAddresses', message: expect.stringMatching(/node-1: no IPv6 address of/) })
    await world.eventually(async () => expect(await held(fleet)).toEqual([]))
    expect(world.desk.metrics()).toMatch(/mooring_claims_waiting\{[^}]*claim_kind="Node"[^}]*\} 1\n/)
    await world.client.delete(holds, last)
    await fleet.works()
    expect(addressesOf(await held(fleet))).toEqual(['10.1.2.1', 'fd00:1::10'])
  })
})

const isHolds = (path: string): boolean => path.startsWith('/apis/mooring.dev/v1alpha1/holds')

/** An address of the network, held by a claim of a kind that no desk here serves. */
async function takenByAnother({ world }: Fleet, address: string): Promise<{ readonly name: string }> {
  const { items } = await world.client.list(holds)
  const beside = (items as Stored[]).find(({ spec }) => spec.claimRef.kind === 'Node')
  if (beside === undefined) throw new Error('no node holds an address')
  const { space, poolRef } = beside.spec
  const claim = { apiGroup: 'example.org', kind: 'Berth', namespace: 'lab', name: 'another', uid: 'another' }
  const pool = { ...poolRef, apiGroup: poolRef.apiGroup ?? '' }
  const spec = { space, ip: orThrow(parseIP(address)), bits: 128, pool, claim, owner: undefined }
  const object = toHoldObject(spec, new Date(world.clock.now()).toISOString())
  // Without the finalizer, so that it is free as soon as it is deleted.
  const made = await world.client.create(holds, { ...object, metadata: { ...object.metadata, finalizers: [] } })
  return { name: made.metadata.name ?? '' }
}
