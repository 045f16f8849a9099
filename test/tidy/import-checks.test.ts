import { expect, test } from 'vitest'
import { findingIds } from '../../src/imports/finding.ts'
import { citationsIn, rowsBelow, whyNotShown } from './security.ts'
import { read, trackedFiles } from './sources.ts'

const page = read('docs/reference/import-checks.md')
const cases = rowsBelow(page, '## Cases')

test('the page of the checks of imports has every check, once', () => {
  const ids = rowsBelow(page, '## The checks').map(([id = '']) => id.replaceAll('`', ''))
  expect(ids.toSorted()).toEqual([...findingIds].toSorted())
})

test('every case of imports names a test that exists under its title', () => {
  const files = new Set(trackedFiles())
  const sourceOf = (file: string) => (files.has(file) ? read(file) : undefined)
  expect(cases.length).toBeGreaterThan(25)
  expect(cases.filter(([, , shown = '']) => citationsIn(shown).length === 0)).toEqual([])
  const why = cases
    .flat()
    .flatMap(citationsIn)
    .map(one => whyNotShown(one, sourceOf))
  expect(why.filter(one => one !== undefined)).toEqual([])
})
