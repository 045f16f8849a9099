// What is counted is what can be given out: for any range and any exclusions, of both families, the number that admission counts is the number
// of addresses that the ledger really gives, one after another, out of the NetworkAttachmentDefinition that is made; and the number
// that whereabouts gives, by its rules written out address by address.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Pool } from '../../src/api/pool.ts'
import { bitsOf, type Family, fromValue, toIPText, toValue } from '../../src/ip/address.ts'
import { firstIP, lastIP, toCIDR, toCIDRText, toNetwork } from '../../src/ip/cidr.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { sizeOf } from '../../src/ip/range-set.ts'
import { choose } from '../../src/ipam/choose.ts'
import { poolSetOf } from '../../src/ipam/pool-set.ts'
import { SpaceIndex } from '../../src/ipam/space-index.ts'
import { toAttachment } from '../../src/migration/attachment.ts'
import { countUsable, type MigrationRange, usableOf } from '../../src/migration/range.ts'
import type { Wanted } from '../../src/migration/wanted.ts'
import { isOfMooring, parseAttachment } from '../../src/networks/attachment.ts'
import { mooringNetworkOf } from '../../src/networks/network.ts'

/** A subnet of up to `hostBitsMax` bits of hosts somewhere in the family, exclusions inside of it, and perhaps a window. */
const rangeOf = (family: Family, hostBitsMax: number): fc.Arbitrary<MigrationRange> =>
  fc
    .record({
      hostBits: fc.integer({ min: 0, max: hostBitsMax }),
      base: fc.bigInt({ min: 0n, max: (1n << BigInt(bitsOf(family))) - 1n }),
      exclude: fc.array(
        fc.record({ at: fc.bigInt({ min: 0n, max: (1n << BigInt(hostBitsMax)) - 1n }), bits: fc.nat(hostBitsMax) }),
        { maxLength: 5 },
      ),
      window: fc.option(fc.tuple(fc.nat(), fc.nat())),
    })
    .map(({ hostBits, base, exclude, window }) => {
      const subnet = toNetwork(toCIDR(fromValue(family, base), bitsOf(family) - hostBits))
      const size = 1n << BigInt(hostBits)
      const first = toValue(subnet.ip)
      const inside = (offset: bigint) => fromValue(family, first + (offset % size))
      const ends = window
        ?.map(BigInt)
        .map(offset => offset % size)
        .sort((a, b) => (a < b ? -1 : 1))
      return {
        subnet,
        exclude: exclude.map(({ at, bits }) =>
          toNetwork(toCIDR(inside(at), bitsOf(family) - Math.min(bits, hostBits))),
        ),
        window:
          family === 6 && ends !== undefined ? { start: inside(ends[0] ?? 0n), end: inside(ends[1] ?? 0n) } : undefined,
      }
    })

const wantedOf = (range: MigrationRange): Wanted => ({
  wire: { clusterNetwork: undefined, link: { bridge: 'br0' }, vlan: 0, mtu: 0 },
  ipam: 'mooring',
  ranges: [range],
  kubevirt: { namespace: 'kubevirt', name: 'kubevirt' },
  nodeSelector: {},
  canonical: '',
  hash: '0',
})

/** What the ledger makes of the NetworkAttachmentDefinition. */
function poolOf(range: MigrationRange): Pool | undefined {
  const attachment = parseAttachment(toAttachment(wantedOf(range)))
  if (isMalformed(attachment) || !isOfMooring(attachment)) throw new Error(JSON.stringify(attachment))
  return mooringNetworkOf(attachment).pools[0]
}

function allocateAll(pool: Pool): string[] {
  const index = new SpaceIndex()
  const given: string[] = []
  for (;;) {
    const claim = { apiGroup: '', kind: 'Node', namespace: '', name: `n${given.length}`, uid: `${given.length}` }
    const wish = {
      claim,
      namespaceLabels: { 'kubernetes.io/metadata.name': 'kubevirt' },
      owner: undefined,
      keptFor: [],
      requested: undefined,
      random: 0,
    }
    const choice = choose({ ...pool, allowedNamespaces: undefined }, index, wish)
    if (choice.kind !== 'take') return given
    given.push(toIPText(choice.ip))
    index.put({
      ip: choice.ip,
      bits: choice.bits,
      pool: pool.identity,
      claim,
      owner: undefined,
      state: 'held',
      since: '2030-01-01T00:00:00Z',
    })
  }
}

/** Address by address: from the first to the last but one, what is excluded skipped; outside of the window nothing. */
function allocateLikeWhereabouts({ subnet, window, exclude }: MigrationRange): string[] {
  const { family } = subnet.ip
  if (bitsOf(family) - subnet.bits < 2) return []
  const given: string[] = []
  for (let value = toValue(firstIP(subnet)) + 1n; value < toValue(lastIP(subnet)); value++) {
    const isOutside = window !== undefined && (value < toValue(window.start) || value > toValue(window.end))
    const isExcluded = exclude.some(one => value >= toValue(firstIP(one)) && value <= toValue(lastIP(one)))
    if (!isOutside && !isExcluded) given.push(toIPText(fromValue(family, value)))
  }
  return given
}

for (const family of [4, 6] as const) {
  test(`of IPv${family} every address that is counted is given out, and no other, by the ledger and by the rules of whereabouts`, () => {
    fc.assert(
      fc.property(rangeOf(family, 6), range => {
        const expected = allocateLikeWhereabouts(range)
        expect(countUsable([range])).toBe(BigInt(expected.length))
        const pool = poolOf(range)
        if (pool === undefined || expected.length === 0) return
        expect(allocateAll(pool).sort()).toEqual(expected.sort())
      }),
      { numRuns: 100 },
    )
  })

  test(`of IPv${family} of any size, what is counted is what the ledger offers`, () => {
    fc.assert(
      fc.property(rangeOf(family, bitsOf(family)), range => {
        const counted = sizeOf(usableOf(range))
        const pool = poolOf(range)
        if (counted > 0n) expect(pool && poolSetOf(pool).total, toCIDRText(range.subnet)).toBe(counted)
      }),
      { numRuns: 100 },
    )
  })
}
