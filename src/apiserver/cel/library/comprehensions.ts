// Loops with two variables (`map.all(key, value, ...)`, `list.all(index, item, ...)`) and macros of optional values.

import { type Environment, Optional } from '@marcbachmann/cel-js'
import type { Checker, Evaluator, MacroCall, Scope, Tree, Type } from '../engine.ts'
import { define, fail, type Library } from './library.ts'
import { compare, same } from './lists.ts'

interface Loop {
  readonly range: Tree
  readonly names: readonly [string, string]
  readonly bodies: readonly Tree[]
  scopes: readonly [Scope, Scope] | undefined
}

type Pair = readonly [unknown, unknown]

export const comprehensions: Library = environment => {
  quantifier(environment, 'all', results => {
    for (const result of results()) if (result !== true) return false
    return true
  })
  quantifier(environment, 'exists', results => {
    for (const result of results()) if (result === true) return true
    return false
  })
  const exactlyOne = (results: () => Iterable<unknown>): boolean => {
    let count = 0
    for (const result of results()) if (result === true) count++
    return count === 1
  }
  quantifier(environment, 'existsOne', exactlyOne)
  quantifier(environment, 'exists_one', exactlyOne)
  singleExistsOne(environment)

  transform(
    environment,
    'transformList',
    1,
    (type, { registry }) => registry.getListType(type),
    made => made.map(([, value]) => value),
  )
  transform(
    environment,
    'transformMap',
    1,
    (type, checker) => checker.registry.getMapType(checker.getType('dyn'), type),
    made => new Map(made),
  )
  transform(
    environment,
    'transformMapEntry',
    1,
    type => type,
    made => new Map(made.flatMap(([, entry]) => [...pairsOf(entry)])),
  )
  sortBy(environment)
  optionals(environment)
}

function nameOf(node: Tree | undefined): string {
  if (node?.op === 'id' && typeof node.args === 'string') return node.args
  return fail('argument must be a simple name')
}

function loopOf({ args, receiver }: MacroCall): Loop {
  return { range: receiver, names: [nameOf(args[0]), nameOf(args[1])], bodies: args.slice(2), scopes: undefined }
}

function checkLoop(loop: Loop, checker: Checker, scope: Scope): readonly Type[] {
  const range = checker.check(loop.range, scope)
  const any = checker.getType('dyn')
  const key = range.kind === 'map' ? (range.keyType ?? any) : range.kind === 'list' ? checker.getType('int') : any
  const outer = scope.forkWithVariable(loop.names[0], key)
  const inner = outer.forkWithVariable(loop.names[1], range.valueType ?? any)
  loop.scopes = [outer, inner]
  return loop.bodies.map(body => checker.check(body, inner))
}

function pairsOf(value: unknown): Iterable<Pair> {
  if (value instanceof Map) return value
  if (Array.isArray(value)) return value.map((item, i) => [BigInt(i), item] as const)
  if (value instanceof Set) return [...value].map((item, i) => [BigInt(i), item] as const)
  if (typeof value === 'object' && value !== null) return Object.entries(value)
  return fail('expression cannot be range of a comprehension')
}

function* steps(loop: Loop, evaluator: Evaluator, scope: Scope): Generator<readonly [Pair, (body: number) => unknown]> {
  if (loop.scopes === undefined) return
  const [outer, inner] = loop.scopes
  for (const pair of pairsOf(evaluator.run(loop.range, scope))) {
    const bound = inner.reuse(outer.reuse(scope).setIterValue(pair[0], evaluator)).setIterValue(pair[1], evaluator)
    yield [
      pair,
      body => {
        const node = loop.bodies[body]
        return node === undefined ? undefined : evaluator.run(node, bound)
      },
    ]
  }
}

function quantifier(
  environment: Environment,
  name: string,
  decide: (results: () => Iterable<unknown>) => boolean,
): void {
  define(environment, `list.${name}(ast, ast, ast): bool`, (call: MacroCall) => {
    const loop = loopOf(call)
    return {
      async: false,
      typeCheck: (checker: Checker, _: unknown, scope: Scope) => {
        const [body] = checkLoop(loop, checker, scope)
        if (body !== undefined && body.kind !== 'dyn' && body.name !== 'bool') {
          throw checker.createError(
            'invalid',
            `found no matching overload for '_&&_' applied to '(bool, ${body.name})'`,
            call.ast,
          )
        }
        return checker.getType('bool')
      },
      evaluate: (evaluator: Evaluator, _: unknown, scope: Scope) => {
        function* results(): Generator<unknown> {
          for (const [, run] of steps(loop, evaluator, scope)) yield run(0)
        }
        return decide(results)
      },
    }
  })
}

