import { describe, expect, test } from 'vitest'
import { held, nothing, pools } from '../../../../test/harness/pool-facts.ts'
import { reasonsOf } from '../../../../test/harness/reasons-of.ts'
import { type Ruling, toStatus } from '../../../admission/ruling.ts'
import { deleteForMoveAnnotation, pausedAnnotation, skipDeleteCheckAnnotation } from '../../../api/names.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { admitInClusterPool } from './in-cluster-pool.ts'

type Spec = Record<string, unknown>

const kinds = ['InClusterIPPool', 'GlobalInClusterIPPool'] as const

function aPool(spec: Spec, metadata: object = {}, kind: string = 'InClusterIPPool') {
  const namespace = kind === 'InClusterIPPool' ? { namespace: 'default' } : {}
  return {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
    kind,
    metadata: { name: 'vms', ...namespace, ...metadata },
    spec,
  }
}

const good: Spec = { addresses: ['10.0.0.10-10.0.0.20'], prefix: 24, gateway: '10.0.0.1' }

const create = (spec: Spec, facts: PoolFacts = nothing) => admitInClusterPool(undefined, aPool(spec), facts)
const update = (old: Spec, next: Spec, facts: PoolFacts = nothing) => admitInClusterPool(aPool(old), aPool(next), facts)
const faultsOf = (ruling: Ruling) => reasonsOf(ruling).join('\n')

