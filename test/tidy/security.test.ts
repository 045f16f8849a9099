import { describe, expect, test } from 'vitest'
import { bareFilesIn, citationsIn, hasDocument, rowsBelow, whyNotShown } from './security.ts'
import { read, trackedFiles } from './sources.ts'

const page = read('SECURITY.md')
const threats = rowsBelow(page, '## Threats')
const fields = rowsBelow(page, '### What each field of a tenant can do to others')
const files = new Set(trackedFiles())
const sourceOf = (file: string) => (files.has(file) ? read(file) : undefined)

describe('the table of threats', () => {
  test('has each of the 50 once, in order, with a state', () => {
    const ids = Array.from({ length: 50 }, (_, i) => `T${String(i + 1).padStart(2, '0')}`)
    expect(threats.map(([id]) => id)).toEqual(ids)
    expect(threats.filter(cells => cells.length !== 5)).toEqual([])
    const states = ['defended', 'partly', 'does not apply', 'open']
    expect(threats.filter(([, , state = '']) => !states.includes(state))).toEqual([])
  })

  test('calls nothing defended that neither a test nor a document shows', () => {
    const claimed = threats.filter(([, , state]) => state === 'defended' || state === 'partly')
    const bare = claimed.filter(([, , , , shown = '']) => citationsIn(shown).length === 0 && !hasDocument(shown))
    expect(bare.map(([id]) => id)).toEqual([])
  })
})

test('every field of a tenant has a test', () => {
  expect(fields.length).toBeGreaterThan(15)
  expect(fields.filter(cells => cells.length !== 4 || citationsIn(cells[3] ?? '').length === 0)).toEqual([])
})

test('every test that SECURITY.md names exists under its title', () => {
  const cells = [...threats, ...fields].flat()
  expect(cells.flatMap(bareFilesIn)).toEqual([])
  const cited = cells.flatMap(citationsIn)
  expect(cited.length).toBeGreaterThan(80)
  expect(cited.map(one => whyNotShown(one, sourceOf)).filter(why => why !== undefined)).toEqual([])
})

test('a table is read as it is written', () => {
  const row = '| T01 | a | open | `a.ts`: "one", "two"; `b.ts` | [c](d.md#e) |'
  const [cells = []] = rowsBelow(`\n## X\n\n| h |\n| - |\n${row}\n\n## Y\n| no |`, '## X')
  expect(cells).toHaveLength(5)
  expect(citationsIn(cells[3] ?? '')).toEqual([
    { file: 'a.ts', title: 'one' },
    { file: 'a.ts', title: 'two' },
  ])
  expect(bareFilesIn(cells[3] ?? '')).toEqual(['b.ts'])
  expect([hasDocument(cells[4] ?? ''), hasDocument('c.md')]).toEqual([true, false])
  const source = (file: string) => (file === 'a.ts' ? "// it was\ntest('it isn\\'t', () => {})" : undefined)
  expect(whyNotShown({ file: 'a.ts', title: "it isn't" }, source)).toBeUndefined()
  expect(whyNotShown({ file: 'a.ts', title: 'it was' }, source)).toBe('a.ts has no test "it was"')
  expect(whyNotShown({ file: 'b.ts', title: 'x' }, source)).toBe('b.ts is not there')
})
