// Machines of another platform, and what an administrator says about them, for tests of imports.

import { checkImport } from '../../src/imports/check.ts'
import type { Finding, FindingId } from '../../src/imports/finding.ts'
import { type Mapping, type MappingTexts, readMapping } from '../../src/imports/mapping.ts'
import { planImport } from '../../src/imports/plan.ts'
import { type ImportTarget, noTarget, type TargetNetwork } from '../../src/imports/target.ts'
import type { IPText } from '../../src/ip/address.ts'
import type { MACText } from '../../src/ip/mac.ts'
import type { SourceGateway, SourceMachine, SourceNIC } from '../../src/sources/machine.ts'
import { cidr, ip } from './texts.ts'

const portGroup = 'VM Network'
export const namespace = 'shop'

export interface CardDraft extends Partial<Omit<SourceNIC, 'ips' | 'gateways' | 'mac' | 'dns'>> {
  /** As a source writes it; null where it has none. */
  readonly mac?: string | null
  /** `10.0.0.5/24`, or without a length. */
  readonly ips?: readonly string[]
  readonly origin?: 'manual' | 'dhcp'
  readonly gateways?: readonly string[]
  readonly gatewayOrigin?: SourceGateway['origin']
  readonly dns?: readonly string[]
}

function aCard(draft: CardDraft = {}): SourceNIC {
  const {
    mac = '00:50:56:00:00:05',
    ips = ['10.0.0.5/24'],
    origin = 'manual',
    gateways = ['10.0.0.1'],
    ...rest
  } = draft
  const { gatewayOrigin = 'fixed', dns = [], ...others } = rest
  return {
    key: '4000',
    network: portGroup,
    startConnected: true,
    routes: [],
    searchDomains: [],
    ...others,
    ...(mac !== null && { mac: mac as MACText }),
    ips: ips.map(text => {
      const [address = '', prefix] = text.split('/')
      return { address: address as IPText, origin, ...(prefix !== undefined && { prefix: Number(prefix) }) }
    }),
    gateways: gateways.map(address => ({ address: address as IPText, origin: gatewayOrigin })),
    dns: dns as readonly IPText[],
  }
}

export function aSource(
  name: string,
  cards: readonly CardDraft[] = [{}],
  draft: Partial<SourceMachine> = {},
): SourceMachine {
  return {
    source: { kind: 'vsphere', from: 'vcenter.example', instance: 'vc-1', asOf: '2026-01-02T03:04:05Z' },
    id: `vm-${name}`,
    name,
    powerState: 'on',
    addressesFrom: 'guest-agent',
    notes: [],
    nics: cards.map((card, i) => aCard({ key: `${4000 + i}`, ...card })),
    ...draft,
  }
}

/** The second machine on the network of the first: 10.0.0.6. */
export const another = (card: CardDraft = {}): CardDraft => ({
  mac: '00:50:56:00:00:06',
  ips: ['10.0.0.6/24'],
  ...card,
})

export function aMapping(texts: Partial<MappingTexts> = {}): Mapping {
  const mapping = readMapping({ namespace, map: [`${portGroup}=cudn:blue`], ...texts })
  if ('faults' in mapping) throw new Error(mapping.faults.join('; '))
  return mapping
}

export interface NetworkDraft extends Partial<Omit<TargetNetwork, 'subnets' | 'gateways' | 'infrastructure'>> {
  readonly subnets?: readonly string[]
  readonly gateways?: readonly string[]
  readonly infrastructure?: readonly string[]
}

export function aNetwork(draft: NetworkDraft = {}): TargetNetwork {
  const { subnets = ['10.0.0.0/24'], gateways = ['10.0.0.1'], infrastructure = [], ...others } = draft
  return {
    name: 'blue',
    topology: 'Layer2',
    isPrimary: true,
    isPersistent: true,
    namespaceSelector: { matchLabels: {}, matchExpressions: [] },
    isOfMooring: false,
    isProposed: false,
    ...others,
    subnets: subnets.map(cidr),
    gateways: gateways.map(ip),
    infrastructure: infrastructure.map(cidr),
  }
}

/** The network blue, and the namespace shop with the label that it needs. */
export const aTarget = (draft: Partial<ImportTarget> = {}): ImportTarget => ({
  ...noTarget,
  namespaces: new Map([[namespace, { 'k8s.ovn.org/primary-user-defined-network': '' }]]),
  networks: [aNetwork()],
  ...draft,
})

export const check = (
  machines: readonly SourceMachine[],
  target: Partial<ImportTarget> = {},
  texts: Partial<MappingTexts> = {},
): Finding[] => checkImport(machines, aMapping(texts), aTarget(target))

export const plan = (
  machines: readonly SourceMachine[],
  target: Partial<ImportTarget> = {},
  texts: Partial<MappingTexts> = {},
) => planImport(machines, aMapping(texts), aTarget(target))

/** The findings of one id, each as `severity machine/card: message`. */
export const told = (findings: readonly Finding[], id: FindingId): string[] =>
  findings
    .filter(finding => finding.id === id)
    .map(({ severity, machine, nic, message }) => `${severity} ${machine}/${nic}: ${message}`)

export const idsOf = (findings: readonly Finding[]): FindingId[] => findings.map(({ id }) => id)
