import { expect, test } from 'vitest'
import { bareFilesIn, citationsIn, rowsBelow, whyNotShown } from './security.ts'
import { read, trackedFiles } from './sources.ts'

const page = read('docs/reference/import-sources.md')
const cases = rowsBelow(page, '## Cases')
const files = new Set(trackedFiles())
const sourceOf = (file: string) => (files.has(file) ? read(file) : undefined)

test('every case of reading machines of other platforms is there once, with a test', () => {
  const ids = cases.map(([id = '']) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.length).toBe(32)
  expect(cases.filter(cells => cells.length !== 4 || citationsIn(cells[3] ?? '').length === 0)).toEqual([])
})

test('every test that a case of imports names exists under its title', () => {
  const cells = cases.flat()
  expect(cells.flatMap(bareFilesIn)).toEqual([])
  expect(cells.flatMap(citationsIn).flatMap(one => whyNotShown(one, sourceOf) ?? [])).toEqual([])
})
