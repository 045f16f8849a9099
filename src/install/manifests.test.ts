import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  aDevice,
  aFailureDomain,
  aHost,
  type ConfigParts,
  type HostText,
  installConfig,
  threeAndThree,
} from '../../test/harness/install-config.ts'
import { isRecord } from '../api/shape.ts'
import { kargsKey } from '../kargs/print.ts'
import { assignHosts } from './assign.ts'
import { checkInstallConfig } from './check.ts'
import { type InstallConfig, readInstallConfig } from './config.ts'
import { type Manifest, renderManifests } from './manifests.ts'
import { nodesOf } from './nodes.ts'
import { renderPools } from './pools.ts'

function configOf(text: string): InstallConfig {
  const config = readInstallConfig(text, [])
  if (config === undefined) throw new Error('it cannot be read')
  return config
}

const rendered = (parts: ConfigParts = {}): Manifest[] => renderManifests(configOf(installConfig(parts)), 'c1-abcde')

/** The value at a path, `spec.template`. */
const at = (object: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return value[Number(key)]
    return isRecord(value) ? value[key] : undefined
  }, object)

const kind = (manifests: readonly Manifest[], name: string) =>
  manifests.map(({ object }) => object).filter(object => object.kind === name)

const named = (manifests: readonly Manifest[], wanted: string, name: string) =>
  kind(manifests, wanted).find(object => at(object, 'metadata.name') === name)

const devices = (object: unknown) => at(object, 'spec.providerSpec.value.network.devices')
const templateDevices = (object: unknown) => at(object, 'spec.template.spec.providerSpec.value.network.devices')
const domainsOf = (parts: ConfigParts) =>
  assignHosts(configOf(installConfig(parts))).controlPlane.map(({ zone }) => zone)
const placed = (...domains: (string | undefined)[]): HostText[] => [
  aHost('bootstrap', 240),
  ...domains.map((failureDomain, i) =>
    aHost('control-plane', 241 + i, failureDomain === undefined ? {} : { failureDomain }),
  ),
  ...[244, 245, 246].map(number => aHost('compute', number)),
]
const zones = (...names: string[]) => ({ controlPlane: { platform: { vsphere: { zones: names } } } })
const dual = { ...aDevice('192.168.101.244/24', '2001:db8::244/64') }
const withDual = { hosts: threeAndThree().map((host, i) => (i === 4 ? { ...host, networkDevice: dual } : host)) }

