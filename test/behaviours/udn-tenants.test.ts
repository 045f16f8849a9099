// What a user of one namespace can write about networks that users define, and what that cannot do to other namespaces.

import { describe, expect, test } from 'vitest'
import { defaultNetworkRules } from '../../src/controllers/office/networks.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { configOf, hasAddresses, locksIn, Machine, nextName, waitsFor } from './machines.ts'
import { isGone } from './promises.ts'
import {
  aClaimFor,
  aCUDN,
  aHome,
  aPodOn,
  attachmentOf,
  aUDN,
  finalizer,
  isNotRendered,
  isRendered,
  layer2,
  says,
} from './user-defined-networks.ts'
import { aWorld, type Stored, type World } from './world.ts'

const persistent = (config: object = {}) => layer2({ ipam: { lifecycle: 'Persistent' }, ...config })
const nameOf = ({ metadata }: KubeObject) => `cluster_udn_${metadata.name}`

/** Two namespaces that trust each other with nothing, and a network of an administrator for both. */
async function twoTenants(world: World, network = persistent()) {
  const team = nextName('team')
  const [eve, ann] = [await aHome(world, { team }), await aHome(world, { team })]
  const cudn = await world.create(aCUDN(team, network))
  return { eve, ann, cudn }
}

/** As it would be rendered of the network, and under its control; then changed. */
const forged = (cudn: KubeObject, namespace: string, config: object, metadata: object = {}): KubeObject => {
  const { name = '', uid = '' } = cudn.metadata
  const owner = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  }
  const nad = { name, namespace, ...metadata }
  const text = {
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name: nameOf(cudn),
    netAttachDefName: `${nad.namespace}/${nad.name}`,
    topology: 'layer2',
    role: 'primary',
    subnets: '10.0.0.0/24',
    allowPersistentIPs: true,
    joinSubnet: '100.65.0.0/16,fd99::/64',
    transitSubnet: '100.88.0.0/16,fd97::/64',
    ...config,
  }
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      labels: { 'k8s.ovn.org/user-defined-network': '' },
      finalizers: [finalizer],
      ownerReferences: [owner],
      ...nad,
    },
    spec: { config: JSON.stringify(text) },
  } as KubeObject
}

const aMachineIn = (world: World, namespace: string) =>
  Machine.made(world, [{ name: 'main' }], nextName('vm'), namespace)

describe('A user who changes what was rendered of a network for several namespaces', () => {
  test.each<[string, object]>([
    ['other subnets', { subnets: '10.66.0.0/24', reservedSubnets: '', defaultGatewayIPs: '10.66.0.5' }],
    ['a part of the subnet', { subnets: '10.0.0.0/25' }],
    ['no reserve', { reservedSubnets: '' }],
    ['another gateway', { defaultGatewayIPs: '10.0.0.7' }],
    ['another infrastructure', { infrastructureSubnets: '10.0.0.0/30', defaultGatewayIPs: '10.0.0.1' }],
    ['no persistent addresses', { allowPersistentIPs: false }],
  ])('to have %s leaves the network of the others as its administrator defined it', async (_, change) => {
    // No process restores it.
    const world = await aWorld({ networkRules: { ...defaultNetworkRules, vmIPAM: 'allocate', udn: 'observe' } })
    const network = persistent({ reservedSubnets: ['10.0.0.64/26'], defaultGatewayIPs: ['10.0.0.5'] })
    const { eve, ann, cudn } = await twoTenants(world, network)
    const right = { reservedSubnets: '10.0.0.64/26', defaultGatewayIPs: '10.0.0.5' }
    await world.heard(await world.create(forged(cudn, eve, { ...right, ...change })))
    await world.heard(await world.create(forged(cudn, ann, right)))
    const machine = await aMachineIn(world, ann)
    // Neither the gateway .5 nor the management address .2.
    await hasAddresses(world, machine.claim('main'), ['10.0.0.1/24'])
    await waitsFor(world, await world.create(aClaimFor(nameOf(cudn), eve)), 'NetworkDiffers', /says something else/)
  })

  test('to look as if OVN-Kubernetes served it stops no address from being given', async () => {
    const world = await aWorld()
    const { eve, ann, cudn } = await twoTenants(world)
    for (const namespace of [eve, ann]) {
      const made = await isRendered(world, cudn, namespace)
      await world.heard(await world.patch(made, { metadata: { annotations: { 'k8s.ovn.org/network-id': '7' } } }))
    }
    await says(world, cudn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    for (const namespace of [eve, ann]) {
      await hasAddresses(world, (await aMachineIn(world, namespace)).claim('main'))
    }
  })

  test('to look as if OVN-Kubernetes served it does not keep the network from namespaces that come later', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const eve = await aHome(world, { team })
    const cudn = await world.create(aCUDN(team, persistent()))
    const made = await isRendered(world, cudn, eve)
    await world.heard(await world.patch(made, { metadata: { annotations: { 'k8s.ovn.org/network-id': '7' } } }))
    await isRendered(world, cudn, await aHome(world, { team }))
  })
})

