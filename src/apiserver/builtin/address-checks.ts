// Checks of addresses and prefixes in built-in kinds. These fields are old, so IPv4 numbers may begin with zeros there.

import { BlockList, isIP } from 'node:net'
import { type Fault, invalid } from '../faults.ts'

const wellFormed = '(e.g. 10.9.8.7 or 2001:db8::ffff)'
const wellFormedPrefix = '(e.g. 10.9.8.0/24 or 2001:db8::/64)'

export function checkIP(address: string, path: string): Fault[] {
  return isIP(withoutZeros(address)) === 0 ? [invalid(path, address, `must be a valid IP address, ${wellFormed}`)] : []
}

export function checkPrefix(prefix: string, path: string): Fault[] {
  return familyOfPrefix(prefix) === 0 ? [invalid(path, prefix, `must be a valid CIDR value, ${wellFormedPrefix}`)] : []
}

/** 4 or 6; 0 when it is no prefix. */
export function familyOfPrefix(prefix: string): number {
  const [address = '', bits = '', ...more] = prefix.split('/')
  const family = isIP(withoutZeros(address))
  const isLength = /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  return isLength && more.length === 0 ? family : 0
}

interface Special {
  readonly list: BlockList
  readonly why: (address: string) => string
}

const specials: readonly Special[] = [
  { list: subnets(['0.0.0.0', 32], ['::', 128]), why: address => `may not be unspecified (${address})` },
  {
    list: subnets(['127.0.0.0', 8], ['::1', 128]),
    why: () => 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  },
  {
    list: subnets(['169.254.0.0', 16], ['fe80::', 10]),
    why: () => 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  },
  {
    list: subnets(['224.0.0.0', 24], ['ff02::', 16]),
    why: () => 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  },
]

/** Traffic is sent to this address, so it must be unicast and not local. */
export function checkEndpointIP(address: string, path: string): Fault[] {
  const plain = withoutZeros(address)
  const family = isIP(plain)
  if (family === 0) return [invalid(path, address, 'must be a valid IP address')]
  return specials
    .filter(({ list }) => list.check(plain, family === 4 ? 'ipv4' : 'ipv6'))
    .map(({ why }) => invalid(path, address, why(address)))
}

function subnets(...prefixes: [net: string, bits: number][]): BlockList {
  const list = new BlockList()
  for (const [net, bits] of prefixes) list.addSubnet(net, bits, isIP(net) === 4 ? 'ipv4' : 'ipv6')
  return list
}

function withoutZeros(address: string): string {
  return /^[\d.]+$/.test(address) ? address.replace(/(^|\.)0+(?=\d)/g, '$1') : address
}
