// The descriptor of an exported appliance (OVF 1 and 2). It names cards and what they are connected to; most programs leave the
// MACs out, and none writes addresses of the guest.

import { childOf, childrenOf, parseXML, textOf, type XMLElement, XMLSyntaxError } from '../xml.ts'
import { type Faults, faultsOf } from './faults.ts'
import type { SourceFile, SourceMachine, SourceNIC, SourceReading } from './machine.ts'
import { bareNIC, missingMACs, originOf, withOwnKeys } from './nic.ts'

/** "Ethernet Adapter" in the list of kinds that the standard refers to. */
const ethernetAdapter = '10'

export function readOVF(file: SourceFile): SourceReading {
  const faults = faultsOf(file)
  const envelope = readEnvelope(file, faults)
  const systems = envelope === undefined ? [] : systemsIn(envelope)
  if (envelope !== undefined && systems.length === 0) {
    faults.add('', 'it describes no VirtualSystem: give the .ovf file of an exported machine')
  }
  const machines = systems.flatMap(system => {
    const name = textOf(system, 'Name') || attribute(system, 'id')
    if (name !== undefined) return [toMachine(file, system, name, faults)]
    faults.add(`line ${system.line}`, 'this VirtualSystem has neither a Name nor an id: write one of them')
    return []
  })
  return { machines, leftOut: [], faults: faults.list }
}

function readEnvelope({ text }: SourceFile, faults: Faults): XMLElement | undefined {
  try {
    const root = parseXML(text)
    if (root.name === 'Envelope') return root
    faults.add('', 'it is XML, but no Envelope of OVF: give the .ovf file of an exported machine')
  } catch (error) {
    if (!(error instanceof XMLSyntaxError)) throw error
    const { line, column, message } = error
    faults.add(`line ${line}, column ${column}`, `it is not XML as OVF is: ${message}; give the .ovf file as exported`)
  }
  return undefined
}

/** An appliance of several machines has them in collections. */
function systemsIn(element: XMLElement): XMLElement[] {
  return element.children.flatMap(child => {
    if (child.name === 'VirtualSystem') return [child]
    return child.name === 'VirtualSystemCollection' ? systemsIn(child) : []
  })
}

/** Programs differ in whether they give attributes a namespace. */
const attribute = (element: XMLElement | undefined, name: string): string | undefined =>
  element?.attributes.find(one => one.name === name)?.value || undefined

function toMachine(file: SourceFile, system: XMLElement, name: string, faults: Faults): SourceMachine {
  const os = childOf(system, 'OperatingSystemSection')
  const guestId = attribute(os, 'osType') ?? textOf(os, 'Description')
  const items = childrenOf(system, 'VirtualHardwareSection').flatMap(hardware => hardware.children.filter(isCard))
  const nics = withOwnKeys(items.map((item, index) => toNIC(item, index, faults)))
  return {
    source: originOf('ovf', file),
    id: attribute(system, 'id') ?? name,
    name,
    powerState: 'unknown',
    ...(guestId && { guestId }),
    nics,
    addressesFrom: 'none',
    notes: missingMACs(nics, 'the descriptor has no MAC of the card: most exports leave it out'),
  }
}

function isCard(item: XMLElement): boolean {
  return item.name === 'EthernetPortItem' || (item.name === 'Item' && textOf(item, 'ResourceType') === ethernetAdapter)
}

function toNIC(item: XMLElement, index: number, faults: Faults): SourceNIC {
  const label = textOf(item, 'ElementName')
  const mac = faults.mac(textOf(item, 'Address'), `line ${item.line}, rasd:Address of ${label ?? `card ${index}`}`)
  const network = textOf(item, 'Connection')
  const model = textOf(item, 'ResourceSubType')?.toLowerCase()
  return {
    ...bareNIC,
    key: textOf(item, 'InstanceID') ?? '',
    ...(label && { label }),
    ...(mac !== undefined && { mac }),
    ...(network && { network }),
    startConnected: textOf(item, 'AutomaticAllocation')?.toLowerCase() !== 'false',
    ...(model && { model }),
  }
}
