// `x-kubernetes-validations`: rules that live in a schema and judge the values beneath it. Rules that speak of
// `oldSelf` run only where an old value continues in the new one; a failed rule about a value that did not change is
// ignored, because the object may be older than the rule.

import type { Environment } from '@marcbachmann/cel-js'
import { Optional } from '@marcbachmann/cel-js'
import { at, child, duplicate, type Fault, forbidden, invalid, required } from '../faults.ts'
import { equal, isObject } from '../object.ts'
import { type Old, oldField, oldItems } from '../schema/correlate.ts'
import type { Node } from '../schema/node.ts'
import type { Schema, ValidationRule } from '../schema/schema.ts'
import { CostExceeded, callCostMax, objectCostMax } from './budget.ts'
import { newEnvironment } from './environment.ts'
import { normalFieldPath } from './field-path.ts'
import { CompileFailure, compileProgram, EvaluationFailure, type Program } from './program.ts'
import { type Shape, shapeMaker } from './types.ts'

export interface CompiledRule {
  readonly rule: ValidationRule
  /** Undefined when the rule is empty or does not compile. */
  readonly program: Program | undefined
  readonly problem: string | undefined
  readonly message: Program | undefined
  readonly messageProblem: string | undefined
  /** `.a.b` as the path of a fault continues it. */
  readonly fieldPath: string
}

/** Rules at one place of the schema and below it. Places without any are not in the tree. */
interface RuleNode {
  readonly node: Node
  readonly shape: Shape
  rules: readonly CompiledRule[]
  /** The schema that holds the rules as written. */
  readonly source: Schema
  readonly allOf: readonly RuleNode[]
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly additional: RuleNode | undefined
  readonly items: RuleNode | undefined
}

export interface CheckOptions {
  /** Where the value stands; the root when not given. */
  readonly path?: string
  readonly isDefault?: boolean
}

export interface RuleSet {
  /** What the rules say about a value. What did not change since `old` is let through, unless it is a default. */
  check(value: unknown, old: Old | undefined, options?: CheckOptions): Fault[]
  /** The compiled rules of one schema, by identity; for the checks of the schema itself. */
  rulesOf(schema: Schema): readonly CompiledRule[]
  shapeOf(schema: Schema): Shape | undefined
}

/** Compiles every rule of a schema. Undefined when there is none. */
export function compileRules(root: Node, isResource = true): RuleSet | undefined {
  if (!hasRules(root, new Set())) return undefined
  const environment = newEnvironment()
  const makeShape = shapeMaker(environment)
  const shape = makeShape(root, isResource)
  const tree = shape && build(root, root, shape, makeShape)
  if (tree === undefined) return undefined
  const bySchema = new Map<Schema, RuleNode>()
  compileBelow(tree, environment, bySchema)
  return {
    check: (value, old, { path = '', isDefault = false } = {}) => {
      const run = new Run()
      const ratchet = { continues: isDefault ? undefined : old, isRoot: true }
      run.visit(tree, value, tree.shape.convert(value), old, ratchet, path)
      return run.faults
    },
    rulesOf: schema => bySchema.get(schema)?.rules ?? [],
    shapeOf: schema => bySchema.get(schema)?.shape,
  }
}

function hasRules(node: Node, seen: Set<Node>): boolean {
  if (seen.has(node)) return false
  seen.add(node)
  if ((node.schema['x-kubernetes-validations'] ?? []).length > 0) return true
  const below = [...node.properties.values(), ...node.allOf]
  if (node.items !== undefined) below.push(node.items)
  if (typeof node.additional === 'object') below.push(node.additional)
  return below.some(inner => hasRules(inner, seen))
}

/** `written` holds the rules, `spine` the types: inside an allOf they are different schemas of the same value. */
function build(
  written: Node,
  spine: Node,
  shape: Shape,
  makeShape: (node: Node, isResource: boolean) => Shape | undefined,
): RuleNode | undefined {
  const properties = new Map<string, RuleNode>()
  for (const [name, property] of written.properties) {
    const of = spine.properties.get(name)
    const inner = of && (shape.fields.get(name) ?? makeShape(of, false))
    const made = of && inner && build(property, of, inner, makeShape)
    if (made !== undefined) properties.set(name, made)
  }
  const additional =
    typeof written.additional === 'object' && typeof spine.additional === 'object' && shape.element !== undefined
      ? build(written.additional, spine.additional, shape.element, makeShape)
      : undefined
  const items =
    written.items !== undefined && spine.items !== undefined && shape.element !== undefined
      ? build(written.items, spine.items, shape.element, makeShape)
      : undefined
  const allOf = written.allOf.flatMap(part => build(part, spine, shape, makeShape) ?? [])
  const rules = written.schema['x-kubernetes-validations'] ?? []
  const isBare = rules.length === 0 && properties.size === 0 && allOf.length === 0
  if (isBare && additional === undefined && items === undefined) return undefined
  return { node: spine, shape, rules: [], source: written.schema, allOf, properties, additional, items }
}

