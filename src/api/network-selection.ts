// Network selection elements: what the annotation `k8s.v1.cni.cncf.io/networks` of a pod says, in both of its forms. A text with
// one of [ { " in it is a JSON list, anything else a list by commas of [namespace/]name[@interface].

import { isMalformed, type Malformed, malformed } from '../ip/malformed.ts'
import { isRecord, jsonOf } from './shape.ts'

export interface NetworkSelection {
  readonly namespace: string
  readonly name: string
  /** Empty where none is asked for. */
  readonly interface: string
  readonly ips: readonly string[]
  /** As typed; empty if none. */
  readonly mac: string
  /** Name of the IPAMClaim; empty if none. */
  readonly claim: string
  /** As it stood there: what is written back must lose nothing. */
  readonly element: Readonly<Record<string, unknown>>
}

const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

/** `namespace`: of the pod, where an element names none. An absent or empty annotation selects nothing. */
export function parseNetworkSelections(
  text: string | undefined,
  namespace: string,
): readonly NetworkSelection[] | Malformed {
  if (text === undefined || text.trim() === '') return []
  return /[[{"]/.test(text) ? parseList(text, namespace) : parseNames(text, namespace)
}

/** The value of the annotation again. */
export const toNetworksText = (selections: readonly NetworkSelection[]): string =>
  JSON.stringify(selections.map(({ element }) => element))

function parseList(text: string, namespace: string): readonly NetworkSelection[] | Malformed {
  const value = jsonOf(text)
  if (!Array.isArray(value)) return malformed(text, 'is not a JSON list of network selection elements')
  const selections: NetworkSelection[] = []
  for (const element of value) {
    const selection = isRecord(element) ? toSelection(element, namespace) : undefined
    if (selection === undefined || isMalformed(selection))
      return selection ?? malformed(text, 'has an element that is no object')
    selections.push(selection)
  }
  return selections
}

function toSelection(element: Readonly<Record<string, unknown>>, namespace: string): NetworkSelection | Malformed {
  const fields = { name: '', namespace: '', interface: '', mac: '', 'ipam-claim-reference': '' }
  for (const key of Object.keys(fields) as (keyof typeof fields)[]) {
    const value = Object.hasOwn(element, key) ? (element[key] ?? '') : ''
    if (typeof value !== 'string') return { malformed: `${key} of a network selection element is not a text` }
    fields[key] = value
  }
  if (fields.name === '') return { malformed: 'a network selection element has no name' }
  const ips = Object.hasOwn(element, 'ips') ? (element.ips ?? []) : []
  if (!Array.isArray(ips) || !ips.every(ip => typeof ip === 'string'))
    return { malformed: 'ips of a network selection element is not a list of texts' }
  return {
    namespace: fields.namespace || namespace,
    name: fields.name,
    interface: fields.interface,
    ips,
    mac: fields.mac,
    claim: fields['ipam-claim-reference'],
    element,
  }
}

function parseNames(text: string, namespace: string): readonly NetworkSelection[] | Malformed {
  const selections: NetworkSelection[] = []
  for (const item of text.split(',')) {
    const selection = parseName(item.trim(), namespace)
    if (isMalformed(selection)) return selection
    selections.push(selection)
  }
  return selections
}

function parseName(item: string, namespace: string): NetworkSelection | Malformed {
  const [path = '', device = '', ...devices] = item.split('@')
  const names = path.split('/')
  const name = names.at(-1) ?? ''
  const home = names.length === 2 ? (names[0] ?? '') : ''
  const isGood = [name, home, device].every(part => part === '' || labelPattern.test(part))
  if (devices.length > 0 || names.length > 2 || name === '' || !isGood)
    return malformed(item, 'is not a network: write [namespace/]name[@interface]')
  const element = { name, namespace: home || namespace, ...(device !== '' && { interface: device }) }
  return { namespace: home || namespace, name, interface: device, ips: [], mac: '', claim: '', element }
}
