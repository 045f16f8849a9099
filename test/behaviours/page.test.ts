import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { behaviours, fillings, groupsIn, page, skeleton, skeletonOf } from '../../scripts/behaviours.ts'

test('the page of behaviours is what the tests are called (npm run docs:behaviours)', () => {
  expect(skeletonOf(readFileSync(page, 'utf8'))).toBe(skeleton())
})

test('every deviation is shown by a behaviour of the page', () => {
  const deviations = readFileSync(new URL('../../docs/deviations.md', import.meta.url), 'utf8')
  const shown = [...deviations.matchAll(/^Shown by: \*\*(.+?)\*\* (.+)$/gm)]
  expect(shown.length).toBeGreaterThan(20)
  const known = behaviours()
  const unknown = shown.filter(([, subject = '', predicate = '']) => !known.has(`${subject} ${predicate}`))
  expect(unknown.map(([line]) => line)).toEqual([])
  const claims = deviations.split(/\n\n+/).filter(paragraph => paragraph.startsWith('**'))
  expect(claims.filter(paragraph => !paragraph.includes('\nShown by: '))).toEqual([])
})

test('a sentence is found behind tables and conditions', () => {
  const source = `
describe.skipIf(!is('x')).each([['a (', 1]])('A thing of %s', () => {
  test('is', () => {})
  test.each([
    ['one', f(1)],
  ])(
    'isn\\'t %s',
    () => {},
  )
})
`
  expect(groupsIn(source)).toEqual([{ subject: 'A thing of %s', predicates: ['is', "isn't %s"] }])
})

test('what a table says is found in the names it makes', () => {
  const names = ['gives 1 of 2 (a+b)', 'gives 1 of 2 (a+b)', 'gives 3 of 4 (a+b)', 'takes 1 of 2']
  expect(fillings('gives %i of $all (a+b)', names)).toEqual(['1 … 2', '3 … 4'])
  expect(fillings('takes 1 of 2', names)).toEqual([])
})