describe('machines', () => {
  it('are in the failure domains that their hosts name', () => {
    expect(domainsOf({ hosts: placed('c', 'a', 'b') })).toEqual(['c', 'a', 'b'])
  })

  it('are in the zones of their pool in turn where hosts name none', () => {
    expect(domainsOf({ hosts: placed(undefined, undefined, undefined), ...zones('a', 'b') })).toEqual(['a', 'b', 'a'])
  })

  it('are where their host says, and others in the zones of the pool', () => {
    expect(domainsOf({ hosts: placed(undefined, 'b', undefined), ...zones('a') })).toEqual(['a', 'b', 'a'])
  })

  it('name one pool for each address, on their first device', () => {
    const failureDomains = ['a', 'b', 'c'].map(name => aFailureDomain(name, {}, { networks: ['vlan-101', 'storage'] }))
    const machine = named(rendered({ ...withDual, failureDomains }), 'Machine', 'c1-abcde-worker-0')
    const pool = (name: string) => ({ group: 'installer.openshift.io', name, resource: 'IPPool' })
    expect(devices(machine)).toEqual([
      {
        addressesFromPools: [pool('default-0'), pool('default-1')],
        nameservers: ['192.168.101.2'],
        networkName: 'vlan-101',
      },
      { networkName: 'storage' },
    ])
  })

  it('are made of what their pool says, of what all pools say, and of what is usual', () => {
    const compute = [{ name: 'worker', replicas: 3, platform: { vsphere: { cpus: 8, osDisk: { diskSizeGB: 200 } } } }]
    const vsphere = { defaultMachinePlatform: { memoryMB: 32768 } }
    const spec = at(named(rendered({ compute, vsphere }), 'Machine', 'c1-abcde-worker-0'), 'spec.providerSpec.value')
    expect(spec).toMatchObject({ numCPUs: 8, numCoresPerSocket: 4, memoryMiB: 32768, diskGiB: 200 })
  })

  it('have the tags of their failure domain, and their sets too', () => {
    const tag = (zone: string) => `urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc957${zone}:GLOBAL`
    const failureDomains = ['a', 'b', 'c'].map(name => aFailureDomain(name, {}, { tagIDs: [tag(name)] }))
    const all = rendered({ failureDomains })
    const tags = (of: string, path: string) =>
      kind(all, of).map(object => at(object, `${path}.providerSpec.value.tagIDs`))
    expect(tags('Machine', 'spec').slice(0, 3)).toEqual([[tag('a')], [tag('b')], [tag('c')]])
    expect(tags('MachineSet', 'spec.template.spec')).toEqual([[tag('a')], [tag('b')], [tag('c')]])
    const set = 'spec.template.machines_v1beta1_machine_openshift_io.spec'
    expect(tags('ControlPlaneMachineSet', set)).toEqual([[tag('c')]])
  })

  it('are in the folder, resource pool, template and group of their failure domain', () => {
    const topology = { folder: '/dc1/vm//f', resourcePool: '/dc1/host/a/Resources/p', template: '/dc1/vm/t' }
    const failureDomains = [aFailureDomain('a', { zoneType: 'HostGroup' }, topology), aFailureDomain('b')]
    const [first, second] = kind(rendered({ failureDomains }), 'Machine')
    expect(at(first, 'spec.providerSpec.value')).toMatchObject({
      template: '/dc1/vm/t',
      workspace: { folder: '/dc1/vm/f', resourcePool: '/dc1/host/a/Resources/p', vmGroup: 'c1-abcde-a' },
    })
    expect(at(second, 'spec.providerSpec.value')).toMatchObject({
      template: 'c1-abcde-rhcos-b',
      workspace: { folder: '/dc1/vm/c1-abcde', resourcePool: '/dc1/host/b/Resources' },
    })
  })

  it('of several compute pools each have a host of their own, those that name a zone in the pool with that zone', () => {
    const pool = (name: string, zone: string) => ({ name, replicas: 1, platform: { vsphere: { zones: [zone] } } })
    const hosts = [
      ...threeAndThree().slice(0, 4),
      aHost('compute', 244, { failureDomain: 'b' }),
      aHost('compute', 245, { failureDomain: 'a' }),
      aHost('compute', 246),
    ]
    const config = configOf(
      installConfig({ hosts, compute: [pool('worker', 'a'), pool('edge', 'b'), pool('spare', 'c')] }),
    )
    const shares = assignHosts(config).compute.map(({ pool: { name }, host, zone }) => [name, host?.path.at(-2), zone])
    expect(shares).toEqual([
      ['worker', '5', 'a'],
      ['edge', '4', 'b'],
      ['spare', '6', 'c'],
    ])
  })

  it('are numbered with as many digits as there are', () => {
    const hosts = [...threeAndThree().slice(0, 4), ...Array.from({ length: 10 }, (_, i) => aHost('compute', 20 + i))]
    const files = rendered({ hosts, compute: [{ name: 'worker', replicas: 10 }] }).map(({ file }) => file)
    expect(files).toContain('99_openshift-cluster-api_worker-machines-00.yaml')
    expect(files).toContain('99_openshift-cluster-api_worker-machines-09.yaml')
    expect(files).toContain('99_openshift-cluster-api_master-machines-2.yaml')
  })
})

