import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { behaviours, groupsIn, page, render } from '../../scripts/behaviours.ts'

test('the page of behaviours is what the tests are called (npm run docs:behaviours)', () => {
  expect(readFileSync(page, 'utf8')).toBe(render())
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
