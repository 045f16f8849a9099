import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clone, type KubeObject } from '../object.ts'
import type { Schema } from './schema.ts'
import { compileSchema } from './structural.ts'

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'toString')

const { schema } = fc.letrec<{ schema: Schema }>(tie => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.record(
      { type: fc.constant('integer'), default: fc.integer(), nullable: fc.boolean() },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      { type: fc.constant('string'), default: fc.string(), nullable: fc.boolean() },
      { requiredKeys: ['type'] },
    ),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
    fc
      .record({
        properties: fc.array(fc.tuple(name, tie('schema')), { maxLength: 3 }),
        keepsUnknown: fc.boolean(),
      })
      .map(({ properties, keepsUnknown }) => ({
        type: 'object',
        properties: Object.fromEntries(properties),
        ...(keepsUnknown && { 'x-kubernetes-preserve-unknown-fields': true }),
      })),
  ),
}))

const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constant(null),
    fc.integer(),
    fc.string(),
    fc.boolean(),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 4 }).map(fields => Object.fromEntries(fields)),
  ),
}))

const anObject = (spec: unknown): KubeObject => ({ apiVersion: 'a/v1', kind: 'A', metadata: { name: 'a' }, spec })
const compile = (spec: Schema) => compileSchema({ type: 'object', properties: { spec } }, {})

describe('whatever the schema and the object', () => {
  it('pruning twice is pruning once, and leaves nothing unknown', () => {
    fc.assert(
      fc.property(schema, json, (spec, value) => {
        const compiled = compile(spec)
        const object = anObject(clone(value))
        const unknown = compiled.unknownFields(object)
        expect(compiled.prune(object)).toEqual(unknown)
        const once = clone(object)
        expect(compiled.prune(object)).toEqual([])
        expect(object).toEqual(once)
      }),
    )
  })

  it('what is surely complete is left as it is by pruning and defaulting', () => {
    fc.assert(
      fc.property(schema, json, (spec, value) => {
        const compiled = compile(spec)
        const object = anObject(clone(value))
        fc.pre(compiled.isSurelyComplete(object))
        const before = clone(object)
        compiled.prune(object)
        compiled.applyDefaults(object)
        expect(object).toEqual(before)
      }),
    )
  })

  it('what was pruned and defaulted, and has no null, is surely complete', () => {
    fc.assert(
      fc.property(schema, json, (spec, value) => {
        const compiled = compile(spec)
        const object = anObject(clone(value))
        compiled.prune(object)
        compiled.applyDefaults(object)
        fc.pre(!JSON.stringify(object).includes('null'))
        expect(compiled.isSurelyComplete(object)).toBe(true)
      }),
    )
  })

  it('defaulting twice is defaulting once', () => {
    fc.assert(
      fc.property(schema, json, (spec, value) => {
        const compiled = compile(spec)
        const object = anObject(clone(value))
        compiled.applyDefaults(object)
        const once = clone(object)
        compiled.applyDefaults(object)
        expect(object).toEqual(once)
      }),
    )
  })

  it('what was valid is valid after defaulting', () => {
    fc.assert(
      fc.property(schema, json, (spec, value) => {
        const compiled = compile(spec)
        const object = anObject(clone(value))
        fc.pre(compiled.validate(object).length === 0)
        compiled.applyDefaults(object)
        expect(compiled.validate(object)).toEqual([])
      }),
    )
  })

  it('an unchanged object is never refused, whatever it was', () => {
    fc.assert(
      fc.property(schema, json, (spec, value) => {
        expect(compile(spec).validate(anObject(value), anObject(clone(value)))).toEqual([])
      }),
    )
  })
})
