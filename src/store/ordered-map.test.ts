import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OrderedMap } from './ordered-map.ts'

const key = fc.string({ unit: fc.constantFrom('/', 'a', 'b', 'Ω', '\ud83d'), maxLength: 5 })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('set' as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
)

test('answers like a naive sorted list, whatever was set and deleted before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), key, fc.option(key, { nil: undefined }), (steps, prefix, after) => {
      const map = new OrderedMap<number>()
      const naive = new Map<string, number>()
      steps.forEach(({ kind, key }, at) => {
        if (kind === 'set') {
          map.set(key, at)
          naive.set(key, at)
        } else expect(map.delete(key)).toBe(naive.delete(key))
      })
      const sorted = [...naive.keys()].sort((one, other) => (one < other ? -1 : 1))
      const under = sorted.filter(candidate => candidate.startsWith(prefix))
      expect(map.size).toBe(naive.size)
      expect(map.get(prefix)).toBe(naive.get(prefix))
      expect(map.count(prefix)).toBe(under.length)
      expect(map.rank(prefix)).toBe(sorted.filter(candidate => candidate < prefix).length)
      const wanted = under.filter(candidate => after === undefined || candidate > after)
      expect([...map.under(prefix, after)]).toEqual(wanted.map(candidate => naive.get(candidate)))
    }),
  )
})

test.each<[string, (at: number) => number]>([
  ['rising', at => at],
  ['falling', at => 5_000 - at],
  ['scattered', at => (at * 7_919) % 5_003],
])('keeps thousands of keys in order when they arrive %s', (_name, place) => {
  const map = new OrderedMap<number>()
  const name = (number: number) => `/x/${String(number).padStart(5, '0')}`
  const numbers = Array.from({ length: 5_000 }, (_, at) => place(at))
  for (const number of numbers) map.set(name(number), number)
  const sorted = [...numbers].sort((one, other) => one - other)
  expect([...map.under('/x/')]).toEqual(sorted)
  expect(map.rank(name(sorted[2_500] ?? 0))).toBe(2_500)
  for (const number of numbers.filter(number => number % 3 !== 0)) map.delete(name(number))
  expect([...map.under('')]).toEqual(sorted.filter(number => number % 3 === 0))
  for (const number of numbers) map.delete(name(number))
  expect([map.size, ...map.under('')]).toEqual([0])
})
