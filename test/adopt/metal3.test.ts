import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { adoptWith } from '../../src/cli/adopt.ts'
import { exitCodes } from '../../src/cli/failure.ts'
import { leases } from '../../src/kube/lease.ts'
import { defineKind, type Kind, type KubeObject } from '../../src/kube/object.ts'
import { aClaim, anAddressPool } from '../behaviours/builders.ts'
import { aServedClaim, isServed, saysWhy } from '../behaviours/promises.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'

const group = 'ipam.metal3.io'
const kinds = ['IPPool', 'IPClaim', 'IPAddress'] as const
const pluralOf = { IPPool: 'ippools', IPClaim: 'ipclaims', IPAddress: 'ipaddresses' } as const

/** Metal3's kinds, as far as their names and versions go. */
const metal3Definitions: readonly KubeObject[] = kinds.map(kind => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${pluralOf[kind]}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural: pluralOf[kind], singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}))

const kindOf = (kind: (typeof kinds)[number]): Kind =>
  defineKind<KubeObject>({ group, versions: ['v1alpha1'], plural: pluralOf[kind], kind, namespaced: true })

function metal3(world: World, kind: (typeof kinds)[number], name: string, spec: object): Promise<KubeObject> {
  const metadata = { name, namespace: world.home }
  return world.client.create(kindOf(kind), { apiVersion: `${group}/v1alpha1`, kind, metadata, spec } as KubeObject)
}

async function aMetal3World(): Promise<World> {
  const world = await aWorld({ define: definitions => [...definitions, ...metal3Definitions] })
  const pools = [{ start: '10.0.1.1', end: '10.0.1.9' }]
  await metal3(world, 'IPPool', 'rack', { pools, prefix: 24, gateway: '10.0.1.254', namePrefix: 'rack' })
  return world
}

const onMetal3 = { apiVersion: `${group}/v1alpha1`, kind: 'IPPool', metadata: { name: 'rack' } }
const onMooring = { apiVersion: 'mooring.dev/v1alpha1', kind: 'AddressPool', metadata: { name: 'rack' } }

/** A claim of Cluster API as Metal3 serves it: the IPAddress has the name of the address. */
async function servedByMetal3(world: World, name: string, address: string): Promise<Stored> {
  const claim = await world.create(aClaim().named(name).on(onMetal3))
  await world.create({
    apiVersion: claim.apiVersion ?? '',
    kind: 'IPAddress',
    metadata: { name: `rack-${address.replaceAll('.', '-')}`, finalizers: ['ipam.metal3.io/ipaddress'] },
    spec: { claimRef: { name }, poolRef: claim.spec.poolRef, address, prefix: 24 },
  } as Stored)
  return claim
}

async function adopt(
  world: World,
  { dryRun = false, output = 'json', namespace = '', watchFilter = '' } = {},
): Promise<{ code: number; text: string }> {
  let text = ''
  const tools = { client: world.client, nowMs: world.clock.now(), ownLease: 'mooring-controller' }
  const options = { from: 'metal3', back: false, dryRun, output, namespace, watchFilter }
  const code = await adoptWith(tools, options, line => {
    text += line
  })
  return { code, text }
}

