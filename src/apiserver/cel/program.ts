// Compiles the text of an expression: parsed, checked, calls directed to Kubernetes' functions, every step metered.
// Errors in the text read like cel-go's, with the position and an arrow.

import { type Environment, EvaluationError, Optional } from '@marcbachmann/cel-js'
import { CostExceeded, callCostMax, Meter } from './budget.ts'
import { type Checker, isTree, type Scope, type Tree, toTree, visit } from './engine.ts'
import { fail } from './library/library.ts'
import { replacedMethods, replacedPrefix } from './library/strings.ts'

export interface Program {
  readonly source: string
  /** The name of the type it evaluates to; `dyn` when only running it can tell. */
  readonly resultType: string
  readonly tree: Tree
  /** Does it read this variable? */
  uses(variable: string): boolean
  /** Runs it within a budget. Throws `CostExceeded`, or an `EvaluationFailure` that says what went wrong. */
  run(bindings: Readonly<Record<string, unknown>>, limit?: number): Outcome
}

export interface Outcome {
  readonly value: unknown
  readonly cost: number
}

/** The text does not compile. The message carries the place, as in `ERROR: <input>:1:5: undefined field 'z'`. */
export class CompileFailure extends Error {
  override readonly name = 'CompileFailure'
}

export class EvaluationFailure extends Error {
  override readonly name = 'EvaluationFailure'
  readonly cost: number

  constructor(message: string, cost: number, options?: ErrorOptions) {
    super(message, options)
    this.cost = cost
  }
}

export function compileProgram(source: string, environment: Environment): Program {
  const parsed = parse(source, environment)
  const tree = toTree(parsed.ast)
  const variables = new Set<string>()
  visit(tree, node => {
    redirect(node)
    checkPresence(node)
    if (node.op === 'id' && typeof node.args === 'string') variables.add(node.args)
  })
  const { valid, type, error } = parsed.check()
  if (!valid) throw explain(error, source, environment)
  const current: Run = { meter: new Meter(0), failure: undefined }
  visit(tree, node => charge(node, current))

  return {
    source,
    resultType: type ?? 'dyn',
    tree,
    uses: variable => variables.has(variable),
    run: (bindings, limit = callCostMax) => {
      const meter = new Meter(Math.min(limit, callCostMax))
      current.meter = meter
      return settle(() => parsed({ ...bindings }), meter)
    },
  }
}

function parse(source: string, environment: Environment): ReturnType<Environment['parse']> {
  try {
    return environment.parse(source)
  } catch (error) {
    throw explain(error, source, environment)
  }
}

/** An `||` may swallow the error of an exceeded budget, so the meter itself is asked. */
function settle(run: () => unknown, meter: Meter): Outcome {
  try {
    const value = run()
    if (meter.isEmpty) throw new CostExceeded()
    return { value, cost: meter.spent }
  } catch (error) {
    if (meter.isEmpty) throw new CostExceeded()
    throw new EvaluationFailure(toFailureText(error), meter.spent, { cause: error })
  }
}

function redirect(node: Tree): void {
  if (node.op !== 'rcall' || !Array.isArray(node.args)) return
  const [method] = node.args as [string]
  if (replacedMethods.has(method)) node.args = [replacedPrefix + method, ...node.args.slice(1)]
}

/** `has(e.x)` asks for the field of whatever `e` is; the engine's own takes only a chain of fields. */
function checkPresence(node: Tree): void {
  const macro = node.meta.macro
  if (macro === undefined || node.op !== 'call' || !Array.isArray(node.args) || node.args[0] !== 'has') return
  const [target] = macro.args ?? []
  if (target === undefined || (target.op !== '.' && target.op !== '.?') || !Array.isArray(target.args)) return
  const [operand, field] = target.args as [Tree, string]
  macro.typeCheck = (checker, _, scope) => {
    checkTarget(checker, target, scope, node)
    return checker.getType('bool')
  }
  macro.evaluate = (evaluator, _, scope) => isPresent(evaluator.run(operand, scope), field)
}

function isPresent(value: unknown, field: string): boolean {
  if (value instanceof Optional) return value.hasValue() && isPresent(value.value(), field)
  if (value instanceof Map) return value.has(field)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.hasOwn(value, field)
  return fail('no such overload')
}

function checkTarget(checker: Checker, target: Tree, scope: Scope, whole: Tree): void {
  try {
    checker.check(target, scope)
  } catch (error) {
    const { code, summary } = error as EngineError
    // The error is reported at the macro, which stands for the selection.
    throw code === 'no_such_key' && summary !== undefined ? checker.createError(code, summary, whole) : error
  }
}

const binaryOperators: ReadonlySet<string> = new Set(['==', '!=', 'in', '+', '<', '<=', '>', '>='])

interface Run {
  meter: Meter
  /** What was thrown last: on its way up it passes many nodes, and is paid for once. */
  failure: unknown
}

/** To make an error takes some twenty microseconds, as many steps do; loops and `||` go on after one. */
const failureCost = 100

