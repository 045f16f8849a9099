// The machines of a vCenter or an ESXi host as it is now.

import { isCard } from '../vsphere/cards.ts'
import type { VSphereClient } from '../vsphere/client.ts'
import { collect } from '../vsphere/collect.ts'
import type { CollectedObject } from '../vsphere/objects.ts'
import { readRef, typeOf } from '../vsphere/value.ts'
import { childOf, childrenOf, textOf, type XMLElement } from '../xml.ts'
import { Faults } from './faults.ts'
import type { LeftOut, SourceMachine, SourceOrigin, SourceReading } from './machine.ts'
import {
  toMachine,
  type VimAddress,
  type VimCard,
  type VimGuestNIC,
  type VimMachine,
  type VimNetworks,
  type VimStack,
} from './vim.ts'

const machinePaths = [
  'name',
  'config.template',
  'config.guestId',
  'config.hardware.device',
  'guest.hostName',
  'guest.net',
  'guest.ipStack',
  'guest.toolsRunningStatus',
  'runtime.powerState',
]

export interface ReadVSphereOptions {
  /** RFC 3339: now. */
  readonly asOf: string
  readonly pageObjects?: number
  readonly signal?: AbortSignal
}

export async function readVSphere(client: VSphereClient, options: ReadVSphereOptions): Promise<SourceReading> {
  const objects = await collect(client, [{ type: 'VirtualMachine', paths: machinePaths }], options)
  const networks = await readNetworks(client, options)
  const { host, about } = client
  const source: SourceOrigin = {
    kind: 'vsphere',
    from: host,
    ...(about.instanceUuid !== undefined && { instance: about.instanceUuid }),
    asOf: options.asOf,
  }
  return toReading(objects, networks, source)
}

/** One type at a time: a port group is a network too, and a server may apply to it what was asked of networks. */
async function readNetworks(client: VSphereClient, options: ReadVSphereOptions): Promise<VimNetworks> {
  const ask = (type: string, ...paths: readonly string[]) => collect(client, [{ type, paths }], options)
  const all = await ask('Network', 'name')
  const groups = await ask('DistributedVirtualPortgroup', 'name', 'key', 'config.defaultPortConfig')
  const opaque = await ask('OpaqueNetwork', 'name', 'summary')
  return {
    byId: new Map(all.map(object => [object.ref.ref.value, scalar(object, 'name') ?? ''])),
    byPortgroupKey: new Map(
      groups.map(group => {
        const vlan = vlanOf(group.properties.get('config.defaultPortConfig'))
        const name = scalar(group, 'name') ?? ''
        return [scalar(group, 'key') ?? group.ref.ref.value, { name, ...(vlan !== undefined && { vlan }) }]
      }),
    ),
    byOpaqueId: new Map(
      opaque.map(network => [
        textOf(network.properties.get('summary'), 'opaqueNetworkId') ?? '',
        scalar(network, 'name') ?? '',
      ]),
    ),
  }
}

/** A trunk has a range of them, which says nothing about one card. */
function vlanOf(portConfig: XMLElement | undefined): number | undefined {
  const id = Number(textOf(childOf(portConfig, 'vlan'), 'vlanId'))
  return Number.isInteger(id) && id > 0 && id < 4095 ? id : undefined
}

function toReading(objects: readonly CollectedObject[], networks: VimNetworks, source: SourceOrigin): SourceReading {
  const faults = new Faults(source.from)
  const machines: SourceMachine[] = []
  const leftOut: LeftOut[] = []
  for (const object of objects) {
    const { value: id } = object.ref.ref
    const name = scalar(object, 'name') ?? id
    const denied = [...object.missing].map(([path, fault]) => `${path} (${fault})`)
    if (denied.length > 0) {
      const problem = `the user may not read ${denied.join(', ')}: give it the role Read-only on the machine`
      faults.add(`machine ${name}`, problem)
    } else if (scalar(object, 'config.template') === 'true') leftOut.push({ name, reason: 'Template' })
    // A machine whose host is away, or that is just being made.
    else if (!object.properties.has('config.hardware.device')) leftOut.push({ name, reason: 'NoHardware' })
    else machines.push(toMachine(readMachine(object, name), networks, source, faults))
  }
  return { machines, leftOut, faults: faults.list }
}

const scalar = ({ properties }: CollectedObject, path: string): string | undefined => properties.get(path)?.text.trim()

function readMachine(object: CollectedObject, name: string): VimMachine {
  const items = (path: string): readonly XMLElement[] => object.properties.get(path)?.children ?? []
  return {
    id: object.ref.ref.value,
    name,
    powerState: scalar(object, 'runtime.powerState') ?? '',
    guestId: scalar(object, 'config.guestId'),
    hostName: scalar(object, 'guest.hostName'),
    toolsRunningStatus: scalar(object, 'guest.toolsRunningStatus'),
    cards: items('config.hardware.device').filter(isCard).map(readCard),
    guestNICs: items('guest.net').map(readGuestNIC),
    stacks: items('guest.ipStack').map(readStack),
  }
}

function readCard(device: XMLElement): VimCard {
  const backing = childOf(device, 'backing')
  const connected = textOf(childOf(device, 'connectable'), 'startConnected')
  return {
    key: textOf(device, 'key') ?? '',
    label: textOf(childOf(device, 'deviceInfo'), 'label'),
    type: typeOf(device),
    mac: textOf(device, 'macAddress'),
    startConnected: connected === undefined ? undefined : connected === 'true',
    backing: {
      deviceName: textOf(backing, 'deviceName'),
      network: readRef(childOf(backing, 'network'))?.ref.value,
      portgroupKey: textOf(childOf(backing, 'port'), 'portgroupKey'),
      opaqueNetworkId: textOf(backing, 'opaqueNetworkId'),
    },
  }
}

const textsOf = (element: XMLElement | undefined, name: string): string[] =>
  element === undefined ? [] : childrenOf(element, name).map(({ text }) => text.trim())

function readGuestNIC(nic: XMLElement): VimGuestNIC {
  const dns = childOf(nic, 'dnsConfig')
  const config = childOf(nic, 'ipConfig')
  return {
    mac: textOf(nic, 'macAddress'),
    deviceConfigId: textOf(nic, 'deviceConfigId'),
    network: textOf(nic, 'network'),
    flat: textsOf(nic, 'ipAddress'),
    addresses: config && childrenOf(config, 'ipAddress').map(readAddress),
    dns: textsOf(dns, 'ipAddress'),
    searchDomains: textsOf(dns, 'searchDomain'),
  }
}

function readAddress(address: XMLElement): VimAddress {
  return {
    address: textOf(address, 'ipAddress') ?? '',
    prefix: textOf(address, 'prefixLength'),
    origin: textOf(address, 'origin'),
  }
}

function readStack(stack: XMLElement): VimStack {
  const dns = childOf(stack, 'dnsConfig')
  const routes = childOf(stack, 'ipRouteConfig')
  return {
    dns: textsOf(dns, 'ipAddress'),
    searchDomains: textsOf(dns, 'searchDomain'),
    routes: (routes === undefined ? [] : childrenOf(routes, 'ipRoute')).map(route => {
      const gateway = childOf(route, 'gateway')
      return {
        network: textOf(route, 'network') ?? '',
        prefix: textOf(route, 'prefixLength') ?? '',
        gateway: textOf(gateway, 'ipAddress'),
        device: textOf(gateway, 'device'),
      }
    }),
  }
}
