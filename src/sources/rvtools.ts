// The tab vNetwork of RVTools as csv, with or without the tab vInfo beside it. Columns are found by their names, since custom
// attributes stand between them; three sets of names are in use. RVTools knows no prefix, no gateway and no name server.

import { type Row, readTable, type Table } from './csv.ts'
import { type Faults, faultsOf } from './faults.ts'
import { groupBy } from './group.ts'
import type { LeftOut, SourceAddress, SourceFile, SourceMachine, SourceNIC, SourceReading } from './machine.ts'
import { bareNIC, missingMACs, originOf, withOwnKeys } from './nic.ts'

/** Names of each column in small letters and digits alone, the best first. */
const columns = {
  vm: ['vm', 'vmname', 'vnetworkvmname', 'vinfovmname'],
  powerState: ['powerstate', 'vnetworkpowerstate', 'vinfopowerstate'],
  template: ['template', 'vnetworktemplate', 'vinfotemplate'],
  placeholder: ['srmplaceholder', 'vnetworksrmplaceholder', 'vinfosrmplaceholder'],
  label: ['niclabel', 'nic', 'vnetworkniclabel', 'vnetworknic'],
  adapter: ['adapter', 'adaptertype', 'vnetworkadapter'],
  network: ['network', 'vnetworknetwork', 'vnetworkname'],
  startsConnected: ['startsconnected', 'startconnected', 'vnetworkstartsconnected'],
  mac: ['macaddress', 'vnetworkmacaddress'],
  ip4: ['ipv4address', 'vnetworkipv4address', 'vnetworkip4address', 'ipaddress', 'vnetworkipaddress'],
  ip6: ['ipv6address', 'vnetworkipv6address', 'vnetworkip6address'],
  host: ['host', 'vnetworkhost', 'vinfohost'],
  os: ['osaccordingtotheconfigurationfile', 'vnetworkos', 'vinfoos'],
  id: ['vmid', 'vnetworkvmid', 'vinfovmid'],
  uuid: ['vmuuid', 'vnetworkvmuuid', 'vinfovmuuid'],
  vcenter: ['visdkuuid', 'vnetworkvisdkuuid', 'vinfovisdkuuid'],
  dnsName: ['dnsname', 'vinfoguesthostname', 'vinfodnsname'],
} satisfies Record<string, readonly string[]>

type Column = keyof typeof columns

/** A tab, and where each column stands in it. */
interface Sheet {
  readonly file: SourceFile
  readonly table: Table
  readonly places: ReadonlyMap<Column, number>
}

export function readRVTools(files: readonly SourceFile[]): SourceReading {
  const opened = files.map(file => ({ file, faults: faultsOf(file) }))
  const sheets = opened.flatMap(({ file, faults }) => {
    const sheet = openSheet(file, faults)
    return sheet === undefined ? [] : [{ sheet, faults }]
  })
  const names = hostNames(sheets.map(({ sheet }) => sheet).filter(isInfo))
  const cards = sheets.filter(({ sheet }) => !isInfo(sheet))
  if (cards.length === 0 && opened.every(({ faults }) => faults.list.length === 0)) {
    const problem = 'the cards of machines are in the tab vNetwork, which is missing: give RVTools_tabvNetwork.csv'
    opened[0]?.faults.add('', problem)
  }
  const readings = cards.map(({ sheet, faults }) => readVNetwork(sheet, names, faults))
  return {
    machines: readings.flatMap(({ machines }) => machines),
    leftOut: readings.flatMap(({ leftOut }) => leftOut),
    faults: opened.flatMap(({ faults }) => faults.list),
  }
}

const isInfo = ({ places }: Sheet): boolean => !places.has('mac')

const plain = (header: string): string => header.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Undefined where it is no tab with machines, which is noted. */
function openSheet(file: SourceFile, faults: Faults): Sheet | undefined {
  if (file.text.startsWith('PK')) {
    faults.add('', 'it is a workbook of Excel: export it from RVTools again with "Export all to csv"')
    return undefined
  }
  const table = readTable(file, faults)
  if (table === undefined) return undefined
  const header = table.header.map(plain)
  const places = new Map<Column, number>()
  for (const [column, names] of Object.entries(columns)) {
    const name = names.find(one => header.includes(one))
    if (name !== undefined) places.set(column as Column, header.indexOf(name))
  }
  if (header.includes('networkdevice') && !places.has('vm')) {
    faults.add('', 'it is the tab vNIC, the cards of hosts: give the tab vNetwork, RVTools_tabvNetwork.csv')
  } else if (!places.has('vm')) {
    faults.add('line 1', 'there is no column "VM": give the tab vNetwork of RVTools, with its header')
  } else return { file, table, places }
  return undefined
}

/** Some exports have the letters VM in cells that they do not tell. */
const isTold = (text: string): boolean => text !== '' && text !== 'VM'

