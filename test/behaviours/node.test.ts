// Addresses for pods of every CNI: what the plugin is answered on a node, for claims of virtual machines and for pods that have none.

import { describe, expect, test } from 'vitest'
import { nodeLabel } from '../../src/api/names.ts'
import { ipamClaims } from '../../src/node/kinds.ts'
import { anAddressPool } from './builders.ts'
import { holds } from './kinds.ts'
import { aBridge, hasAddresses, interfaceOf, Machine } from './machines.ts'
import { aPlainPod, forceDelete, netnsOf, TestNode } from './nodes.ts'
import { aWorld, type Stored, type World } from './world.ts'

const ranges = { ranges: [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', gateway: '10.9.0.1' }] }
const dual = { ranges: [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.10' }, { subnet: 'fd09::/64', gateway: 'fd09::1' }] }

const claimsOfNodes = async (world: World): Promise<readonly Stored[]> =>
  (await world.list(ipamClaims)).filter(({ metadata }) => metadata.labels?.[nodeLabel] !== undefined)

const heldIn = async (world: World): Promise<readonly string[]> =>
  ((await world.list(holds)) as Stored[]).filter(hold => hold.status.state === 'held').map(hold => hold.spec.address)

describe('A pod that names no claim', () => {
  test('gets an address of its network, with prefix and gateway, held in the name of a claim that it owns', async () => {
    const world = await aWorld()
    const network = await world.create(aBridge(ranges))
    const node = await TestNode.started(world)
    const pod = await aPlainPod(world, { node: node.name, on: [network] })
    const { exit, printed } = await node.add({ pod, on: network })
    expect({ exit, printed }).toEqual({
      exit: 0,
      printed: { cniVersion: '1.1.0', ips: [{ address: '10.9.0.10/24', gateway: '10.9.0.1' }], dns: {} },
    })
    const [claim] = await claimsOfNodes(world)
    expect(claim?.metadata.ownerReferences).toMatchObject([{ kind: 'Pod', uid: pod.metadata.uid }])
    expect(await heldIn(world)).toEqual(['10.9.0.10'])
  })
})
