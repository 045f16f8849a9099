// IP addresses, CIDRs and URLs. Addresses are read as strictly as Go does, and an IPv4 address in IPv6 form is
// refused: two texts for one address would defeat every rule that compares them.

import {
  type IP,
  isLinkLocal,
  isLoopback,
  isMapped,
  isMulticast,
  isSameIP,
  isUnspecified,
  parseIP,
  toIPText,
} from '../../../ip/address.ts'
import { type CIDR, containsCIDR, containsIP, parseCIDR, toCIDRText, toNetwork } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { quote } from '../../faults.ts'
import { isRequestURI } from '../../schema/formats.ts'
import { define, defineNamespace, defineType, fail, type Library } from './library.ts'

class Address {
  readonly ip: IP

  constructor(ip: IP) {
    this.ip = ip
  }

  toString(): string {
    return toIPText(this.ip)
  }
}

class Network {
  readonly cidr: CIDR

  constructor(cidr: CIDR) {
    this.cidr = cidr
  }

  toString(): string {
    return toCIDRText(this.cidr)
  }
}

export const network: Library = environment => {
  const add = <T extends readonly unknown[]>(signature: string, handler: (...args: T) => unknown) =>
    define(environment, signature, handler)

  defineType(environment, 'net.IP', Address, (a, b) => isSameIP(a.ip, b.ip) && a.ip.family === b.ip.family)
  defineType(environment, 'net.CIDR', Network, (a, b) => toCIDRText(a.cidr) === toCIDRText(b.cidr))
  defineNamespace(environment, 'ip', 'IPNamespace')

  add('isIP(string): bool', (text: string) => readIP(text) !== undefined)
  add('ip(string): net.IP', toAddress)
  add('IPNamespace.isCanonical(string): bool', (_: unknown, text: string) => toAddress(text).toString() === text)
  add('string(net.IP): string', (address: Address) => address.toString())
  add('net.IP.family(): int', ({ ip }: Address) => BigInt(ip.family))
  add('net.IP.isUnspecified(): bool', ({ ip }: Address) => isUnspecified(ip))
  add('net.IP.isLoopback(): bool', ({ ip }: Address) => isLoopback(ip))
  add('net.IP.isLinkLocalMulticast(): bool', ({ ip }: Address) => isLinkLocalMulticast(ip))
  add('net.IP.isLinkLocalUnicast(): bool', ({ ip }: Address) => isLinkLocal(ip))
  add('net.IP.isGlobalUnicast(): bool', ({ ip }: Address) => isGlobalUnicast(ip))

  add('isCIDR(string): bool', (text: string) => readCIDR(text) !== undefined)
  add('cidr(string): net.CIDR', toNetworkValue)
  add('string(net.CIDR): string', (value: Network) => value.toString())
  add('net.CIDR.containsIP(string): bool', ({ cidr }: Network, text: string) => containsIP(cidr, toAddress(text).ip))
  add('net.CIDR.containsIP(net.IP): bool', ({ cidr }: Network, { ip }: Address) => containsIP(cidr, ip))
  add('net.CIDR.containsCIDR(string): bool', ({ cidr }: Network, text: string) =>
    containsCIDR(cidr, toNetworkValue(text).cidr),
  )
  add('net.CIDR.containsCIDR(net.CIDR): bool', ({ cidr }: Network, other: Network) => containsCIDR(cidr, other.cidr))
  add('net.CIDR.ip(): net.IP', ({ cidr }: Network) => new Address(cidr.ip))
  add('net.CIDR.prefixLength(): int', ({ cidr }: Network) => BigInt(cidr.bits))
  add('net.CIDR.masked(): net.CIDR', ({ cidr }: Network) => new Network(toNetwork(cidr)))

  defineType(environment, 'kubernetes.URL', Link, (a, b) => a.text === b.text)
  add('isURL(string): bool', (text: string) => isRequestURI(text))
  add('url(string): kubernetes.URL', (text: string) =>
    isRequestURI(text)
      ? new Link(text)
      : fail(`URL parse error during conversion from string: parse ${quote(text)}: invalid URI for request`),
  )
  add('string(kubernetes.URL): string', (link: Link) => link.text)
  add('kubernetes.URL.getScheme(): string', (link: Link) => link.scheme)
  add('kubernetes.URL.getHost(): string', (link: Link) => link.host)
  add('kubernetes.URL.getHostname(): string', (link: Link) => link.hostname)
  add('kubernetes.URL.getPort(): string', (link: Link) => link.port)
  add('kubernetes.URL.getEscapedPath(): string', (link: Link) => link.escapedPath)
  add('kubernetes.URL.getQuery(): map<string, list<string>>', (link: Link) => link.query)
}

