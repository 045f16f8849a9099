// The kinds we define, as the API server judges them, and the samples, as the kinds judge those.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parseHold, toHoldObject } from '../../src/api/hold.ts'
import { toQuarantinePatch } from '../../src/api/lock.ts'
import { parseMACHold, toMACHoldObject } from '../../src/api/mac-hold.ts'
import { toPool } from '../../src/api/to-pool.ts'
import { checkCRD, warnAboutCRD } from '../../src/apiserver/crd/check.ts'
import type { KubeObject } from '../../src/apiserver/object.ts'
import { bitsOf, parseIP } from '../../src/ip/address.ts'
import { parseMAC } from '../../src/ip/mac.ts'
import { orThrow } from '../harness/or-throw.ts'
import { aWorld, type World } from '../harness/world.ts'

const crdFolders = [
  'config/crd',
  'config/crd/cluster-api',
  'config/crd/networks',
  'config/crd/kubevirt',
  'config/crd/machine',
  'config/crd/harvester',
]

const documentsIn = (folder: string): KubeObject[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .toSorted()
    .flatMap(name => parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map(document => document.toJS()))

const definitions = crdFolders.flatMap(documentsIn)
const samples = documentsIn('config/samples/capi')

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Where objects of this kind are created. */
function pathOf({ apiVersion, kind, metadata }: KubeObject): string {
  const specs = definitions.map(({ spec }) => spec as { scope: string; names: { kind: string; plural: string } })
  const { scope, names } = specs.find(spec => spec.names.kind === kind) ?? { scope: '', names: { plural: kind } }
  const namespace = scope === 'Namespaced' ? `namespaces/${metadata.namespace ?? 'default'}/` : ''
  return `/apis/${apiVersion}/${namespace}${names.plural}`
}

async function aWorldWithKinds(): Promise<World> {
  const world = await aWorld()
  for (const definition of definitions) {
    const { code, text } = await world.admin.request('POST', definitionsPath, definition)
    expect(code, text).toBe(201)
  }
  await world.settled()
  return world
}

const badSpecs: readonly (readonly [kind: string, spec: Record<string, unknown>, complaint: string])[] = [
  ...['InClusterIPPool', 'GlobalInClusterIPPool', 'AddressPool', 'ClusterAddressPool'].flatMap(
    kind =>
      [
        [kind, { prefix: 24 }, 'spec.addresses: Required value'],
        [kind, { addresses: [], prefix: 24 }, 'addresses is required'],
        [kind, { addresses: ['garbage'], prefix: 24 }, 'provided address is not a valid IP, range, nor CIDR'],
        [kind, { addresses: ['10.0.0.10/33'], prefix: 24 }, 'provided address is not a valid IP, range, nor CIDR'],
        [kind, { addresses: ['10.0.0.1-'], prefix: 24 }, 'provided address is not a valid IP, range, nor CIDR'],
        [kind, { addresses: ['10.0.0.1', 'fd00::1'], prefix: 24 }, 'provided addresses are of mixed IP families'],
        [
          kind,
          { addresses: ['10.0.0.1'], prefix: 64 },
          'provided prefix is not valid: write the length of the subnet, 0 to 32 for IPv4',
        ],
        [kind, { addresses: ['10.0.0.1'], prefix: 129 }, 'should be less than or equal to 128'],
        [kind, { addresses: ['10.0.0.1'], prefix: 24, gateway: 'fd00::1' }, 'gateway and addresses are of mixed'],
        ...Object.entries({
          invalid: 'unable to parse IP',
          '10.0.0': 'IPv4 address too short',
          '10.0.0.1.1': 'IPv4 address too long',
          '10.0.0.256': 'IPv4 field has value >255',
          '10.0.0.01': 'IPv4 field has octet with leading zero',
        }).map(
          ([gateway, problem]) =>
            [
              kind,
              { addresses: ['10.0.0.1'], prefix: 24, gateway },
              `spec.gateway: Invalid value: "${gateway}": ParseAddr("${gateway}"): ${problem}`,
            ] as const,
        ),
        [
          kind,
          { addresses: ['10.0.0.1'], prefix: 24, excludedAddresses: ['fd00::1'] },
          'excluded addresses are of mixed',
        ],
      ] as const,
  ),
  ['AddressPool', { addresses: ['10.0.0.1'], prefix: 24, strategy: 'best' }, 'Unsupported value: "best"'],
  ['AddressPool', { addresses: ['10.0.0.1'], prefix: 24, space: '-a' }, 'spec.space'],
  [
    'AddressPool',
    { addresses: ['10.0.0.1'], prefix: 24, quarantineSeconds: 2_592_001 },
    'less than or equal to 2592000',
  ],
  ['ClusterAddressPool', { addresses: ['10.0.0.1'], prefix: 24, space: 'team-a/blue' }, 'spec.space'],
  ['AddressPool', { addresses: ['10.0.0.1'], prefix: 24, draining: ['fd00::/64'] }, 'draining addresses are of mixed'],
  ['AddressPool', { addresses: ['10.0.0.1'], prefix: 24, preAllocations: { a: 'fd00::1' } }, 'pre-allocated addresses'],
  ['InClusterPrefixPool', { prefixes: [] }, 'prefixes is required'],
  ['InClusterPrefixPool', { prefixes: ['fd00::1'] }, 'not a valid CIDR'],
  ['InClusterPrefixPool', { prefixes: ['fd00::1/64'] }, 'CIDR must be network-aligned'],
  ['GlobalInClusterPrefixPool', { prefixes: ['fd00::/65'] }, 'must be <= allocationPrefixLength'],
]

const goodSpecs: readonly Record<string, unknown>[] = [
  { addresses: ['192.0.2.7', '198.51.100.0/25', '203.0.113.1-203.0.113.9'], prefix: 0 },
  { addresses: ['10.0.0.7/24'], prefix: 24, gateway: '' },
  { addresses: ['10.0.0.0/24'], prefix: 24, gateway: '192.0.2.1', excludedAddresses: ['172.16.0.1'] },
  { addresses: ['fe80::1%eth0', 'fe80::5-fe80::9'], prefix: 64, gateway: 'fe80::ffff%eth0' },
  { addresses: ['::ffff:10.0.0.1'], prefix: 120 },
  { addresses: ['10.0.0.0/31'], prefix: 31, allocateReservedIPAddresses: true, addressReuseGracePeriodSeconds: 300 },
]

/** Of other addresses, and second names of those that are tried. */
const otherNames = [
  'ip-10-0-0-8',
  'ip6-fd00-0-0-0-0-0-0-8',
  'ip6-fd00-0-0-0-0-0-0-09',
  'ip6-fd00--9',
  'ip6-fd00-0-0-0-0-0-0-9-0',
  'ip6-0-0-0-0-0-fffe-a00-9',
]

/** Each is another claim than the one that the holds of these tests name. */
const otherClaims = {
  group: { apiGroup: 'example.org' },
  kind: { kind: 'Dream' },
  namespace: { namespace: 'elsewhere' },
  name: { name: 'vm-b' },
  uid: { uid: 'another' },
  part: { part: 'eth1' },
  Cluster: { clusterName: 'another' },
  'uid of the namespace': { namespaceUID: 'another' },
}

const mergePatch = 'application/merge-patch+json'

function aHold(address: string, space = 'blue') {
  const pool = { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace: 'default', name: 'vms' }
  const claim = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace: 'default', name: 'c', uid: 'u' }
  const ip = orThrow(parseIP(address))
  const spec = { space, ip, bits: bitsOf(ip.family), pool, claim, owner: undefined }
  return toHoldObject(spec, '2030-01-01T00:00:00Z')
}

