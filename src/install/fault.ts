// What is wrong with an install-config: where, in which words, and whether the installation can work all the same. Faults that the
// installer of OpenShift finds too have its words, so that a search for these words finds them; the path says which host is meant, and
// the place where in the file it stands.

import { quoteText } from '../ip/malformed.ts'
import { showHidden } from '../json.ts'

export interface Place {
  /** Both from 1. */
  readonly line: number
  readonly column: number
}

/** A value of the file, and where it stands. */
export interface Marked<T> {
  readonly value: T
  /** `platform.vsphere.hosts[3].role`. */
  readonly path: string
  readonly place: Place
}

export type Severity = 'error' | 'warning'

/** Every check, with what it says: `error` keeps anything from being made. docs/reference/static-ip.md has them all. */
export const severities = {
  YAMLMalformed: 'error',
  KeyUnknown: 'error',
  KeyTwice: 'error',
  KeyCase: 'warning',
  TypeWrong: 'error',
  TooLong: 'error',
  FailureDomainsMissing: 'error',
  FailureDomainIncomplete: 'error',
  FailureDomainTwice: 'error',
  ServerUnknown: 'error',
  NetworksMissing: 'error',
  NetworksTooMany: 'error',
  DatastorePath: 'error',
  ZoneUnknown: 'error',
  PoolName: 'error',
  PoolsTooMany: 'error',
  BootstrapCount: 'error',
  ControlPlaneCount: 'error',
  ComputeCount: 'error',
  RoleUnknown: 'error',
  FailureDomainUnknown: 'error',
  NetworkDeviceMissing: 'error',
  AddressMissing: 'error',
  AddressMalformed: 'error',
  NameserversTooMany: 'error',
  NameserverMalformed: 'error',
  GatewayMalformed: 'error',
  AddressTwice: 'error',
  AddressUnusable: 'error',
  AddressIsGateway: 'error',
  AddressIsNameserver: 'error',
  AddressIsVIP: 'error',
  AddressHeld: 'error',
  AddressOutsideMachineNetwork: 'error',
  AddressOutsideDefaultNetwork: 'warning',
  AddressesOfOneFamily: 'warning',
  PrefixUnusable: 'error',
  PrefixSingle: 'warning',
  GatewayMissing: 'warning',
  GatewayFamily: 'error',
  GatewayOutsideSubnet: 'error',
  GatewayUnusable: 'error',
  NameserversMissing: 'warning',
  NameserverDropped: 'warning',
  NameserversDiffer: 'warning',
  BootstrapFailureDomain: 'warning',
  HostOutsideZones: 'warning',
  OneFailureDomain: 'warning',
  DeviceUncertain: 'warning',
  HostsUnread: 'warning',
  TagMalformed: 'error',
  TagsTooMany: 'error',
  VIPMalformed: 'error',
  MachineNetworkMalformed: 'error',
} as const satisfies Record<string, Severity>

export type CheckId = keyof typeof severities

export interface Fault extends Place {
  readonly check: CheckId
  readonly severity: Severity
  readonly path: string
  /** Without the path: `Unsupported value: "x": supported values: "bootstrap", ...`. */
  readonly message: string
}

export type Report = (check: CheckId, at: Pick<Marked<unknown>, 'path' | 'place'>, message: string) => void

/** The same thing about the same field is said once. */
export function reporterTo(faults: Fault[]): Report {
  const said = new Set<string>()
  return (check, { path, place }, message) => {
    const key = `${check} ${path} ${message}`
    if (said.has(key)) return
    said.add(key)
    faults.push({ check, severity: severities[check], path, message, line: place.line, column: place.column })
  }
}

// --- the words of the installer ---

export const required = (detail: string): string => `Required value: ${detail}`
export const invalid = (value: string, detail: string): string => `Invalid value: ${quoteText(value)}: ${detail}`
export const duplicate = (value: string): string => `Duplicate value: ${quoteText(value)}`
export const tooMany = (number: number, most: number): string => `Too many: ${number}: must have at most ${most} items`
export const unsupported = (value: string, supported: readonly string[]): string =>
  `Unsupported value: ${quoteText(value)}: supported values: ${supported.toSorted().map(quoteText).join(', ')}`

/** As it stands in a sentence, without quotes. */
export const bare = (value: string): string =>
  showHidden(JSON.stringify(value.slice(0, bareCharsMax)).slice(1, -1).replaceAll('\\"', '"'))

const bareCharsMax = 200

export const notAnIP = (value: string): string => invalid(value, `"${bare(value)}" is not a valid IP`)
export const notACIDR = (value: string): string => invalid(value, `invalid CIDR address: ${bare(value)}`)