function readIP(text: string): IP | undefined {
  const ip = parseIP(text)
  return isMalformed(ip) || isMapped(ip) ? undefined : ip
}

function toAddress(text: string): Address {
  const ip = parseIP(text)
  if (isMalformed(ip))
    return fail(`IP Address ${quote(text)} parse error during conversion from string: ${ip.malformed}`)
  if (isMapped(ip)) return fail(`IPv4-mapped IPv6 address ${quote(text)} is not allowed`)
  return new Address(ip)
}

function readCIDR(text: string): CIDR | undefined {
  const cidr = parseCIDR(text)
  return isMalformed(cidr) || isMapped(cidr.ip) ? undefined : cidr
}

function toNetworkValue(text: string): Network {
  const cidr = parseCIDR(text)
  if (isMalformed(cidr)) return fail(`network address parse error during conversion from string: ${cidr.malformed}`)
  if (isMapped(cidr.ip)) return fail(`IPv4-mapped IPv6 address ${quote(text)} is not allowed`)
  return new Network(cidr)
}

/** `224.0.0.0/24` and `ff02::/16`. */
function isLinkLocalMulticast(ip: IP): boolean {
  return ip.family === 4 ? ip.w3 >>> 8 === 0xe00000 : ip.w0 >>> 16 === 0xff02
}

/** Neither unspecified, loopback, multicast, link-local nor broadcast. As in Go, private addresses count. */
function isGlobalUnicast(ip: IP): boolean {
  const isBroadcast = ip.family === 4 && ip.w3 >>> 0 === 0xffffffff
  return !(isBroadcast || isUnspecified(ip) || isLoopback(ip) || isMulticast(ip) || isLinkLocal(ip))
}

/** The parts of a request URI, as written: nothing is normalised. */
class Link {
  readonly text: string
  readonly scheme: string
  readonly host: string
  readonly escapedPath: string
  readonly query: Map<string, string[]>

  constructor(text: string) {
    this.text = text
    const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(text)?.[0] ?? ''
    const rest = scheme === '' ? text : text.slice(scheme.length + 1)
    const mark = rest.indexOf('?')
    const before = mark < 0 ? rest : rest.slice(0, mark)
    const hasHost = scheme !== '' && before.startsWith('//')
    const pathAt = hasHost ? before.indexOf('/', 2) : 0
    const authority = hasHost ? before.slice(2, pathAt < 0 ? undefined : pathAt) : ''
    this.scheme = scheme.toLowerCase()
    this.host = authority.slice(authority.lastIndexOf('@') + 1)
    this.escapedPath = pathAt < 0 ? '' : before.slice(pathAt)
    this.query = toQuery(mark < 0 ? '' : rest.slice(mark + 1))
  }

  get hostname(): string {
    return /^\[([^\]]*)\]/.exec(this.host)?.[1] ?? this.host.replace(/:\d*$/, '')
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host.replace(/^\[[^\]]*\]/, ''))?.[1] ?? ''
  }
}

function toQuery(text: string): Map<string, string[]> {
  const query = new Map<string, string[]>()
  for (const [key, value] of new URLSearchParams(text)) query.set(key, [...(query.get(key) ?? []), value])
  return query
}
