// IPPool: which IP addresses the interface with a MAC address has on a network. The map is written by an administrator, or by a
// tool that read it from where the virtual machines ran before.
//
// An entry that is wrong does not harm the others, and frees nothing: what can be read of it stays kept.

import { type IP, isMapped } from '../ip/address.ts'
import { type CIDR, parseCIDR } from '../ip/cidr.ts'
import type { MACText } from '../ip/mac.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { isSubdomain } from '../ip/object-name.ts'
import { type Condition, conditionsOf } from './condition.ts'
import { type Metadata, metadataOf, type VersionedKind } from './object.ts'
import { parseRequestedMAC } from './requests.ts'
import { childOf, isRecord, malformedBy, requiredText, shapeOf } from './shape.ts'

export const ipPoolKind: VersionedKind = {
  group: 'ippool.k8s.cni.cncf.io',
  version: 'v1alpha',
  kind: 'IPPool',
  plural: 'ippools',
  isNamespaced: false,
}

export interface IPPool {
  readonly metadata: Metadata
  readonly networkName: string
  readonly entries: readonly IPPoolEntry[]
  readonly problems: readonly EntryProblem[]
  readonly conditions: readonly Condition[]
}

export interface IPPoolEntry {
  /** The MAC as it was written. */
  readonly key: string
  /** Undefined where it cannot be read. */
  readonly mac: MACText | undefined
  readonly ips: readonly IP[]
  /** Undefined where it is for the first that has the MAC. */
  readonly boundTo: Binding | undefined
  /** False where something of it cannot be read: then it is for no claim. */
  readonly isWhole: boolean
}

export interface Binding {
  readonly namespace: string
  /** Undefined for any of the namespace. */
  readonly virtualMachine: string | undefined
}

/** What is wrong with one field: a webhook refuses it, and a condition tells of what was stored without one. */
export interface EntryProblem {
  readonly field: string
  readonly value: unknown
  /** What follows the value in a sentence, with what to write instead. */
  readonly problem: string
}

export function parseIPPool(object: unknown): IPPool | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const networkName = requiredText(spec, 'network-name')
  const conditions = conditionsOf(childOf(root, 'status'), 'conditions')
  if (faults.length > 0) return malformedBy(faults)
  return { metadata, networkName, ...readEntries(spec.value), conditions }
}

export interface Entries {
  readonly entries: readonly IPPoolEntry[]
  readonly problems: readonly EntryProblem[]
}

export function readEntries(spec: Readonly<Record<string, unknown>>): Entries {
  const problems: EntryProblem[] = []
  const bindings = readBindings(mapIn(spec, 'bindings', 'namespaces', problems), problems)
  const entries = mapIn(spec, 'entries', 'lists of addresses', problems).map(([key, value]): IPPoolEntry => {
    const field = `spec.entries[${key}]`
    const before = problems.length
    const mac = readMAC(key, 'spec.entries', problems)
    const ips = readIPs(value, field, problems)
    const bound = mac === undefined ? undefined : bindings.get(mac)
    const isWhole = problems.length === before && bound !== 'unclear'
    return { key, mac, ips, boundTo: bound === 'unclear' ? undefined : bound, isWhole }
  })
  const macs = new Set(entries.map(({ mac }) => mac))
  for (const mac of bindings.keys()) {
    if (macs.has(mac)) continue
    problems.push({ field: 'spec.bindings', value: mac, problem: 'has no entry: add one, or remove the binding' })
  }
  return { entries, problems }
}

/** `unclear`: it is bound, and cannot be read, or is bound twice. It must not pass for an entry that is for any claim. */
function readBindings(
  bindings: readonly (readonly [string, unknown])[],
  problems: EntryProblem[],
): Map<MACText, Binding | 'unclear'> {
  const read = new Map<MACText, Binding | 'unclear'>()
  for (const [key, value] of bindings) {
    const field = `spec.bindings[${key}]`
    const mac = readMAC(key, 'spec.bindings', problems)
    if (mac === undefined) continue
    const isRepeated = read.has(mac)
    if (isRepeated) problems.push({ field, value: key, problem: `binds ${mac} once more: keep one of the two` })
    const binding = readBinding(value, field, problems)
    read.set(mac, isRepeated ? 'unclear' : binding)
  }
  return read
}

function readBinding(value: unknown, field: string, problems: EntryProblem[]): Binding | 'unclear' {
  if (!isRecord(value)) {
    problems.push({ field, value, problem: 'is no binding: write namespace, and virtualMachine if it is for one' })
    return 'unclear'
  }
  const { namespace, virtualMachine = undefined } = value
  const isNamespace = typeof namespace === 'string' && namespace.length <= 63 && isSubdomain(namespace)
  if (!isNamespace || namespace.includes('.')) {
    const problem = 'is no name of a namespace: write that of the virtual machine'
    problems.push({ field: `${field}.namespace`, value: namespace, problem })
    return 'unclear'
  }
  if (virtualMachine === undefined || virtualMachine === null) return { namespace, virtualMachine: undefined }
  if (typeof virtualMachine === 'string' && virtualMachine.length <= 253 && isSubdomain(virtualMachine)) {
    return { namespace, virtualMachine }
  }
  const problem = 'is no name of a virtual machine: write its name, or leave the field out for any of the namespace'
  problems.push({ field: `${field}.virtualMachine`, value: virtualMachine, problem })
  return 'unclear'
}

function mapIn(
  spec: Readonly<Record<string, unknown>>,
  key: string,
  of: string,
  problems: EntryProblem[],
): readonly (readonly [string, unknown])[] {
  const value = Object.hasOwn(spec, key) ? (spec[key] ?? {}) : {}
  if (isRecord(value)) return Object.entries(value)
  problems.push({ field: `spec.${key}`, value, problem: `is no map of MAC addresses to ${of}` })
  return []
}

function readMAC(key: string, field: string, problems: EntryProblem[]): MACText | undefined {
  const mac = parseRequestedMAC(key)
  if (!isMalformed(mac)) return mac
  problems.push({ field, value: key, problem: mac.malformed })
  return undefined
}

function readIPs(value: unknown, field: string, problems: EntryProblem[]): readonly IP[] {
  if (!Array.isArray(value)) {
    problems.push({ field, value, problem: 'is no list of addresses: write some such as ["10.0.0.5/24"]' })
    return []
  }
  return value.flatMap((item: unknown, i): IP[] => {
    const at = `${field}[${i}]`
    if (typeof item !== 'string') {
      problems.push({ field: at, value: item, problem: 'is no address: write a text such as "10.0.0.5/24"' })
      return []
    }
    const cidr = plain(parseCIDR(item))
    if (!isMalformed(cidr)) return [cidr.ip]
    problems.push({ field: at, value: item, problem: cidr.malformed })
    return []
  })
}

/** IPv4 written as IPv6 is the same host. */
function plain(cidr: CIDR | Malformed): CIDR | Malformed {
  if (isMalformed(cidr) || !isMapped(cidr.ip)) return cidr
  if (cidr.bits < 96) return { malformed: 'is an IPv4 address inside of IPv6: write it as IPv4, such as 10.0.0.5/24' }
  return { ip: { ...cidr.ip, family: 4, w2: 0 }, bits: cidr.bits - 96 }
}
