import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatLabelSelector,
  fromLabelSelectorObject,
  type LabelRequirement,
  parseLabelSelector,
  parseRequirements,
} from './labels.ts'

describe('label selectors as text', () => {
  it.each([
    ['', {}, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: 'x' }, false],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a=', { a: '' }, true],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a in (x,y)', { a: 'y' }, true],
    ['a in (x,y)', { a: 'z' }, false],
    ['a in (,)', { a: '' }, true],
    ['a in ()', { a: '' }, true],
    ['a notin (x)', {}, true],
    ['a notin (x)', { a: 'x' }, false],
    ['a>1', { a: '2' }, true],
    ['a>1', { a: 'two' }, false],
    ['a<9223372036854775807', { a: '9223372036854775806' }, true],
    ['a>9223372036854775806', { a: '9223372036854775807' }, true],
    ['a>1', {}, false],
    ['in in (in)', { in: 'in' }, true],
    ['  a = b , c ', { a: 'b', c: 'd' }, true],
    ['a=b,!c,d in (e)', { a: 'b', d: 'e' }, true],
    ['a=b,!c,d in (e)', { a: 'b', c: '', d: 'e' }, false],
    ['toString', {}, false],
    ['x.io/a=b', { 'x.io/a': 'b' }, true],
  ])('%j and %j: %s', (text, labels, expected) => {
    expect(parseLabelSelector(text).matches(labels as Record<string, string>)).toBe(expected)
  })

  const valueText =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
  const keyText =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
  it.each([
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in (x', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (x y)', "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ['a==(', "unable to parse requirement: found '(', expected: identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${keyText}`],
    ['a=-b', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${valueText}`],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])('refuses %j in the words of Kubernetes', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ message }))
  })

  it('never hangs or fails otherwise, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '=', '!', '(', ')', ',', '>', '<', ' ', 'in', '\0') }),
        text => {
          try {
            parseLabelSelector(text)
          } catch (error) {
            expect(error).toHaveProperty('status.code', 400)
          }
        },
      ),
    )
  })

  it('reads back what it writes', () => {
    const word = fc.stringMatching(/^[a-z]([a-z0-9]{0,5})$/)
    const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
      fc.record({ key: word, operator: fc.constantFrom('=', '==', '!='), values: fc.tuple(word) }),
      fc.record({ key: word, operator: fc.constantFrom('exists', '!'), values: fc.constant([]) }),
      fc.record({
        key: word,
        operator: fc.constantFrom('gt', 'lt'),
        values: fc.tuple(
          fc
            .integer()
            .filter(n => n >= 0)
            .map(String),
        ),
      }),
      fc.record({
        key: word,
        operator: fc.constantFrom('in', 'notin'),
        values: fc.uniqueArray(word, { minLength: 1 }).map(v => v.sort()),
      }),
    )
    fc.assert(
      fc.property(fc.uniqueArray(requirement, { selector: r => r.key }), requirements => {
        const sorted = [...requirements].sort((a, b) => (a.key < b.key ? -1 : 1))
        expect(parseRequirements(formatLabelSelector(requirements))).toEqual(sorted)
      }),
    )
  })
})

describe('label selectors as objects', () => {
  it('select nothing when absent and everything when empty', () => {
    expect(fromLabelSelectorObject(undefined).matches({ a: 'b' })).toBe(false)
    expect(fromLabelSelectorObject({}).matches({ a: 'b' })).toBe(true)
  })

  it('want all of their labels and expressions', () => {
    const selector = fromLabelSelectorObject({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['front', 'back'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    })
    expect(selector.matches({ app: 'web', tier: 'back' })).toBe(true)
    expect(selector.matches({ app: 'web', tier: 'back', old: '' })).toBe(false)
    expect(selector.matches({ app: 'web' })).toBe(false)
    expect(selector.matches(undefined)).toBe(false)
  })

  it('refuse an unknown operator', () => {
    expect(() => fromLabelSelectorObject({ matchExpressions: [{ key: 'a', operator: 'Like' }] })).toThrow(
      '"Like" is not a valid label selector operator',
    )
  })
})
