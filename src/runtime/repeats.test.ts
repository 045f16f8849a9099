import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { fingerprintOf, Repeats, sameWritesMax } from './repeats.ts'

describe('what a pass wrote', () => {
  const patch = (version: string, time: string, more = '') =>
    `PATCH /holds/a {"metadata":{"resourceVersion":"${version}","annotations":{"renewed":"${time}"${more}}}}`
  const one = fingerprintOf(patch('7', '2030-01-01T00:00:00.123Z'))

  test.each([
    ['the same under another version, at another time', fingerprintOf(patch('8', '2030-01-01T00:00:01Z')), true],
    ['something more', fingerprintOf(patch('7', '2030-01-01T00:00:00.123Z', ',"x":"y"')), false],
    ['the same after something else', fingerprintOf(patch('7', '2030-01-01T00:00:00.123Z'), fingerprintOf('x')), false],
  ])('is compared with %s', (_, other, isSame) => {
    expect(other === one).toBe(isSame)
  })
})

describe('a key', () => {
  const aKey = () => {
    const clock = new VirtualClock()
    const repeats = new Repeats(clock, () => 0)
    const write = (times: number, what = 1) => Array.from({ length: times }, () => repeats.passed('a', what)).at(-1)
    return { clock, write }
  }

  test('that writes the same too often rests, longer each time, up to a minute', () => {
    const { write } = aKey()
    expect(write(sameWritesMax)).toBeUndefined()
    expect([write(1), write(1), write(1)]).toEqual([
      { restMs: 100, isFirst: true },
      { restMs: 200, isFirst: false },
      { restMs: 400, isFirst: false },
    ])
    expect(write(20)).toEqual({ restMs: 60_000, isFirst: false })
  })

  test('that rests for a minute and then writes the same is still known', async () => {
    const { clock, write } = aKey()
    write(sameWritesMax + 20)
    await clock.advance(60_000)
    expect(write(1)).toEqual({ restMs: 60_000, isFirst: false })
  })

  test('that writes something else starts anew', () => {
    const { write } = aKey()
    write(sameWritesMax + 1)
    expect(write(1, 2)).toBeUndefined()
    expect(write(1)).toBeUndefined()
  })

  test('that writes the same now and then is left alone', async () => {
    const { clock, write } = aKey()
    for (let i = 0; i < 100; i++) {
      expect(write(1)).toBeUndefined()
      await clock.advance(10_000)
    }
  })

  test('of two that take turns in writing is left alone', () => {
    const { write } = aKey()
    for (let i = 0; i < 100; i++) expect(write(1, i % 2)).toBeUndefined()
  })
})
