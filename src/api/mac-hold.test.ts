import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { parseMAC } from '../ip/mac.ts'
import { isMalformed } from '../ip/malformed.ts'
import { toQuarantinePatch, toRetakeLockPatch } from './lock.ts'
import { type MACHoldSpec, macHoldName, parseMACHold, toMACHoldObject } from './mac-hold.ts'

const now = '2030-01-01T00:00:00Z'
const later = '2030-01-01T00:05:00Z'
const mac = orThrow(parseMAC('0a:58:c0:a8:01:05'))
const pool = { apiGroup: 'k8s.cni.cncf.io', kind: 'NetworkAttachmentDefinition', namespace: 'lab', name: 'wire' }
const claim = { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', namespace: 'lab', name: 'c', uid: 'u' }
const owner = { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', namespace: 'lab', name: 'vm', uid: 'vm-1' }
const aSpec = (more: Partial<MACHoldSpec> = {}): MACHoldSpec => ({ space: 'blue', mac, pool, claim, owner, ...more })

type MACHoldObject = ReturnType<typeof toMACHoldObject>

describe('the lock on a MAC address', () => {
  test.each([
    [aSpec(), 'mac-0a-58-c0-a8-01-05.blue'],
    [
      aSpec({ space: 'cluster_udn_blue', owner: undefined, claim: { ...claim, part: 'eth0' } }),
      'mac-0a-58-c0-a8-01-05.xcluster-5fudn-5fblue.escaped',
    ],
  ])('is read back as it was written: $space', (spec, name) => {
    const hold = orThrow(parseMACHold(toMACHoldObject(spec, now)))
    expect(hold).toMatchObject({ ...spec, state: 'held', since: now, until: undefined, heldSince: now })
    expect(hold.metadata.name).toBe(name)
    expect(macHoldName(spec.space, mac)).toBe(name)
  })

  test('rests and is taken back as a hold is', () => {
    const object = toMACHoldObject(aSpec(), now)
    const resting = { ...object, status: { ...object.status, ...toQuarantinePatch(later, later).status } }
    const hold = orThrow(parseMACHold(resting))
    expect(hold).toMatchObject({ state: 'quarantined', until: later, heldSince: now })
    const { status, spec } = toRetakeLockPatch({ pool, claim: { ...claim, uid: 'u-2' }, owner: undefined }, hold, later)
    expect(status).toEqual({ state: 'held', since: later, until: null, heldSince: now })
    expect(spec).toMatchObject({ owner: null, claimRef: { uid: 'u-2', clusterName: null, part: null } })
  })

  test.each([
    ['is named after another', (o: MACHoldObject) => ({ ...o, metadata: { name: 'mac-0a-58-c0-a8-01-06.blue' } })],
    ['is of another space than its name', (o: MACHoldObject) => ({ ...o, spec: { ...o.spec, space: 'red' } })],
    ['is in no space', (o: MACHoldObject) => ({ ...o, spec: { ...o.spec, space: '' } })],
    ['spells it in another way', (o: MACHoldObject) => ({ ...o, spec: { ...o.spec, mac: '0A:58:C0:A8:01:05' } })],
    ['is of none', (o: MACHoldObject) => ({ ...o, spec: { ...o.spec, mac: 'eth0' } })],
    ['has no claim', (o: MACHoldObject) => ({ ...o, spec: { ...o.spec, claimRef: undefined } })],
    ['is in no known state', (o: MACHoldObject) => ({ ...o, status: { state: 'lost', since: now } })],
  ])('that %s is malformed', (_, spoil) => {
    expect(isMalformed(parseMACHold(spoil(toMACHoldObject(aSpec(), now))))).toBe(true)
  })
})
