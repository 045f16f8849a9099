import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { bitsOf, parseIP } from '../ip/address.ts'
import { parseMAC } from '../ip/mac.ts'
import { isMalformed } from '../ip/malformed.ts'
import { type HoldSpec, holdName, parseHold, toHoldObject, toRetakePatch } from './hold.ts'
import { toQuarantinePatch } from './lock.ts'
import { spaceOfPool } from './space.ts'

const ip = (text: string) => orThrow(parseIP(text))
const mac = orThrow(parseMAC('02:00:5e:10:00:01'))
const now = '2030-01-01T00:00:00Z'
const later = '2030-01-01T00:05:00Z'
const pool = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', namespace: 'default', name: 'vms' }
const claim = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace: 'default', name: 'c', uid: 'u' }
const owner = { apiGroup: 'cluster.x-k8s.io', kind: 'Machine', namespace: 'default', name: 'm', uid: 'm-1' }

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
    aSpec('10.0.0.9', { mac, claim: { ...claim, part: 'eth0 IPv4' }, owner: { ...owner, namespace: '' } }),
    aSpec('10.0.0.9', { space: 'cluster_udn_blue' }),
    aSpec('10.0.0.9', { space: 'team-a/blue' }),
    aSpec('10.0.0.9', { space: spaceOfPool(pool) }),
  ])('is read back as it was written: $ip in $space', spec => {
    const hold = orThrow(parseHold(toHoldObject(spec, now)))
    expect(hold).toMatchObject({ ...spec, state: 'held', since: now, until: undefined, heldSince: now })
    expect(hold.metadata.name).toBe(holdName(spec.space, spec.ip))
  })

  test('has a name that people can read', () => {
    expect(holdName(spaceOfPool(pool), ip('10.0.0.9'))).toBe(
      'ip-10-0-0-9.vms.default.inclusterippool.ipam.cluster.x-k8s.io',
    )
  })

  test('goes into quarantine under the same name, and back to a holder of another kind', () => {
    const whole = aSpec('10.0.0.9', { mac, owner, claim: { ...claim, clusterName: 'blue', part: 'eth0' } })
    const object = toHoldObject(whole, now)
    const resting = merged(object, toQuarantinePatch(now, later))
    expect(parseHold(resting)).toMatchObject({ state: 'quarantined', until: later, claim: { uid: 'u' } })
    // A claim of the cluster's own, which has nothing that it might leave out.
    const next = {
      pool: { ...pool, namespace: '' },
      claim: { ...claim, namespace: '', uid: 'u-2' },
      owner: undefined,
    }
    const taken = merged(resting, toRetakePatch(next, orThrow(parseHold(resting)), later))
    expect(taken).toEqual(toHoldObject({ ...aSpec('10.0.0.9'), ...next }, later))
  })

  test('leaves nothing of its former owner in the next one', () => {
    const resting = merged(toHoldObject(aSpec('10.0.0.9', { owner }), now), toQuarantinePatch(now, later))
    const next = { pool, claim, owner: { apiGroup: '', kind: 'Node', namespace: '', name: 'n' } }
    const taken = merged(resting, toRetakePatch(next, orThrow(parseHold(resting)), later))
    expect(parseHold(taken)).toMatchObject({ owner: next.owner })
    expect(taken).toMatchObject({ spec: { owner: { apiGroup: '', kind: 'Node', name: 'n' } } })
    expect(JSON.stringify(taken)).not.toContain('m-1')
  })

  test.each([
    ['the same claim, made anew', { claim: { ...claim, uid: 'u-2' }, owner: undefined }, now],
    ['another claim for the same owner', { claim: { ...claim, name: 'd' }, owner: { ...owner, uid: 'm-2' } }, now],
    ['another claim', { claim: { ...claim, name: 'd' }, owner: undefined }, later],
    ['another claim for another owner', { claim: { ...claim, name: 'd' }, owner: { ...owner, name: 'n' } }, later],
  ])('taken back by %s', (_, next, heldSince) => {
    const resting = merged(toHoldObject(aSpec('10.0.0.9', { owner }), now), toQuarantinePatch(later, later))
    expect(parseHold(resting)).toMatchObject({ heldSince: now, since: later })
    const patch = toRetakePatch({ pool, ...next }, orThrow(parseHold(resting)), later)
    expect(parseHold(merged(resting, patch))).toMatchObject({ state: 'held', since: later, heldSince })
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
    ['is in no space', (o: ReturnType<typeof toHoldObject>) => ({ ...o, spec: { ...o.spec, space: 'b l' } })],
    [
      'spells a MAC address in another way',
      (o: ReturnType<typeof toHoldObject>) => ({ ...o, spec: { ...o.spec, mac: '02-00-5e-10-00-01' } }),
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
