import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { groupsIn, page, render } from '../../scripts/behaviours.ts'

test('the page of behaviours is what the tests are called (npm run docs:behaviours)', () => {
  expect(readFileSync(page, 'utf8')).toBe(render())
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
