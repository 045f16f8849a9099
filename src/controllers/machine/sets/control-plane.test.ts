// Failure domains, and the replacement of a control plane, as tables.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { type Machine, parseMachine } from '../../../api/machine.ts'
import { parseControlPlaneMachineSet } from '../../../api/machine-set.ts'
import { parseVSphereProviderSpec, type VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import { decideControlPlane } from './control-plane.ts'
import { differs, type FailureDomain, inDomain } from './failure-domains.ts'

const pool = (name: string) => ({ addressesFromPools: [{ group: 'installer.openshift.io', resource: 'IPPool', name }] })

const domain = (name: string, networks = [`net-${name}`]): FailureDomain => ({
  name,
  server: 'vc',
  datacenter: `dc-${name}`,
  computeCluster: `/dc-${name}/host/c`,
  datastore: `/dc-${name}/datastore/ds`,
  resourcePool: '',
  folder: '',
  template: `/dc-${name}/vm/rhcos-${name}`,
  networks,
})

const template = (
  devices: readonly object[] = [{ ...pool('default-0'), nameservers: ['192.0.2.2'] }],
  more: object = {},
) => ({
  kind: 'VSphereMachineProviderSpec',
  numCPUs: 4,
  template: '',
  workspace: {},
  network: { devices },
  ...more,
})

const read = (spec: object): VSphereProviderSpec =>
  orThrow(parseVSphereProviderSpec(spec, 'spec') as VSphereProviderSpec)

describe('inDomain', () => {
  test('M03 a device with pools gets the network of the domain, and keeps pools and name servers', () => {
    const spec = read(inDomain(template(), domain('a'), 'c1'))
    expect(spec.devices).toEqual([
      {
        networkName: 'net-a',
        gateway: '',
        ipAddrs: [],
        nameservers: ['192.0.2.2'],
        addressesFromPools: pool('default-0').addressesFromPools,
      },
    ])
    expect(spec.template).toBe('rhcos-a')
    expect(spec.workspace).toMatchObject({
      server: 'vc',
      datacenter: 'dc-a',
      datastore: '/dc-a/datastore/ds',
      resourcePool: '/dc-a/host/c/Resources',
      folder: '/dc-a/vm/c1',
    })
  })

  test('M04 a network more is a device more, without pools', () => {
    const { devices } = read(inDomain(template(), domain('a', ['one', 'two']), 'c1'))
    expect(devices.map(({ networkName, addressesFromPools }) => [networkName, addressesFromPools.length])).toEqual([
      ['one', 1],
      ['two', 0],
    ])
  })

  test('addresses that are written out are in no template', () => {
    const literal = { ipAddrs: ['192.0.2.5/24'], gateway: '192.0.2.1', nameservers: ['192.0.2.2'] }
    expect(read(inDomain(template([literal]), domain('a'), 'c1')).devices[0]).toMatchObject({
      ipAddrs: [],
      gateway: '',
      nameservers: [],
    })
    expect(read(inDomain(template([{ ...pool('p'), ...literal }]), domain('a'), 'c1')).devices[0]).toMatchObject({
      ipAddrs: [],
      gateway: '',
      nameservers: ['192.0.2.2'],
    })
  })
})

describe('differs', () => {
  const wanted = inDomain(template(), domain('a'), 'c1')
  const changed = (devices: object[], more: object = {}) =>
    differs(read(inDomain(template(devices, more), domain('a'), 'c1')), wanted)

  test.each<[string, boolean, boolean]>([
    ['nothing', changed([{ ...pool('default-0'), nameservers: ['192.0.2.2'] }]), false],
    ['M06 the pool', changed([{ ...pool('other'), nameservers: ['192.0.2.2'] }]), true],
    [
      'M08 the name servers of a device with pools',
      changed([{ ...pool('default-0'), nameservers: ['192.0.2.3'] }]),
      true,
    ],
    ['the number of CPUs', changed([{ ...pool('default-0'), nameservers: ['192.0.2.2'] }], { numCPUs: 8 }), true],
    [
      'M05 an address and a gateway that are written out',
      differs(
        read({
          ...wanted,
          network: {
            devices: [
              {
                networkName: 'net-a',
                ...pool('default-0'),
                nameservers: ['192.0.2.2'],
                ipAddrs: ['192.0.2.9/24'],
                gateway: '192.0.2.1',
              },
            ],
          },
        }),
        wanted,
      ),
      false,
    ],
  ])('compares %s', (_, is, expected) => {
    expect(is).toBe(expected)
  })
})

const labels = { role: 'master' }

const aSet = (spec: object = {}) =>
  orThrow(
    parseControlPlaneMachineSet({
      metadata: { name: 'cluster', namespace: 'n', uid: 's', resourceVersion: '1' },
      spec: {
        replicas: 3,
        state: 'Active',
        selector: { matchLabels: labels },
        template: {
          machines_v1beta1_machine_openshift_io: {
            failureDomains: { platform: 'VSphere', vsphere: [{ name: 'a' }, { name: 'b' }] },
            metadata: { labels },
            spec: { providerSpec: { value: template() } },
          },
        },
        ...spec,
      },
    }),
  )

interface Member {
  readonly pool?: string
  readonly in?: string
  readonly phase?: string
  readonly isDeleting?: boolean
}

const aMember = (
  name: string,
  { pool: from = 'default-0', in: at = 'a', phase = 'Running', isDeleting = false }: Member = {},
): Machine =>
  orThrow(
    parseMachine({
      metadata: {
        name,
        namespace: 'n',
        uid: name,
        resourceVersion: '1',
        labels,
        ...(isDeleting && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
      },
      spec: {
        providerSpec: { value: inDomain(template([{ ...pool(from), nameservers: ['192.0.2.2'] }]), domain(at), 'c1') },
      },
      status: { phase },
    }),
  )

const decide = (members: readonly Machine[], spec: object = {}) =>
  decideControlPlane({ set: aSet(spec), machines: members, domains: [domain('a'), domain('b')], clusterName: 'c1' })

const text = (members: readonly Machine[], spec: object = {}): string => {
  const step = decide(members, spec)
  if (step.do === 'create') {
    const { networkName } = read(step.providerSpec).devices[0] ?? {}
    return `create ${step.index} on ${networkName}`
  }
  return step.do === 'delete' ? `delete ${step.machine.metadata.name}` : step.do
}

describe('decideControlPlane', () => {
  const [m0, m1, m2] = [aMember('m-0'), aMember('m-1', { in: 'b' }), aMember('m-2')]
  const old = aMember('m-1', { in: 'b', pool: 'old' })

  test.each<[string, readonly Machine[], object, string]>([
    ['all is as it should be', [m0, m1, m2], {}, 'nothing'],
    ['one is missing: in the domain with the fewest', [m0, m2], {}, 'create 1 on net-b'],
    ['there are none', [], {}, 'create 0 on net-a'],
    ['one is outdated: its successor comes first, in its domain', [m0, old, m2], {}, 'create 1 on net-b'],
    [
      'its successor does not run yet',
      [m0, old, m2, aMember('x-1', { in: 'b', phase: 'Provisioning' })],
      {},
      'nothing',
    ],
    ['its successor runs', [m0, old, m2, aMember('x-1', { in: 'b' })], {}, 'delete m-1'],
    [
      'its successor runs and another is down',
      [m0, old, aMember('m-2', { phase: 'Failed' }), aMember('x-1', { in: 'b' })],
      {},
      'nothing',
    ],
    [
      'two are outdated and one is being replaced',
      [aMember('m-0', { pool: 'old' }), old, m2, aMember('x-0', { phase: '' })],
      {},
      'nothing',
    ],
    ['one is on its way out', [m0, aMember('m-1', { in: 'b', isDeleting: true }), m2], {}, 'create 1 on net-b'],
    ['one is outdated, and users delete', [m0, old, m2], { strategy: { type: 'OnDelete' } }, 'nothing'],
    [
      'a user deleted one',
      [m0, aMember('m-1', { in: 'b', isDeleting: true }), m2],
      { strategy: { type: 'OnDelete' } },
      'create 1 on net-b',
    ],
    ['the set is not active', [m0], { state: 'Inactive' }, 'nothing'],
    ['the strategy is not served', [m0], { strategy: { type: 'Recreate' } }, 'refuse'],
    ['the selector selects everything', [m0], { selector: {} }, 'refuse'],
    [
      'Machines of others are not counted',
      [m0, m1, m2, { ...old, metadata: { ...old.metadata, labels: {} } }],
      {},
      'nothing',
    ],
  ])('where %s', (_, members, spec, expected) => {
    expect(text(members, spec)).toBe(expected)
  })

  test('refuses a failure domain that the Infrastructure does not have, by its name', () => {
    const step = decideControlPlane({ set: aSet(), machines: [], domains: [domain('a')], clusterName: 'c1' })
    expect(step).toMatchObject({ do: 'refuse', why: expect.stringContaining('no failure domain b') })
  })
})
