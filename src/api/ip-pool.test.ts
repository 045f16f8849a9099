// IPPools, read from whatever the API server may hold.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toIPText } from '../ip/address.ts'
import { isMalformed } from '../ip/malformed.ts'
import { type IPPool, parseIPPool } from './ip-pool.ts'

function aPool(spec: unknown): IPPool {
  const pool = parseIPPool({ metadata: { name: 'prod', uid: 'u', resourceVersion: '1' }, spec })
  if (isMalformed(pool)) throw new Error(pool.malformed)
  return pool
}

const read = (entries: unknown, bindings?: unknown): IPPool =>
  aPool({ 'network-name': 'prod', entries, ...(bindings !== undefined && { bindings }) })

const mac = '02:00:5e:10:00:01'
const problemsOf = ({ problems }: IPPool) => problems.map(({ field, problem }) => `${field}: ${problem}`)
const ipsOf = ({ entries }: IPPool) => entries.map(({ ips }) => ips.map(toIPText))

describe('parseIPPool', () => {
  test.each(['02:00:5e:10:00:01', '02-00-5E-10-00-01', '0200.5e10.0001', '02005E100001'])(
    'reads %s as one MAC',
    text => {
      expect(read({ [text]: ['10.0.0.5/24', 'fd00::5/64'] }).entries).toMatchObject([
        { key: text, mac, boundTo: undefined, isWhole: true },
      ])
    },
  )

  test('an entry need not list an address, and a pool no entry', () => {
    expect(read({ [mac]: [] })).toMatchObject({ entries: [{ mac, ips: [], isWhole: true }], problems: [] })
    for (const none of [undefined, null, {}]) expect(read(none)).toMatchObject({ entries: [], problems: [] })
  })

  test('an IPv4 address written as IPv6 is the IPv4 address', () => {
    const pool = read({ [mac]: ['::ffff:10.0.0.5/120'] })
    expect([ipsOf(pool), pool.problems]).toEqual([[['10.0.0.5']], []])
    expect(problemsOf(read({ [mac]: ['::ffff:10.0.0.5/64'] }))).toEqual([
      `spec.entries[${mac}][0]: is an IPv4 address inside of IPv6: write it as IPv4, such as 10.0.0.5/24`,
    ])
  })

  test.each<[string, unknown, string]>([
    ['no MAC', { server: ['10.0.0.5/24'] }, 'spec.entries: "server" is not a MAC address'],
    ['zeros dropped', { '2:0:5e:10:0:1': [] }, 'spec.entries: "2:0:5e:10:0:1" is not a MAC address'],
    ['eight octets', { '02:00:5e:10:00:01:00:02': [] }, 'is not a MAC address'],
    ['the broadcast MAC', { 'ff:ff:ff:ff:ff:ff': [] }, 'is the address of a group of cards'],
    ['a multicast MAC', { '01-00-5E-00-00-01': [] }, 'is the address of a group of cards'],
    ['the MAC of zeros', { '00:00:00:00:00:00': [] }, 'is the address of no card'],
    ['the key of a prototype', JSON.parse('{"__proto__": []}'), '"__proto__" is not a MAC address'],
    ['no length', { [mac]: ['10.0.0.5'] }, `spec.entries[${mac}][0]: "10.0.0.5" is not a CIDR`],
    ['a length too long', { [mac]: ['10.0.0.5/24', '10.0.0.6/33'] }, `spec.entries[${mac}][1]: "10.0.0.6/33" is not`],
    ['a zone', { [mac]: ['fe80::1%eth0/64'] }, `spec.entries[${mac}][0]: "fe80::1%eth0/64" is not a CIDR`],
    ['a range', { [mac]: ['10.0.0.5-10.0.0.9'] }, 'is not a CIDR'],
    ['a number', { [mac]: [7] }, `spec.entries[${mac}][0]: is no address`],
    ['one address and no list', { [mac]: '10.0.0.5/24' }, `spec.entries[${mac}]: is no list of addresses`],
    ['nothing', { [mac]: null }, `spec.entries[${mac}]: is no list of addresses`],
    ['a list of entries', [mac], 'spec.entries: is no map of MAC addresses to lists of addresses'],
  ])('tells of %s', (_, entries, problem) => {
    const pool = read(entries)
    expect(problemsOf(pool).join('\n')).toContain(problem)
    for (const { isWhole } of pool.entries) expect(isWhole).toBe(false)
  })

  test('what is wrong with one entry harms no other, and what can be read of it is known', () => {
    const pool = read({
      nonsense: ['10.0.0.4/24'],
      [mac]: ['10.0.0.5/24', 'what'],
      '02:00:5e:10:00:02': ['10.0.0.6/24'],
    })
    expect(ipsOf(pool)).toEqual([['10.0.0.4'], ['10.0.0.5'], ['10.0.0.6']])
    expect(pool.entries.map(({ isWhole }) => isWhole)).toEqual([false, false, true])
    expect(pool.problems).toHaveLength(2)
  })

  test('an entry is bound to a namespace, or to a virtual machine of it, in any notation of its MAC', () => {
    const bindings = { '02-00-5E-10-00-01': { namespace: 'blue', virtualMachine: 'web' } }
    expect(read({ [mac]: [] }, bindings).entries[0]?.boundTo).toEqual({ namespace: 'blue', virtualMachine: 'web' })
    expect(read({ [mac]: [] }, { [mac]: { namespace: 'blue' } }).entries[0]?.boundTo).toEqual({ namespace: 'blue' })
  })

  test.each<[string, unknown]>([
    ['no namespace', {}],
    ['a namespace that is no name', { namespace: 'Blue/web' }],
    ['a namespace with a dot', { namespace: 'a.b' }],
    ['a virtual machine that is no name', { namespace: 'blue', virtualMachine: '*' }],
    ['a virtual machine with a slash', { namespace: 'blue', virtualMachine: 'a/b' }],
    ['a text', 'blue'],
  ])('an entry whose binding has %s is for no claim', (_, binding) => {
    const pool = read({ [mac]: ['10.0.0.5/24'] }, { [mac]: binding })
    expect(pool.entries).toMatchObject([{ mac, isWhole: false }])
    expect(problemsOf(pool).join('\n')).toContain(`spec.bindings[${mac}]`)
  })

  test('an entry that is bound twice is for no claim', () => {
    const pool = read({ [mac]: [] }, { [mac]: { namespace: 'blue' }, '02005e100001': { namespace: 'red' } })
    expect(pool.entries).toMatchObject([{ isWhole: false, boundTo: undefined }])
    expect(problemsOf(pool)).toEqual([`spec.bindings[02005e100001]: binds ${mac} once more: keep one of the two`])
  })

  test('a binding without an entry is told of', () => {
    expect(problemsOf(read({}, { [mac]: { namespace: 'blue' } }))).toEqual([
      'spec.bindings: has no entry: add one, or remove the binding',
    ])
  })

  test.each([undefined, null, 7, {}, { spec: [] }, { spec: { 'network-name': 7 } }, { spec: { 'network-name': '' } }])(
    'answers what is wrong with %j, which names no network',
    object => expect(isMalformed(parseIPPool(object))).toBe(true),
  )

  test('never throws, whatever a spec holds, and an entry that has a problem is never whole', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom(mac, '02-00-5E-10-00-01', 'ff:ff:ff:ff:ff:ff'))
    const value = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.oneof(fc.string(), fc.constantFrom('10.0.0.5/24', 'fd00::5/64'))),
    )
    const spec = fc.record({ entries: fc.dictionary(key, value), bindings: fc.dictionary(key, fc.jsonValue()) })
    fc.assert(
      fc.property(spec, ({ entries, bindings }) => {
        const pool = read(entries, bindings)
        expect(pool.entries).toHaveLength(Object.keys(entries).length)
        if (pool.problems.length === 0) expect(pool.entries.every(({ isWhole }) => isWhole)).toBe(true)
        for (const one of pool.entries) if (one.mac === undefined) expect(one.isWhole).toBe(false)
      }),
    )
  })
})
