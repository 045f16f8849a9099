// What `govc vm.info -json` prints, of any release. It does not say of what type a device is: a card is what has a MAC or says how
// it gets one. Of a distributed port group it gives the key alone; the name is known where VMware Tools runs.

import type { JSONValue } from '../json.ts'
import { faultsOf } from './faults.ts'
import { booleanAt, fieldOf, isObject, listAt, pathOf, readJSON, textAt, textsAt } from './json-fields.ts'
import type { LeftOut, SourceFile, SourceMachine, SourceOrigin, SourceReading } from './machine.ts'
import { noNetworks, toMachine, type VimCard, type VimGuestNIC, type VimMachine, type VimStack } from './vim.ts'

export function readGovc(file: SourceFile): SourceReading {
  const faults = faultsOf(file)
  const document = readJSON(file, faults)
  const machines: SourceMachine[] = []
  const leftOut: LeftOut[] = []
  const source: SourceOrigin = {
    kind: 'govc',
    from: file.name,
    ...(file.writtenAt !== undefined && { asOf: file.writtenAt }),
  }
  const list = fieldOf(document, 'virtualMachines')
  if (document !== undefined && list === undefined) {
    faults.add('', 'it has no virtualMachines: write it with "govc vm.info -json NAME..."')
  }
  for (const [index, vm] of (list === null ? [] : listAt(list)).entries()) {
    const where = `virtualMachines[${index}]`
    const name = textAt(vm, 'name') ?? textAt(vm, 'config', 'name')
    if (!isObject(vm) || name === undefined) faults.add(where, 'it has no name: write the file again with govc')
    else if (booleanAt(vm, 'config', 'template') === true) leftOut.push({ name, reason: 'Template' })
    else if (!isObject(pathOf(vm, 'config', 'hardware'))) leftOut.push({ name, reason: 'NoHardware' })
    else machines.push(toMachine(readMachine(vm, name), noNetworks, source, faults))
  }
  return { machines, leftOut, faults: faults.list }
}

function readMachine(vm: JSONValue, name: string): VimMachine {
  return {
    id: textAt(vm, 'self', 'value') ?? textAt(vm, 'config', 'instanceUuid') ?? name,
    name,
    powerState: textAt(vm, 'runtime', 'powerState') ?? '',
    guestId: textAt(vm, 'config', 'guestId'),
    hostName: textAt(vm, 'guest', 'hostName'),
    toolsRunningStatus: textAt(vm, 'guest', 'toolsRunningStatus'),
    cards: listAt(vm, 'config', 'hardware', 'device').filter(isCard).map(readCard),
    guestNICs: listAt(vm, 'guest', 'net').map(readGuestNIC),
    stacks: listAt(vm, 'guest', 'ipStack').map(readStack),
  }
}

const isCard = (device: JSONValue): boolean =>
  fieldOf(device, 'macAddress') !== undefined || fieldOf(device, 'addressType') !== undefined

function readCard(device: JSONValue): VimCard {
  return {
    key: textAt(device, 'key') ?? '',
    label: textAt(device, 'deviceInfo', 'label'),
    type: textAt(device, '_typeName'),
    mac: textAt(device, 'macAddress'),
    startConnected: booleanAt(device, 'connectable', 'startConnected'),
    backing: {
      deviceName: textAt(device, 'backing', 'deviceName'),
      network: textAt(device, 'backing', 'network', 'value'),
      portgroupKey: textAt(device, 'backing', 'port', 'portgroupKey'),
      opaqueNetworkId: textAt(device, 'backing', 'opaqueNetworkId'),
    },
  }
}

function readGuestNIC(nic: JSONValue): VimGuestNIC {
  const config = fieldOf(nic, 'ipConfig')
  return {
    mac: textAt(nic, 'macAddress'),
    deviceConfigId: textAt(nic, 'deviceConfigId'),
    network: textAt(nic, 'network'),
    flat: textsAt(nic, 'ipAddress'),
    addresses: isObject(config)
      ? listAt(config, 'ipAddress').map(address => ({
          address: textAt(address, 'ipAddress') ?? '',
          prefix: textAt(address, 'prefixLength'),
          origin: textAt(address, 'origin'),
        }))
      : undefined,
    dns: textsAt(nic, 'dnsConfig', 'ipAddress'),
    searchDomains: textsAt(nic, 'dnsConfig', 'searchDomain'),
  }
}

function readStack(stack: JSONValue): VimStack {
  return {
    dns: textsAt(stack, 'dnsConfig', 'ipAddress'),
    searchDomains: textsAt(stack, 'dnsConfig', 'searchDomain'),
    routes: listAt(stack, 'ipRouteConfig', 'ipRoute').map(route => ({
      network: textAt(route, 'network') ?? '',
      prefix: textAt(route, 'prefixLength') ?? '',
      gateway: textAt(route, 'gateway', 'ipAddress'),
      device: textAt(route, 'gateway', 'device'),
    })),
  }
}
