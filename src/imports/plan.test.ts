// The network that a plan proposes, and the objects it comes to. The numbers are those of docs/reference/import-checks.md.

import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { aMapping, another, aSource, aTarget, namespace, plan, told } from '../../test/imports/builders.ts'
import { cidr, ip } from '../../test/imports/texts.ts'
import { parseUserDefinedNetwork } from '../api/user-defined-network.ts'
import { toCIDRText } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { infrastructureOf } from '../networks/infrastructure.ts'
import { renderNetwork } from '../networks/rendered.ts'
import { isError } from './finding.ts'
import { planImport } from './plan.ts'
import { infrastructureFor } from './propose.ts'
import { noTarget } from './target.ts'

const web = aSource('web')
const gateways = ['10.0.0.254']
const ofKind = (objects: readonly object[], kind: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: tests read deep into objects of many kinds
  objects.filter(object => 'kind' in object && object.kind === kind) as any[]

/** A plan where there is nothing yet. */
const fresh = (...[machines, texts]: [Parameters<typeof plan>[0], Parameters<typeof plan>[2]?]) =>
  planImport(machines, aMapping(texts), noTarget)

describe('A network that is not there yet', () => {
  test('B52: is proposed where all machines agree, with their gateway and room for the management address', () => {
    const { objects, findings } = fresh([
      aSource('web', [{ gateways }]),
      aSource('db', [another({ gateways, ips: ['10.0.0.2/24'] })]),
    ])
    const [network] = ofKind(objects, 'ClusterUserDefinedNetwork')
    expect(network).toEqual({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: 'blue' },
      spec: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } },
        network: {
          topology: 'Layer2',
          layer2: {
            role: 'Primary',
            subnets: ['10.0.0.0/24'],
            ipam: { lifecycle: 'Persistent' },
            defaultGatewayIPs: ['10.0.0.254'],
            infrastructureSubnets: ['10.0.0.248/29'],
          },
        },
      },
    })
    const read = parseUserDefinedNetwork(network)
    expect(isMalformed(read) || renderNetwork(read)).toMatchObject({
      gateways: [ip('10.0.0.254')],
      management: [ip('10.0.0.248')],
    })
    expect(told(findings, 'CudnProposed')).toEqual([
      'info /: the plan makes ClusterUserDefinedNetwork blue: 10.0.0.0/24 via 10.0.0.254',
    ])
  })

  test.each<[string, string[], string[]]>([
    ['of eight addresses', ['10.0.0.5'], ['10.0.0.248/29']],
    ['of four, if a machine has one of the eight', ['10.0.0.250'], ['10.0.0.252/30']],
    ['of two alone, if a machine has one of the four', ['10.0.0.253'], ['10.0.0.254/32', '10.0.0.252/32']],
    ['of two alone, the highest that no machine has', ['10.0.0.253', '10.0.0.252'], ['10.0.0.254/32', '10.0.0.251/32']],
  ])('B53: keeps a block %s', (_, taken, expected) => {
    const [subnet, gateway] = [cidr('10.0.0.0/24'), ip('10.0.0.254')]
    const blocks = infrastructureFor(subnet, gateway, taken.map(ip)) ?? []
    expect(blocks.map(toCIDRText)).toEqual(expected)
    const { management } = infrastructureOf(subnet, gateway, blocks)
    expect(taken.map(ip)).not.toContainEqual(management)
    expect(management).not.toEqual(gateway)
  })

  test('B53: cannot be had where every address is of a machine', () => {
    const taken = ['10.0.0.2'].map(ip)
    expect(infrastructureFor(cidr('10.0.0.0/30'), ip('10.0.0.1'), taken)).toBeUndefined()
  })

  test('B51: is not proposed where machines have different gateways: the groups are listed', () => {
    const machines = [
      web,
      aSource('db', [another({ gateways })]),
      aSource('app', [another({ mac: '00:50:56:00:00:07', ips: ['10.0.0.7/24'] })]),
    ]
    const { findings, objects } = fresh(machines)
    expect(objects).toEqual([])
    expect(told(findings, 'CudnMissing')).toEqual([
      'error /: there is no ClusterUserDefinedNetwork blue, and none can be proposed: machines have different gateways ' +
        '(10.0.0.0/24 via 10.0.0.1: app, web; 10.0.0.0/24 via 10.0.0.254: db)',
    ])
  })

  test('is not proposed by a user who may not see whether it is there', () => {
    const unread = ['clusteruserdefinednetworks.k8s.ovn.org']
    const { findings, objects } = planImport([web], aMapping(), { ...noTarget, unread })
    expect(findings.filter(isError).map(({ id }) => id)).toEqual(['CudnMissing'])
    expect(objects).toEqual([])
  })

  test('B51: is not proposed where machines are in different subnets', () => {
    const { findings } = fresh([web, aSource('db', [another({ ips: ['10.0.1.6/24'] })])])
    expect(findings.find(({ id }) => id === 'CudnMissing')?.message).toContain('different subnets')
  })

  test('B55: is not proposed for a gateway outside of the subnet: the machine is refused', () => {
    const { findings, objects } = fresh([aSource('web', [{ gateways: ['192.0.2.1'] }])])
    expect(objects).toEqual([])
    expect(told(findings, 'GatewayOutsideSubnet')).toEqual([
      'error web/: the machine is in 10.0.0.0/24 via 192.0.2.1: a primary network has its gateway in its subnet',
    ])
  })

  test('B33: is not proposed where no machine knows subnet or gateway, and is where the administrator says it', () => {
    const machines = [aSource('web', [{ ips: ['10.0.0.5'], gateways: [] }])]
    const { findings } = fresh(machines)
    expect(findings.filter(isError)).toMatchObject([
      { id: 'CudnMissing', fix: 'Say what it is: --subnet "VM Network=10.0.0.0/24,10.0.0.1".' },
    ])
    const { objects, findings: then } = fresh(machines, { subnet: ['VM Network=10.0.0.0/24,10.0.0.254'] })
    expect(then.map(({ id }) => id)).toEqual(['CudnProposed'])
    expect(ofKind(objects, 'ClusterUserDefinedNetwork')[0].spec.network.layer2.defaultGatewayIPs).toEqual(gateways)
  })

  test('has IPv6 where every machine has it, with a gateway of its own where routers made themselves known', () => {
    const both = { ips: ['10.0.0.5/24', 'fd00::1/64'] }
    const layer2 = (second: string[]) =>
      ofKind(
        fresh([aSource('web', [both]), aSource('db', [another({ ips: second })])]).objects,
        'ClusterUserDefinedNetwork',
      )[0].spec.network.layer2
    expect(layer2(['10.0.0.6/24', 'fd00::6/64'])).toMatchObject({
      subnets: ['10.0.0.0/24', 'fd00::/64'],
      defaultGatewayIPs: ['10.0.0.1', 'fd00::2'],
    })
    expect(layer2(['10.0.0.6/24']).subnets).toEqual(['10.0.0.0/24'])
  })
})

