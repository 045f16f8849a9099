// What a check of an import has to say. Every check has an id that scripts may look for; the page docs/reference/import-checks.md
// has them all.

export type Severity = 'error' | 'warn' | 'info'

export const findingIds = [
  'NicNetworkUnmapped',
  'MultiplePodNetworks',
  'MacMalformed',
  'MacMulticast',
  'MacZero',
  'MacMissing',
  'MacDuplicateInBatch',
  'MacConflictTarget',
  'MacReservedPrefix',
  'IpMissing',
  'IpFamilyCount',
  'IpOutsideSubnet',
  'IpIsNetworkOrBroadcast',
  'IpIsGateway',
  'IpIsManagement',
  'IpInInfrastructure',
  'IpDuplicateInBatch',
  'IpConflictTarget',
  'IpChoiceUnknown',
  'IpDhcpOrigin',
  'IpSecondaryDropped',
  'GatewayMismatch',
  'GatewayOutsideSubnet',
  'GatewayUnknown',
  'PrefixMismatch',
  'ExtraRoutesLost',
  'DnsLost',
  'NamespaceLabelMissing',
  'CudnMissing',
  'CudnProposed',
  'CudnNotLayer2',
  'CudnNotPersistent',
  'CudnNotPrimary',
  'CudnNotOffered',
  'AttachmentMissing',
  'AttachmentIsPrimary',
  'L2BridgeBindingMissing',
  'PreconfiguredAddressesOff',
  'PersistenceLost',
  'ToolsNotRunning',
  'VmPoweredOff',
  'SriovNic',
  'SourceNote',
  'NameInvalid',
  'NameConflict',
  'AlreadyImported',
  'MachineUnknown',
  'TargetNotRead',
] as const

export type FindingId = (typeof findingIds)[number]

export interface Finding {
  readonly id: FindingId
  readonly severity: Severity
  /** The name that the source has for the machine; empty where it is about the whole import. */
  readonly machine: string
  /** The key that the source has for the card; empty where it is about the machine. */
  readonly nic: string
  /** What is so, in one sentence. */
  readonly message: string
  /** What to do about it; empty where nothing has to be done. */
  readonly fix: string
}

const ranks: Readonly<Record<Severity, number>> = { error: 0, warn: 1, info: 2 }

/** Errors first, then by machine, card and id: the same findings are always told in the same order. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const keyOf = ({ severity, machine, nic, id, message }: Finding): readonly string[] => [
    `${ranks[severity]}`,
    machine,
    nic,
    id,
    message,
  ]
  return findings
    .map(finding => ({ finding, key: keyOf(finding) }))
    .toSorted((one, other) => compareKeys(one.key, other.key))
    .map(({ finding }) => finding)
}

/** By code units: the order must not depend on the language of the machine that plans. */
function compareKeys(one: readonly string[], other: readonly string[]): number {
  for (const [i, text] of one.entries()) {
    const against = other[i] ?? ''
    if (text !== against) return text < against ? -1 : 1
  }
  return 0
}

export const isError = ({ severity }: Finding): boolean => severity === 'error'
