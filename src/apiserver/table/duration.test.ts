import { describe, expect, it } from 'vitest'
import { humanDuration, since } from './duration.ts'

const s = 1_000
const m = 60 * s
const h = 60 * m
const d = 24 * h

describe('durations', () => {
  it.each([
    [-2 * s, '<invalid>'],
    [-1 * s, '0s'],
    [0, '0s'],
    [119 * s, '119s'],
    [2 * m, '2m'],
    [3 * m + 20 * s, '3m20s'],
    [10 * m + 30 * s, '10m'],
    [179 * m, '179m'],
    [3 * h, '3h'],
    [3 * h + 5 * m, '3h5m'],
    [8 * h + 5 * m, '8h'],
    [47 * h, '47h'],
    [2 * d, '2d'],
    [2 * d + 3 * h, '2d3h'],
    [8 * d + 3 * h, '8d'],
    [729 * d, '729d'],
    [730 * d, '2y'],
    [731 * d, '2y1d'],
    [8 * 365 * d + 5 * d, '8y'],
  ])('%d ms is %s', (ms, expected) => {
    expect(humanDuration(ms)).toBe(expected)
  })

  it('does not know when nothing happened', () => {
    const now = new Date('2030-01-01T00:00:05Z')
    expect(since('2030-01-01T00:00:00Z', now)).toBe('5s')
    expect(since(null, now)).toBe('<unknown>')
    expect(since('once upon a time', now)).toBe('<unknown>')
  })
})
