// What virtual machines cost, in requests of the desk: as many for each of them, however many there are.

import { expect, test } from 'vitest'
import { capi } from '../../src/controllers/capi/desk.ts'
import { vm } from '../../src/controllers/vm/desk.ts'
import { pods } from '../../src/controllers/vm/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'
import { aPod, entriesOf, locksIn, ownerOf } from './world.ts'

const config = { cniVersion: '1.0.0', name: 'blue', type: 'ovn-k8s-cni-overlay', topology: 'layer2' }
const attachment = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: 'blue' },
  spec: { config: JSON.stringify({ ...config, subnets: '10.0.0.0/16,fd00::/64', allowPersistentIPs: true }) },
}
const spec = {
  domain: { devices: { interfaces: [{ name: 'net1', bridge: {} }] } },
  networks: [{ name: 'net1', multus: { networkName: 'blue' } }],
}
const machine = (kind: string, more: object): KubeObject =>
  ({ apiVersion: 'kubevirt.io/v1', kind, ...more }) as KubeObject

/** Everything that the desk sends from now on, as `POST holds`. */
function requestsOf({ desk }: World): string[] {
  const requests: string[] = []
  desk.forbid(({ method, path }) => {
    const [, , resource, name, subresource] =
      /\/(namespaces\/[^/]+\/)?([a-z-]+)(?:\/([^/?]+))?(?:\/([a-z]+))?(?:\?.*)?$/.exec(path) ?? []
    const isList = method === 'GET' && name === undefined
    const isWatch = path.includes('watch=')
    const what = [resource, subresource].filter(Boolean).join('/')
    if (!isWatch && !['', 'events', 'leases'].includes(what)) requests.push(`${isList ? 'LIST' : method} ${what}`)
    return false
  })
  return requests
}

async function machinesAtOnce(world: World, count: number): Promise<readonly Stored[]> {
  const names = Array.from({ length: count }, (_, i) => `vm${i}`)
  const made = await Promise.all(
    names.map(name => world.create(machine('VirtualMachine', { metadata: { name }, spec: { template: { spec } } }))),
  )
  await world.pass(1_000)
  const vmis = await Promise.all(
    made.map(owner => {
      const metadata = { name: owner.metadata.name, ownerReferences: [ownerOf(owner)] }
      return world.create(machine('VirtualMachineInstance', { metadata, spec }))
    }),
  )
  const launchers = await Promise.all(
    vmis.map(vmi => world.create(aPod(vmi, { claim: `${vmi.metadata.name}.net1`, network: 'blue' }))),
  )
  for (const pod of launchers) {
    await world.eventually(async () =>
      expect(Object.keys((await entriesOf(world, pod)) ?? {})).toEqual(['default/blue']),
    )
  }
  await world.pass(1_000)
  return [...launchers, ...vmis, ...made]
}

const toCounts = (requests: readonly string[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const one of requests) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

test('many that start at once cost each what one costs: no address is sought twice, nothing is said twice', async () => {
  const count = 40
  const world = await aWorld({ desks: [capi, vm] })
  await world.create(attachment)
  await world.pass(1_000)
  const requests = requestsOf(world)
  await machinesAtOnce(world, count)
  const { 'LIST ippools': reads = 0, ...others } = toCounts(requests)
  expect(others).toEqual({
    'POST ipamclaims': count,
    // May the namespace still have addresses of the network?
    'GET namespaces': count,
    'POST holds': 2 * count,
    // Its addresses; and, when the pod is there, which one uses them.
    'PATCH ipamclaims/status': 2 * count,
    'PATCH virtualmachines': count,
    'PATCH pods/status': count,
  })
  // What is kept of the network is read for many of them at once.
  expect(reads).toBeLessThanOrEqual(count / 4)
})

test('many that end at once cost each what one costs', async () => {
  const count = 40
  const world = await aWorld({ desks: [capi, vm] })
  await world.create(attachment)
  await world.pass(1_000)
  const all = await machinesAtOnce(world, count)
  const requests = requestsOf(world)
  await Promise.all(all.map(one => world.delete(one)))
  await world.eventually(async () => expect(await locksIn(world, 'blue')).toEqual([]), 60_000)
  expect(await world.list(pods)).toEqual([])
  const { 'LIST pods': lists = 0, ...others } = toCounts(requests)
  expect(others).toEqual({
    'GET virtualmachines': count,
    'GET virtualmachineinstances': count,
    // To rest, and out of it.
    'PATCH holds': 2 * count,
    'DELETE holds': 2 * count,
    'PATCH ipamclaims': count,
  })
  expect(lists).toBeLessThanOrEqual(count)
})
