// Texts of install-configs: a whole one that nothing is wrong with, and the same with something else in some place.

import { stringify } from 'yaml'

export interface HostText {
  readonly role?: string
  readonly failureDomain?: string
  readonly networkDevice?: object
  readonly [key: string]: unknown
}

export const aDevice = (...ipAddrs: readonly string[]) => ({
  ipAddrs,
  gateway: '192.168.101.1',
  nameservers: ['192.168.101.2'],
})

/** Its addresses follow the number: 240 is that of the bootstrap machine. */
export const aHost = (role: string, number: number, more: object = {}): HostText => ({
  role,
  networkDevice: aDevice(`192.168.101.${number}/24`),
  ...more,
})

export const threeAndThree = (): HostText[] => [
  aHost('bootstrap', 240),
  ...[241, 242, 243].map(number => aHost('control-plane', number)),
  ...[244, 245, 246].map(number => aHost('compute', number)),
]

export const aFailureDomain = (name: string, more: object = {}, topology: object = {}) => ({
  name,
  region: 'r',
  zone: name,
  server: 'vcenter.example.com',
  topology: {
    datacenter: 'dc1',
    computeCluster: `/dc1/host/${name}`,
    datastore: '/dc1/datastore/ds',
    networks: ['vlan-101'],
    ...topology,
  },
  ...more,
})

export interface ConfigParts {
  /** Undefined to leave them out. */
  readonly hosts?: readonly unknown[] | undefined
  readonly failureDomains?: readonly object[]
  readonly controlPlane?: object
  readonly compute?: readonly object[]
  readonly networking?: object
  /** Beside hosts. */
  readonly vsphere?: object
}

export function installConfig(parts: ConfigParts = {}): string {
  const { hosts = threeAndThree(), failureDomains = ['a', 'b', 'c'].map(name => aFailureDomain(name)) } = parts
  const { networking = { machineNetwork: [{ cidr: '192.168.101.0/24' }] } } = parts
  return stringify({
    apiVersion: 'v1',
    baseDomain: 'example.com',
    metadata: { name: 'c1' },
    controlPlane: { replicas: 3, ...parts.controlPlane },
    compute: parts.compute ?? [{ name: 'worker', replicas: 3 }],
    networking,
    platform: {
      vsphere: {
        vcenters: [{ server: 'vcenter.example.com' }],
        failureDomains,
        ...('hosts' in parts && parts.hosts === undefined ? {} : { hosts }),
        ...parts.vsphere,
      },
    },
  })
}
