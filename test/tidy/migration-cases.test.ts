import { expect, test } from 'vitest'
import { bareFilesIn, citationsIn, rowsBelow, whyNotShown } from './security.ts'
import { read, trackedFiles } from './sources.ts'

const page = read('docs/reference/migration-cases.md')
const headings = [...page.matchAll(/^## .+$/gm)].map(([heading]) => heading)
const cases = headings.flatMap(heading => rowsBelow(page, heading))
const files = new Set(trackedFiles())
const sourceOf = (file: string) => (files.has(file) ? read(file) : undefined)

test('every case of the migration network is there once, with a test', () => {
  const ids = cases.map(([id = '']) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toHaveLength(116)
  expect(cases.filter(cells => cells.length !== 4)).toEqual([])
  expect(cases.filter(([, , , shown = '']) => citationsIn(shown).length === 0)).toEqual([])
})

test('every test that a case of the migration network names exists under its title', () => {
  expect(cases.flat().flatMap(bareFilesIn)).toEqual([])
  const why = cases
    .flat()
    .flatMap(citationsIn)
    .map(one => whyNotShown(one, sourceOf))
  expect(why.filter(one => one !== undefined)).toEqual([])
})
