// Addresses that no machine on a network can have, or that are rarely meant, in the registries of RFC 6890. A pool may list them
// all the same: its author is told.

import type { Pool } from '../../../api/pool.ts'
import { bitsOf } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { parseEntry, toRangeText } from '../../../ip/range.ts'
import { intersection, type RangeSet, sizeOf } from '../../../ip/range-set.ts'

const special: readonly (readonly [range: string, what: string])[] = [
  ['0.0.0.0/8', 'no address of a host: 0.0.0.0 stands for none'],
  ['127.0.0.0/8', 'loopback, which never leaves a machine'],
  ['169.254.0.0/16', 'link-local: machines choose these by themselves, and no router forwards them'],
  ['224.0.0.0/4', 'multicast, which is no address of a host'],
  ['255.255.255.255', 'the broadcast address'],
  ['::', 'no address of a host: it stands for none'],
  ['::1', 'loopback, which never leaves a machine'],
  ['::ffff:0:0/96', 'IPv4 written as IPv6: a machine that has one uses IPv4'],
  ['fe80::/10', 'link-local: machines choose these by themselves, and no router forwards them'],
  ['ff00::/8', 'multicast, which is no address of a host'],
]

const sets: readonly { readonly set: RangeSet; readonly what: string }[] = special.flatMap(([text, what]) => {
  const range = parseEntry(text)
  return isMalformed(range) ? [] : [{ set: { family: range.family, ranges: [range] }, what }]
})

export function specialWarnings({ family, addresses }: Pool, field: string): string[] {
  if (sizeOf(addresses) === 1n << BigInt(bitsOf(family))) return [`${field}: lists every IPv${family} address there is`]
  return sets.flatMap(({ set, what }) => {
    const [first] = set.family === family ? intersection(addresses, set).ranges : []
    return first === undefined ? [] : [`${field}: ${toRangeText(first)} is ${what}`]
  })
}