describe('What a plan makes', () => {
  test('is the namespace with its label, the network, the pool and the machines, in this order', () => {
    expect(fresh([web]).objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Namespace shop',
      'ClusterUserDefinedNetwork blue',
      'IPPool blue',
      'VirtualMachine web',
    ])
    expect(fresh([web]).objects[0]?.metadata.labels).toEqual({ 'k8s.ovn.org/primary-user-defined-network': '' })
    expect(plan([web]).objects.map(({ kind }) => kind)).toEqual(['IPPool', 'VirtualMachine'])
  })

  test('is nothing while there is an error', () => {
    expect(plan([web, aSource('db')]).objects).toEqual([])
  })

  test('B63: has each MAC in lower case with colons, and each address bare', () => {
    const [vm] = ofKind(plan([aSource('web', [{ mac: '00-50-56-AA-BB-CC' }])]).objects, 'VirtualMachine')
    expect(vm.spec.runStrategy).toBe('Halted')
    expect(vm.metadata.annotations['mooring.dev/import-source']).toBe('vc-1/vm-web')
    expect(vm.spec.template.metadata.annotations).toEqual({ 'network.kubevirt.io/addresses': '{"net-0":["10.0.0.5"]}' })
    expect(vm.spec.template.spec.networks).toEqual([{ name: 'net-0', pod: {} }])
    expect(vm.spec.template.spec.domain.devices.interfaces).toEqual([
      { name: 'net-0', binding: { name: 'l2bridge' }, macAddress: '00:50:56:aa:bb:cc' },
    ])
  })

  test('keeps each address for its MAC and its machine alone', () => {
    const [pool] = ofKind(plan([web]).objects, 'IPPool')
    expect(pool).toEqual({
      apiVersion: 'ippool.k8s.cni.cncf.io/v1alpha',
      kind: 'IPPool',
      metadata: { name: 'blue' },
      spec: {
        'network-name': 'cluster_udn_blue',
        entries: { '00:50:56:00:00:05': ['10.0.0.5/24'] },
        bindings: { '00:50:56:00:00:05': { namespace: 'shop', virtualMachine: 'web' } },
      },
    })
  })

  test('keeps what the pool of the network has, under its name, and no MAC in two spellings', () => {
    const entries = { '02:00:00:00:00:01': ['10.0.0.9/24'], '00-50-56-00-00-05': ['10.0.0.5/24'] }
    const bindings = { '00-50-56-00-00-05': { namespace, virtualMachine: 'web' } }
    const pools = [{ name: 'older', networkName: 'cluster_udn_blue', entries, bindings }]
    const [pool] = ofKind(plan([web], { pools }).objects, 'IPPool')
    expect(pool.metadata.name).toBe('older')
    expect(Object.keys(pool.spec.entries)).toEqual(['00:50:56:00:00:05', '02:00:00:00:00:01'])
    expect(Object.keys(pool.spec.bindings)).toEqual(['00:50:56:00:00:05'])
  })

  test('B44: leaves a machine alone that was imported before: it has disks by now', () => {
    const machines = [{ namespace, name: 'web', source: 'vc-1/vm-web' }]
    expect(plan([web], { machines }).objects.map(({ kind }) => kind)).toEqual(['IPPool'])
  })

  test('B58: has no card that is ignored, and the others are numbered without a gap', () => {
    const cards = [
      { network: 'backup', mac: '00:50:56:00:00:01' },
      {},
      { network: 'storage', mac: '00:50:56:00:00:09', ips: ['10.9.0.5/24'], gateways: [] },
    ]
    const map = ['backup=ignored', 'VM Network=cudn:blue', 'storage=shop/storage']
    const attachments = new Map([['shop/storage', { networkName: 'storage', isPrimary: false, subnets: [] }]])
    const [vm] = ofKind(plan([aSource('web', cards)], { attachments }, { map }).objects, 'VirtualMachine')
    expect(vm.spec.template.spec.networks).toEqual([
      { name: 'net-0', pod: {} },
      { name: 'net-1', multus: { networkName: 'shop/storage' } },
    ])
    expect(vm.spec.template.spec.domain.devices.interfaces).toEqual([
      { name: 'net-0', binding: { name: 'l2bridge' }, macAddress: '00:50:56:00:00:05' },
      { name: 'net-1', bridge: {}, macAddress: '00:50:56:00:00:09' },
    ])
  })

  test('asks for addresses on other networks that give them out, too', () => {
    const cards = [{}, { network: 'storage', mac: '00:50:56:00:00:09', ips: ['10.9.0.5/24'], gateways: [] }]
    const map = ['VM Network=cudn:blue', 'storage=shop/storage']
    const attachments = new Map([
      ['shop/storage', { networkName: 'storage', isPrimary: false, subnets: [cidr('10.9.0.0/24')] }],
    ])
    const { objects } = plan([aSource('web', cards)], { attachments }, { map })
    expect(ofKind(objects, 'VirtualMachine')[0].spec.template.metadata.annotations).toEqual({
      'network.kubevirt.io/addresses': '{"net-0":["10.0.0.5"],"net-1":["10.9.0.5"]}',
    })
    expect(ofKind(objects, 'IPPool').map(({ spec }) => spec['network-name'])).toEqual(['cluster_udn_blue', 'storage'])
  })

  test('B26: is down where the card was not connected at the start', () => {
    const [vm] = ofKind(plan([aSource('web', [{ startConnected: false }])]).objects, 'VirtualMachine')
    expect(vm.spec.template.spec.domain.devices.interfaces[0].state).toBe('down')
  })

  test('B48: asks for the address that was chosen', () => {
    const machines = [aSource('web', [{ ips: ['10.0.0.5/24', '10.0.0.7/24'] }])]
    const { objects } = plan(machines, {}, { address: ['00:50:56:00:00:05=10.0.0.7'] })
    expect(stringify(objects)).toContain('{"net-0":["10.0.0.7"]}')
    expect(stringify(objects)).not.toContain('10.0.0.5')
  })

  test('B62: has no default network of Multus where there are ipam-extensions', () => {
    expect(stringify(fresh([web]).objects)).not.toContain('v1.multus-cni.io/default-network')
  })

  test('B65: has it where there are none, with lengths and MAC, and the loss is told', () => {
    const parts = { ...noTarget.parts, hasIPAMExtensions: false, defaultNetworkNamespace: 'openshift-ovn-kubernetes' }
    const { objects, findings } = plan([web], { parts })
    const { annotations } = ofKind(objects, 'VirtualMachine')[0].spec.template.metadata
    expect(Object.keys(annotations)).toEqual(['v1.multus-cni.io/default-network'])
    expect(JSON.parse(annotations['v1.multus-cni.io/default-network'])).toEqual([
      { name: 'default', namespace: 'openshift-ovn-kubernetes', ips: ['10.0.0.5/24'], mac: '00:50:56:00:00:05' },
    ])
    expect(told(findings, 'PersistenceLost')).toHaveLength(1)
  })

  test('B72: is the same, byte for byte, for the same input', () => {
    const machines = [aSource('web'), aSource('db', [another()])]
    const one = stringify(planImport(machines, aMapping(), aTarget()).objects)
    const other = stringify(planImport(structuredClone(machines), aMapping(), aTarget()).objects)
    expect(other).toBe(one)
    expect(one).toContain('db')
  })
})
