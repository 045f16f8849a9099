// Adapters of Hyper-V as PowerShell writes them, as JSON or csv, and beside them, as JSON, what the guests tell of their own
// configuration (Msvm_GuestNetworkAdapterConfiguration). The two are joined by the ids of machine and adapter.

import type { JSONValue } from '../json.ts'
import { readGateway, readMask } from './address.ts'
import { readTable } from './csv.ts'
import { type Faults, faultsOf } from './faults.ts'
import { groupBy } from './group.ts'
import { booleanAt, fieldOf, isObject, listAt, readJSON, textAt } from './json-fields.ts'
import type { SourceAddress, SourceFile, SourceMachine, SourceNIC, SourceOrigin, SourceReading } from './machine.ts'
import { bareNIC, missingMACs, originOf, withOwnKeys } from './nic.ts'

/** An adapter, or the configuration of one. */
interface Item {
  readonly value: JSONValue
  /** `[0]`, `line 3`. */
  readonly where: string
  readonly faults: Faults
  readonly source: SourceOrigin
}

export function readHyperV(files: readonly SourceFile[]): SourceReading {
  const opened = files.map(file => ({ file, faults: faultsOf(file) }))
  const items = opened.flatMap(({ file, faults }) => readItems(file, faults))
  const configurations = new Map<string, Item>()
  const adapters: Item[] = []
  for (const item of items) {
    const { value, where, faults } = item
    const name = textAt(value, 'VMName')
    const configured = textAt(value, 'InstanceID')
    if (booleanAt(value, 'IsManagementOs') === true) continue
    if (configured !== undefined && name === undefined) configurations.set(adapterIds(configured), item)
    else if (name === undefined)
      faults.add(`${where}.VMName`, 'it is missing: write adapters with Get-VMNetworkAdapter -VMName *')
    else adapters.push(item)
  }
  const machines = groupBy(adapters, ({ value }) => textAt(value, 'VMId') ?? textAt(value, 'VMName') ?? '')
  return {
    machines: [...machines].flatMap(([id, own]) => toMachine(id, own, configurations)),
    leftOut: [],
    faults: opened.flatMap(({ faults }) => faults.list),
  }
}

function readItems(file: SourceFile, faults: Faults): Item[] {
  const source = originOf('hyperv', file)
  if (/^\s*[[{]/.test(file.text.replace(/^\ufeff/, ''))) {
    // A single adapter is written without a list around it.
    return [...listAt(readJSON(file, faults)).entries()].flatMap(([i, value]) =>
      isObject(value) ? [{ value, where: `[${i}]`, faults, source }] : [],
    )
  }
  const table = readTable(file, faults)
  return (table?.rows ?? []).map(({ line, cells }) => {
    const fields = (table?.header ?? []).map((name, i): [string, JSONValue] => [name, toValue(cells[i] ?? '')])
    return { value: Object.fromEntries(fields), where: `line ${line}`, faults, source }
  })
}

const toValue = (cell: string): JSONValue => (/^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell)

/** The ids of a machine and of its adapter stand in what identifies an adapter, and its configuration, with other words before. */
function adapterIds(text: string): string {
  const id = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
  return (text.slice(0, 500).match(new RegExp(id, 'gi')) ?? [text]).join('/').toLowerCase()
}

function toMachine(id: string, adapters: readonly Item[], configurations: ReadonlyMap<string, Item>): SourceMachine[] {
  const [first] = adapters
  if (first === undefined) return []
  const nics = withOwnKeys(
    adapters.map(adapter => {
      const adapterId = textAt(adapter.value, 'Id')
      return toNIC(adapter, adapterId === undefined ? undefined : configurations.get(adapterIds(adapterId)))
    }),
  )
  return [
    {
      source: first.source,
      id,
      name: textAt(first.value, 'VMName') ?? id,
      powerState: powerStates[textAt(first.value, 'VMState')?.toLowerCase() ?? ''] ?? 'unknown',
      nics,
      addressesFrom: nics.some(({ ips }) => ips.length > 0) ? 'guest-agent' : 'none',
      notes: missingMACs(nics, 'the adapter has no MAC yet: it gets one when the machine is first started'),
    },
  ]
}

const powerStates: Readonly<Record<string, SourceMachine['powerState']>> = {
  running: 'on',
  off: 'off',
  saved: 'suspended',
  paused: 'suspended',
}

function toNIC({ value, where, faults }: Item, configuration: Item | undefined): SourceNIC {
  const text = textAt(value, 'MacAddress')
  // A dynamic one of a machine that never ran.
  const mac = text === undefined || /^[0:-]+$/.test(text) ? undefined : faults.mac(text, `${where}.MacAddress`)
  const [label, network] = [textAt(value, 'Name'), textAt(value, 'SwitchName')]
  const vlan = Number(textAt(value, 'AccessVlanId') ?? textAt(value, 'VlanSetting', 'AccessVlanId') ?? 0)
  return {
    ...bareNIC,
    key: textAt(value, 'Id') ?? '',
    ...(label !== undefined && { label }),
    ...(mac !== undefined && { mac }),
    ...(network !== undefined && { network }),
    ...(Number.isInteger(vlan) && vlan > 0 && vlan < 4095 && { vlan }),
    startConnected: booleanAt(value, 'Connected') ?? true,
    ...(configuration === undefined ? { ips: addressesOf(value, where, faults) } : configurationOf(configuration)),
  }
}

/** PowerShell joins lists with blanks where they lie too deep for it. */
const wordsAt = (value: JSONValue, name: string): string[] =>
  listAt(value, name)
    .flatMap(item => (typeof item === 'string' ? item.split(/[\s,;]+/) : []))
    .filter(word => word !== '')

function addressesOf(value: JSONValue, where: string, faults: Faults): SourceAddress[] {
  const field = fieldOf(value, 'IPAddresses')
  if (field === 'System.String[]') {
    const problem = "the csv has no addresses: select @{n='IPAddresses';e={$_.IPAddresses -join ','}} before Export-Csv"
    faults.add(`${where}.IPAddresses`, problem)
    return []
  }
  return wordsAt(value, 'IPAddresses').flatMap(word => {
    const address = faults.ip(word, `${where}.IPAddresses`)
    return address === undefined ? [] : [{ address }]
  })
}

/** Lists beside each other: the first mask is that of the first address. */
function configurationOf({ value, where, faults }: Item): Pick<SourceNIC, 'ips' | 'gateways' | 'dns'> {
  const masks = wordsAt(value, 'Subnets')
  const isGiven = booleanAt(value, 'DHCPEnabled')
  const origin = isGiven === undefined ? undefined : isGiven ? 'dhcp' : 'manual'
  return {
    ips: wordsAt(value, 'IPAddresses').flatMap((word, i) => {
      const address = faults.ip(word, `${where}.IPAddresses[${i}]`)
      if (address === undefined) return []
      const prefix = faults.unless(readMask(masks[i] ?? '', address), `${where}.Subnets[${i}]`)
      return [{ address, ...(prefix !== undefined && { prefix }), ...(origin && { origin }) }]
    }),
    gateways: wordsAt(value, 'DefaultGateways').flatMap((word, i) => {
      const gateway = faults.unless(readGateway(word), `${where}.DefaultGateways[${i}]`)
      return gateway === undefined ? [] : [gateway]
    }),
    dns: wordsAt(value, 'DNSServers').flatMap((word, i) => {
      const address = faults.ip(word, `${where}.DNSServers[${i}]`)
      return address === undefined ? [] : [address]
    }),
  }
}