describe('A user who makes what looks as if it were rendered of a network', () => {
  test('in a namespace that it is not for holds up neither the network nor its end', async () => {
    const world = await aWorld()
    const { ann, cudn } = await twoTenants(world)
    const mallory = await aHome(world)
    await isRendered(world, cudn, ann)
    const claim = await world.create(aClaimFor(nameOf(cudn), mallory))
    await world.eventually(() => world.create(aPodOn(mallory, `${mallory}/${cudn.metadata.name}`)))
    await world.create(forged(cudn, mallory, {}))
    await isNotRendered(world, cudn, mallory)
    await waitsFor(world, claim, 'NetworkNotOffered')
    await says(world, cudn, 'True', 'NetworkAttachmentDefinitionCreated', /created/)
    await world.create(forged(cudn, mallory, {}))
    await world.delete(cudn)
    await isGone(world, cudn)
    await isNotRendered(world, cudn, mallory)
  })

  test('under another name changes nothing: it is not taken for that of the network', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const eve = await aHome(world, { team })
    const cudn = await world.create(aCUDN('nobody', persistent()))
    const other = await world.create(forged(cudn, eve, { role: 'secondary', subnets: '10.66.0.0/24' }, { name: 'aaa' }))
    await world.heard(other)
    await world.patch(cudn, { spec: { namespaceSelector: { matchLabels: { team } } } })
    const made = await isRendered(world, cudn, eve)
    expect(configOf(made)).toMatchObject({ netAttachDefName: `${eve}/${cudn.metadata.name}`, subnets: '10.0.0.0/24' })
    await world.always(async () => expect(await world.get(other)).toEqual(other), 2_000)
    await world.delete(cudn)
    await isGone(world, cudn)
  })

  test('and has the name already keeps the network out of its own namespace alone, which is told', async () => {
    const world = await aWorld()
    const team = nextName('team')
    const [eve, ann] = [await aHome(world, { team }), await aHome(world, { team })]
    const name = nextName('cudn')
    const theirs = await world.create({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name, namespace: eve },
      spec: { config: '{"type":"bridge"}' },
    } as KubeObject)
    const cudn = await world.create(aCUDN(team, persistent(), { name }))
    await isRendered(world, cudn, ann)
    const sentence = `foreign NetworkAttachmentDefinition with the desired name already exist [${eve}/${name}]`
    await says(
      world,
      cudn,
      'False',
      'NetworkAttachmentDefinitionSyncError',
      new RegExp(sentence.replace(/[[\]]/g, '\\$&')),
    )
    await hasAddresses(world, (await aMachineIn(world, ann)).claim('main'))
    expect(await world.get(theirs)).toEqual(theirs)
  })
})

describe('The author of a UserDefinedNetwork', () => {
  test('cannot give it the name of another network, whatever is written on it', async () => {
    const world = await aWorld()
    const { ann, cudn } = await twoTenants(world)
    await isRendered(world, cudn, ann)
    const mallory = await aHome(world)
    const annotations = {
      'mooring.dev/network-name': nameOf(cudn),
      'mooring.dev/gateways': '10.0.0.9',
      'k8s.ovn.org/network-id': '7',
    }
    const udn = await world.create(aUDN(mallory, persistent(), { name: cudn.metadata.name, annotations }))
    const made = await isRendered(world, udn, mallory)
    const network = `${mallory}_${udn.metadata.name}`
    expect(configOf(made).name).toBe(network)
    expect(made.metadata.annotations ?? {}).toEqual({})
    await world.eventually(async () => {
      const { metadata, status } = (await world.get(udn)) as Stored
      expect(metadata.annotations).toMatchObject({
        'mooring.dev/network-name': network,
        'mooring.dev/gateways': '10.0.0.1',
      })
      expect(status.networkName).toBe(network)
    })
  })

  test('takes no address from another network of the same subnets', async () => {
    const world = await aWorld()
    const { ann, cudn } = await twoTenants(world)
    await isRendered(world, cudn, ann)
    const mallory = await aHome(world)
    const udn = await world.create(aUDN(mallory, persistent()))
    await isRendered(world, udn, mallory)
    const theirs = await hasAddresses(world, (await aMachineIn(world, mallory)).claim('main'))
    expect(await hasAddresses(world, (await aMachineIn(world, ann)).claim('main'))).toEqual(theirs)
    expect(await locksIn(world, nameOf(cudn))).toHaveLength(1)
  })

  test('lets no other namespace in, and no claim of another holds it up', async () => {
    const world = await aWorld()
    const [ann, mallory] = [await aHome(world), await aHome(world)]
    const udn = await world.create(aUDN(ann, persistent()))
    await isRendered(world, udn, ann)
    const claim = await world.create(aClaimFor(`${ann}_${udn.metadata.name}`, mallory))
    await waitsFor(world, claim, 'NetworkNotOffered')
    await world.delete(udn)
    await isGone(world, udn)
  })

  test('with the longest names is told that they are too long, and others are served', async () => {
    const world = await aWorld()
    const [ann, mallory] = [await aHome(world), await aHome(world)]
    const labels = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, 'y'.repeat(63)]))
    const long = await world.create(aUDN(mallory, persistent(), { name: 'n'.repeat(253), labels }))
    await says(world, long, 'False', 'SyncError', /is too long/)
    expect(await world.get(attachmentOf(long, mallory))).toBeUndefined()
    const udn = await world.create(aUDN(ann, persistent()))
    await isRendered(world, udn, ann)
    await world.delete(long)
    await isGone(world, long)
  })
})
