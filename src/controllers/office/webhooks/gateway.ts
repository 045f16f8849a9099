// The gateway of a pool, as one text. What Go's parser says about a text that is no address is part of what existing users
// know, so it is said in the same words; only for an IPv6 address with a fault in it ours help more.

import { type Fault, invalid } from '../../../admission/fault.ts'
import type { Family, IP } from '../../../ip/address.ts'
import { parseIP, parseZonedIP } from '../../../ip/address.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'

export function parseGateway(text: string): IP | Malformed {
  const ip = parseIP(text)
  if (!isMalformed(ip)) return ip
  // A zone names an interface of one machine, and all machines get the gateway.
  if (!isMalformed(parseZonedIP(text))) return ip
  const problem = goProblem(text)
  return problem === undefined ? ip : { malformed: `ParseAddr(${JSON.stringify(text)}): ${problem}` }
}

export function gatewayFaults(text: string, families: ReadonlySet<Family>): Fault[] {
  if (text === '') return []
  const gateway = parseGateway(text)
  if (isMalformed(gateway)) return [invalid('spec.gateway', text, gateway.malformed)]
  const other: Family = gateway.family === 4 ? 6 : 4
  if (!families.has(other)) return []
  return [invalid('spec.gateway', text, 'provided gateway and addresses are of mixed IP families')]
}

function goProblem(text: string): string | undefined {
  for (const character of text) {
    if (character === '.') return goProblem4(text)
    if (character === ':') return undefined
    if (character === '%') return 'missing IPv6 address'
  }
  return 'unable to parse IP'
}

function goProblem4(text: string): string {
  let [value, digits, fields] = [0, 0, 0]
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i)
    if (character >= '0' && character <= '9') {
      if (digits === 1 && value === 0) return 'IPv4 field has octet with leading zero'
      value = value * 10 + Number(character)
      digits++
      if (value > 255) return 'IPv4 field has value >255'
      continue
    }
    if (character !== '.') return `unexpected character (at ${JSON.stringify(text.slice(i))})`
    const isEmpty = i === 0 || i === text.length - 1 || text.charAt(i - 1) === '.'
    if (isEmpty) return `IPv4 field must have at least one digit (at ${JSON.stringify(text.slice(i))})`
    if (fields === 3) return 'IPv4 address too long'
    fields++
    value = 0
    digits = 0
  }
  return 'IPv4 address too short'
}
