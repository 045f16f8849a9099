import { describe, expect, it } from 'vitest'
import { describeFault } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import type { Schema, ValidationRule } from '../schema/schema.ts'
import { compileSchema } from '../schema/structural.ts'

function withSpec(spec: Schema): Schema {
  return { type: 'object', properties: { spec } }
}

function anObject(spec: unknown): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'thing' }, spec }
}

function faultsOf(spec: Schema, value: unknown, old?: unknown): string[] {
  const compiled = compileSchema(withSpec(spec), {})
  return compiled.validate(anObject(value), old === undefined ? undefined : anObject(old)).map(describeFault)
}

const int: Schema = { type: 'integer' }
const text: Schema = { type: 'string' }
const listOf = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more })
const object = (properties: Record<string, Schema>, ...rules: (string | ValidationRule)[]): Schema => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': rules.map(rule => (typeof rule === 'string' ? { rule } : rule)),
})

describe('a rule that holds', () => {
  const cases: [rule: string, properties: Record<string, Schema>, value: Record<string, unknown>][] = [
    ['self.x + self.y > 0', { x: int, y: int }, { x: 1, y: 0 }],
    ['self.l.isSorted() && self.l.sum() % 2 == 0', { l: listOf(int) }, { l: [2, 4] }],
    ['self.a.matches("^[a-z]+$")', { a: text }, { a: 'abc' }],
    ['has(self.a) && !has(self.b)', { a: text, b: text }, { a: '' }],
    [
      'self.l.size() == 1 && has(self.l[0].n) && !has(self.l[0].m)',
      { l: listOf({ type: 'object', properties: { n: text, m: text } }) },
      { l: [{ n: '' }] },
    ],
    ['format.dns1123Label().validate(self.a) != null', { a: text }, { a: 'A' }],
    ['self.o != null && optional.of(1) == optional.of(1)', { o: { type: 'object' } }, { o: {} }],
    ['self.__namespace__ == "x"', { namespace: text }, { namespace: 'x' }],
    ['self.a__dash__b == 1 && self.c__dot__d == 2', { 'a-b': int, 'c.d': int }, { 'a-b': 1, 'c.d': 2 }],
    [
      'self.t < timestamp("2030-01-01T00:00:00Z")',
      { t: { type: 'string', format: 'date-time' } },
      { t: '2020-01-01T00:00:00Z' },
    ],
    ['self.d >= duration("90s")', { d: { type: 'string', format: 'duration' } }, { d: '2m' }],
    ['size(self.b) == 3', { b: { type: 'string', format: 'byte' } }, { b: 'YWJj' }],
    ['self.p == 80 || self.p == "http"', { p: { 'x-kubernetes-int-or-string': true } }, { p: 80 }],
    [
      'self.m.all(k, k.startsWith("a")) && self.m["ab"] == 2',
      { m: { type: 'object', additionalProperties: int } },
      { m: { ab: 2 } },
    ],
    ['self.m.all(k, v, size(k) == v)', { m: { type: 'object', additionalProperties: int } }, { m: { ab: 2 } }],
    [
      'self.l.exists_one(x, x.n == "a")',
      { l: listOf({ type: 'object', properties: { n: text } }) },
      { l: [{ n: 'a' }, { n: 'b' }] },
    ],
    [
      'isIP(self.a) && ip(self.a).family() == 4 && cidr("10.0.0.0/8").containsIP(self.a)',
      { a: text },
      { a: '10.1.2.3' },
    ],
    ['quantity(self.a).isLessThan(quantity("1Gi"))', { a: text }, { a: '100Mi' }],
    ['!format.dns1123Label().validate(self.a).hasValue()', { a: text }, { a: 'good-name' }],
    ['self.?a.orValue("none") == "none"', { a: text }, {}],
    ['self.n * 1.5 > 2.0', { n: { type: 'number' } }, { n: 2 }],
    ['self.big == 9007199254740993', { big: int }, { big: 9007199254740993n }],
    ['self.a.split(",").map(x, int(x)).sum() == 6', { a: text }, { a: '1,2,3' }],
    ['self.o == {"a": 1}.map(k, k)[0] || self.o == "a"', { o: text }, { o: 'a' }],
    [
      'self.s == self.s2',
      { s: listOf(text, { 'x-kubernetes-list-type': 'set' }), s2: listOf(text, { 'x-kubernetes-list-type': 'set' }) },
      { s: ['a', 'b'], s2: ['b', 'a'] },
    ],
    ['self.n == null || self.n > 3', { n: { type: 'integer', nullable: true } }, { n: null }],
    ['self.a.lowerAscii() == "abcÄ"', { a: text }, { a: 'ABCÄ' }],
    ['semver(self.v).isLessThan(semver("1.10.0"))', { v: text }, { v: '1.9.3' }],
    ['url(self.u).getHostname() == "example.com"', { u: text }, { u: 'https://example.com:80/path' }],
    ['sets.contains(["a", "b"], self.l)', { l: listOf(text) }, { l: ['a'] }],
    ['self.a.find("[0-9]+") == "42"', { a: text }, { a: 'x42y' }],
    ['cel.bind(n, size(self.a), n > 0 && n < 5)', { a: text }, { a: 'abc' }],
    ['"%s has %d".format([self.a, size(self.a)]) == "abc has 3"', { a: text }, { a: 'abc' }],
  ]

  it.each(cases)('%s', (rule, properties, value) => {
    expect(faultsOf(object(properties, rule), value)).toEqual([])
  })
})

