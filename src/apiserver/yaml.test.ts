import { describe, expect, test } from 'vitest'
import { readYAML } from './yaml.ts'

describe('YAML', () => {
  test('is read as JSON would be', () => {
    const text = 'a: 1\nb: [x, {c: null}]\nd: |\n  [[[[ {{{{ - - -\ne: yes\n'
    expect(readYAML(text).value).toEqual({ a: 1, b: ['x', { c: null }], d: '[[[[ {{{{ - - -\n', e: true })
  })

  test('aliases and merges are followed', () => {
    expect(readYAML('a: &a {x: 1}\nb: *a\nc:\n  <<: *a\n  z: 2\n').value).toEqual({
      a: { x: 1 },
      b: { x: 1 },
      c: { x: 1, z: 2 },
    })
  })

  test('tells of keys that stand twice, by line', () => {
    expect(readYAML('a: 1\nb:\n  c: 1\n  c: 2\na: 3\n').repeated).toEqual([
      'line 5: key "a" already set in map',
      'line 4: key "c" already set in map',
    ])
  })

  test.each([
    ['flow lists', '['.repeat(100_000)],
    ['flow maps', '{a: '.repeat(100_000)],
    ['lists of lists in a line', '- '.repeat(100_000)],
    ['keys of keys in a line', '? '.repeat(100_000)],
    ['keys of keys in brackets', `[${'? '.repeat(100_000)}`],
    ['pairs in brackets', `{${'? a : '.repeat(100_000)}`],
    ['indentation', Array.from({ length: 1_000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['indented lists', Array.from({ length: 1_000 }, (_, i) => `${' '.repeat(i)}-`).join('\n')],
  ])('refuses depth made of %s', (_, text) => {
    expect(() => readYAML(text)).toThrow('exceeded max depth')
  })

  test('reads a line of many pairs, which is not deep', () => {
    const pairs = Array.from({ length: 1_000 }, (_, i) => `"k${i}": [{"a": ${i}}]`)
    expect(Object.keys(readYAML(`{${pairs.join(', ')}}`).value as object)).toHaveLength(1_000)
  })

  test('reads what is deep and still reasonable', () => {
    const text = Array.from({ length: 90 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')
    expect(JSON.stringify(readYAML(text).value)).toMatch(/^(\{"a":){90}null/)
  })

  test('refuses more nodes than can be read in time', () => {
    expect(() => readYAML('- a\n'.repeat(700_000))).toThrow('more than 500000 words')
  })

  test('twenty thousand keys are no reason to compare each with each', () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')
    expect(readYAML(text)).toMatchObject({ repeated: [], value: { k19999: 1 } })
  })

  test('integers that a JavaScript number cannot hold stay exact', () => {
    expect(readYAML('a: 9007199254740993\nb: -9007199254740993\nc: 0x7fffffffffffffff\n').value).toEqual({
      a: 9007199254740993n,
      b: -9007199254740993n,
      c: 2n ** 63n - 1n,
    })
  })

  test.each([
    ['.inf', '+Inf'],
    ['-.INF', '-Inf'],
    ['.nan', 'NaN'],
    ['1e999', '+Inf'],
    ['9'.repeat(400), '+Inf'],
  ])('%.20s is refused: JSON has no form for it, and it would be stored as null', (text, shown) => {
    expect(() => readYAML(`a: ${text}`)).toThrow(`json: unsupported value: ${shown}`)
  })

  test('a node that contains itself is refused, one that only repeats the name of an anchor is not', () => {
    expect(() => readYAML('a: &x {b: [*x]}')).toThrow("yaml: anchor 'x' value contains itself")
    expect(readYAML('a: &x {b: [&x c, *x]}').value).toEqual({ a: { b: ['c', 'c'] } })
  })

  test('refuses more anchors and aliases than can be looked for in time', () => {
    expect(() => readYAML('- &a b\n- *a\n'.repeat(100_000))).toThrow('more than 2000 anchors and aliases')
  })

  test.each([['!!set {a, b}'], ['!!omap [a: 1]'], ['!!binary AAAA'], ['2001-01-01']])('%s stays plain', text => {
    const { value } = readYAML(`a: ${text}`)
    expect(value).toEqual(JSON.parse(JSON.stringify(value)))
  })
})