describe('Taking over from Metal3', () => {
  test('keeps every address that Metal3 has given out from all other claims', async () => {
    const world = await aMetal3World()
    await servedByMetal3(world, 'web', '10.0.1.1')
    await metal3(world, 'IPClaim', 'db', { pool: { name: 'rack' } })
    const spec = { claim: { name: 'db' }, pool: { name: 'rack' }, address: '10.0.1.2' }
    await metal3(world, 'IPAddress', 'rack-10-0-1-2', spec)
    const { code, text } = await adopt(world)
    expect(code).toBe(0)
    expect(JSON.parse(text).summary).toEqual({ kept: 1, recreate: 1 })
    await aServedClaim(world, aClaim().on(onMooring), '10.0.1.3')
  })

  test('lets a claim that is made anew have its address, and needs no other step', async () => {
    const world = await aMetal3World()
    const old = await servedByMetal3(world, 'web', '10.0.1.7')
    const { text } = await adopt(world, { output: 'yaml' })
    const anew = text
      .split('---\n')
      .map(document => parse(document))
      .find(({ kind }) => kind === 'IPAddressClaim')
    await world.delete(old)
    const claim = await world.create(anew)
    await isServed(world, claim, '10.0.1.7')
    expect(JSON.parse((await adopt(world)).text).summary).toEqual({ adopted: 1 })
  })

  test('lets a claim keep an address that its pool does not list, by the IPAddress that goes with it', async () => {
    const world = await aMetal3World()
    const old = await servedByMetal3(world, 'web', '192.0.2.7')
    const { text } = await adopt(world, { output: 'yaml' })
    await world.delete(old)
    const anew = text.split('---\n').map(document => parse(document))
    for (const kind of ['IPAddress', 'IPAddressClaim']) await world.create(anew.find(one => one?.kind === kind))
    await isServed(world, aClaim().named('web').on(onMooring), '192.0.2.7')
  })

  test('lets a controller that makes its claim anew by itself have the same address, by its name', async () => {
    const world = await aMetal3World()
    const old = await servedByMetal3(world, 'web', '10.0.1.7')
    await adopt(world)
    await world.delete(old)
    const thief = await world.create(aClaim().named('thief').on(onMooring).asking('10.0.1.7'))
    await saysWhy(world, thief, 'AllocationFailed', 'kept for another claim')
    await aServedClaim(world, aClaim().named('web').on(onMooring), '10.0.1.7')
  })

  test('writes nothing in a dry run, and the same only once', async () => {
    const world = await aMetal3World()
    await servedByMetal3(world, 'web', '10.0.1.7')
    await adopt(world, { dryRun: true })
    expect(await world.get(onMooring)).toBeUndefined()
    await adopt(world)
    const pool = await world.get(onMooring)
    expect(pool?.spec.preAllocations).toEqual({ web: '10.0.1.7' })
    expect(JSON.parse((await adopt(world)).text).remarks.join(' ')).toContain('unchanged')
    await servedByMetal3(world, 'db', '10.0.1.9')
    expect(JSON.parse((await adopt(world)).text).remarks.join(' ')).toContain(' changed')
    expect((await world.get(onMooring))?.spec.preAllocations).toEqual({ web: '10.0.1.7', db: '10.0.1.9' })
  })

  test('does not touch a pool of the same name that offers other addresses', async () => {
    const world = await aMetal3World()
    const other = await world.create(anAddressPool().named('rack').withAddresses('10.7.0.0/24'))
    await servedByMetal3(world, 'web', '10.0.1.7')
    const { code, text } = await adopt(world)
    expect(code).toBe(exitCodes.refused)
    expect(JSON.parse(text).addresses).toContainEqual(expect.objectContaining({ reason: 'NameTaken' }))
    expect((await world.get(onMooring))?.spec).toEqual(other.spec)
  })

  test('is refused while Metal3 runs, except in a dry run', async () => {
    const world = await aMetal3World()
    const renewTime = new Date(world.clock.now()).toISOString().replace('Z', '000Z')
    await world.client.create(leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'controller-leader-election-ipam-capm3', namespace: world.home },
      spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, renewTime },
    })
    await expect(adopt(world)).rejects.toThrow("Metal3's IP address manager runs: pod-1")
    expect((await adopt(world, { dryRun: true })).code).toBe(0)
    await world.pass(60_000)
    expect((await adopt(world)).code).toBe(0)
  })

  test('is nothing to do where Metal3 is not installed', async () => {
    const world = await aWorld()
    const { code, text } = await adopt(world, { output: 'table' })
    expect({ code, text }).toEqual({ code: 0, text: 'no addresses found' })
  })

  test('is for the pools of one namespace, where a flag says so, and for no filter', async () => {
    const world = await aMetal3World()
    await servedByMetal3(world, 'web', '10.0.1.1')
    const told = async (namespace: string) => JSON.parse((await adopt(world, { dryRun: true, namespace })).text).summary
    expect(await told(world.home)).not.toEqual({})
    expect(await told(await world.anotherNamespace())).toEqual({})
    await expect(adopt(world, { watchFilter: 'ours' })).rejects.toThrow(
      '--watch-filter does not go together with --from metal3',
    )
  })
})
