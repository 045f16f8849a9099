// What is answered about the Setting and the MigrationNetwork: which changes are judged, which are always let in, and when it is not the time.

import { describe, expect, test } from 'vitest'
import { type Ruling, toStatus } from '../../../admission/ruling.ts'
import type { Operation } from '../../../admission/webhook.ts'
import type { Cache } from '../../../kube/cache.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { MigrationFacts } from '../facts.ts'
import { type Caches, createCaches } from '../world.ts'
import { admitMigrationNetwork } from './migration-network.ts'
import { admitSetting } from './setting.ts'

const plain = { clusterNetwork: 'mgmt', vlan: 100, range: '10.1.2.0/24' }

interface Cluster {
  readonly nodes?: readonly object[]
  readonly migrations?: readonly object[]
  readonly settings?: readonly object[]
  readonly migrationNetworks?: readonly object[]
  readonly kubeVirts?: readonly object[]
}

function factsOf(cluster: Cluster = {}): MigrationFacts {
  const caches: Caches = createCaches(true)
  for (const [name, objects] of Object.entries({ nodes: [{ metadata: { name: 'n1' } }], ...cluster })) {
    const cache = caches[name as keyof Caches] as Cache<KubeObject>
    cache.replace(objects as KubeObject[], '1')
  }
  const object = cluster.kubeVirts?.[0] as KubeObject | undefined
  const kubeVirt = object && {
    namespace: 'harvester-system',
    name: 'kubevirt',
    network: '',
    whyNotReady: undefined,
    object,
  }
  return { caches, spaces: () => [], kubeVirt: () => kubeVirt, pendingChange: () => undefined }
}

interface Asked {
  readonly old?: object | undefined
  readonly next?: object | undefined
  readonly operation?: Operation
  readonly name?: string
}

const admit = ({ old, next, operation, name = 'vm-migration-network' }: Asked, cluster: Cluster = {}): Ruling =>
  admitSetting({ old, next, name, operation: operation ?? (old === undefined ? 'CREATE' : 'UPDATE') }, factsOf(cluster))

const statusOf = (ruling: Ruling) =>
  toStatus(ruling, { group: 'harvesterhci.io', kind: 'Setting', name: 'vm-migration-network' })

const value = (change: object = {}) => ({ value: JSON.stringify({ ...plain, ...change }) })
const running = {
  metadata: { namespace: 'team-a', name: 'm1' },
  spec: { vmiName: 'web' },
  status: { phase: 'Running' },
}

