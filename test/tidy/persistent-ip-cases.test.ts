import { expect, test } from 'vitest'
import { bareFilesIn, citationsIn, rowsBelow, whyNotShown } from './security.ts'
import { read, trackedFiles } from './sources.ts'

const page = read('docs/reference/persistent-ip-cases.md')
const headings = [...page.matchAll(/^## .+$/gm)].map(([heading]) => heading)
const cases = headings.flatMap(heading => rowsBelow(page, heading))
const files = new Set(trackedFiles())
const sourceOf = (file: string) => (files.has(file) ? read(file) : undefined)

test('every case of persistent addresses is there once', () => {
  const ids = cases.map(([id = '']) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter(id => id.startsWith('H'))).toEqual(Array.from({ length: 32 }, (_, at) => `H${at + 1}`))
  expect(ids.length).toBeGreaterThan(150)
})

test('a case without a test is not ours', () => {
  const bare = cases.filter(([, , , shown = '']) => citationsIn(shown).length === 0)
  expect(bare.filter(([, , here = '']) => !here.startsWith('not ours'))).toEqual([])
  expect(cases.filter(cells => cells.length !== 4)).toEqual([])
})

test('every test that a case names exists under its title', () => {
  const cells = cases.flat()
  expect(cells.flatMap(bareFilesIn)).toEqual([])
  const why = cells.flatMap(citationsIn).map(one => whyNotShown(one, sourceOf))
  expect(why.filter(one => one !== undefined)).toEqual([])
})
