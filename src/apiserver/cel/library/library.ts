// Helpers to define a library of CEL functions in an environment.

import { type Environment, EvaluationError } from '@marcbachmann/cel-js'

export type Library = (environment: Environment) => void

/** A function of the language. Handlers get values of the declared types, so the cast lives here and nowhere else. */
export function define<T extends readonly unknown[]>(
  environment: Environment,
  signature: string,
  handler: (...args: T) => unknown,
): void {
  environment.registerFunction(signature, handler as never as (...args: unknown[]) => unknown, { async: false })
}

/** A name with functions behind a dot: `sets.contains(...)`. */
export function defineNamespace(environment: Environment, name: string, type: string): void {
  const Namespace = class {}
  environment.registerType(type, Namespace)
  environment.registerConstant(name, type, new Namespace())
}

/** An opaque type of values with an equality of its own. */
export function defineType<T>(
  environment: Environment,
  name: string,
  ctor: new (...args: never[]) => T,
  isEqual: (a: T, b: T) => boolean,
): void {
  environment.registerType(name, ctor)
  environment.registerOperator(`${name} == ${name}`, isEqual as (a: unknown, b: unknown) => boolean)
  neverNull(environment, name)
}

/** Values of this type may be compared with null, and are never equal to it. */
export function neverNull(environment: Environment, type: string): void {
  environment.registerOperator(`${type} == null`, () => false)
}

export function fail(message: string): never {
  throw new EvaluationError(message)
}

/** Lists are arrays, except sets of scalars, which compare without order. */
export function toArray<T>(list: readonly T[] | ReadonlySet<T>): readonly T[] {
  return Array.isArray(list) ? (list as readonly T[]) : [...(list as ReadonlySet<T>)]
}

/** No text made by a rule may grow beyond this: it is far above any message, far below what hurts. */
const charsMax = 10_000_000

export function boundChars(count: number): void {
  if (count > charsMax) fail('operation cancelled: actual cost limit exceeded')
}