/** `existsOne` with one variable is the newer spelling of `exists_one`. */
function singleExistsOne(environment: Environment): void {
  define(environment, 'list.existsOne(ast, ast): bool', ({ args, receiver }: MacroCall) => {
    const [variable, body] = args
    const loop: Loop = {
      range: receiver,
      names: ['', nameOf(variable)],
      bodies: body === undefined ? [] : [body],
      scopes: undefined,
    }
    return {
      async: false,
      typeCheck: (checker: Checker, _: unknown, scope: Scope) => {
        checkLoop(loop, checker, scope)
        return checker.getType('bool')
      },
      evaluate: (evaluator: Evaluator, _: unknown, scope: Scope) => {
        let count = 0
        for (const [, run] of steps(loop, evaluator, scope)) if (run(0) === true) count++
        return count === 1
      },
    }
  })
}

/** With three arguments every pair is transformed, with four the third decides which. */
function transform(
  environment: Environment,
  name: string,
  bodies: number,
  typeOf: (type: Type, checker: Checker) => Type,
  finish: (made: Pair[]) => unknown,
): void {
  for (const count of [bodies, bodies + 1]) {
    const asts = Array.from({ length: count + 2 }, () => 'ast').join(', ')
    define(environment, `list.${name}(${asts}): dyn`, (call: MacroCall) => {
      const loop = loopOf(call)
      const hasFilter = count > bodies
      return {
        async: false,
        typeCheck: (checker: Checker, _: unknown, scope: Scope) => {
          const types = checkLoop(loop, checker, scope)
          return typeOf(types.at(-1) ?? checker.getType('dyn'), checker)
        },
        evaluate: (evaluator: Evaluator, _: unknown, scope: Scope) => {
          const made: Pair[] = []
          for (const [[key], run] of steps(loop, evaluator, scope)) {
            if (!hasFilter || run(0) === true) made.push([key, run(hasFilter ? 1 : 0)])
          }
          return finish(made)
        },
      }
    })
  }
}

/** Items in the order of a key made from each. */
function sortBy(environment: Environment): void {
  define(environment, 'list.sortBy(ast, ast): list<dyn>', ({ args, receiver }: MacroCall) => {
    const [variable, body] = args
    const bodies = body === undefined ? [] : [body]
    const loop: Loop = { range: receiver, names: ['', nameOf(variable)], bodies, scopes: undefined }
    return {
      async: false,
      typeCheck: (checker: Checker, _: unknown, scope: Scope) => {
        checkLoop(loop, checker, scope)
        return checker.check(receiver, scope)
      },
      evaluate: (evaluator: Evaluator, _: unknown, scope: Scope) => {
        const keyed: Pair[] = []
        for (const [[, item], run] of steps(loop, evaluator, scope)) keyed.push([run(0), item])
        return keyed.sort((a, b) => compare(a[0], b[0])).map(([, item]) => item)
      },
    }
  })
}

function optionals(environment: Environment): void {
  environment.registerOperator('optional == optional', sameOptionals as (a: unknown, b: unknown) => boolean)
  define(environment, 'OptionalNamespace.ofNonZeroValue(A): optional<A>', (_: unknown, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  )
  optionalMacro(
    environment,
    'optMap',
    (value, checker) => checker.registry.getOptionalType(value),
    value => Optional.of(value),
  )
  optionalMacro(
    environment,
    'optFlatMap',
    value => value,
    value => value,
  )
}

function sameOptionals(a: Optional, b: Optional): boolean {
  if (!a.hasValue() || !b.hasValue()) return a.hasValue() === b.hasValue()
  return same(a.value(), b.value())
}

function isZero(value: unknown): boolean {
  if (value instanceof Map || value instanceof Set) return value.size === 0
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  return value === null || value === '' || value === 0 || value === 0n || value === false
}

function optionalMacro(
  environment: Environment,
  name: string,
  typeOf: (value: Type, checker: Checker) => Type,
  wrap: (value: unknown) => unknown,
): void {
  define(environment, `optional.${name}(ast, ast): optional<dyn>`, ({ args, receiver }: MacroCall) => {
    const variable = nameOf(args[0])
    const body = args[1]
    let inner: Scope | undefined
    return {
      async: false,
      typeCheck: (checker: Checker, _: unknown, scope: Scope) => {
        const type = checker.check(receiver, scope)
        inner = scope.forkWithVariable(variable, type.valueType ?? checker.getType('dyn'))
        return typeOf(body === undefined ? checker.getType('dyn') : checker.check(body, inner), checker)
      },
      evaluate: (evaluator: Evaluator, _: unknown, scope: Scope) => {
        const value = evaluator.run(receiver, scope)
        if (!(value instanceof Optional)) return fail(`${name} needs an optional value`)
        if (!value.hasValue() || inner === undefined || body === undefined) return Optional.none()
        return wrap(evaluator.run(body, inner.reuse(scope).setIterValue(value.value(), evaluator)))
      },
    }
  })
}
