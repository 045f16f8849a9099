import { describe, expect, test } from 'vitest'
import { reasonsOf } from '../../../../test/harness/reasons-of.ts'
import { toStatus } from '../../../admission/ruling.ts'
import { requestedAddressAnnotation } from '../../../api/names.ts'
import { admitIPAddress } from './ip-address.ts'
import { admitIPAddressClaim } from './ip-address-claim.ts'

type Spec = Record<string, unknown>

const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' }

function anObject(kind: string, spec: Spec, annotations: object = {}) {
  const metadata = { name: 'web-0', namespace: 'default', annotations }
  return { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind, metadata, spec }
}

const v4: Spec = { claimRef: { name: 'web-0' }, poolRef, address: '10.0.0.10', prefix: 24, gateway: '10.0.0.1' }
const v6: Spec = { claimRef: { name: 'web-0' }, poolRef, address: 'fd00::10', prefix: 64 }

const noClaims = { poolOfClaim: () => undefined, addressOfReport: () => undefined }
const claimOn = (name: string) => ({
  ...noClaims,
  poolOfClaim: (namespace: string, claim: string) =>
    namespace === 'default' && claim === 'web-0' ? { ...poolRef, name } : undefined,
})

describe('an IPAddress', () => {
  const create = (spec: Spec, facts: typeof noClaims | ReturnType<typeof claimOn> = noClaims) =>
    admitIPAddress(undefined, anObject('IPAddress', spec), facts)

  test.each<[string, Spec]>([
    ['of IPv4', v4],
    ['of IPv6', v6],
    ['with a zone', { ...v6, address: 'fe80::1%eth0' }],
    ['for prefix 0', { ...v4, prefix: 0 }],
  ])('%s is accepted', (_, spec) => {
    expect(create(spec, claimOn('vms')).kind).toBe('allowed')
  })

  test.each<[string, Spec, string]>([
    ['is no address', { ...v4, address: 'ten' }, 'spec.address: Invalid value: "ten": not a valid IP address'],
    ['has a negative prefix', { ...v4, prefix: -1 }, 'spec.prefix: Invalid value: -1: prefix cannot be negative'],
    [
      'of IPv4 has a prefix of IPv6',
      { ...v4, prefix: 64 },
      'spec.prefix: Invalid value: 64: prefix is too large for an IPv4 address',
    ],
    [
      'of IPv6 has a prefix that is too long',
      { ...v6, prefix: 256 },
      'spec.prefix: Invalid value: 256: prefix is too large for an IPv6 address',
    ],
    ['has a gateway that is none', { ...v4, gateway: 'x' }, 'spec.gateway: Invalid value: "x": not a valid IP address'],
    [
      'names no group',
      { ...v4, poolRef: { kind: 'InClusterIPPool', name: 'vms' } },
      'spec.poolRef.apiGroup: Invalid value: null: the pool reference needs to contain a group',
    ],
  ])('is refused if it %s', (_, spec, fault) => {
    expect(reasonsOf(create(spec))).toEqual([fault])
  })

  test('is refused if its claim is on another pool', () => {
    expect(reasonsOf(create(v4, claimOn('others')))).toEqual([
      'spec.poolRef: Invalid value: {"apiGroup":"ipam.cluster.x-k8s.io","kind":"InClusterIPPool","name":"vms"}: ' +
        'the referenced pool is different from the pool referenced by the claim this address should fulfill',
    ])
  })

  test('is accepted before its claim is there', () => {
    expect(create(v4, noClaims).kind).toBe('allowed')
  })

  test('may be updated if its spec stays', () => {
    const [old, next] = [anObject('IPAddress', v4), anObject('IPAddress', v4, { a: 'b' })]
    expect(admitIPAddress(old, next, noClaims).kind).toBe('allowed')
  })

  test('may not change its spec', () => {
    const next = anObject('IPAddress', { ...v4, address: '10.0.0.11' })
    const ruling = admitIPAddress(anObject('IPAddress', v4), next, noClaims)
    expect(reasonsOf(ruling)).toEqual([
      'spec: Forbidden: IPAddress spec is immutable. Diff: spec.address: "10.0.0.10" -> "10.0.0.11"',
    ])
    expect(toStatus(ruling, { group: '', kind: '', name: '' })).toMatchObject({ code: 403, reason: 'Forbidden' })
  })

  test('with several faults names them in brackets', () => {
    const ruling = create({ ...v4, address: 'ten', gateway: 'x' })
    expect(toStatus(ruling, { group: '', kind: '', name: '' })).toMatchObject({
      message:
        '[spec.address: Invalid value: "ten": not a valid IP address, spec.gateway: Invalid value: "x": not a valid IP address]',
    })
  })

  test('may always be deleted', () => {
    expect(admitIPAddress(anObject('IPAddress', { address: 'ten' }), undefined, noClaims).kind).toBe('allowed')
  })
})

describe('an IPAddressClaim', () => {
  const claim = (spec: Spec = { poolRef }, annotations = {}) => anObject('IPAddressClaim', spec, annotations)

  test('is accepted', () => {
    expect(admitIPAddressClaim(undefined, claim())).toEqual({ kind: 'allowed', warnings: [] })
  })

  test('is refused if it names no group', () => {
    expect(
      reasonsOf(admitIPAddressClaim(undefined, claim({ poolRef: { kind: 'InClusterIPPool', name: 'vms' } }))),
    ).toEqual(['spec.poolRef.apiGroup: Invalid value: null: the pool reference needs to contain a group'])
  })

  test('may be updated if its spec stays', () => {
    expect(admitIPAddressClaim(claim(), claim({ poolRef }, { a: 'b' })).kind).toBe('allowed')
  })

  test('may not change its spec', () => {
    const next = claim({ poolRef: { ...poolRef, name: 'others' }, clusterName: 'prod' })
    expect(reasonsOf(admitIPAddressClaim(claim(), next))).toEqual([
      'spec: Forbidden: IPAddressClaim spec is immutable. ' +
        'Diff: spec.poolRef.name: "vms" -> "others", spec.clusterName: nothing -> "prod"',
    ])
  })

  test('may always be deleted', () => {
    expect(admitIPAddressClaim(claim({}), undefined).kind).toBe('allowed')
  })

  test('that asks for something that is no address is warned', () => {
    const { kind, warnings } = admitIPAddressClaim(
      undefined,
      claim({ poolRef }, { [requestedAddressAnnotation]: 'ten' }),
    )
    expect(kind).toBe('allowed')
    expect(warnings).toEqual([expect.stringContaining('mooring.dev/requested-address')])
  })

  test('that asks a pool of prefixes for a prefix is understood', () => {
    const asking = (kind: string) =>
      claim({ poolRef: { ...poolRef, kind } }, { [requestedAddressAnnotation]: 'fd00:0:0:5::/64' })
    const warningsOf = (kind: string) => admitIPAddressClaim(undefined, asking(kind)).warnings
    expect(warningsOf('InClusterPrefixPool')).toEqual([])
    expect(warningsOf('GlobalInClusterPrefixPool')).toEqual([])
    expect(warningsOf('InClusterIPPool')).toEqual([expect.stringContaining('mooring.dev/requested-address')])
  })
})
