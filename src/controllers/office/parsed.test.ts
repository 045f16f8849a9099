import { expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { parseMACHold, toMACHoldObject } from '../../api/mac-hold.ts'
import { parseMAC } from '../../ip/mac.ts'
import { holdFinalizer } from './hold/steps.ts'
import { keepMACHold, macHoldOf } from './parsed.ts'

const macHold = (uid: string) => {
  const mac = orThrow(parseMAC('02:00:00:00:00:05'))
  const pool = { apiGroup: 'mooring.dev', kind: 'ClusterAddressPool', namespace: '', name: 'vms' }
  const claim = { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', namespace: 'lab', name: 'web', uid: 'u-1' }
  const object = toMACHoldObject({ space: 'blue', mac, pool, claim, owner: undefined }, '2030-01-01T00:00:00Z')
  const annotations = { 'mooring.dev/renewed': '2030-01-01T00:00:00.000Z', note: 'x'.repeat(1_000) }
  const more = { uid, resourceVersion: '7', finalizers: [holdFinalizer], annotations, labels: { theirs: 'x' } }
  return { ...object, metadata: { ...object.metadata, ...more } }
}

test('a MACHold in the cache is what its readers read of it, and nothing else', () => {
  const kept = keepMACHold(macHold('h-1'))
  const read = orThrow(parseMACHold(macHold('h-1')))
  expect(macHoldOf(kept)).toBe(kept)
  expect(keepMACHold(kept)).toBe(kept)
  expect(kept).toEqual({ ...read, metadata: { ...read.metadata, labels: {}, annotations: {} } })
  expect(kept).toMatchObject({ apiVersion: 'mooring.dev/v1alpha1', kind: 'MACHold' })
})

test('MACHolds of one pool share what is the same in each', () => {
  const [one, other] = ['h-1', 'h-2'].map(uid => orThrow(macHoldOf(keepMACHold(macHold(uid)))))
  expect(one?.pool).toBe(other?.pool)
  expect(one?.metadata.finalizers).toBe(other?.metadata.finalizers)
})

test('a MACHold that cannot be read stays as it came', () => {
  const wrong = { ...macHold('h-1'), spec: { mac: 'none' } }
  expect(keepMACHold(wrong)).toBe(wrong)
})