describe('claims and addresses', () => {
  it('are called after machine, device and number of the address', () => {
    const names = kind(rendered(withDual), 'IPAddressClaim').map(object => at(object, 'metadata.name'))
    expect(names).toEqual([
      'c1-abcde-master-0-claim-0-0',
      'c1-abcde-master-1-claim-0-0',
      'c1-abcde-master-2-claim-0-0',
      'c1-abcde-worker-0-claim-0-0',
      'c1-abcde-worker-0-claim-0-1',
      'c1-abcde-worker-1-claim-0-0',
      'c1-abcde-worker-2-claim-0-0',
    ])
  })

  it('of two addresses are on pools default-0 and default-1', () => {
    const manifests = rendered(withDual)
    expect(at(named(manifests, 'IPAddress', 'c1-abcde-worker-0-claim-0-0'), 'spec.poolRef.name')).toBe('default-0')
    expect(at(named(manifests, 'IPAddress', 'c1-abcde-worker-0-claim-0-1'), 'spec')).toEqual({
      address: '2001:db8::244',
      claimRef: { name: 'c1-abcde-worker-0-claim-0-1' },
      poolRef: { apiGroup: 'installer.openshift.io', kind: 'IPPool', name: 'default-1' },
      prefix: 64,
    })
  })

  it('have a gateway only of their family, and none where the host has none', () => {
    const manifests = rendered(withDual)
    expect(at(named(manifests, 'IPAddress', 'c1-abcde-worker-0-claim-0-0'), 'spec.gateway')).toBe('192.168.101.1')
    expect(at(named(manifests, 'IPAddress', 'c1-abcde-worker-0-claim-0-1'), 'spec')).not.toHaveProperty('gateway')
    const without = threeAndThree().map((host, i) =>
      i === 4 ? { ...host, networkDevice: { ...aDevice('192.168.101.244/24'), gateway: '' } } : host,
    )
    const address = named(rendered({ hosts: without }), 'IPAddress', 'c1-abcde-worker-0-claim-0-0')
    expect(at(address, 'spec')).not.toHaveProperty('gateway')
  })

  it('are none for the bootstrap machine', () => {
    expect(rendered().filter(({ file }) => file.includes('bootstrap'))).toEqual([])
  })
})

describe('sets', () => {
  it('of compute machines make none while hosts describe them', () => {
    expect(kind(rendered(), 'MachineSet').map(object => at(object, 'spec.replicas'))).toEqual([0, 0, 0])
  })

  it('of compute machines make all of them where there are no hosts, and nothing is claimed', () => {
    const manifests = rendered({ hosts: undefined, compute: [{ name: 'worker', replicas: 4 }] })
    expect(kind(manifests, 'MachineSet').map(object => at(object, 'spec.replicas'))).toEqual([2, 1, 1])
    expect(kind(manifests, 'Machine')).toHaveLength(3)
    expect(kind(manifests, 'IPAddressClaim')).toEqual([])
    expect(at(kind(manifests, 'ControlPlaneMachineSet')[0], 'spec.template')).toMatchObject({
      machines_v1beta1_machine_openshift_io: { spec: { providerSpec: { value: { network: { devices: [] } } } } },
    })
  })

  it('of compute machines have nameservers and pools of the first host', () => {
    const other = { ...dual, nameservers: ['192.168.101.9'] }
    const hosts = threeAndThree().map((host, i) => (i === 4 ? { ...host, networkDevice: other } : host))
    const failureDomains = ['a'].map(name => aFailureDomain(name, {}, { networks: ['vlan-101', 'storage'] }))
    const [set] = kind(rendered({ hosts, failureDomains }), 'MachineSet')
    expect(templateDevices(set)).toMatchObject([
      { nameservers: ['192.168.101.9'], addressesFromPools: [{ name: 'default-0' }, { name: 'default-1' }] },
      { networkName: 'storage' },
    ])
    expect(at(templateDevices(set), '1')).not.toHaveProperty('addressesFromPools')
  })

  const machinesField = 'spec.template.machines_v1beta1_machine_openshift_io'

  it('of the control plane name the failure domains that are used, each once, also one that is in no zone', () => {
    const [set] = kind(rendered({ hosts: placed('b', undefined, 'b'), ...zones('a') }), 'ControlPlaneMachineSet')
    expect(at(set, `${machinesField}.failureDomains`)).toEqual({
      platform: 'VSphere',
      vsphere: [{ name: 'b' }, { name: 'a' }],
    })
  })

  it('of the control plane have nameservers of the last host, and no network', () => {
    const last = { networkDevice: { ...aDevice('192.168.101.243/24'), nameservers: ['192.168.101.7'] } }
    const hosts = threeAndThree().map((host, i) => (i === 3 ? { ...host, ...last } : host))
    const [set] = kind(rendered({ hosts }), 'ControlPlaneMachineSet')
    expect(at(set, `${machinesField}.spec.providerSpec.value.network.devices`)).toEqual([
      {
        addressesFromPools: [{ group: 'installer.openshift.io', name: 'default-0', resource: 'IPPool' }],
        nameservers: ['192.168.101.7'],
      },
    ])
  })

  it('of the control plane are not there for a single machine', () => {
    const hosts = threeAndThree().filter((_, i) => i !== 2 && i !== 3)
    expect(kind(rendered({ hosts, controlPlane: { replicas: 1 } }), 'ControlPlaneMachineSet')).toEqual([])
  })
})