/** After all types are known: an environment that has children takes no new types. */
function compileBelow(place: RuleNode, environment: Environment, bySchema: Map<Schema, RuleNode>): void {
  place.rules = compileAt(place, environment)
  bySchema.set(place.source, place)
  const below = [...place.properties.values(), ...place.allOf, place.additional, place.items]
  for (const inner of below) if (inner !== undefined) compileBelow(inner, environment, bySchema)
}

function compileAt(place: RuleNode, environment: Environment): CompiledRule[] {
  const written = place.source['x-kubernetes-validations'] ?? []
  if (written.length === 0) return []
  const { type } = place.shape
  const plain = environment.clone().registerVariable('self', type).registerVariable('oldSelf', type)
  let optional: Environment | undefined
  return written.map(rule => {
    if (rule.optionalOldSelf !== true) return compileRule(rule, place.node, plain)
    optional ??= environment.clone().registerVariable('self', type).registerVariable('oldSelf', `optional<${type}>`)
    return compileRule(rule, place.node, optional)
  })
}

function compileRule(rule: ValidationRule, node: Node, environment: Environment): CompiledRule {
  const fieldPath = rule.fieldPath ? normalFieldPath(rule.fieldPath, node) : undefined
  const blank = { rule, program: undefined, problem: undefined, message: undefined, messageProblem: undefined }
  const placed = { ...blank, fieldPath: typeof fieldPath === 'string' ? fieldPath : '' }
  if (rule.rule.trim() === '') return placed
  const program = compileOr(rule.rule, environment, 'compilation failed: ')
  if (typeof program === 'string') return { ...placed, problem: program }
  if (program.resultType !== 'bool' && program.resultType !== 'dyn') {
    return { ...placed, problem: 'cel expression must evaluate to a bool' }
  }
  if (!rule.messageExpression) return { ...placed, program }
  const message = compileOr(rule.messageExpression, environment, 'messageExpression compilation failed: ')
  if (typeof message === 'string') return { ...placed, program, messageProblem: message }
  if (message.resultType !== 'string' && message.resultType !== 'dyn') {
    return { ...placed, program, messageProblem: 'messageExpression must evaluate to a string' }
  }
  return { ...placed, program, message }
}

function compileOr(source: string, environment: Environment, prefix: string): Program | string {
  try {
    return compileProgram(source, environment)
  } catch (error) {
    if (error instanceof CompileFailure) return prefix + error.message
    throw error
  }
}

/** How a place relates to the old object, for letting unchanged values through. */
interface Ratchet {
  readonly continues: Old | undefined
  readonly isRoot: boolean
  /** The nearest place above that continues an old value, and its new value. */
  readonly above?: { readonly value: unknown; readonly old: Old }
}

/** One validation of one object: its faults and what is left of its budget. */
class Run {
  readonly faults: Fault[] = []
  #left = objectCostMax

  visit(place: RuleNode, value: unknown, self: unknown, old: Old | undefined, ratchet: Ratchet, path: string): void {
    if (value === null || value === undefined || this.#left < 0) return
    this.#runRules(place, value, self, old, ratchet, path)
    for (const part of place.allOf) {
      this.visit(
        part,
        value,
        self,
        old,
        { continues: undefined, isRoot: false, ...(ratchet.above && { above: ratchet.above }) },
        path,
      )
    }
    if (Array.isArray(value)) this.#visitItems(place, value, old, ratchet, path)
    else if (isObject(value)) this.#visitFields(place, value, old, ratchet, path)
  }

  #visitItems(place: RuleNode, value: unknown[], old: Old | undefined, ratchet: Ratchet, path: string): void {
    if (place.items === undefined) return
    const correlate = oldItems(old, place.node)
    const continues = oldItems(ratchet.continues, place.node)
    for (const [i, item] of value.entries()) {
      const below = deeper(ratchet, value, continues(item))
      this.visit(place.items, item, place.items.shape.convert(item), correlate(item), below, at(path, i))
    }
  }