function charge(node: Tree, current: Run): void {
  const { alternate, macro, evaluate } = node.meta
  const { handle } = node
  if (handle !== undefined && (node.op === 'call' || node.op === 'rcall')) {
    node.handle = (args, ...rest) => {
      for (const arg of Array.isArray(args) ? args : []) current.meter.spendOn(arg)
      return handle(args, ...rest)
    }
  } else if (handle !== undefined && binaryOperators.has(node.op)) {
    node.handle = (left, right, ...rest) => {
      current.meter.spendOn(left)
      current.meter.spendOn(right)
      return handle(left, right, ...rest)
    }
  }
  chargeTurns(alternate?.args, current)
  node.evaluate = (evaluator, self, scope) => {
    current.meter.spend(1)
    try {
      if (alternate !== undefined) return alternate.evaluate(evaluator, alternate, scope)
      if (macro !== undefined) return macro.evaluate(evaluator, macro, scope)
      return evaluate(evaluator, self, scope)
    } catch (error) {
      throw paidFor(error, current)
    }
  }
}

/** What a loop does in each turn is no node of the text, and fails by itself where its predicate is no bool. */
function chargeTurns(loop: unknown, current: Run): void {
  const step = typeof loop === 'object' && loop !== null && 'step' in loop ? loop.step : undefined
  if (!isTree(step)) return
  const { evaluate } = step.meta
  step.evaluate = (evaluator, self, scope) => {
    try {
      return evaluate(evaluator, self, scope)
    } catch (error) {
      throw paidFor(error, current)
    }
  }
}

function paidFor(error: unknown, current: Run): unknown {
  if (error !== current.failure) {
    current.failure = error
    current.meter.spend(failureCost)
  }
  return error
}

interface EngineError {
  readonly code?: string
  readonly summary?: string
  readonly range?: { readonly start: number }
  readonly name: string
  readonly message: string
  readonly node?: Tree
}

function explain(thrown: unknown, source: string, environment: Environment): CompileFailure {
  const error = thrown as EngineError
  const summary = (error.summary ?? error.message).replaceAll(replacedPrefix, '')
  const text = toCompileText(error, summary, environment)
  return new CompileFailure(atPlace(text, source, placeOf(error, source)), { cause: thrown })
}

/** Where the arrow points: at the dot of a selection, the operator of a comparison, the bracket of a call. */
function placeOf(error: EngineError, source: string): number {
  const { node } = error
  const at = node?.pos ?? error.range?.start ?? 0
  if (node === undefined || error.name === 'ParseError') return at
  if (node.op === '.') return at - 1
  if (!Array.isArray(node.args)) return at
  const [first, second] = node.args as [unknown, unknown]
  if (node.op === 'call') return source.indexOf('(', node.start)
  if (node.op === 'rcall' && isTree(second)) return source.indexOf('(', source.indexOf('.', second.end))
  if (isTree(first) && isTree(second)) return Math.max(at, source.indexOf(node.op, first.end))
  return at
}

function toCompileText(error: EngineError, summary: string, environment: Environment): string {
  if (error.name === 'ParseError') return `Syntax error: ${summary}`
  switch (error.code) {
    case 'no_such_key':
      return `undefined field '${summary.replace(/^No such key: /, '')}'`
    case 'unknown_variable':
      return undeclared(summary.replace(/^Unknown variable: /, ''))
    case 'no_such_overload': {
      const [, left = '', operator = '', right = ''] = /^no such overload: (.+) (\S+) (.+)$/.exec(summary) ?? []
      return operator === ''
        ? summary
        : `found no matching overload for '_${operator}_' applied to '(${left}, ${right})'`
    }
    case 'no_matching_overload': {
      const [, receiver, name = '', args = ''] = /'(?:([^(]+)\.)?(\w+)\((.*)\)'$/.exec(summary) ?? []
      if (!isFunction(name, environment)) return undeclared(name)
      return `found no matching overload for '${name}' applied to '${receiver === undefined ? '' : `${receiver}.`}(${args})'`
    }
    default:
      return summary
  }
}

function undeclared(name: string): string {
  return `undeclared reference to '${name}' (in container '')`
}

function isFunction(name: string, environment: Environment): boolean {
  return environment
    .getDefinitions()
    .functions.some(known => known.name === name || known.name === replacedPrefix + name)
}

function atPlace(text: string, source: string, place: number): string {
  const before = source.slice(0, Math.max(0, place)).split('\n')
  const column = before.at(-1)?.length ?? 0
  const line = source.split('\n')[before.length - 1] ?? ''
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`
}

function toFailureText(thrown: unknown): string {
  if (!(thrown instanceof EvaluationError)) return thrown instanceof Error ? thrown.message : String(thrown)
  const { code, summary = thrown.message } = thrown as unknown as EngineError
  switch (code) {
    case 'no_such_key':
      return summary.replace(/^No such key/, 'no such key')
    case 'index_out_of_bounds':
      return `index out of bounds: ${/index (-?\d+)/.exec(summary)?.[1] ?? ''}`
    case 'no_such_overload':
    case 'no_matching_overload':
    case 'field_type_mismatch':
    case 'list_item_type_mismatch':
      return 'no such overload'
    case 'numeric_overflow':
      return 'integer overflow'
    case 'modulo_by_zero':
      return 'modulus by zero'
    default:
      return summary
  }
}