describe('what a machine is told', () => {
  const planOf = (
    parts: ConfigParts,
    change: (manifests: Manifest[]) => unknown[] = all => all.map(({ object }) => object),
  ) => {
    const config = configOf(installConfig(parts))
    return nodesOf(change(renderManifests(config, 'c1-abcde')), config)
  }

  it('is in the extra configuration of every machine of the control plane, with its name and domain', () => {
    expect(planOf({}).nodes.find(({ name }) => name === 'c1-abcde-master-1')?.guestinfo).toEqual({
      'guestinfo.hostname': 'c1-abcde-master-1',
      'guestinfo.domain': 'c1.example.com',
      'stealclock.enable': 'TRUE',
      [kargsKey]: 'ip=192.168.101.242::192.168.101.1:255.255.255.0:::none nameserver=192.168.101.2',
    })
  })

  it('is nothing where there are no hosts', () => {
    const { nodes, faults } = planOf({ hosts: undefined })
    expect(faults).toEqual([])
    expect(nodes.map(({ kargs }) => kargs)).toEqual(['', '', '', ''])
    expect(nodes[0]?.guestinfo).toEqual({})
  })

  it('is one item for each address of a dual-stack bootstrap machine, with the gateway where it belongs', () => {
    const bootstrap = aHost('bootstrap', 240, { networkDevice: { ...dual, gateway: '2001:db8::1' } })
    const [first] = planOf({
      hosts: [bootstrap, ...threeAndThree().slice(1, 4), ...[247, 248, 249].map(number => aHost('compute', number))],
    }).nodes
    expect(first).toMatchObject({
      role: 'bootstrap',
      failureDomain: 'a',
      claims: [],
      kargs:
        'ip=192.168.101.244:::255.255.255.0:::none ip=[2001:db8::244]::[2001:db8::1]:64:::none nameserver=192.168.101.2',
    })
  })

  const replaced = (name: string, spec: object) => (manifests: Manifest[]) =>
    manifests.map(({ object }) =>
      object.kind === 'IPAddress' && at(object, 'metadata.name') === name
        ? { ...object, spec: { ...(isRecord(object.spec) ? object.spec : {}), ...spec } }
        : object,
    )
  const master = 'c1-abcde-master-0-claim-0-0'

  it('follows an IPAddress that was edited before the installation', () => {
    const { nodes } = planOf(
      {},
      replaced(master, { address: '192.168.101.99', prefix: 25, gateway: '192.168.101.126' }),
    )
    expect(nodes.find(({ name }) => name === 'c1-abcde-master-0')).toMatchObject({
      addresses: ['192.168.101.99/25'],
      kargs: 'ip=192.168.101.99::192.168.101.126:255.255.255.128:::none nameserver=192.168.101.2',
    })
  })

  it('gives each family its gateway where one was added to the file of an IPAddress', () => {
    const { nodes } = planOf(withDual, replaced('c1-abcde-worker-0-claim-0-1', { gateway: '2001:db8::1' }))
    expect(nodes.find(({ name }) => name === 'c1-abcde-worker-0')?.gateways).toEqual(['192.168.101.1', '2001:db8::1'])
  })

  it('is not guessed where a file was edited into something that cannot be: each is a fault', () => {
    const faultsOf = (spec: object) => planOf({}, replaced(master, spec)).faults
    expect(faultsOf({ address: 'x' })).toEqual([expect.stringContaining(`IPAddress ${master}: spec.address: `)])
    expect(faultsOf({ prefix: 33 })).toEqual([expect.stringContaining(`IPAddress ${master}: spec.prefix: `)])
    expect(faultsOf({ gateway: 'x' })).toEqual([expect.stringContaining(`IPAddress ${master}: spec.gateway: `)])
    expect(faultsOf({ address: '192.168.101.242' })).toEqual([expect.stringContaining('is the address of claim')])
    expect(faultsOf({ claimRef: { name: 'other' } })).toEqual([expect.stringContaining('is that of claim other')])
    const without = (name: string) => (all: Manifest[]) =>
      all.map(({ object }) => object).filter(object => object.kind !== name)
    expect(planOf({}, without('IPAddress')).faults).toHaveLength(6)
    expect(planOf({}, without('IPAddressClaim')).faults[0]).toContain(`there is no IPAddressClaim ${master}`)
  })
})

