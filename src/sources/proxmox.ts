// The configuration of a machine of Proxmox VE, as in /etc/pve/qemu-server or as `qm config` prints it. Addresses are those that
// its cloud-init gives the guest.

import { toIPText } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { sourceFileCharsMax } from '../limits.ts'
import { readGateway } from './address.ts'
import { type Faults, faultsOf } from './faults.ts'
import type { SourceAddress, SourceFile, SourceGateway, SourceNIC, SourceReading } from './machine.ts'
import { bareNIC, missingMACs, originOf } from './nic.ts'

interface Setting {
  readonly text: string
  readonly line: number
}

export function readProxmox(file: SourceFile): SourceReading {
  const faults = faultsOf(file)
  const settings = readSettings(file, faults)
  const cards = [...settings.keys()].filter(key => /^net\d{1,3}$/.test(key))
  const [, id] = /(\d+)\.conf$/.exec(file.name) ?? []
  const name = settings.get('name')?.text || (id === undefined ? '' : `vm-${id}`)
  if (faults.list.length === 0 && name === '') {
    faults.add('', 'it has no name: give the .conf file of a virtual machine, or what "qm config ID" prints')
  }
  if (name === '') return { machines: [], leftOut: [], faults: faults.list }
  if (settings.get('template')?.text === '1') {
    return { machines: [], leftOut: [{ name, reason: 'Template' }], faults: faults.list }
  }
  const nics = cards.sort((one, other) => numberOf(one) - numberOf(other)).map(card => toNIC(card, settings, faults))
  const guestId = settings.get('ostype')?.text
  return {
    machines: [
      {
        source: originOf('proxmox', file),
        id: id ?? name,
        name,
        powerState: 'unknown',
        ...(guestId && { guestId }),
        nics,
        addressesFrom: nics.some(({ ips }) => ips.length > 0) ? 'configuration' : 'none',
        notes: missingMACs(nics, 'the configuration has no MAC of the card'),
      },
    ],
    leftOut: [],
    faults: faults.list,
  }
}

const numberOf = (card: string): number => Number(card.slice('net'.length))

/** What follows a line in brackets is a snapshot, or waits for a restart. */
function readSettings({ text }: SourceFile, faults: Faults): Map<string, Setting> {
  const settings = new Map<string, Setting>()
  if (text.length > sourceFileCharsMax) {
    faults.add('', 'it is too long for the configuration of a machine: give its .conf file')
    return settings
  }
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line.startsWith('[')) break
    if (/^\s*(#|$)/.test(line)) continue
    const [, key, value] = /^([A-Za-z][\w-]*):\s*(.*?)\s*$/.exec(line.slice(0, 10_000)) ?? []
    if (key === undefined || value === undefined) {
      faults.add(`line ${index + 1}`, 'it is no setting: write "key: value"')
      if (faults.list.length > 10) return new Map()
    } else settings.set(key, { text: value, line: index + 1 })
  }
  return settings
}

/** `virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=100`. */
function optionsOf(setting: Setting | undefined): Map<string, string> {
  const options = new Map<string, string>()
  for (const option of setting?.text.split(',') ?? []) {
    const equals = option.indexOf('=')
    if (equals > 0) options.set(option.slice(0, equals).trim(), option.slice(equals + 1).trim())
  }
  return options
}

const models = [
  'virtio',
  'e1000',
  'e1000e',
  'e1000-82540em',
  'e1000-82544gc',
  'e1000-82545em',
  'i82551',
  'i82557b',
  'i82559er',
]
const otherModels = ['ne2k_isa', 'ne2k_pci', 'pcnet', 'rtl8139', 'vmxnet3']

function toNIC(card: string, settings: ReadonlyMap<string, Setting>, faults: Faults): SourceNIC {
  const setting = settings.get(card)
  const options = optionsOf(setting)
  const model = [...models, ...otherModels].find(one => options.has(one)) ?? options.get('model')
  const mac = faults.mac(options.get(model ?? '') ?? options.get('macaddr'), `line ${setting?.line}, ${card}`)
  const network = options.get('bridge')
  const vlan = Number(options.get('tag') ?? 0)
  const given = settings.get(`ipconfig${numberOf(card)}`)
  return {
    ...bareNIC,
    key: card,
    ...(mac !== undefined && { mac }),
    ...(network && { network }),
    ...(Number.isInteger(vlan) && vlan > 0 && vlan < 4095 && { vlan }),
    startConnected: options.get('link_down') !== '1',
    ...(model && { model }),
    ...addressesOf(given, faults),
    dns: given === undefined ? [] : serversOf(settings.get('nameserver'), faults),
    searchDomains: given === undefined ? [] : wordsOf(settings.get('searchdomain')),
  }
}

const wordsOf = (setting: Setting | undefined): string[] =>
  setting?.text.split(/[\s,]+/).filter(word => word !== '') ?? []

function serversOf(setting: Setting | undefined, faults: Faults): SourceNIC['dns'] {
  return wordsOf(setting).flatMap(word => {
    const address = faults.ip(word, `line ${setting?.line}, nameserver`)
    return address === undefined ? [] : [address]
  })
}

/** `ip=10.0.0.5/24,gw=10.0.0.1`; or `dhcp` and `auto`, which say nothing about the address. */
function addressesOf(setting: Setting | undefined, faults: Faults): Pick<SourceNIC, 'ips' | 'gateways'> {
  const options = optionsOf(setting)
  const where = `line ${setting?.line}, ipconfig`
  const ips = ['ip', 'ip6'].flatMap((name): SourceAddress[] => {
    const text = options.get(name)
    if (text === undefined || text === 'dhcp' || text === 'auto') return []
    const cidr = faults.unless(parseCIDR(text), `${where}, ${name}`)
    return cidr === undefined ? [] : [{ address: toIPText(cidr.ip), prefix: cidr.bits, origin: 'manual' }]
  })
  const gateways = ['gw', 'gw6'].flatMap((name): SourceGateway[] => {
    const gateway = faults.unless(readGateway(options.get(name) ?? ''), `${where}, ${name}`)
    return gateway === undefined ? [] : [gateway]
  })
  return { ips, gateways }
}