describe('the Setting', () => {
  test('is not deleted', () => {
    expect(statusOf(admit({ old: value(), operation: 'DELETE' }))).toMatchObject({
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'Disallow delete setting name vm-migration-network',
    })
  })

  test('is let in where its value and default are as they were, even if they would be refused now', () => {
    const old = { value: '{', default: '[' }
    expect(admit({ old, next: { ...old, metadata: { annotations: { a: 'b' } } } }).kind).toBe('allowed')
  })

  test('is reset in any state of the cluster', () => {
    const broken = {
      nodes: [],
      migrations: [running],
      settings: [{ metadata: { name: 'storage-network' }, value: '{' }],
    }
    const old = { ...value(), metadata: { annotations: { 'mooring.dev/migration-network-rollout': '{}' } } }
    for (const next of [{ value: '' }, {}])
      expect(admit({ old, next }, broken)).toEqual({ kind: 'allowed', warnings: [] })
  })

  test.each<[string, object]>([
    ['value', { value: '{"invalid"}' }],
    ['default', { default: '{"invalid"}', ...value() }],
  ])('says in which of its texts something is wrong: %s', (field, next) => {
    expect(statusOf(admit({ next }))).toMatchObject({
      code: 422,
      message: expect.stringContaining('failed to unmarshal the setting value {"invalid"}'),
      details: { causes: [{ field }] },
    })
  })

  test('is told all that is wrong, each with the pointer into its value', () => {
    const next = value({ vlan: 1, range: '10.1.2.1/24', exclude: ['10.1.2.9/33'] })
    expect(statusOf(admit({ next }))).toMatchObject({
      details: {
        causes: [
          {
            field: 'value',
            message:
              'Invalid value: 1: /vlan: network with vlan id 1 not allowed on mgmt cluster: write a VLAN of 2 to 4094, or another cluster network',
          },
          {
            field: 'value',
            message: 'Invalid value: "10.1.2.1/24": /range: range should be subnet CIDR 10.1.2.0/24: write 10.1.2.0/24',
          },
          {
            field: 'value',
            message:
              'Invalid value: "10.1.2.9/33": /exclude/0: invalid CIDR address: 10.1.2.9/33: write a CIDR such as 10.1.2.0/28',
          },
        ],
      },
    })
  })

  test('of a /64 of IPv6 in range, or of a /16, is judged without counting addresses one by one', () => {
    expect(admit({ next: value({ range: 'fd00::/64' }) }).kind).toBe('invalid')
    expect(admit({ next: value({ range: '10.1.0.0/16' }) }).kind).toBe('allowed')
  })

  test('of another name is none of our business', () => {
    expect(admit({ next: { value: '{' }, name: 'storage-network' }).kind).toBe('allowed')
    expect(admit({ old: {}, operation: 'DELETE', name: 'storage-network' }).kind).toBe('allowed')
  })

  test('kubevirt-migration does not say the network', () => {
    const name = 'kubevirt-migration'
    const next = { value: '{"network":"x","nodeDrainTaintKey":"y"}' }
    expect(statusOf(admit({ next, name }))).toMatchObject({
      details: {
        causes: [
          { message: expect.stringContaining('network field is configured by vm-migration-network setting') },
          { message: expect.stringContaining('nodeDrainTaintKey field cannot be configured') },
        ],
      },
    })
    expect(admit({ old: next, next, name }).kind).toBe('allowed')
    expect(admit({ old: next, operation: 'DELETE', name }).kind).toBe('allowed')
  })

  test('warns that a MigrationNetwork no longer counts', () => {
    const migrationNetworks = [{ metadata: { name: 'vm-migration-network' } }]
    expect(admit({ next: value() }, { migrationNetworks })).toEqual({
      kind: 'allowed',
      warnings: ['MigrationNetwork vm-migration-network is there too: the Setting counts while it has a value'],
    })
  })

  test('needs addresses for pods of migrations between clusters, where KubeVirt has that on', () => {
    const kubeVirt = (replicas?: number) => ({
      metadata: { namespace: 'harvester-system', name: 'kubevirt' },
      spec: {
        configuration: { developerConfiguration: { featureGates: ['DecentralizedLiveMigration'] } },
        ...(replicas !== undefined && { infra: { replicas } }),
      },
    })
    const next = value({ range: '10.1.2.0/30' })
    expect(admit({ next }, { kubeVirts: [kubeVirt(1)] }).kind).toBe('allowed')
    expect(statusOf(admit({ next }, { kubeVirts: [kubeVirt()] }))).toMatchObject({
      message: expect.stringContaining('allocatable IP address range is < 3, allocate sufficient range'),
    })
  })
})