describe('a rule that fails', () => {
  it('tells the rule when it has no message, without the whole object', () => {
    expect(faultsOf(object({ x: int }, 'self.x > 0 '), { x: 0 })).toEqual([
      'spec: Invalid value: failed rule: self.x > 0',
    ])
  })

  it('shows a scalar', () => {
    const rule = { rule: 'self > 3', message: 'too small' }
    const spec: Schema = { type: 'object', properties: { x: { type: 'integer', 'x-kubernetes-validations': [rule] } } }
    expect(faultsOf(spec, { x: 1 })).toEqual(['spec.x: Invalid value: 1: too small'])
  })

  it('speaks through its message expression, its reason and its field path', () => {
    const rule = {
      rule: 'self.x > 3',
      message: 'not used',
      messageExpression: '"x is " + string(self.x)',
      reason: 'FieldValueForbidden',
      fieldPath: '.x',
    }
    expect(faultsOf(object({ x: int }, rule), { x: 1 })).toEqual(['spec.x: Forbidden: x is 1'])
  })

  it('falls back to the message when the expression fails', () => {
    const rule = { rule: 'false', message: 'plain', messageExpression: 'self.l[7]' }
    expect(faultsOf(object({ l: listOf(text) }, rule), { l: [] })).toEqual(['spec: Invalid value: plain'])
  })

  it('says what went wrong when it cannot be evaluated', () => {
    expect(faultsOf(object({ x: int, y: int }, 'self.x > 0'), { y: 1 })).toEqual([
      'spec: Invalid value: "object": no such key: x evaluating rule: self.x > 0',
    ])
  })

  it('waits until types are right', () => {
    const faults = faultsOf(object({ x: int }, 'self.x > 0'), { x: 'a' })
    expect(faults).toHaveLength(2)
    expect(faults[1]).toBe(
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    )
  })
})

describe('transition rules', () => {
  const grows: Schema = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > oldSelf' }] }

  it('do not run on create', () => {
    expect(faultsOf({ type: 'object', properties: { n: grows } }, { n: 1 })).toEqual([])
  })

  it('run on update, and are never let through', () => {
    expect(faultsOf({ type: 'object', properties: { n: grows } }, { n: 9 }, { n: 10 })).toEqual([
      'spec.n: Invalid value: 9: failed rule: self > oldSelf',
    ])
    expect(faultsOf({ type: 'object', properties: { n: grows } }, { n: 9 }, { n: 9 })).toHaveLength(1)
  })

  it('follow the items of a keyed list', () => {
    const item = { type: 'object', properties: { name: text, n: grows } }
    const list = listOf(item, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    const spec: Schema = { type: 'object', properties: { l: list } }
    const old = {
      l: [
        { name: 'a', n: 1 },
        { name: 'b', n: 5 },
      ],
    }
    expect(
      faultsOf(
        spec,
        {
          l: [
            { name: 'b', n: 6 },
            { name: 'a', n: 1 },
            { name: 'c', n: 0 },
          ],
        },
        old,
      ),
    ).toEqual(['spec.l[1].n: Invalid value: 1: failed rule: self > oldSelf'])
  })

  it('may take an old value that is not there', () => {
    const rule = { rule: 'oldSelf.hasValue() || self.x == 1', optionalOldSelf: true }
    const spec = object({ x: int }, rule)
    expect(faultsOf(spec, { x: 2 })).toHaveLength(1)
    expect(faultsOf(spec, { x: 2 }, { x: 1 })).toEqual([])
  })
})

describe('ratcheting', () => {
  it('lets a failed rule through where nothing changed', () => {
    const inner = object({ x: int }, 'self.x > 0')
    const spec: Schema = { type: 'object', properties: { a: inner, other: text } }
    expect(faultsOf(spec, { a: { x: 0 }, other: 'new' }, { a: { x: 0 }, other: 'old' })).toEqual([])
    expect(faultsOf(spec, { a: { x: -1 } }, { a: { x: 0 } })).toHaveLength(1)
  })
})

describe('cost', () => {
  it('stops a rule that would run too long', () => {
    const spec = object({ l: listOf(int) }, 'self.l.all(x, self.l.all(y, y == x))')
    const faults = faultsOf(spec, { l: Array.from({ length: 725 }, () => 20) })
    expect(faults).toEqual([
      `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.l.all(x, self.l.all(y, y == x))`,
    ])
  })

  it('cannot be hidden behind an or', () => {
    const spec = object({ l: listOf(int) }, 'self.l.all(x, self.l.all(y, self.l.all(z, true))) || true')
    expect(faultsOf(spec, { l: Array.from({ length: 500 }, () => 1) })).toHaveLength(1)
  })

  it('counts the size of texts', () => {
    const spec = object({ l: listOf(int), a: text }, 'self.l.all(x, !self.a.contains("b"))')
    expect(faultsOf(spec, { l: Array.from({ length: 500 }, () => 1), a: 'a'.repeat(100_000) })).toHaveLength(1)
  })

  it('matches in linear time', () => {
    const spec = object({ a: text }, '!self.a.matches("^(a+)+$")')
    expect(faultsOf(spec, { a: `${'a'.repeat(5_000)}!` })).toEqual([])
  })
})