describe('a spec that is wrong', () => {
  const notAnEntry = 'provided address is not a valid IP, range, nor CIDR'
  const otherSubnet =
    'provided address belongs to a different subnet than others: the lowest of them is in 10.0.0.0-10.0.0.255'
  const lengths = 'write the length of the subnet, 0 to 32 for IPv4'
  const cases: readonly { readonly name: string; readonly spec: Spec; readonly faults: readonly string[] }[] = [
    {
      name: 'has no addresses',
      spec: { ...good, addresses: [] },
      faults: ['spec.addresses: Invalid value: []: addresses is required'],
    },
    {
      name: 'leaves the addresses out',
      spec: { prefix: 24 },
      faults: ['spec.addresses: Invalid value: null: addresses is required'],
    },
    {
      name: 'has a gateway that is no address',
      spec: { ...good, gateway: 'invalid' },
      faults: ['spec.gateway: Invalid value: "invalid": ParseAddr("invalid"): unable to parse IP'],
    },
    {
      name: 'has a gateway with too large a number',
      spec: { ...good, gateway: '10.0.0.256' },
      faults: ['spec.gateway: Invalid value: "10.0.0.256": ParseAddr("10.0.0.256"): IPv4 field has value >255'],
    },
    {
      name: 'has a gateway that is cut short',
      spec: { ...good, gateway: '10.0.0' },
      faults: ['spec.gateway: Invalid value: "10.0.0": ParseAddr("10.0.0"): IPv4 address too short'],
    },
    ...Object.entries({
      garbage: 'is not an IP address: write one such as 192.0.2.1 or 2001:db8::1',
      '10.0.0.10-10.0.0.5': 'ends before it starts: write 10.0.0.5-10.0.0.10',
      '10.0.0.10/33':
        'is not a CIDR: the prefix length of IPv4 is a plain number of 0 to 32; write it such as 10.0.0.10/32',
      '10.0.0.10-10.0.0.11-':
        'is not a range, its end is wrong: "10.0.0.11-" is not an IP address: ' +
        '"11-" is not a decimal number; write four of 0 to 255, such as 192.0.2.1',
      '10.0.0.010': 'is not an IP address: 010 has a leading zero; write 10',
    }).map(([entry, why]) => ({
      name: `lists ${entry}`,
      spec: { ...good, addresses: ['10.0.0.30', entry] },
      faults: [`spec.addresses[1]: Invalid value: "${entry}": ${notAnEntry}: "${entry}" ${why}`],
    })),
    {
      name: 'has a negative prefix',
      spec: { ...good, prefix: -1 },
      faults: [`spec.prefix: Invalid value: -1: a valid prefix is required: ${lengths}`],
    },
    {
      name: 'has a prefix that no family has',
      spec: { ...good, prefix: 9999 },
      faults: [`spec.prefix: Invalid value: 9999: provided prefix is not valid: ${lengths}`],
    },
    {
      name: 'has a prefix of IPv6 on addresses of IPv4',
      spec: { ...good, prefix: 64 },
      faults: [`spec.prefix: Invalid value: 64: provided prefix is not valid: ${lengths}`],
    },
    {
      name: 'lists a range below the subnet',
      spec: { addresses: ['10.0.1.10', '10.0.0.200-10.0.0.210', '10.0.0.220'], prefix: 24 },
      faults: [`spec.addresses[0]: Invalid value: "10.0.1.10": ${otherSubnet}`],
    },
    {
      name: 'lists a range above the subnet',
      spec: { addresses: ['10.0.0.10', '10.0.2.1-10.0.2.9'], prefix: 24 },
      faults: [`spec.addresses[1]: Invalid value: "10.0.2.1-10.0.2.9": ${otherSubnet}`],
    },
    {
      name: 'lists a range that starts below the subnet of the others and ends in it',
      spec: { addresses: ['10.0.0.250-10.0.1.5', '10.0.1.20'], prefix: 24 },
      faults: [
        `spec.addresses[0]: Invalid value: "10.0.0.250-10.0.1.5": ${otherSubnet}`,
        `spec.addresses[1]: Invalid value: "10.0.1.20": ${otherSubnet}`,
      ],
    },
    {
      name: 'lists a range that ends above the subnet',
      spec: { addresses: ['10.0.0.20', '10.0.0.250-10.0.1.5'], prefix: 24 },
      faults: [`spec.addresses[1]: Invalid value: "10.0.0.250-10.0.1.5": ${otherSubnet}`],
    },
    {
      name: 'has a gateway of IPv6 and addresses of IPv4',
      spec: { ...good, gateway: 'fd00::1' },
      faults: ['spec.gateway: Invalid value: "fd00::1": provided gateway and addresses are of mixed IP families'],
    },
    {
      name: 'has a gateway of IPv4 and addresses of IPv6',
      spec: { addresses: ['fd00::10'], prefix: 64, gateway: '10.0.0.1' },
      faults: ['spec.gateway: Invalid value: "10.0.0.1": provided gateway and addresses are of mixed IP families'],
    },
    {
      name: 'lists addresses of both families',
      spec: { addresses: ['10.0.0.10', 'fd00::10'], prefix: 24 },
      faults: ['spec.addresses: Invalid value: ["10.0.0.10","fd00::10"]: provided addresses are of mixed IP families'],
    },
    {
      name: 'excludes something that is no address',
      spec: { ...good, excludedAddresses: ['garbage'] },
      faults: [
        `spec.excludedAddresses[0]: Invalid value: "garbage": ${notAnEntry}: "garbage" is not an IP address: ` +
          'write one such as 192.0.2.1 or 2001:db8::1',
      ],
    },
    {
      name: 'excludes addresses of the other family',
      spec: { ...good, excludedAddresses: ['fd00::1'] },
      faults: [
        'spec.excludedAddresses: Invalid value: ["fd00::1"]: addresses and excluded addresses are of mixed IP families',
      ],
    },
    {
      name: 'excludes addresses of both families',
      spec: { ...good, excludedAddresses: ['10.0.0.11', 'fd00::1'] },
      faults: [
        'spec.excludedAddresses: Invalid value: ["10.0.0.11","fd00::1"]: provided addresses are of mixed IP families',
        'spec.excludedAddresses: Invalid value: ["10.0.0.11","fd00::1"]: ' +
          'addresses and excluded addresses are of mixed IP families',
      ],
    },
    {
      name: 'has a negative grace period',
      spec: { ...good, addressReuseGracePeriodSeconds: -1 },
      faults: [
        'spec.addressReuseGracePeriodSeconds: Invalid value: -1: addressReuseGracePeriodSeconds must not be negative',
      ],
    },
    {
      name: 'has fields of the wrong type',
      spec: { addresses: '10.0.0.1', prefix: '24', gateway: 7 },
      faults: [
        'spec.addresses: Invalid value: "10.0.0.1": must be a list of texts',
        'spec.prefix: Invalid value: "24": must be a whole number',
        'spec.gateway: Invalid value: 7: must be a text',
      ],
    },
    {
      name: 'gives its gateway a zone',
      spec: { addresses: ['fd00::10'], prefix: 64, gateway: 'fe80::1%eth0' },
      faults: [
        'spec.gateway: Invalid value: "fe80::1%eth0": "fe80::1%eth0" names a zone, which has no meaning here: write fe80::1',
      ],
    },
  ]

  test.each(cases)('is refused when created if it $name', ({ spec, faults }) => {
    const ruling = create(spec)
    expect(ruling.kind).toBe('invalid')
    expect(reasonsOf(ruling)).toEqual(faults)
  })

  test.each(cases)('is refused when updated if it $name', ({ spec, faults }) => {
    expect(reasonsOf(update(good, spec))).toEqual(faults)
  })

  test.each(cases)('does not keep a pool from being deleted if it $name', ({ spec }) => {
    expect(admitInClusterPool(aPool(spec), undefined, nothing).kind).toBe('allowed')
  })

  test('gets all its faults at once, in the order of the fields', () => {
    const ruling = create({
      addresses: ['garbage', '10.0.0.10'],
      prefix: -1,
      gateway: 'fd00::1',
      excludedAddresses: ['10.0.0.10', 'fd00::2'],
      addressReuseGracePeriodSeconds: -5,
    })
    expect(reasonsOf(ruling).map(reason => reason.split(':')[0])).toEqual([
      'spec.addresses[0]',
      'spec.prefix',
      'spec.gateway',
      'spec.excludedAddresses',
      'spec.excludedAddresses',
      'spec.addressReuseGracePeriodSeconds',
    ])
  })

  test('is answered as an invalid object of its kind', () => {
    const subject = { group: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' }
    expect(toStatus(create({ ...good, gateway: 'invalid' }), subject)).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message:
        'InClusterIPPool.ipam.cluster.x-k8s.io "vms" is invalid: ' +
        'spec.gateway: Invalid value: "invalid": ParseAddr("invalid"): unable to parse IP',
      details: { name: 'vms', causes: [{ reason: 'FieldValueInvalid', field: 'spec.gateway' }] },
    })
  })
})

