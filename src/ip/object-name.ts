// The name of the object that stands for one address. "Already exists" on such a name is what keeps an address from having
// two holders, so address and name must be a bijection: no two addresses share a name, no address has two names, and a
// name that is not exactly what an address is called is refused when read back.
//
// IPv4 keeps its look, `ip-10-0-0-1`. IPv6 writes all eight groups, `ip6-fd00-0-0-0-0-0-0-1`: with `::` a name could end in
// "-", which DNS-1123 forbids. The part for the address has no dot, so a scope (a space, a network) may follow behind the
// first dot, whatever dots it has itself.

import { groupAt, type IP, parseIP } from './address.ts'
import { isMalformed, type Malformed, malformed, quoteText } from './malformed.ts'

/** A DNS-1123 label of at most 43 characters. */
export function toObjectName(ip: IP): string {
  if (ip.family === 6) return `ip6-${[0, 1, 2, 3, 4, 5, 6, 7].map(index => groupAt(ip, index).toString(16)).join('-')}`
  return `ip-${ip.w3 >>> 24}-${(ip.w3 >>> 16) & 255}-${(ip.w3 >>> 8) & 255}-${ip.w3 & 255}`
}

/** The longest scope: a name has 253 characters, of which the address and a dot may need 44. */
export const scopeCharsMax = 253 - 44

/** Whether objects can be named within this scope: a DNS-1123 subdomain that leaves room for the address. */
export function isScope(text: string): boolean {
  // One is asked about for every address in it.
  if (text === lastScope) return true
  if (text.length > scopeCharsMax || !isSubdomain(text)) return false
  lastScope = text
  return true
}

let lastScope: string | undefined

function isSubdomain(text: string): boolean {
  return text.split('.').every(label => label.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label))
}

/** `ip-10-0-0-1.blue`: the same address in two scopes has two names. A scope that `isScope` denies is a bug of the caller. */
export function toScopedName(ip: IP, scope: string): string {
  if (!isScope(scope)) throw new RangeError(`${quoteText(scope)} is not a scope that names can end in`)
  return `${toObjectName(ip)}.${scope}`
}

export function parseScopedName(name: string): { readonly ip: IP; readonly scope: string } | Malformed {
  const dot = name.indexOf('.')
  const scope = name.slice(dot + 1)
  if (dot === -1 || !isScope(scope)) {
    return malformed(name, 'is not the name of an address in a scope: such names look like ip-10-0-0-1.blue')
  }
  const ip = parseObjectName(name.slice(0, dot))
  return isMalformed(ip) ? ip : { ip, scope }
}

export function parseObjectName(name: string): IP | Malformed {
  const ip = addressIn(name)
  if (ip !== undefined && toObjectName(ip) === name) return ip
  return malformed(name, 'is not the name of an address: such names look like ip-10-0-0-1 or ip6-fd00-0-0-0-0-0-0-1')
}

function addressIn(name: string): IP | undefined {
  const ip = name.startsWith('ip6-')
    ? parseIP(name.slice(4).replaceAll('-', ':'))
    : parseIP(name.slice(3).replaceAll('-', '.'))
  return isMalformed(ip) ? undefined : ip
}
