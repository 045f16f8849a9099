// What an IPPool keeps of its network, and for which claims.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseIPPool } from '../api/ip-pool.ts'
import { type IP, parseIP, toIPText } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { rangeOfCIDR } from '../ip/range.ts'
import { toRangeSet } from '../ip/range-set.ts'
import { duplicatesOf, keysOfMAC, type Reserved, reservationsIn, reservedOf, whyMACReserved } from './reserved.ts'

const ip = (text: string): IP => orThrow(parseIP(text))
const macOf = (text: string): MACText => orThrow(parseMAC(text))
const [one, two] = [macOf('02:00:5e:10:00:01'), macOf('02:00:5e:10:00:02')]

const entriesOf = (entries: object, bindings: object = {}) =>
  orThrow(
    parseIPPool({
      metadata: { name: 'p', uid: 'u', resourceVersion: '1' },
      spec: { 'network-name': 'n', entries, bindings },
    }),
  ).entries
const kept = (entries: object, bindings: object = {}): Reserved => reservedOf(entriesOf(entries, bindings))

const subnet = orThrow(parseCIDR('10.0.0.0/24'))
const pool = { family: 4, addresses: toRangeSet(4, [rangeOfCIDR(subnet)]) } as const
const reservationsOf = (reserved: Reserved) =>
  Object.fromEntries([...reservationsIn(reserved, pool)].map(([key, address]) => [key, toIPText(address)]))

describe('reservationsIn', () => {
  test('an entry is kept under its MAC, or for those it is bound to', () => {
    const three = '02:00:5e:10:00:03'
    const reserved = kept(
      { [one]: ['10.0.0.5/24', 'fd00::5/64'], [two]: ['10.0.0.6/24'], [three]: ['10.0.0.7/24'] },
      { [two]: { namespace: 'blue' }, [three]: { namespace: 'blue', virtualMachine: 'web' } },
    )
    expect(reservationsOf(reserved)).toEqual({
      [one]: '10.0.0.5',
      [`blue/*/${two}`]: '10.0.0.6',
      [`blue/web/${three}`]: '10.0.0.7',
    })
  })

  test('of several the network gives the first that it has, and keeps the others', () => {
    const reserved = kept({ [one]: ['10.0.1.5/24', '10.0.0.5/24', '10.0.0.6/24'] })
    expect(reservationsOf(reserved)).toEqual({ [one]: '10.0.0.5', [`${one}#2`]: '10.0.0.6', [`${one}#3`]: '10.0.1.5' })
  })

  test.each<[string, object]>([
    ['a MAC in two notations', { [one]: ['10.0.0.5/24'], '02-00-5E-10-00-01': ['10.0.0.6/24'] }],
    ['an address with two MACs', { [one]: ['10.0.0.5/24', '10.0.0.6/24'], [two]: ['10.0.0.5/24'] }],
    ['an address that cannot be read', { [one]: ['10.0.0.5/24', '10.0.0.6/24', 'what'] }],
    ['a MAC that cannot be read', { what: ['10.0.0.5/24', '10.0.0.6/24'] }],
  ])('of %s nothing is given, and everything is kept', (_, entries) => {
    const reservations = reservationsOf(kept(entries))
    expect(Object.keys(reservations).every(key => key.startsWith('!'))).toBe(true)
    expect(new Set(Object.values(reservations))).toEqual(new Set(['10.0.0.5', '10.0.0.6']))
  })
})

describe('duplicatesOf', () => {
  test('counts MACs in all notations, and addresses with different MACs', () => {
    const entries = entriesOf({
      [one]: ['10.0.0.5/24', '10.0.0.5/16', '10.0.0.6/24'],
      '02-00-5E-10-00-01': ['10.0.0.6/24'],
      [two]: ['10.0.0.7/24', 'fd00::5/64'],
      '02:00:5e:10:00:03': ['10.0.0.7/32', 'fd00:0::5/64'],
      what: ['10.0.0.7/24'],
    })
    const { macs, ips } = duplicatesOf(entries)
    expect([...macs]).toEqual([[one, 2]])
    expect([...ips]).toEqual([
      ['10.0.0.7', 3],
      ['fd00::5', 2],
    ])
  })
})

describe('keysOfMAC', () => {
  const keys = (entries: object, bindings: object, virtualMachine: string | undefined, wanted?: string) => {
    const reservations = reservationsIn(kept(entries, bindings), pool)
    const applicant = { mac: one, namespace: 'blue', virtualMachine }
    const key = keysOfMAC({ reservations }, applicant, wanted === undefined ? undefined : ip(wanted)).find(k =>
      reservations.has(k),
    )
    return key === undefined ? undefined : toIPText(reservations.get(key) as IP)
  }
  const entries = { [one]: ['10.0.0.5/24', '10.0.0.6/24'] }

  test.each<[string, object, string | undefined, string | undefined]>([
    ['an entry that is not bound', {}, undefined, '10.0.0.5'],
    ['one bound to its virtual machine', { [one]: { namespace: 'blue', virtualMachine: 'web' } }, 'web', '10.0.0.5'],
    ['one bound to its namespace', { [one]: { namespace: 'blue' } }, 'web', '10.0.0.5'],
    [
      'not one bound to another virtual machine',
      { [one]: { namespace: 'blue', virtualMachine: 'db' } },
      'web',
      undefined,
    ],
    [
      'not one bound to a virtual machine, without one',
      { [one]: { namespace: 'blue', virtualMachine: 'db' } },
      undefined,
      undefined,
    ],
    ['not one bound to another namespace', { [one]: { namespace: 'red' } }, 'web', undefined],
  ])('find %s', (_, bindings, virtualMachine, found) => {
    expect(keys(entries, bindings, virtualMachine)).toBe(found)
  })

  test('a further address of the entry is had by asking for it', () => {
    expect(keys(entries, {}, undefined, '10.0.0.6')).toBe('10.0.0.6')
    expect(keys(entries, {}, undefined, '10.0.0.9')).toBe('10.0.0.5')
  })
})

describe('whyMACReserved', () => {
  const why = (bindings: object, virtualMachine?: string, entries: object = { [one]: [] }) =>
    whyMACReserved(kept(entries, bindings), { mac: one, namespace: 'blue', virtualMachine })?.message

  test('a MAC is refused to those that its entry is not bound to, and is not said to be bound to whom', () => {
    const sentence = `${one} is kept for another virtual machine: ask for another MAC address`
    expect(why({ [one]: { namespace: 'red', virtualMachine: 'secret' } }, 'web')).toBe(sentence)
    expect(why({ [one]: { namespace: 'blue', virtualMachine: 'db' } }, 'web')).toBe(sentence)
    expect(why({ [one]: { namespace: 'blue', virtualMachine: 'web' } }, 'web')).toBeUndefined()
    expect(why({ [one]: { namespace: 'blue' } })).toBeUndefined()
    expect(why({})).toBeUndefined()
    expect(why({}, 'web', {})).toBeUndefined()
  })

  test('a MAC whose entry is not clear is given to no claim', () => {
    expect(why({}, 'web', { [one]: [], '02005e100001': [] })).toContain('have the entry corrected')
    expect(why({}, 'web', { [one]: ['10.0.0.5/24'], [two]: ['10.0.0.5/24'] })).toContain('have the entry corrected')
    expect(why({ [one]: { namespace: 7 } }, 'web')).toContain('have the entry corrected')
  })
})
