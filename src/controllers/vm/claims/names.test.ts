import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claimName, movedClaimName, plainClaimName, podInterfaceName, vmLabelValue } from './names.ts'

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

describe('the name of a claim', () => {
  test.each([
    ['vm1', 'podnet', 'vm1.podnet'],
    ['vm1', 'random_net', 'vm1.random.net'],
    ['VM-A', 'Net_1', 'vm-a.net.1'],
    ['a.b', 'c', 'a.b.c'],
    ['a', 'b.c', 'a.b.c'],
    ['a', 'b_c', 'a.b.c'],
    ['vm1', '-net-', 'vm1.net'],
  ])('%s and %s is %s to ipam-extensions', (vm, network, name) => {
    expect(plainClaimName(vm, network)).toBe(name)
  })

  test('of ipam-extensions is cut at 253 characters', () => {
    const name = plainClaimName('x'.repeat(250), 'abc-d')
    expect(name).toHaveLength(253)
    expect(name).toMatch(/\.ab$/)
  })

  test('is that of ipam-extensions where nothing was folded or cut, and two names could not be taken for others', () => {
    expect(claimName('vm-a', 'tenantred')).toBe('vm-a.tenantred')
    expect(claimName('vm1', 'net-0')).toBe('vm1.net-0')
  })

  test('H1: is another one for every pair that folds to the same', () => {
    const pairs = [
      ['a.b', 'c'],
      ['a', 'b.c'],
      ['a', 'b_c'],
      ['a', 'B_c'],
      ['a', 'Net'],
      ['a', 'net'],
      ['a', 'net_'],
    ] as const
    expect(new Set(pairs.map(([vm, network]) => claimName(vm, network))).size).toBe(pairs.length)
    expect(claimName('a', 'b_c')).toMatch(/^a\.b\.c-[0-9a-f]{8}$/)
  })

  test('H2: is a name that the API server takes, whatever it is made from', () => {
    const vm = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,260}[a-z0-9])?$/)
    const network = fc.stringMatching(/^[A-Za-z0-9-_]{1,100}$/)
    fc.assert(
      fc.property(vm, network, (vm, network) => {
        for (const name of [claimName(vm, network), movedClaimName(vm, network, 'lab/blue', 'blue')]) {
          expect(name.length).toBeLessThanOrEqual(253)
          expect(name).toMatch(subdomain)
        }
      }),
    )
    expect(claimName('x'.repeat(250), 'a-b')).toMatch(/^x{244}-[0-9a-f]{8}$/)
  })

  test('is another one for each network that an interface is moved to', () => {
    const names = [
      claimName('vm1', 'net'),
      movedClaimName('vm1', 'net', 'lab/blue', 'blue'),
      movedClaimName('vm1', 'net', 'lab/red', 'red'),
      movedClaimName('vm1', 'net', 'lab/red', 'other'),
    ]
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the label of a claim', () => {
  test('is the name of the virtual machine', () => {
    expect(vmLabelValue('web.prod-1')).toBe('web.prod-1')
  })

  test('H3: is a legal one, and another one, for names that are too long', () => {
    const [one, other] = [vmLabelValue(`${'x'.repeat(100)}1`), vmLabelValue(`${'x'.repeat(100)}2`)]
    expect(one).toMatch(/^x{54}-[0-9a-f]{8}$/)
    expect(other).not.toBe(one)
  })
})

test.each([
  ['tenantred', 'pod0897838e099'],
  ['red', 'podb1f51a511f1'],
  ['blue', 'pod16477688c0e'],
  ['anet', 'pod8f202bdbf25'],
  ['net-0', 'pod900d2c01c91'],
  ['network1', 'poda7662f44d65'],
  ['network2', 'pod27f4a77f94e'],
  ['net1', 'pod6c270ef2f25'],
])('the interface of the network %s is %s in the pod', (network, name) => {
  expect(podInterfaceName(network)).toBe(name)
})