describe('pools', () => {
  const poolsOf = (parts: ConfigParts, spare: string[] = []) => renderPools(configOf(installConfig(parts)), spare)

  it('have the addresses of all machines, their subnet, and what is spare; those of the cluster are left out', () => {
    const [pool] = poolsOf({ vsphere: { apiVIPs: ['192.168.101.10'] } }, ['192.168.101.8-192.168.101.12']) as Manifest[]
    expect(pool?.object).toEqual({
      apiVersion: 'installer.openshift.io/v1beta1',
      kind: 'IPPool',
      metadata: { name: 'default-0', namespace: 'openshift-machine-api' },
      spec: {
        addresses: [
          ...[241, 242, 243, 244, 245, 246].map(last => `192.168.101.${last}`),
          '192.168.101.8-192.168.101.12',
        ],
        prefix: 24,
        gateway: '192.168.101.1',
        excludedAddresses: ['192.168.101.10'],
        nameservers: ['192.168.101.2'],
      },
    })
  })

  it('are one for each address of a host', () => {
    expect((poolsOf(withDual) as Manifest[]).map(({ object }) => at(object, 'spec.prefix'))).toEqual([24, 64])
  })

  it('are refused where hosts are in different subnets, and where what is spare is in none', () => {
    const far = threeAndThree().map((host, i) =>
      i === 4 ? { ...host, networkDevice: aDevice('192.168.102.5/24') } : host,
    )
    expect(poolsOf({ hosts: far })).toEqual({
      faults: [expect.stringContaining('default-0: platform.vsphere.hosts[1] and')],
    })
    const other = { ...aDevice('192.168.101.244/24'), gateway: '192.168.101.254' }
    const apart = threeAndThree().map((host, i) => (i === 4 ? { ...host, networkDevice: other } : host))
    expect(poolsOf({ hosts: apart })).toEqual({ faults: [expect.stringContaining('have different gateways')] })
    expect(poolsOf({}, ['10.0.0.1-10.0.0.9', 'x'])).toEqual({
      faults: [expect.stringContaining('--spare "10.0.0.1-10.0.0.9"'), expect.stringContaining('--spare "x"')],
    })
  })
})

describe('the installation that the proposal of static addresses shows', () => {
  const golden = parse(readFileSync(new URL('../../test/static-ip/golden.yaml', import.meta.url), 'utf8'))
  const config = configOf(stringify(golden.installConfig))
  const manifests = renderManifests(config, 'ngirard-dev-fhshn')

  it('has nothing wrong with it', () => {
    expect(checkInstallConfig(config)).toEqual([])
  })

  it('gives the files that the installer would write', () => {
    expect(manifests.map(({ file }) => file).toSorted()).toEqual(golden.files)
  })

  it('gives the objects that the installer would write, field by field', () => {
    const name = 'ngirard-dev-fhshn-master-0-claim-0-0'
    expect(named(manifests, 'Machine', 'ngirard-dev-fhshn-master-0')).toEqual(golden.machine)
    expect(named(manifests, 'IPAddressClaim', name)).toEqual(golden.claim)
    expect(named(manifests, 'IPAddress', name)).toEqual(golden.address)
    expect(kind(manifests, 'ControlPlaneMachineSet')[0]).toEqual(golden.controlPlane)
  })

  it('gives each machine the kernel arguments that it is to have', () => {
    const objects = manifests.map(({ object }) => object)
    expect(nodesOf(objects, config).nodes.map(({ kargs }) => kargs)).toEqual(
      [240, 241, 242, 243, 244, 245, 246].map(
        last => `ip=192.168.13.${last}::192.168.13.1:255.255.254.0:::none nameserver=8.8.8.8`,
      ),
    )
  })
})

it('the sample has nothing wrong with it', () => {
  const text = readFileSync(new URL('../../config/samples/vsphere/install-config.yaml', import.meta.url), 'utf8')
  expect(checkInstallConfig(configOf(text))).toEqual([])
})
