import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasLongNumber } from '../json.ts'
import { bytesWithoutManagers, parseBody, withoutManagers } from './body.ts'

/** From the text, and from its bytes first: what comes of both must be the same. */
function cut(text: string): string {
  const left = bytesWithoutManagers(Buffer.from(text)).toString()
  expect(left.length).toBeLessThanOrEqual(text.length)
  const found = withoutManagers(text)
  expect(withoutManagers(left)).toBe(found)
  return found
}

test('sixteen digits in a row are found wherever they stand', () => {
  const piece = fc.oneof(fc.stringMatching(/^[a-z":, ]{0,20}$/), fc.stringMatching(/^[0-9]{1,20}$/))
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const text = pieces.join('')
      expect(hasLongNumber(text)).toBe(/\d{16}/.test(text))
    }),
  )
})

test('an integer beyond 2^53 stays exact', () => {
  expect(parseBody('{"a":9007199254740993,"b":1}')).toEqual({ a: 9007199254740993n, b: 1 })
})

test('managedFields are cut out of a text wherever they stand, and nothing else changes', () => {
  const managers = fc.array(fc.jsonValue({ stringUnit: 'binary' }), { maxLength: 3 })
  const rest = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }))
  fc.assert(
    fc.property(rest, rest, fc.option(managers), (before, after, list) => {
      const metadata = { ...before, ...(list !== null && { managedFields: list }), ...after }
      const object = { kind: '"managedFields":[', metadata, items: [{ metadata }] }
      const { managedFields: _, ...kept } = metadata as Record<string, unknown>
      const isList = Array.isArray(metadata.managedFields)
      const expected = isList ? { ...object, metadata: kept, items: [{ metadata: kept }] } : object
      expect(JSON.parse(cut(JSON.stringify(object)))).toEqual(JSON.parse(JSON.stringify(expected)))
    }),
  )
})

test('what a manager is called ends no list, whatever it looks like', () => {
  for (const manager of ['}]', '}],', '}]},', 'a}],"n', '[{}],"n', '{}],"n":[{}]', '}]}}', ',"n', '}]\\', '}],\\"n']) {
    for (const follow of [{ name: 'x' }, {}, { '\u00e4': 'x' }]) {
      for (const fieldsV1 of [{ 'f:spec': { '.': {} } }, { 'k:{"name":"a[0]"}': {} }, { [manager]: { n: {} } }]) {
        const metadata = {
          labels: {},
          managedFields: [
            { fieldsV1, manager },
            { manager, fieldsV1 },
          ],
          ...follow,
        }
        const { managedFields: _, ...kept } = metadata
        const text = JSON.stringify({ items: [{ metadata, spec: { a: [{}] } }, { metadata }] })
        expect(JSON.parse(cut(text))).toEqual({ items: [{ metadata: kept, spec: { a: [{}] } }, { metadata: kept }] })
      }
    }
  }
})

test('a text that ends within its managedFields is not made readable', () => {
  const whole = '{"metadata":{"managedFields":[{"manager":"a]\\"]"}],"name":"x"}}'
  expect(cut(whole)).toBe('{"metadata":{"name":"x"}}')
  for (let end = 1; end < whole.length; end++) {
    expect(() => JSON.parse(cut(whole.slice(0, end)))).toThrow()
  }
})

test('a list of managers that is empty ends where it ends', () => {
  const whole = JSON.stringify({ items: [{ metadata: { managedFields: [], name: 'x' } }], kind: 'L' })
  const left = { items: [{ metadata: { name: 'x' } }], kind: 'L' }
  expect(JSON.parse(withoutManagers(whole))).toEqual(left)
  expect(JSON.parse(withoutManagers(bytesWithoutManagers(Buffer.from(whole)).toString()))).toEqual(left)
})

test('lists of plain objects are cut out of the bytes already', () => {
  const managedFields = [{ manager: 'ä', fieldsV1: { 'f:spec': {} } }]
  const items = ['a', 'é', '\u{1f9ff}'].map(name => ({ metadata: { managedFields, name }, spec: { name } }))
  const left = bytesWithoutManagers(Buffer.from(JSON.stringify({ items }))).toString()
  expect(JSON.parse(left)).toEqual({
    items: items.map(({ metadata: { name }, spec }) => ({ metadata: { name }, spec })),
  })
})