function aMACHold(space: string) {
  const { spec } = aHold('10.0.0.9')
  const claim = { namespace: '', ...spec.claimRef, part: 'eth0' }
  const mac = orThrow(parseMAC('0a:58:c0:a8:01:05'))
  const pool = { namespace: '', ...spec.poolRef }
  return toMACHoldObject({ space, mac, pool, claim, owner: { ...claim, uid: 'o' } }, '2030-01-01T00:00:00Z')
}

describe('the kinds we define', () => {
  test.each(definitions.map(definition => [definition.metadata.name ?? '', definition] as const))(
    '%s is accepted as it is',
    (_, definition) => {
      expect(checkCRD(definition)).toEqual([])
      expect(warnAboutCRD(definition)).toEqual([])
    },
  )

  test('every sample is accepted, and every pool among them can be used', async () => {
    const world = await aWorldWithKinds()
    expect(samples.length).toBeGreaterThan(0)
    for (const sample of samples) {
      const { code, text, body } = await world.admin.request('POST', pathOf(sample), sample)
      expect(code, text).toBe(201)
      if (sample.kind.endsWith('Pool')) expect(toPool(body)).not.toHaveProperty('malformed')
    }
  })

  test('keep bad specs out where no webhook does', async () => {
    const world = await aWorldWithKinds()
    for (const [kind, spec, complaint] of badSpecs) {
      const apiVersion = kind.endsWith('AddressPool') ? 'mooring.dev/v1alpha1' : 'ipam.cluster.x-k8s.io/v1alpha2'
      const object = { apiVersion, kind, metadata: { name: 'bad' }, spec }
      const { code, body } = await world.admin.request('POST', pathOf(object), object)
      expect([kind, spec, code, body.message]).toEqual([kind, spec, 422, expect.stringContaining(complaint)])
    }
  })

  test('accept every way in which existing pools are written', async () => {
    const world = await aWorldWithKinds()
    for (const [i, spec] of goodSpecs.entries()) {
      const metadata = { name: `good-${i}` }
      const object = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata, spec }
      const { code, text } = await world.admin.request('POST', pathOf(object), object)
      expect(code, text).toBe(201)
    }
  })

  test('a space, an allocation length and a hold never change', async () => {
    const world = await aWorldWithKinds()
    const change = async (object: KubeObject, patch: unknown): Promise<string> => {
      const path = pathOf(object)
      const created = await world.admin.request('POST', path, object)
      expect(created.code, created.text).toBe(201)
      const answer = await world.admin.request('PATCH', `${path}/${object.metadata.name}`, patch, mergePatch)
      expect(answer.code, answer.text).toBe(422)
      return answer.body.message
    }
    const pool = { apiVersion: 'mooring.dev/v1alpha1', kind: 'AddressPool', metadata: { name: 'a' } }
    const spec = { addresses: ['10.0.0.0/24'], prefix: 24, space: 'blue' }
    expect(await change({ ...pool, spec }, { spec: { space: 'red' } })).toContain('space never changes')
    expect(await change({ ...pool, metadata: { name: 'b' }, spec }, { spec: { space: null } })).toContain('space never')
    const prefixes = {
      apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
      kind: 'InClusterPrefixPool',
      metadata: { name: 'a' },
    }
    const lengths = { prefixes: ['fd00::/48'], allocationPrefixLength: 56 }
    const longer = { spec: { allocationPrefixLength: 64 } }
    expect(await change({ ...prefixes, spec: lengths }, longer)).toContain('allocationPrefixLength is immutable')
    expect(await change(aHold('10.0.0.9'), { spec: { address: '10.0.0.10' } })).toContain('never change')
  })

  test.each(Object.entries(otherClaims))(
    'a hold of either kind names one claim, by its %s too, until it rests and is taken again',
    async (_, claimRef) => {
      const world = await aWorldWithKinds()
      for (const hold of [aHold('10.0.0.9'), aMACHold('blue')]) {
        const path = `${pathOf(hold)}/${hold.metadata.name}`
        const patch = async (body: object) => (await world.admin.request('PATCH', path, body, mergePatch)).code
        await world.admin.request('POST', pathOf(hold), hold)
        const resting = toQuarantinePatch('2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z')
        expect(await patch({ spec: { claimRef } })).toBe(422)
        expect(await patch({ spec: { claimRef }, ...resting })).toBe(422)
        expect(await patch(resting)).toBe(200)
        expect(await patch({ spec: { claimRef } })).toBe(422)
        const status = { state: 'held', since: '2030-01-01T00:00:00Z', until: null }
        expect(await patch({ spec: { claimRef }, status })).toBe(200)
      }
    },
  )

  test.each(['10.0.0.9', 'fd00::9', '::ffff:10.0.0.9'])(
    'the hold of %s is accepted as the ledger writes it, and under no other name',
    async address => {
      const world = await aWorldWithKinds()
      const hold = aHold(address)
      const { code, text, body } = await world.admin.request('POST', pathOf(hold), hold)
      expect(code, text).toBe(201)
      expect(parseHold(body)).toMatchObject({ address, state: 'held' })
      for (const name of otherNames) {
        const misnamed = { ...hold, metadata: { name: `${name}.blue` } }
        const answer = await world.admin.request('POST', pathOf(hold), misnamed)
        expect([answer.code, answer.body.message]).toEqual([422, expect.stringContaining('must be named after')])
      }
    },
  )

  test.each(['blue', 'cluster_udn_blue', 'team-a/blue', 'AddressPool.mooring.dev/default/vms', `A${'b'.repeat(252)}`])(
    'in the space %s a hold of either kind is accepted as the ledger writes it, and not in the name of another space',
    async space => {
      const world = await aWorldWithKinds()
      for (const hold of [aHold('10.0.0.9', space), aMACHold(space)]) {
        const { code, text, body } = await world.admin.request('POST', pathOf(hold), hold)
        expect(code, text).toBe(201)
        const read = hold.kind === 'Hold' ? parseHold(body) : parseMACHold(body)
        expect(read).toMatchObject({ space, heldSince: '2030-01-01T00:00:00Z' })
        const [address = ''] = hold.metadata.name.split('.')
        for (const name of [`${address}.red`, `${address}.red.blue`, 'mac-0a-58-c0-a8-01-06.blue']) {
          const answer = await world.admin.request('POST', pathOf(hold), { ...hold, metadata: { name } })
          expect([answer.code, answer.body.message]).toEqual([422, expect.stringContaining('must be named after')])
        }
      }
    },
  )

  test('a network that a user defines shows what it is in its columns', async () => {
    const world = await aWorldWithKinds()
    const network = { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.0.0.0/24'] } }
    const metadata = { name: 'net' }
    for (const [kind, spec] of [
      ['UserDefinedNetwork', network],
      ['ClusterUserDefinedNetwork', { namespaceSelector: {}, network }],
    ] as const) {
      const object = { apiVersion: 'k8s.ovn.org/v1', kind, metadata, spec }
      const { code, text } = await world.admin.request('POST', pathOf(object), object)
      expect(code, text).toBe(201)
      const status = { networkName: 'x_net' }
      await world.admin.request('PATCH', `${pathOf(object)}/net/status`, { status }, mergePatch)
      const headers = { accept: ['application/json;as=Table;v=v1;g=meta.k8s.io'] }
      const { body } = await world.admin.request('GET', pathOf(object), undefined, undefined, headers)
      const table = body as unknown as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] }
      const row = Object.fromEntries(table.columnDefinitions.map(({ name }, i) => [name, table.rows[0]?.cells[i]]))
      expect(row).toMatchObject({ Name: 'net', Topology: 'Layer2', Role: 'Secondary', Network: 'x_net' })
    }
  })
})