describe('a spec that is right', () => {
  test.each<[string, Spec]>([
    ['a range and a gateway', good],
    ['prefix 0, for addresses that have nothing in common', { addresses: ['10.0.0.10', '192.0.2.7'], prefix: 0 }],
    ['no prefix', { addresses: ['10.0.0.10'] }],
    ['a CIDR with host bits', { addresses: ['10.0.0.7/28'], prefix: 24 }],
    ['IPv6', { addresses: ['fd00::10-fd00::20'], prefix: 64, gateway: 'fd00::1' }],
    ['a link of two', { addresses: ['10.0.0.0/31'], prefix: 31 }],
    ['a single host', { addresses: ['10.0.0.7/32'], prefix: 32 }],
    ['a link of two in IPv6', { addresses: ['fd00::/127'], prefix: 127 }],
    ['a single host in IPv6', { addresses: ['fd00::7'], prefix: 128 }],
    ['null where nothing is meant', { ...good, excludedAddresses: null, gateway: null }],
  ])('is accepted without a warning: %s', (_, spec) => {
    expect(create(spec)).toEqual({ kind: 'allowed', warnings: [] })
  })

  test.each<[string, Spec, string]>([
    [
      'a gateway outside of the subnet',
      { ...good, gateway: '10.9.0.1' },
      'spec.gateway: 10.9.0.1 is outside of the subnet 10.0.0.0/24',
    ],
    [
      'an exclusion that excludes nothing',
      { ...good, excludedAddresses: ['10.0.0.99'] },
      'spec.excludedAddresses[0]: 10.0.0.99 is not among the addresses of the pool and has no effect',
    ],
    [
      'nothing left to give',
      { addresses: ['10.0.0.1'], prefix: 24, gateway: '10.0.0.1' },
      'spec: all listed addresses are excluded, reserved or the gateway: claims on this pool will wait',
    ],
    [
      'the same addresses twice',
      { addresses: ['10.0.0.10', '10.0.0.8-10.0.0.12'], prefix: 24 },
      'spec.addresses[1]: 10.0.0.8-10.0.0.12 shares addresses with 10.0.0.10; each is offered once',
    ],
  ])('is accepted with a warning about %s', (_, spec, warning) => {
    expect(create(spec)).toEqual({ kind: 'allowed', warnings: [warning] })
  })
})

