// The file of settings that a hypervisor of VMware keeps beside the disks of a machine. It knows cards and MACs, and no address.

import { quoteText } from '../ip/malformed.ts'
import { sourceFileCharsMax } from '../limits.ts'
import { type Faults, faultsOf } from './faults.ts'
import type { SourceFile, SourceNIC, SourceNote, SourceReading } from './machine.ts'
import { bareNIC, missingMACs, originOf } from './nic.ts'

export function readVMX(file: SourceFile): SourceReading {
  const faults = faultsOf(file)
  const settings = readSettings(file, faults)
  const name = settings.get('displayname') ?? ''
  if (name === '' && faults.list.length === 0) {
    faults.add('', 'it has no displayName: give the .vmx file of a virtual machine')
  }
  if (name === '') return { machines: [], leftOut: [], faults: faults.list }
  // The settings of a template have an ending of their own.
  if (/\.vmtx$/i.test(file.name)) return { machines: [], leftOut: [{ name, reason: 'Template' }], faults: faults.list }
  const nics = cardNames(settings).map(card => toNIC(card, settings, faults))
  const guestId = settings.get('guestos')
  return {
    machines: [
      {
        source: originOf('vmx', file),
        id: settings.get('vc.uuid') || settings.get('uuid.bios') || name,
        name,
        powerState: 'unknown',
        ...(guestId && { guestId }),
        nics,
        addressesFrom: 'none',
        notes: [
          ...missingMACs(nics, 'the card has no MAC yet: it gets one when it is first started'),
          ...unnamed(nics),
        ],
      },
    ],
    leftOut: [],
    faults: faults.list,
  }
}

/** Keys in small letters: the hypervisor does not mind their case. */
function readSettings({ text }: SourceFile, faults: Faults): Map<string, string> {
  const settings = new Map<string, string>()
  if (text.length > sourceFileCharsMax) {
    faults.add('', 'it is too long for a .vmx file: give the text file beside the disks')
    return settings
  }
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, key, value] = /^\s*([^\s=]+)\s*=\s*"([^"]*)"\s*$/.exec(line) ?? []
    if (key === undefined || value === undefined) {
      faults.add(`line ${index + 1}`, 'it is no setting: write key = "value"')
      if (faults.list.length > 10) return new Map()
      continue
    }
    const before = settings.get(key.toLowerCase())
    const now = value.replace(/\|([0-9a-fA-F]{2})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    if (before !== undefined && before !== now) {
      faults.add(`line ${index + 1}`, `${key} is there a second time with another value: keep one of them`)
    }
    settings.set(key.toLowerCase(), now)
  }
  return settings
}

/** Settings of a card that was taken out stay behind without `present`. */
function cardNames(settings: ReadonlyMap<string, string>): string[] {
  return [...settings]
    .flatMap(([key, value]) => {
      const [, number] = /^ethernet(\d{1,4})\.present$/.exec(key) ?? []
      return number !== undefined && isTrue(value) ? [Number(number)] : []
    })
    .sort((one, other) => one - other)
    .map(number => `ethernet${number}`)
}

const isTrue = (text: string): boolean => /^(true|yes|1)$/i.test(text)

function toNIC(card: string, settings: ReadonlyMap<string, string>, faults: Faults): SourceNIC {
  const setting = (name: string): string => settings.get(`${card}.${name.toLowerCase()}`) ?? ''
  // The hypervisor and vCenter write what they chose into a field of its own.
  const field = setting('addressType').toLowerCase() === 'static' ? 'address' : 'generatedAddress'
  const mac = faults.mac(setting(field), `${card}.${field}`)
  const networkId = setting('dvs.portgroupId')
  const network = setting('networkName') || setting('vnet') || (networkId === '' ? setting('connectionType') : '')
  const model = setting('virtualDev').toLowerCase()
  return {
    ...bareNIC,
    key: card,
    ...(mac !== undefined && { mac }),
    ...(network !== '' && { network }),
    ...(networkId !== '' && { networkId }),
    startConnected: setting('startConnected') === '' || isTrue(setting('startConnected')),
    ...(model !== '' && { model }),
  }
}

function unnamed(nics: readonly SourceNIC[]): SourceNote[] {
  return nics.flatMap(({ key, network, networkId }) => {
    if (network !== undefined) return []
    const known =
      networkId === undefined ? 'nothing that is known' : `what is known by its id only: ${quoteText(networkId)}`
    return [{ reason: 'NetworkUnresolved', nic: key, message: `the card is connected to ${known}` }]
  })
}
