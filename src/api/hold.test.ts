import { describe, expect, test } from 'vitest'
import { bitsOf, parseIP } from '../ip/address.ts'
import { isMalformed, orThrow } from '../ip/malformed.ts'
import { isScope } from '../ip/object-name.ts'
import { type HoldSpec, holdName, parseHold, toHoldObject, toQuarantinePatch, toRetakePatch } from './hold.ts'
import { isSpaceName, spaceOfPool } from './space.ts'

const ip = (text: string) => orThrow(parseIP(text))
const now = '2030-01-01T00:00:00Z'
const pool = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', namespace: 'default', name: 'vms' }
const claim = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace: 'default', name: 'c', uid: 'u' }
const owner = { apiGroup: 'cluster.x-k8s.io', kind: 'Machine', namespace: 'default', name: 'm' }

function aSpec(address: string, more: Partial<HoldSpec> = {}): HoldSpec {
  const parsed = ip(address)
  return { space: 'blue', ip: parsed, bits: bitsOf(parsed.family), pool, claim, owner: undefined, ...more }
}

/** What a merge patch makes of an object. */
function merged(object: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null) return patch
  const result: Record<string, unknown> = { ...(object as Record<string, unknown>) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key] ?? {}, value)
  }
  return result
}

describe('a hold', () => {
  test.each([
    aSpec('10.0.0.9'),
    aSpec('fd00::9', { owner, claim: { ...claim, clusterName: 'blue' } }),
    aSpec('fd00:0:0:5::', { bits: 64, pool: { ...pool, namespace: '' } }),
  ])('is read back as it was written: $ip', spec => {
    const hold = orThrow(parseHold(toHoldObject(spec, now)))
    expect(hold).toMatchObject({ ...spec, state: 'held', since: now, until: undefined })
    expect(hold.metadata.name).toBe(holdName('blue', spec.ip))
  })

  test('goes into quarantine under the same name, and back to a holder of another kind', () => {
    const object = toHoldObject(aSpec('10.0.0.9', { owner, claim: { ...claim, clusterName: 'blue' } }), now)
    const later = '2030-01-01T00:05:00Z'
    const resting = merged(object, toQuarantinePatch(now, later))
    expect(parseHold(resting)).toMatchObject({ state: 'quarantined', until: later, claim: { uid: 'u' } })
    const next = { pool: { ...pool, namespace: '' }, claim: { ...claim, uid: 'u-2' }, owner: undefined }
    const taken = merged(resting, toRetakePatch(next, later))
    expect(taken).toEqual(toHoldObject({ ...aSpec('10.0.0.9'), ...next }, later))
  })

  test.each([
    [
      'is named after something else',
      (o: ReturnType<typeof toHoldObject>) => ({ ...o, metadata: { name: 'ip-10-0-0-8.blue' } }),
    ],
    [
      'is of another space than its name',
      (o: ReturnType<typeof toHoldObject>) => ({ ...o, spec: { ...o.spec, space: 'red' } }),
    ],
    [
      'spells its address in another way',
      (o: ReturnType<typeof toHoldObject>) => ({ ...o, spec: { ...o.spec, address: '010.0.0.9' } }),
    ],
    ['has no claim', (o: ReturnType<typeof toHoldObject>) => ({ ...o, spec: { ...o.spec, claimRef: undefined } })],
    [
      'is a prefix with bits behind it',
      (o: ReturnType<typeof toHoldObject>) => ({ ...o, spec: { ...o.spec, prefixLength: 24 } }),
    ],
    ['is in no known state', (o: ReturnType<typeof toHoldObject>) => ({ ...o, status: { state: 'lost', since: now } })],
  ])('that %s is malformed', (_, spoil) => {
    expect(isMalformed(parseHold(spoil(toHoldObject(aSpec('10.0.0.9'), now))))).toBe(true)
  })
})

describe('the space of a pool that names none', () => {
  const long = 'x'.repeat(63)
  const pools = [
    pool,
    { ...pool, namespace: 'prod' },
    { ...pool, kind: 'InClusterPrefixPool' },
    { ...pool, kind: 'GlobalInClusterIPPool', namespace: '' },
    // A cluster-scoped pool whose name ends as if it had a namespace.
    { ...pool, kind: 'GlobalInClusterIPPool', namespace: '', name: 'vms.default' },
    { ...pool, name: 'vms.default', namespace: 'default' },
    { ...pool, name: `${long}.${long}.${long}.a` },
    { ...pool, name: `${long}.${long}.${long}.b` },
    { ...pool, name: 'x'.repeat(64) },
  ]

  test('is its own, legal in a name, and no name that people may give', () => {
    const spaces = pools.map(spaceOfPool)
    expect(new Set(spaces).size).toBe(pools.length)
    expect(spaces.filter(space => !isScope(space) || isSpaceName(space))).toEqual([])
  })

  test('can be read by people', () => {
    expect(holdName(spaceOfPool(pool), ip('10.0.0.9'))).toBe('ip-10-0-0-9.vms.default.inclusterippool')
  })
})