describe('a change of what is offered', () => {
  const lost = 'pool addresses do not contain allocated addresses: '
  test.each<[string, Spec, Spec, string[], string | undefined]>([
    [
      'cutting off a held address',
      good,
      { ...good, addresses: ['10.0.0.15-10.0.0.20'] },
      ['10.0.0.10'],
      '[10.0.0.10-10.0.0.10]',
    ],
    [
      'excluding a held address',
      good,
      { ...good, excludedAddresses: ['10.0.0.12'] },
      ['10.0.0.12'],
      '[10.0.0.12-10.0.0.12]',
    ],
    [
      'making a held address the gateway',
      good,
      { ...good, gateway: '10.0.0.10' },
      ['10.0.0.10'],
      '[10.0.0.10-10.0.0.10]',
    ],
    [
      'no longer giving out the reserved ones',
      { addresses: ['10.0.0.0/24'], prefix: 24, allocateReservedIPAddresses: true },
      { addresses: ['10.0.0.0/24'], prefix: 24 },
      ['10.0.0.0', '10.0.0.255'],
      '[10.0.0.0-10.0.0.0 10.0.0.255-10.0.0.255]',
    ],
    [
      'cutting off several that touch',
      good,
      { ...good, addresses: ['10.0.0.15-10.0.0.20'] },
      ['10.0.0.11', '10.0.0.10', '10.0.0.13'],
      '[10.0.0.10-10.0.0.11 10.0.0.13-10.0.0.13]',
    ],
    [
      'cutting off what no claim holds',
      good,
      { ...good, addresses: ['10.0.0.15-10.0.0.20'] },
      ['10.0.0.16'],
      undefined,
    ],
    ['growing', good, { ...good, addresses: ['10.0.0.10-10.0.0.30'] }, ['10.0.0.10'], undefined],
    [
      'growing beside one that was out of range before',
      good,
      { ...good, addresses: ['10.0.0.10-10.0.0.30'] },
      ['10.0.0.99'],
      undefined,
    ],
  ])('%s', (_, old, next, addresses, refusal) => {
    const ruling = update(old, next, held(...addresses))
    if (refusal === undefined) return expect(ruling.kind).toBe('allowed')
    expect(ruling).toMatchObject({ kind: 'refused', message: `${lost}${refusal}` })
    expect(toStatus(ruling, { group: 'g', kind: 'k', name: 'n' })).toMatchObject({ code: 400, reason: 'BadRequest' })
  })

  test('does not list a thousand ranges', () => {
    const addresses = Array.from({ length: 1000 }, (_, i) => `10.0.${i >> 7}.${(i & 127) * 2}`)
    const [old, next] = [{ addresses: ['10.0.0.0/16'] }, { addresses: ['10.0.200.1'] }]
    const reason = faultsOf(update(old, next, held(...addresses)))
    expect(reason).toMatch(/ \.\.\. and 980 more\]$/)
    expect(reason.length).toBeLessThan(1000)
  })

  test('of the metadata alone is accepted although a held address is out of range', () => {
    const [old, next] = [aPool(good), aPool(good, { annotations: { [pausedAnnotation]: '' } })]
    expect(admitInClusterPool(old, next, held('10.0.0.99')).kind).toBe('allowed')
  })

  test('of the metadata alone is accepted although the spec is wrong', () => {
    const spec = { addresses: ['garbage'] }
    const [old, next] = [aPool(spec), aPool(spec, { finalizers: [] })]
    expect(admitInClusterPool(old, next, nothing).kind).toBe('allowed')
  })

  test('that corrects a spec which could not be read is accepted', () => {
    expect(update({ addresses: ['garbage'] }, good, held('10.0.0.99')).kind).toBe('allowed')
  })
})

describe.each(kinds)('deleting %s', kind => {
  const pool = (annotations = {}) => aPool(good, { annotations }, kind)

  test('is refused while addresses of it are held', () => {
    const ruling = admitInClusterPool(pool(), undefined, held('10.0.0.10'))
    const known = 'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.'
    expect(ruling).toMatchObject({ kind: 'refused', message: expect.stringMatching(new RegExp(`^${known} `)) })
  })

  test('is accepted when none is', () => {
    expect(admitInClusterPool(pool(), undefined, nothing).kind).toBe('allowed')
  })

  test.each([
    ['an annotation says so', skipDeleteCheckAnnotation],
    ['it moves to another cluster', deleteForMoveAnnotation],
  ])('is accepted with addresses held when %s', (_, annotation) => {
    expect(admitInClusterPool(pool({ [annotation]: '' }), undefined, held('10.0.0.10')).kind).toBe('allowed')
  })
})

describe('addresses that another pool lists too', () => {
  const other = (metadata: object) => pools(aPool(good, { name: 'other', ...metadata }))

  test('are warned about, because each pool is a space of its own', () => {
    const [warning] = admitInClusterPool(undefined, aPool(good), other({}), true).warnings
    expect(warning).toBe(
      'spec.addresses: 10.0.0.10-10.0.0.20: InClusterIPPool default/other lists the same addresses, ' +
        'and an address may come to be held twice',
    )
  })

  test('do not betray the name of a pool in another namespace', () => {
    const warnings = create(good, other({ namespace: 'secret', name: 'hidden' })).warnings.join()
    expect(warnings).toContain('a pool of another namespace')
    expect(warnings).not.toMatch(/secret|hidden/)
  })
})
