import { expect, test } from 'vitest'
import { type Condition, isTrue, sameConditions, setConditions, toMicroTime, toTime } from './conditions.ts'

const noon = Date.UTC(2030, 0, 1, 12, 0, 0, 123)
const later = noon + 60_000
const wanted = { type: 'Ready', status: 'True', reason: 'Bound', message: 'holds 192.0.2.1' } as const

test('the time of transition changes with the status alone', () => {
  const first = setConditions(undefined, [wanted], noon)
  expect(first[0]?.lastTransitionTime).toBe('2030-01-01T12:00:00Z')
  const reworded = setConditions(first, [{ ...wanted, message: 'other words', reason: 'Other' }], later)
  expect(reworded[0]).toMatchObject({ lastTransitionTime: '2030-01-01T12:00:00Z', message: 'other words' })
  const turned = setConditions(reworded, [{ ...wanted, status: 'False' }], later)
  expect(turned[0]?.lastTransitionTime).toBe('2030-01-01T12:01:00Z')
})

test('the same again is no change, whatever the time', () => {
  const first = setConditions([], [{ ...wanted, observedGeneration: 3 }], noon)
  const second = setConditions(first, [{ ...wanted, observedGeneration: 3 }], later)
  expect(sameConditions(first, second)).toBe(true)
  expect(sameConditions(first, setConditions(first, [{ ...wanted, observedGeneration: 4 }], later))).toBe(false)
  expect(sameConditions(undefined, [])).toBe(true)
})

test('Ready comes first, and the conditions of others stay', () => {
  const foreign: Condition = {
    type: 'Paused',
    status: 'False',
    lastTransitionTime: '2029-01-01T00:00:00Z',
    reason: 'NotPaused',
    message: '',
  }
  const all = setConditions([foreign], [{ ...wanted, type: 'Exhausted' }, wanted], noon)
  expect(all.map(({ type }) => type)).toEqual(['Ready', 'Exhausted', 'Paused'])
  expect(all[2]).toBe(foreign)
  expect([isTrue(all, 'Ready'), isTrue(all, 'Paused'), isTrue(all, 'Unheard')]).toEqual([true, false, false])
})

test('times are written as Kubernetes writes them', () => {
  expect(toTime(noon)).toBe('2030-01-01T12:00:00Z')
  expect(toMicroTime(noon)).toBe('2030-01-01T12:00:00.123000Z')
})
