import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { convertToV1alpha1, convertToV1alpha2 } from './in-cluster-pool.ts'

const old = (spec: Record<string, unknown>, annotations?: Record<string, string>) => ({
  apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1',
  kind: 'GlobalInClusterIPPool',
  metadata: { name: 'vms', uid: 'u', ...(annotations === undefined ? {} : { annotations }) },
  spec,
  status: { ipAddresses: { total: 1, free: 1, used: 0, outOfRange: 0 } },
})

const up = (object: unknown) => orThrow(convertToV1alpha2(object))
const down = (object: unknown) => orThrow(convertToV1alpha1(object))

describe('a pool written in v1alpha1', () => {
  test.each<[Record<string, unknown>, Record<string, unknown>]>([
    [
      { subnet: '1.1.1.0/28', start: '1.1.1.1', end: '1.1.1.10', prefix: 28 },
      { addresses: ['1.1.1.1-1.1.1.10'], prefix: 28 },
    ],
    [{ subnet: '1.1.1.0/24' }, { addresses: ['1.1.1.1-1.1.1.254'], prefix: 24 }],
    [
      { subnet: '1.1.1.0/24', end: '1.1.1.9' },
      { addresses: ['1.1.1.1-1.1.1.9'], prefix: 24 },
    ],
    [
      { addresses: ['1.1.1.7'], prefix: 24, gateway: '1.1.1.1' },
      { addresses: ['1.1.1.7'], prefix: 24, gateway: '1.1.1.1' },
    ],
    [
      { addresses: ['1.1.1.7'], subnet: '1.1.1.0/31' },
      { addresses: ['1.1.1.7', '1.1.1.0-1.1.1.1'], prefix: 31 },
    ],
  ])('%o means %o', (spec, meaning) => {
    expect(up(old(spec))).toMatchObject({ apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', spec: meaning })
  })

  test('whose subnet is none cannot be converted, and the field is named', () => {
    const converted = convertToV1alpha2(old({ subnet: '1.1.1.0/33' }))
    expect(isMalformed(converted) ? converted.malformed : '').toContain('spec.subnet: Invalid value')
  })

  test('is read back exactly as it was written', () => {
    const object = old({ subnet: '1.1.1.0/24', start: '1.1.1.5', gateway: '1.1.1.1' }, { mine: 'x' })
    expect(down(up(object))).toEqual(object)
  })

  test('shows what v1alpha2 says once that has changed', () => {
    const stored = up(old({ subnet: '1.1.1.0/24' }))
    const edited = { ...stored, spec: { addresses: ['2.2.2.0/24'], prefix: 24 } }
    expect(down(edited).spec).toEqual({ addresses: ['2.2.2.0/24'], prefix: 24 })
  })

  test('does not lose what only v1alpha2 can say when it is written back', () => {
    const stored = up(old({ subnet: '1.1.1.0/24' }))
    const newer = {
      excludedAddresses: ['1.1.1.9'],
      allocateReservedIPAddresses: true,
      addressReuseGracePeriodSeconds: 60,
    }
    const extended = { ...stored, spec: { ...(stored.spec as object), ...newer } }
    const seen = down(extended)
    expect(seen.spec).toEqual({ subnet: '1.1.1.0/24' })
    expect(up(seen).spec).toEqual({ addresses: ['1.1.1.1-1.1.1.254'], prefix: 24, ...newer })
  })

  test('is not misled by an annotation that a user edited', () => {
    const object = old({ addresses: ['1.1.1.7'], prefix: 24 }, { 'cluster.x-k8s.io/conversion-data': '{"spec":7' })
    expect(down({ ...object, apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2' }).spec).toEqual(object.spec)
  })
})
