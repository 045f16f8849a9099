// The value of the setting, decoded: what Harvester's decoder refuses, and what it swallows and we do not.

import { describe, expect, test } from 'vitest'
import { describeProblem } from './problem.ts'
import { decodeValue, hashOf } from './setting.ts'
import { defaultHash, readSettingValue } from './wanted.ts'

const plain = { clusterNetwork: 'test-1', vlan: 1, range: '10.1.2.0/24' }

function problemsOf(text: string): string[] {
  const decoded = decodeValue(text)
  return 'problems' in decoded ? decoded.problems.map(describeProblem) : []
}

const hashOfValue = (text: string): string => {
  const read = readSettingValue(text)
  if (read === 'default') return defaultHash
  return 'wanted' in read ? read.wanted.hash : JSON.stringify(read.problems)
}

describe('a value that cannot be decoded', () => {
  test.each<[string, string, string]>([
    [
      'is no object',
      '{"invalid"}',
      `failed to unmarshal the setting value {"invalid"}, invalid character '}' after object key`,
    ],
    ['is cut off', '{"vlan":1', 'failed to unmarshal the setting value {"vlan":1, unexpected end of JSON input'],
    [
      'goes on after its end',
      '{} x',
      "failed to unmarshal the setting value {} x, invalid character 'x' after top-level value",
    ],
    ['is of spaces', '  ', 'failed to unmarshal the setting value   , unexpected end of JSON input'],
    ['is a list', '[]', 'json: cannot unmarshal array into Go value of type Config'],
    [
      'has a negative VLAN',
      '{"vlan":-1}',
      '/vlan: failed to unmarshal the setting value {"vlan":-1}, json: cannot unmarshal number -1 into Go struct field Config.vlan of type uint16',
    ],
    [
      'has a VLAN as a text',
      '{"vlan":"5"}',
      'json: cannot unmarshal string into Go struct field Config.vlan of type uint16',
    ],
    [
      'has half a VLAN',
      '{"vlan":1.5}',
      'json: cannot unmarshal number 1.5 into Go struct field Config.vlan of type uint16',
    ],
    [
      'has a VLAN of more than 16 bits',
      '{"vlan":65536}',
      'json: cannot unmarshal number 65536 into Go struct field Config.vlan of type uint16',
    ],
    [
      'has a number for its range',
      '{"range":7}',
      'json: cannot unmarshal number 7 into Go struct field Config.range of type string',
    ],
    [
      'has exclusions as a text',
      '{"exclude":"10.1.2.1/32"}',
      'json: cannot unmarshal string into Go struct field Config.exclude of type []string',
    ],
    [
      'has a number among exclusions',
      '{"exclude":[7]}',
      'json: cannot unmarshal array into Go struct field Config.exclude of type []string',
    ],
    [
      'has an unknown key',
      '{"exclude_ips":[]}',
      '/exclude_ips: failed to unmarshal the setting value {"exclude_ips":[]}, json: unknown field "exclude_ips": write exclude',
    ],
    ['has a key in another case', '{"VLAN":5}', 'json: unknown field "VLAN": write vlan'],
    ['has a key that means nothing', '{"~/x":5}', '/~0~1x: failed'],
    ['says a key twice', '{"vlan":5,"vlan":6}', 'json: the key "vlan" is there twice'],
    [
      'asks for another IPAM',
      '{"ipam":"dhcp"}',
      '/ipam: failed to unmarshal the setting value {"ipam":"dhcp"}, there is no IPAM "dhcp": write whereabouts or mooring',
    ],
  ])('because it %s is refused', (_, text, message) => {
    expect(problemsOf(text).join('\n')).toContain(message)
  })

  test('is refused with all that is wrong, at once', () => {
    expect(problemsOf('{"vlan":"5","Range":"10.1.2.0/24","exclude":{}}').map(one => one.split(' ')[0])).toEqual([
      '/Range:',
      '/vlan:',
      '/exclude:',
    ])
  })

  test('is shown without what would reshape a terminal, and cut where it is long', () => {
    expect(problemsOf('{"\u202e":1}')[0]).not.toContain('\u202e')
    expect(problemsOf(`{"${'x'.repeat(10_000)}":1}`)[0]?.length).toBeLessThan(1_000)
    expect(problemsOf(`{"x":"${'y'.repeat(10_000)}"}`)[0]?.length).toBeLessThan(1_000)
  })

  test('is not read where it is far longer than any value', () => {
    expect(problemsOf(`{"exclude":[${'"10.1.2.1/32",'.repeat(10_000)}""]}`)).toEqual([
      expect.stringContaining('at most 65536 are read'),
    ])
    expect(problemsOf(`{"exclude":[${'"",'.repeat(1_000)}""]}`)).toEqual([
      expect.stringContaining('at most 1000 are read'),
    ])
  })
})

describe('a value', () => {
  test('of null or of no keys is decoded, and lacks a range', () => {
    for (const text of ['null', '{}', '{"range":null}']) {
      expect(decodeValue(text)).toHaveProperty('value.range', '')
      expect(hashOfValue(text)).toContain('invalid CIDR address: ')
    }
  })

  test('may say exclusiveVlan, which is of the storage network, and it says nothing', () => {
    expect(hashOfValue(JSON.stringify({ ...plain, exclusiveVlan: true }))).toBe(hashOfValue(JSON.stringify(plain)))
    expect(problemsOf('{"exclusiveVlan":1}')).toEqual([expect.stringContaining('of type bool')])
  })

  test('that is empty is the default', () => {
    expect(readSettingValue('')).toBe('default')
  })
})

describe('the hash', () => {
  test.each<[string, string]>([
    ['', 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ['{"clusterNetwork":"test-1","vlan":1,"range":"10.1.2.0/24"}', 'ec8322fb6b741f94739cbb904fc73c3fda864d6d'],
  ])('of %j is the one that Harvester stores', (text, hash) => {
    expect(hashOfValue(text)).toBe(hash)
    expect(hashOf(text)).toBe(hash)
  })

  const exclude = ['10.1.2.0/30', '10.1.2.200/32']
  test.each<[string, string, string]>([
    ['a space at the end', `${JSON.stringify(plain)} `, JSON.stringify(plain)],
    ['the order of keys', JSON.stringify(Object.fromEntries(Object.entries(plain).reverse())), JSON.stringify(plain)],
    ['VLAN 0 instead of 1', JSON.stringify({ ...plain, vlan: 0 }), JSON.stringify(plain)],
    ['no VLAN instead of 1', JSON.stringify({ ...plain, vlan: undefined }), JSON.stringify(plain)],
    ['an empty list of exclusions', JSON.stringify({ ...plain, exclude: [] }), JSON.stringify(plain)],
    [
      'the order of exclusions',
      JSON.stringify({ ...plain, exclude: exclude.toReversed() }),
      JSON.stringify({ ...plain, exclude }),
    ],
    [
      'host bits of an exclusion',
      JSON.stringify({ ...plain, exclude: ['10.1.2.3/30', '10.1.2.200'] }),
      JSON.stringify({ ...plain, exclude }),
    ],
    ['the plain IPAM by its name', JSON.stringify({ ...plain, ipam: 'whereabouts' }), JSON.stringify(plain)],
  ])('does not know %s', (_, one, other) => {
    expect(hashOfValue(one)).toBe(hashOfValue(other))
  })

  test('is another one for another meaning', () => {
    const values = [plain, { ...plain, vlan: 2 }, { ...plain, exclude }, { ...plain, ipam: 'mooring' }]
    expect(new Set(values.map(value => hashOfValue(JSON.stringify(value)))).size).toBe(values.length)
  })
})