function cellOf({ places }: Sheet, { cells }: Row, column: Column): string {
  const place = places.get(column)
  return place === undefined ? '' : (cells[place] ?? '').trim()
}

/** An id tells machines of one vCenter apart; without it, the name on a host. */
function keyOf(sheet: Sheet, row: Row): string {
  const cell = (column: Column): string => cellOf(sheet, row, column)
  const id = cell('id') || cell('uuid')
  return JSON.stringify(id === '' ? [cell('vm'), cell('host')] : [cell('vcenter'), id])
}

function hostNames(sheets: readonly Sheet[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const sheet of sheets) {
    for (const row of sheet.table.rows) {
      const name = cellOf(sheet, row, 'dnsName')
      if (isTold(name)) names.set(keyOf(sheet, row), name)
    }
  }
  return names
}

function readVNetwork(
  sheet: Sheet,
  names: ReadonlyMap<string, string>,
  faults: Faults,
): Pick<SourceReading, 'machines' | 'leftOut'> {
  const groups = groupBy(sheet.table.rows, row => keyOf(sheet, row))
  const machines: SourceMachine[] = []
  const leftOut: LeftOut[] = []
  for (const [key, rows] of groups) {
    const [first] = rows
    if (first === undefined) continue
    const name = cellOf(sheet, first, 'vm')
    const isSet = (column: Column): boolean => rows.some(row => readBoolean(sheet, row, column, faults) === true)
    if (name === '') faults.add(placeOf(sheet, first, 'vm'), 'it is empty: every row has the name of a machine')
    else if (isSet('template')) leftOut.push({ name, reason: 'Template' })
    else if (isSet('placeholder')) leftOut.push({ name, reason: 'SRMPlaceholder' })
    else machines.push(toMachine(sheet, rows, { name, hostName: names.get(key) }, faults))
  }
  return { machines, leftOut }
}

const powerStates: Readonly<Record<string, SourceMachine['powerState']>> = {
  poweredon: 'on',
  poweredoff: 'off',
  suspended: 'suspended',
}

interface Names {
  readonly name: string
  readonly hostName: string | undefined
}

function toMachine(sheet: Sheet, rows: readonly Row[], names: Names, faults: Faults): SourceMachine {
  const cell = (column: Column): string => (rows[0] === undefined ? '' : cellOf(sheet, rows[0], column))
  const nics = withOwnKeys(rows.map(row => toNIC(sheet, row, faults)))
  const [os, instance] = [cell('os'), cell('vcenter')]
  return {
    source: { ...originOf('rvtools', sheet.file), ...(instance !== '' && { instance }) },
    id: cell('id') || cell('uuid') || names.name,
    name: names.name,
    powerState: powerStates[cell('powerState').toLowerCase()] ?? 'unknown',
    ...(isTold(os) && { guestId: os }),
    ...(names.hostName !== undefined && { hostName: names.hostName }),
    nics,
    addressesFrom: nics.some(({ ips }) => ips.length > 0) ? 'guest-agent' : 'none',
    notes: missingMACs(nics, 'the card has no MAC in the export'),
  }
}

function toNIC(sheet: Sheet, row: Row, faults: Faults): SourceNIC {
  const cell = (column: Column): string => cellOf(sheet, row, column)
  const mac = faults.mac(cell('mac'), () => placeOf(sheet, row, 'mac'))
  const [label, network, adapter] = [cell('label'), cell('network'), cell('adapter')]
  return {
    ...bareNIC,
    key: label,
    ...(label !== '' && { label }),
    ...(mac !== undefined && { mac }),
    ...(network !== '' && { network }),
    startConnected: readBoolean(sheet, row, 'startsConnected', faults) ?? true,
    ...(isTold(adapter) && { model: adapter.toLowerCase() }),
    ips: (['ip4', 'ip6'] as const).flatMap(column => addressesIn(sheet, row, column, faults)),
  }
}

/** A cell may have several, with anything between them. */
function addressesIn(sheet: Sheet, row: Row, column: Column, faults: Faults): SourceAddress[] {
  const texts = cellOf(sheet, row, column).split(/[\s,;|]+/)
  return texts.filter(isTold).flatMap(text => {
    const address = faults.ip(text, () => placeOf(sheet, row, column))
    return address === undefined ? [] : [{ address }]
  })
}

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  '1': true,
  false: false,
  no: false,
  '0': false,
}

function readBoolean(sheet: Sheet, row: Row, column: Column, faults: Faults): boolean | undefined {
  const text = cellOf(sheet, row, column).toLowerCase()
  if (text === '') return undefined
  if (!Object.hasOwn(booleans, text)) faults.add(placeOf(sheet, row, column), 'it is neither True nor False: write one')
  return booleans[text]
}

function placeOf({ places, table }: Sheet, { line }: Row, column: Column): string {
  return `line ${line}, column ${JSON.stringify(table.header[places.get(column) ?? -1] ?? column)}`
}