describe('while virtual machines migrate', () => {
  const unborn = { metadata: { namespace: 'team-b', name: 'm2' }, spec: { vmiName: 'db' } }
  const over = [
    { metadata: { namespace: 'x', name: 'm3' }, spec: { vmiName: 'y' }, status: { phase: 'Succeeded' } },
    { metadata: { namespace: 'x', name: 'm4' }, spec: { vmiName: 'y' }, status: { phase: 'Failed' } },
    { metadata: { namespace: 'x', name: 'm5', deletionTimestamp: '2030-01-01T00:00:00Z' }, spec: { vmiName: 'y' } },
  ]

  test('no change begins, on create as on update, and the machines are named, also those that say nothing yet', () => {
    for (const old of [undefined, value({ vlan: 7 })]) {
      expect(statusOf(admit({ old, next: value() }, { migrations: [...over, running, unborn] }))).toMatchObject({
        code: 400,
        message: expect.stringMatching(/wait for team-a\/web, team-b\/db$/),
      })
    }
  })

  test('what is over counts no more', () => {
    expect(admit({ next: value() }, { migrations: over }).kind).toBe('allowed')
  })

  test('what restarts nothing is let in: other words for the same, and other exclusions', () => {
    const same = { value: `  ${value().value}` }
    expect(admit({ old: value(), next: same }, { migrations: [running] }).kind).toBe('allowed')
    expect(admit({ old: value(), next: value({ exclude: ['10.1.2.9'] }) }, { migrations: [running] }).kind).toBe(
      'allowed',
    )
  })

  test('many machines are counted, not listed', () => {
    const migrations = [...Array(30).keys()].map(i => ({
      metadata: { namespace: 'x', name: `m${i}` },
      spec: { vmiName: `v${i}` },
    }))
    expect(statusOf(admit({ next: value() }, { migrations }))).toMatchObject({
      message: expect.stringMatching(/ and 20 more$/),
    })
  })
})

describe('while the last change is under way', () => {
  const old = { ...value(), metadata: { annotations: { 'mooring.dev/migration-network-rollout': '{}' } } }

  test('the next one is refused with a conflict, except the way back', () => {
    expect(statusOf(admit({ old, next: value({ vlan: 7 }) }))).toMatchObject({ code: 409, reason: 'Conflict' })
    expect(admit({ old, next: { value: '' } }).kind).toBe('allowed')
    expect(admit({ old, next: { value: ` ${value().value}` } }).kind).toBe('allowed')
  })
})

describe('a MigrationNetwork', () => {
  const spec = { bridge: 'br0', range: '10.1.2.0/24' }
  const network = (change: object = {}, metadata: object = {}) => ({
    metadata: { name: 'vm-migration-network', ...metadata },
    spec: { ...spec, ...change },
  })
  const ask = (next: object | undefined, old?: object, cluster: Cluster = {}, name = 'vm-migration-network') =>
    admitMigrationNetwork({ old, next, name }, factsOf(cluster))

  test('is let in where it fits, and can be deleted always', () => {
    expect(ask(network())).toEqual({ kind: 'allowed', warnings: [] })
    expect(ask(undefined, network())).toEqual({ kind: 'allowed', warnings: [] })
  })

  test('is told all that is wrong, by field', () => {
    expect(statusOf(ask(network({ parent: 'eth1', range: 'x', exclude: ['y'] })))).toMatchObject({
      details: { causes: [{ field: 'spec.bridge' }, { field: 'spec.range' }, { field: 'spec.exclude[0]' }] },
    })
    expect(statusOf(ask(network({ exclude: 7 })))).toMatchObject({ details: { causes: [{ field: 'spec' }] } })
  })

  test('is the only one', () => {
    expect(ask(network(), undefined, {}, 'other').kind).toBe('refused')
  })

  test('is not made where the Setting of Harvester has a value', () => {
    const settings = [{ metadata: { name: 'vm-migration-network' }, ...value() }]
    expect(ask(network(), undefined, { settings }).kind).toBe('refused')
    expect(
      ask(network(), undefined, { settings: [{ metadata: { name: 'vm-migration-network' }, value: '' }] }).kind,
    ).toBe('allowed')
  })

  test('is not changed while virtual machines migrate, nor while the last change is under way', () => {
    expect(ask(network({ vlan: 7 }), network(), { migrations: [running] }).kind).toBe('refused')
    const rolling = network({}, { annotations: { 'mooring.dev/migration-network-rollout': '{}' } })
    expect(statusOf(ask(network({ vlan: 7 }), rolling))).toMatchObject({ code: 409 })
    expect(ask(rolling, rolling, { migrations: [running] }).kind).toBe('allowed')
  })
})
