// One CEL expression outside a schema: the match conditions of admission webhooks. Its variables have no declared type,
// so only syntax, unknown names and unknown functions are found before it runs.

import { matchConditionsCostMax } from './budget.ts'
import { newEnvironment } from './environment.ts'
import { define } from './library/library.ts'
import { CompileFailure, compileProgram, type Program } from './program.ts'
import { toDyn } from './types.ts'

export interface CompiledExpression {
  readonly source: string
  /** `bool`, `string`, ... or `dyn` when only running it can tell. */
  readonly resultType: string
  uses(variable: string): boolean
  /** Runs the expression on JSON values. Throws when it fails or spends more than its budget. */
  evaluate(bindings: Readonly<Record<string, unknown>>, authorize?: AnswerCheck): unknown
}

export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
}

/** The question an `authorizer` variable asks: may this user do that? */
export interface AuthorizerCheck {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly path: string
  readonly verb: string
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

export type AnswerCheck = (check: AuthorizerCheck) => { readonly allowed: boolean; readonly reason: string }

const nothingAllowed: AnswerCheck = () => ({ allowed: false, reason: '' })

/**
 * Compiles an expression over variables of any type; one of them may be the `authorizer`. Throws an `ExpressionError`: `compilation failed: ...`.
 *
 * @example
 * compileExpression('object.metadata.name == "a"', ['object', 'request']).evaluate({ object, request })
 */
export function compileExpression(source: string, variables: readonly string[]): CompiledExpression {
  const environment = newEnvironment()
  /** Of the run that is under way: runs do not wait, so there is one at a time. */
  let answer = nothingAllowed
  for (const name of variables) {
    if (name === 'authorizer') defineAuthorizer(environment, check => answer(check))
    else environment.registerVariable(name, 'dyn')
  }
  const program = compileOrThrow(source, environment)
  return {
    source,
    resultType: program.resultType,
    uses: variable => program.uses(variable),
    evaluate(bindings, authorize = nothingAllowed) {
      const values = Object.fromEntries(Object.entries(bindings).map(([name, value]) => [name, toDyn(value)]))
      answer = authorize
      try {
        return program.run(values, matchConditionsCostMax).value
      } finally {
        answer = nothingAllowed
      }
    },
  }
}

function compileOrThrow(source: string, environment: ReturnType<typeof newEnvironment>): Program {
  try {
    return compileProgram(source, environment)
  } catch (error) {
    if (!(error instanceof CompileFailure)) throw error
    throw new ExpressionError(`compilation failed: ${error.message}`, { cause: error })
  }
}

class Authorizer {
  readonly question: Partial<AuthorizerCheck>

  constructor(question: Partial<AuthorizerCheck>) {
    this.question = question
  }

  with(more: Partial<AuthorizerCheck>): Authorizer {
    return new Authorizer({ ...this.question, ...more })
  }
}

class Decision {
  readonly allowed: boolean
  readonly reason: string

  constructor(allowed: boolean, reason: string) {
    this.allowed = allowed
    this.reason = reason
  }
}

/** `authorizer.group('').resource('pods').namespace('a').check('get').allowed()` and its shorter relatives. */
function defineAuthorizer(environment: ReturnType<typeof newEnvironment>, authorize: AnswerCheck): void {
  const type = 'kubernetes.authorization.Authorizer'
  const decision = 'kubernetes.authorization.Decision'
  environment.registerType(type, Authorizer)
  environment.registerType(decision, Decision)
  environment.registerConstant('authorizer', type, new Authorizer({}))
  for (const field of ['group', 'resource', 'subresource', 'namespace', 'name', 'path'] as const) {
    define(environment, `${type}.${field}(string): ${type}`, (self: Authorizer, value: string) =>
      self.with({ [field]: value }),
    )
  }
  define(
    environment,
    `${type}.serviceAccount(string, string): ${type}`,
    (self: Authorizer, namespace: string, name: string) => self.with({ serviceAccount: { namespace, name } }),
  )
  define(environment, `${type}.check(string): ${decision}`, ({ question }: Authorizer, verb: string) => {
    const blank = { group: '', resource: '', subresource: '', namespace: '', name: '', path: '' }
    const { allowed, reason } = authorize({ ...blank, ...question, verb })
    return new Decision(allowed, reason)
  })
  define(environment, `${decision}.allowed(): bool`, (self: Decision) => self.allowed)
  define(environment, `${decision}.reason(): string`, (self: Decision) => self.reason)
  define(environment, `${decision}.errored(): bool`, () => false)
  define(environment, `${decision}.error(): string`, () => '')
}
