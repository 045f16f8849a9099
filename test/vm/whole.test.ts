// The vm desk as it is assembled, over networks that are read from NetworkAttachmentDefinitions: from a virtual machine to the
// addresses that its pod is configured with, and back.

import { expect, test } from 'vitest'
import { capi } from '../../src/controllers/capi/desk.ts'
import { vm } from '../../src/controllers/vm/desk.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { isGone } from '../behaviours/promises.ts'
import { aWorld } from '../behaviours/world.ts'
import { aPod, entriesOf, isServed, locksIn, ownerOf } from './world.ts'

const config = {
  ...{ cniVersion: '1.0.0', name: 'tenantblue', type: 'ovn-k8s-cni-overlay', topology: 'layer2' },
  ...{ subnets: '192.168.1.0/24', allowPersistentIPs: true, netAttachDefName: 'default/blue' },
}
const attachment = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: 'blue' },
  spec: { config: JSON.stringify(config) },
}
const spec = {
  domain: { devices: { interfaces: [{ name: 'net1', bridge: {} }] } },
  networks: [{ name: 'net1', multus: { networkName: 'blue' } }],
}
const machine = (kind: string, more: object): KubeObject =>
  ({ apiVersion: 'kubevirt.io/v1', kind, ...more }) as KubeObject

test('a virtual machine has a claim, the claim an address, its pods that address, and the next machine after it', async () => {
  const world = await aWorld({ desks: [capi, vm] })
  await world.create(attachment)
  const made = await world.create(
    machine('VirtualMachine', { metadata: { name: 'vm1' }, spec: { template: { spec } } }),
  )
  const owned = { name: 'vm1', ownerReferences: [ownerOf(made)] }
  const vmi = await world.create(machine('VirtualMachineInstance', { metadata: owned, spec }))
  const claim = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata: { name: 'vm1.net1' } }
  const [address] = await isServed(world, claim, ['192.168.1.1/24'])
  const pod = await world.create(aPod(vmi, { claim: 'vm1.net1' }))
  await world.eventually(async () =>
    expect(await entriesOf(world, pod)).toMatchObject({ 'default/blue': { ip_addresses: [address] } }),
  )
  await world.eventually(async () =>
    expect((await world.get(made))?.metadata.annotations?.['mooring.dev/network-interfaces']).toContain(address),
  )
  for (const gone of [pod, vmi, made]) await world.delete(gone)
  await isGone(world, claim, 60_000)
  await world.eventually(async () => expect(await locksIn(world, 'tenantblue')).toEqual([]))
})
