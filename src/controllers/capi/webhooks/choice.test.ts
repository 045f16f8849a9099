import { describe, expect, test } from 'vitest'
import { reasonsOf } from '../../../../test/harness/reasons-of.ts'
import { allowed } from '../../../admission/ruling.ts'
import { choiceAnnotation } from '../../../api/names.ts'
import { admitChoice } from './choice.ts'

interface Said {
  readonly choice?: string
  readonly report?: string
  readonly annotations?: object
  readonly deletionTimestamp?: string
  readonly version?: string
  readonly group?: string
}

const aClaim = ({ choice, report, annotations, deletionTimestamp, version = 'v1beta2', group }: Said) => ({
  apiVersion: `ipam.cluster.x-k8s.io/${version}`,
  kind: 'IPAddressClaim',
  metadata: {
    name: 'web-0',
    namespace: 'default',
    ...(deletionTimestamp && { deletionTimestamp }),
    annotations: { ...(choice && { [choiceAnnotation]: choice }), ...annotations },
  },
  spec: { poolRef: { apiGroup: group ?? 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' } },
  ...(report && { status: { addressRef: { name: report } } }),
})

const bound = (choice?: string, rest: Said = {}) => aClaim({ report: 'web-0', ...(choice && { choice }), ...rest })
const nothing = { poolOfClaim: () => undefined, addressOfReport: () => undefined }
const shows = (address: string) => ({
  ...nothing,
  addressOfReport: ({ namespace }: { readonly namespace: string }, name: string) =>
    namespace === 'default' && name === 'web-0' ? address : undefined,
})

describe('the choice of a bound claim', () => {
  test.each(['v1beta2', 'v1beta1'])('does not become another address, in %s', version => {
    const ruling = admitChoice(bound('10.0.0.10', { version }), bound('10.0.0.11', { version }), shows('10.0.0.10'))
    expect(ruling.kind).toBe('forbidden')
    expect(reasonsOf(ruling)).toEqual([
      'metadata.annotations[mooring.dev/address]: Forbidden: this claim is bound to 10.0.0.10 and does not move to ' +
        '10.0.0.11: leave it, or make another claim with the annotation mooring.dev/requested-address',
    ])
  })

  test('does not become another address either when it was taken off first', () => {
    expect(reasonsOf(admitChoice(bound(), bound('10.0.0.11'), shows('10.0.0.10')))).toEqual([
      expect.stringContaining('this claim is bound to 10.0.0.10 and does not move to 10.0.0.11'),
    ])
  })

  test('may be put back to what its IPAddress shows', () => {
    expect(admitChoice(bound('10.0.0.11'), bound('10.0.0.10'), shows('10.0.0.10'))).toEqual(allowed())
    expect(admitChoice(bound(), bound('10.0.0.10'), shows('10.0.0.10'))).toEqual(allowed())
  })

  test('may be written again where nothing else shows it', () => {
    expect(admitChoice(bound(), bound('10.0.0.10'), nothing)).toEqual(allowed())
  })

  test('may be taken off, with a warning that it is put back', () => {
    const { kind, warnings } = admitChoice(bound('10.0.0.10'), bound(), shows('10.0.0.10'))
    expect([kind, warnings]).toEqual([
      'allowed',
      [expect.stringContaining('this claim holds 10.0.0.10; the annotation is put back')],
    ])
  })

  test('may be written in another spelling', () => {
    expect(admitChoice(bound('fd00::1'), bound('fd00:0::1'), shows('fd00::1')).kind).toBe('allowed')
  })

  test.each<[string, object, object]>([
    ['on its way out', bound('10.0.0.10', { deletionTimestamp: '2030-01-01T00:00:00Z' }), bound('10.0.0.11')],
    ['of a pool of another provider', bound('10.0.0.10', { group: 'ipam.metal3.io' }), bound('10.0.0.11')],
    ['that cannot be read', { metadata: 1 }, bound('10.0.0.11')],
  ])('says what it likes %s', (_, old, next) => {
    expect(admitChoice(old, next, shows('10.0.0.10'))).toEqual(allowed())
  })
})

describe('the choice of a claim on its way to another cluster', () => {
  const annotations = { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }

  test('is taken off without a word', () => {
    expect(admitChoice(bound('10.0.0.10'), bound(undefined, { annotations }), shows('10.0.0.10'))).toEqual(allowed())
  })

  test('does not become another address', () => {
    const ruling = admitChoice(bound('10.0.0.10'), bound('10.0.0.11', { annotations }), shows('10.0.0.10'))
    expect(reasonsOf(ruling)).toEqual([expect.stringContaining('does not move to 10.0.0.11')])
  })
})

describe('the choice of a claim that is not bound', () => {
  test('is stored without a word', () => {
    expect(admitChoice(aClaim({}), aClaim({ choice: '10.0.0.10' }), nothing)).toEqual(allowed())
  })

  test('is only warned about when it changes', () => {
    const ruling = admitChoice(aClaim({ choice: '10.0.0.10' }), aClaim({ choice: '10.0.0.11' }), nothing)
    expect(ruling).toEqual(allowed([expect.stringContaining('this claim holds 10.0.0.10')]))
  })
})
