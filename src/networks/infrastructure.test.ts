import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { fromValue, parseIP, toIPText } from '../ip/address.ts'
import { parseCIDR, toCIDR } from '../ip/cidr.ts'
import { infrastructureOf } from './infrastructure.ts'

const choose = (subnet: string, gateway: string, infrastructure: string) => {
  const listed = infrastructure === '' ? [] : infrastructure.split(',').map(text => orThrow(parseCIDR(text)))
  const configured = gateway === '' ? undefined : orThrow(parseIP(gateway))
  const chosen = infrastructureOf(orThrow(parseCIDR(subnet)), configured, listed)
  return [toIPText(chosen.gateway), toIPText(chosen.management)]
}

describe('gateway and management of a primary layer2 network', () => {
  test.each([
    ['10.0.0.0/24', '', '', '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', '10.0.0.5', '', '10.0.0.5', '10.0.0.2'],
    ['10.0.0.0/24', '10.0.0.2', '', '10.0.0.2', '10.0.0.1'],
    ['10.0.0.0/24', '', '10.0.0.4/30', '10.0.0.4', '10.0.0.5'],
    ['10.0.0.0/24', '', '10.0.0.0/30', '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', '10.0.0.2', '10.0.0.0/30', '10.0.0.2', '10.0.0.1'],
    ['10.0.0.0/24', '10.0.0.5', '10.0.0.255/32,10.0.0.100/32', '10.0.0.5', '10.0.0.100'],
    ['2001:db8::/64', '', '2001:db8::/126', '2001:db8::1', '2001:db8::2'],
    ['192.168.100.0/24', '192.168.100.2', '192.168.100.0/30', '192.168.100.2', '192.168.100.1'],
    // Of the other family, or with no room left: as if there were none.
    ['10.0.0.0/24', '', '2001:db8::/126', '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', '', '10.0.0.255/32', '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/24', '', '10.0.0.9/32', '10.0.0.9', '10.0.0.2'],
    ['10.0.0.0/30', '', '', '10.0.0.1', '10.0.0.2'],
  ])('of %s with gateway "%s" and infrastructure "%s" are %s and %s', (subnet, gateway, infra, first, second) => {
    expect(choose(subnet, gateway, infra)).toEqual([first, second])
  })

  test('are two hosts of the subnet, whatever is configured', () => {
    const byte = fc.integer({ min: 0, max: 255 })
    const block = fc.tuple(byte, fc.integer({ min: 24, max: 32 }))
    fc.assert(
      fc.property(fc.option(fc.integer({ min: 1, max: 254 })), fc.array(block, { maxLength: 4 }), (gateway, blocks) => {
        const at = (n: number) => fromValue(4, 0x0a000000n + BigInt(n))
        const infrastructure = blocks.map(([n, bits]) => toCIDR(at(n), bits))
        const chosen = infrastructureOf(toCIDR(at(0), 24), gateway === null ? undefined : at(gateway), infrastructure)
        const [first, second] = [toIPText(chosen.gateway), toIPText(chosen.management)]
        expect(first).not.toBe(second)
        for (const text of [first, second]) {
          expect(text).toMatch(/^10\.0\.0\.\d+$/)
          expect(['10.0.0.0', '10.0.0.255']).not.toContain(text)
        }
      }),
    )
  })
})
