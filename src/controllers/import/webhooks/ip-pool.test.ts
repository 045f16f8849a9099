// What is answered about IPPools.

import { describe, expect, test } from 'vitest'
import { describeFaults } from '../../../admission/fault.ts'
import type { ImportFacts } from '../facts.ts'
import { admitIPPool } from './ip-pool.ts'

const mac = '02:00:5e:10:00:01'
const facts: ImportFacts = {
  otherIPPool: (network, name) => (network === 'taken' && name !== 'first' ? 'first' : undefined),
}

interface Asked {
  readonly old?: object
  readonly name?: string
  readonly isCallerProven?: boolean
}

const answer = (spec: unknown, { old, name = 'p', isCallerProven = true }: Asked = {}) =>
  admitIPPool({ old: old && { spec: old }, next: { spec }, name, isCallerProven }, facts)

function faultsOf(spec: unknown, asked?: Asked): string {
  const ruling = answer(spec, asked)
  return ruling.kind === 'invalid' ? describeFaults(ruling.faults) : ruling.kind
}

describe('admitIPPool', () => {
  test('lets in what can be read', () => {
    expect(answer({ 'network-name': 'n', entries: { [mac]: ['10.0.0.5/24', 'fd00::5/64'] } })).toEqual({
      kind: 'allowed',
      warnings: [],
    })
  })

  test('warns of what is listed twice', () => {
    const entries = { [mac]: ['10.0.0.5/24'], [mac.replaceAll(':', '')]: [], '02:00:5e:10:00:02': ['10.0.0.5/24'] }
    expect(answer({ 'network-name': 'n', entries })).toEqual({
      kind: 'allowed',
      warnings: [
        `spec.entries: MAC address ${mac} appears 2 times: neither is given out until it is listed once`,
        'spec.entries: IP address 10.0.0.5 appears 2 times: neither is given out until it is listed once',
      ],
    })
  })

  test('names the other pool of a network to an API server alone', () => {
    const already = 'is for this network already: add the entries there'
    expect(faultsOf({ 'network-name': 'taken' })).toContain(`IPPool first ${already}`)
    expect(faultsOf({ 'network-name': 'taken' }, { isCallerProven: false })).toContain(`another IPPool ${already}`)
  })

  test('lets each of two pools of a network be changed, if neither becomes one by it', () => {
    expect(faultsOf({ 'network-name': 'taken', entries: {} }, { name: 'first' })).toBe('allowed')
    expect(faultsOf({ 'network-name': 'taken', entries: {} }, { old: { 'network-name': 'taken' } })).toBe('allowed')
    expect(faultsOf({ 'network-name': 'taken' }, { old: { 'network-name': 'n' } })).toContain('spec.network-name')
  })

  test.each<[unknown, string]>([
    [{}, 'spec.network-name: Invalid value: "": write the name of the network'],
    [{ 'network-name': 7 }, 'spec.network-name: Invalid value: 7: must be a text'],
    [{ 'network-name': 'n', entries: [] }, 'spec.entries: Invalid value: []: is no map'],
    [{ 'network-name': 'n', entries: { [mac]: [1n] } }, `spec.entries[${mac}][0]: Invalid value: 1: is no address`],
    [
      { 'network-name': 'n', entries: { [mac]: [] }, bindings: { [mac]: { namespace: 'a\u202eb' } } },
      'is no name of a namespace: write that of the virtual machine',
    ],
    ['text', 'spec.network-name'],
  ])('refuses what is wrong, %#', (spec, fault) => expect(faultsOf(spec)).toContain(fault))

  test('counts what it does not name', () => {
    const entries = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`server-${i}`, []]))
    expect(faultsOf({ 'network-name': 'n', entries })).toMatch(/, and 80 more\]$/)
  })
})
