// The value of the setting `vm-migration-network`: a JSON text that an administrator writes. Whatever the order and case of its keys,
// one meaning has one canonical text and one hash, so that writing the same once more restarts nothing. Harvester drops keys that
// it does not know; here they are refused, because a misspelt `exclude` would hand out addresses that are in use.

import { createHash } from 'node:crypto'
import { type AddressTexts, type IPAMType, ipamTypes } from '../api/migration-network.ts'
import { isRecord } from '../api/shape.ts'
import { quoteText } from '../ip/malformed.ts'
import { JSONSyntaxError, type JSONValue, parseJSON } from '../json.ts'
import { configCharsMax, configItemsMax } from '../limits.ts'
import { type Problem, problem } from './problem.ts'

export interface SettingValue extends AddressTexts {
  readonly clusterNetwork: string
  readonly vlan: number
  /** Not Harvester's: which plugin gives out the addresses. */
  readonly ipam: IPAMType
}

export type Decoded = { readonly value: SettingValue } | { readonly problems: readonly Problem[] }

/** The empty text is the default: migrations use the management network. */
export const isDefault = (text: string): boolean => text === ''

const keys = [
  'clusterNetwork',
  'vlan',
  'range',
  'exclude',
  'rangeV6',
  'rangeV6Start',
  'rangeV6End',
  'ipam',
  // Of the storage network, whose value has the same shape. It says nothing here.
  'exclusiveVlan',
] as const

type Key = (typeof keys)[number]

/** Names of whereabouts, and of other settings, for the same fields. */
const meant: Readonly<Record<string, Key>> = {
  cluster_network: 'clusterNetwork',
  clusternetworkname: 'clusterNetwork',
  vlanid: 'vlan',
  vlan_id: 'vlan',
  cidr: 'range',
  subnet: 'range',
  excludes: 'exclude',
  excluded: 'exclude',
  exclude_ips: 'exclude',
  excludeips: 'exclude',
  excluderanges: 'exclude',
  range_v6: 'rangeV6',
  range_v6_start: 'rangeV6Start',
  range_v6_end: 'rangeV6End',
}

/** Of a text that is not the default. */
export function decodeValue(text: string): Decoded {
  if (text.length > configCharsMax) {
    const cause = `it has ${text.length} characters, and at most ${configCharsMax} are read`
    return { problems: [undecodable(text, [], undefined, cause, 'list fewer exclusions, as wider CIDRs')] }
  }
  const parsed = parse(text)
  if ('cause' in parsed) {
    const fix = 'write a JSON object such as {"clusterNetwork":"migration","vlan":100,"range":"10.1.2.0/24"}'
    return { problems: [undecodable(text, [], undefined, parsed.cause, fix)] }
  }
  return fieldsOf(parsed.value, text)
}

function parse(text: string): { readonly value: Readonly<Record<string, unknown>> } | { readonly cause: string } {
  let value: JSONValue
  try {
    const { value: read, duplicates } = parseJSON(text)
    if (duplicates.length > 0) return { cause: `json: the key ${quoteText(duplicates[0] ?? '')} is there twice` }
    value = read
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    return { cause: error.message }
  }
  if (value === null) return { value: {} }
  return isRecord(value)
    ? { value }
    : { cause: `json: cannot unmarshal ${goNameOf(value)} into Go value of type Config` }
}

function fieldsOf(fields: Readonly<Record<string, unknown>>, whole: string): Decoded {
  const problems: Problem[] = []
  const refuse = (key: string, value: unknown, cause: string, fix: string): void => {
    problems.push(undecodable(whole, [key], value, cause, fix))
  }
  for (const key of Object.keys(fields)) {
    if (isKey(key)) continue
    const instead = meantBy(key)
    const fix = instead === undefined ? `remove it; there are ${keys.slice(0, -1).join(', ')}` : `write ${instead}`
    // A pointer is to be read: a key of any length is none.
    const cause = `json: unknown field ${quoteText(key)}`
    problems.push(undecodable(whole, key.length > keyCharsMax ? [] : [key], fields[key], cause, fix))
  }
  const wrongType = (key: Key, value: unknown, type: string, fix: string): void =>
    refuse(
      key,
      value,
      `json: cannot unmarshal ${goNameOf(value)} into Go struct field Config.${key} of type ${type}`,
      fix,
    )
  const textAt = (key: Key): string => {
    const value = fields[key] ?? ''
    if (typeof value === 'string') return value
    wrongType(key, value, 'string', 'write a text')
    return ''
  }
  const vlanAt = (): number => {
    const value = fields.vlan ?? 0
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff) return value
    wrongType('vlan', value, 'uint16', 'write a whole number of 0 to 4094')
    return 0
  }
  const textsAt = (key: Key): readonly string[] => {
    const value = fields[key] ?? []
    if (Array.isArray(value) && value.length > configItemsMax) {
      refuse(key, undefined, `it has ${value.length} items, and at most ${configItemsMax} are read`, 'list wider CIDRs')
      return []
    }
    if (Array.isArray(value) && value.every(item => typeof item === 'string')) return value
    wrongType(key, value, '[]string', 'write a list of CIDRs such as ["10.1.2.0/28"]')
    return []
  }
  const ipamAt = (): IPAMType => {
    const text = textAt('ipam') || 'whereabouts'
    const type = ipamTypes.find(one => one === text)
    if (type === undefined)
      refuse('ipam', text, `there is no IPAM ${quoteText(text)}`, `write ${ipamTypes.join(' or ')}`)
    return type ?? 'whereabouts'
  }
  const { exclusiveVlan = false } = fields
  if (exclusiveVlan !== null && typeof exclusiveVlan !== 'boolean') {
    wrongType('exclusiveVlan', exclusiveVlan, 'bool', 'remove it: it is of storage-network')
  }
  const value: SettingValue = {
    clusterNetwork: textAt('clusterNetwork'),
    vlan: vlanAt(),
    range: textAt('range'),
    exclude: textsAt('exclude'),
    rangeV6: textAt('rangeV6'),
    rangeV6Start: textAt('rangeV6Start'),
    rangeV6End: textAt('rangeV6End'),
    ipam: ipamAt(),
  }
  return problems.length > 0 ? { problems } : { value }
}

const keyCharsMax = 80

const isKey = (key: string): key is Key => (keys as readonly string[]).includes(key)

function meantBy(key: string): Key | undefined {
  const lower = key.toLowerCase()
  return keys.find(one => one.toLowerCase() === lower) ?? (Object.hasOwn(meant, lower) ? meant[lower] : undefined)
}

const undecodable = (whole: string, place: readonly string[], value: unknown, cause: string, fix: string): Problem =>
  problem(place, value, `failed to unmarshal the setting value ${shortened(whole)}, ${cause}`, fix)

const shownCharsMax = 400
const shortened = (text: string): string => (text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}...` : text)

/** As Go's decoder calls what it found. */
function goNameOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return `number ${value}`
  if (typeof value === 'boolean') return 'bool'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'string' ? 'string' : 'object'
}

/** What Harvester stores of a value, and of the empty one: SHA-1 of the text, in hexadecimal digits. */
export const hashOf = (text: string): string => createHash('sha1').update(text).digest('hex')