  #visitFields(
    place: RuleNode,
    value: Record<string, unknown>,
    old: Old | undefined,
    ratchet: Ratchet,
    path: string,
  ): void {
    if (place.additional !== undefined) {
      for (const key of Object.keys(value)) {
        if (!place.node.properties.has(key))
          this.#visitField(place, place.additional, value, key, old, ratchet, at(path, key))
      }
    }
    for (const [name, inner] of place.properties) {
      if (Object.hasOwn(value, name)) this.#visitField(place, inner, value, name, old, ratchet, child(path, name))
    }
  }

  #visitField(
    place: RuleNode,
    inner: RuleNode,
    value: Record<string, unknown>,
    name: string,
    old: Old | undefined,
    ratchet: Ratchet,
    path: string,
  ): void {
    const isTypeField = ratchet.isRoot && (name === 'apiVersion' || name === 'kind')
    const below: Ratchet = isTypeField
      ? { continues: undefined, isRoot: false }
      : deeper(ratchet, value, oldField(ratchet.continues, place.node, name))
    const before = oldField(old, place.node, name)
    this.visit(inner, value[name], inner.shape.convert(value[name]), before, below, path)
  }

  #runRules(
    place: RuleNode,
    value: unknown,
    self: unknown,
    old: Old | undefined,
    ratchet: Ratchet,
    path: string,
  ): void {
    const field = path === '' ? '<nil>' : path
    const type = place.node.schema.type ?? ''
    const hasOld = old !== undefined && old.value !== null && old.value !== undefined
    let oldSelf: unknown
    for (const compiled of place.rules) {
      const { rule, program } = compiled
      if (compiled.problem !== undefined) {
        this.faults.push(invalid(field, type, `rule compile error: ${compiled.problem}`))
        continue
      }
      if (program === undefined) continue
      const usesOld = program.uses('oldSelf')
      if (usesOld && !hasOld && rule.optionalOldSelf !== true) continue
      if (usesOld && hasOld) oldSelf ??= place.shape.convert(old.value)
      const bindings = { self, ...(usesOld && { oldSelf: oldSelfOf(rule, hasOld, oldSelf) }) }
      const verdict = this.#evaluate(program, bindings, rule, field, type)
      if (verdict === 'stop') return
      if (verdict === 'passed') continue
      const fault = this.#failed(compiled, bindings, value, type, path)
      if (usesOld || !isUnchanged(value, ratchet)) this.faults.push(fault)
      if (this.#left < 0) return
    }
  }

  #evaluate(
    program: Program,
    bindings: Record<string, unknown>,
    rule: ValidationRule,
    field: string,
    type: string,
  ): 'passed' | 'failed' | 'stop' {
    try {
      const { value, cost } = program.run(bindings, callCostMax)
      this.#left -= cost
      if (this.#left >= 0) return value === true ? 'passed' : 'failed'
      const why = 'validation failed due to running out of cost budget, no further validation rules will be run'
      this.faults.push(invalid(field, type, why))
      return 'stop'
    } catch (error) {
      if (error instanceof CostExceeded) {
        const why = `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${nameOfRule(rule)}`
        this.faults.push(invalid(field, type, why))
        this.#left = -1
        return 'stop'
      }
      if (!(error instanceof EvaluationFailure)) throw error
      this.#left -= error.cost
      const why = error.message.startsWith('no such overload')
        ? `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${nameOfRule(rule)}`
        : `${error.message} evaluating rule: ${nameOfRule(rule)}`
      this.faults.push(invalid(field, type, why))
      return 'passed'
    }
  }

  #failed(
    compiled: CompiledRule,
    bindings: Record<string, unknown>,
    value: unknown,
    type: string,
    path: string,
  ): Fault {
    const { rule, fieldPath } = compiled
    const placed = `${path}${path === '' ? fieldPath.replace(/^\./, '') : fieldPath}`
    const field = placed === '' ? '<nil>' : placed
    const said = compiled.message === undefined ? undefined : this.#say(compiled.message, bindings)
    const detail = said ?? (rule.message ? rule.message.trim() : `failed rule: ${rule.rule.trim()}`)
    switch (rule.reason) {
      case 'FieldValueForbidden':
        return forbidden(field, detail)
      case 'FieldValueRequired':
        return required(field, detail)
      case 'FieldValueDuplicate':
        return isContainer(type)
          ? { type: 'FieldValueDuplicate', field, message: 'Duplicate value' }
          : duplicate(field, value)
      default:
        // A whole object is too long to show: its value is left out.
        return isContainer(type)
          ? { type: 'FieldValueInvalid', field, message: `Invalid value: ${detail}` }
          : invalid(field, value, detail)
    }
  }

  /** The text of a message expression, or undefined when there is none to show. */
  #say(program: Program, bindings: Record<string, unknown>): string | undefined {
    try {
      const { value, cost } = program.run(bindings)
      this.#left -= cost
      const text = typeof value === 'string' ? value.trim() : ''
      return text === '' || text.includes('\n') || Buffer.byteLength(text) > messageBytesMax ? undefined : text
    } catch (error) {
      if (error instanceof EvaluationFailure) return undefined
      if (!(error instanceof CostExceeded)) throw error
      this.#left = -1
      return `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(program.source)}`
    }
  }
}

const messageBytesMax = 5 * 1024

function oldSelfOf(rule: ValidationRule, hasOld: boolean, oldSelf: unknown): unknown {
  if (rule.optionalOldSelf !== true) return oldSelf
  return hasOld ? Optional.of(oldSelf) : Optional.none()
}

function deeper(ratchet: Ratchet, value: unknown, continues: Old | undefined): Ratchet {
  if (ratchet.continues === undefined) return { ...ratchet, isRoot: false }
  return { continues, isRoot: false, above: { value, old: ratchet.continues } }
}

function isUnchanged(value: unknown, { continues, above }: Ratchet): boolean {
  if (continues !== undefined) return equal(value, continues.value)
  return above !== undefined && equal(above.value, above.old.value)
}

function isContainer(type: string): boolean {
  return type === 'object' || type === 'array'
}

function nameOfRule(rule: ValidationRule): string {
  return (rule.message ? rule.message : rule.rule).trim()
}
