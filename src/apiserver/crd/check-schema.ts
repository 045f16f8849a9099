// What a CustomResourceDefinition may say in its schema, beyond being structural: which keywords Kubernetes takes, how
// list and map types go together, and that every rule compiles and stays within its cost limit.

import { callCost, cardinality, costMessage, crdCostMax, ruleCostMax } from '../cel/cost.ts'
import { normalFieldPath } from '../cel/field-path.ts'
import { type CompiledRule, compileRules, type RuleSet } from '../cel/rules.ts'
import { at, child, type Fault, forbidden, invalid, notSupported, required } from '../faults.ts'
import { nodeCompiler } from '../schema/node.ts'
import type { Schema, ValidationRule } from '../schema/schema.ts'
import { checkDefaults, usesReferences } from './check-defaults.ts'
import { checkStructural } from './structural.ts'

export interface SchemaOptions {
  readonly hasStatus: boolean
  /** An unchanged schema keeps rules that were affordable once. */
  readonly isUnchanged: boolean
}

export function checkSchema(schema: Schema, path: string, options: SchemaOptions): Fault[] {
  const faults = [...(options.hasStatus ? rootFaults(schema, path) : [])]
  if (schema.nullable === true) faults.push(forbidden(child(path, 'nullable'), 'nullable cannot be true at the root'))
  // References are refused below; a schema that has some is not checked any further.
  const structural = usesReferences(schema) ? [] : checkStructural(schema, path)
  const shapeFaults = structural.length > 0 || usesReferences(schema) ? structural : checkDefaults(schema, path)
  faults.push(...shapeFaults)
  const isSound = shapeFaults.length === 0 && !usesReferences(schema)
  const rules = isSound ? compileRules(nodeCompiler({})(schema)) : undefined
  const walk = new Walk(rules, options.isUnchanged)
  walk.visit(schema, path, { isRoot: true, count: 1 })
  faults.push(...walk.schemaFaults, ...walk.ruleFaults)
  if (walk.totalCost > crdCostMax) {
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    for (const place of walk.dearest()) {
      const why = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
      faults.push(forbidden(place, why))
    }
    faults.push(forbidden(path, costMessage(what, walk.totalCost, crdCostMax)))
  }
  return faults
}

const allowedAtRoot = new Map<string, string>([
  ['description', 'Description'],
  ['type', 'Type'],
  ['format', 'Format'],
  ['title', 'Title'],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['required', 'Required'],
  ['items', 'Items'],
  ['properties', 'Properties'],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'],
  ['x-kubernetes-validations', 'XValidations'],
])

/** A status subresource checks `status` by its own part of the schema, so the root may have no checks of its own. */
function rootFaults(schema: Schema, path: string): Fault[] {
  if (schema.type !== undefined && schema.type !== '' && schema.type !== 'object') {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
    return [invalid(child(path, 'type'), schema.type, why)]
  }
  const stranger = Object.entries(schema).find(([name, value]) => !allowedAtRoot.has(name) && isSet(value))
  if (stranger === undefined) return []
  const allowed = [...allowedAtRoot.values()].join(' ')
  const why = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`
  return [invalid(path, schema, why)]
}

function isSet(value: unknown): boolean {
  return (
    value !== undefined &&
    value !== null &&
    value !== false &&
    value !== '' &&
    !(Array.isArray(value) && value.length === 0)
  )
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

interface Place {
  readonly isRoot: boolean
  /** How often the value can occur in one object; undefined when nothing bounds it. */
  readonly count: number | undefined
  /** Why a default may not stand here. */
  readonly noDefault?: string
  readonly isInMeta?: boolean
  /** The first place above where old and new cannot be told to be the same. */
  readonly uncorrelated?: string
  /** Inside logic, where rules are not looked at again. */
  readonly isNested?: boolean
}

class Walk {
  readonly schemaFaults: Fault[] = []
  readonly ruleFaults: Fault[] = []
  totalCost = 0
  readonly #rules: RuleSet | undefined
  readonly #isUnchanged: boolean
  readonly #costs: (readonly [place: string, cost: number])[] = []

  constructor(rules: RuleSet | undefined, isUnchanged: boolean) {
    this.#rules = rules
    this.#isUnchanged = isUnchanged
  }

  dearest(): string[] {
    const dear = this.#costs.filter(([, cost]) => cost >= crdCostMax / 100)
    return dear
      .sort((a, b) => b[1] - a[1])
      .slice(0, 4)
      .map(([place]) => place)
  }

  visit(schema: Schema, path: string, place: Place): void {
    const before = this.schemaFaults.length
    this.schemaFaults.push(...keywordFaults(schema, path, place))
    this.#visitMap(schema, path, place)
    this.#visitProperties(schema, path, place)
    this.#visitLogic(schema, path, place)
    this.#visitItems(schema, path, place)
    this.schemaFaults.push(...extensionFaults(schema, path))
    this.#checkRules(schema, path, place, before)
  }

  #visitMap(schema: Schema, path: string, place: Place): void {
    const { additionalProperties: of } = schema
    if (of === undefined) return
    if (Object.keys(schema.properties ?? {}).length > 0 && of !== true) {
      const why = 'additionalProperties and properties are mutual exclusive'
      this.schemaFaults.push(forbidden(child(path, 'additionalProperties'), why))
    }
    if (typeof of !== 'object') return
    const inner = { ...place, isRoot: false, count: times(place.count, schema.maxProperties) }
    const noDefault = place.isInMeta ? { noDefault: 'inside additionalProperties applying to object metadata' } : {}
    this.visit(of, child(path, 'additionalProperties'), { ...inner, ...noDefault })
  }

  #visitProperties(schema: Schema, path: string, place: Place): void {
    const isResource = place.isRoot || schema['x-kubernetes-embedded-resource'] === true
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const isMeta = isResource && ['metadata', 'kind', 'apiVersion'].includes(name)
      this.visit(property, at(child(path, 'properties'), name), {
        ...place,
        isRoot: false,
        ...(isMeta && { isInMeta: true }),
        ...(isMeta && place.isRoot && { noDefault: `in top-level ${name}` }),
      })
    }
  }

  #visitLogic(schema: Schema, path: string, place: Place): void {
    const inner = { ...place, isRoot: false, isNested: true }
    if (schema.not !== undefined) this.visit(schema.not, child(path, 'not'), inner)
    for (const name of ['allOf', 'oneOf', 'anyOf'] as const) {
      for (const [i, part] of (schema[name] ?? []).entries()) this.visit(part, at(child(path, name), i), inner)
    }
  }

  #visitItems(schema: Schema, path: string, place: Place): void {
    if (schema.items === undefined) return
    const isKeyed = schema['x-kubernetes-list-type'] === 'map'
    const inner: Place = {
      ...place,
      isRoot: false,
      count: times(place.count, schema.maxItems),
      ...(!isKeyed && place.uncorrelated === undefined && { uncorrelated: path }),
    }
    if (!Array.isArray(schema.items)) {
      this.visit(schema.items, child(path, 'items'), inner)
      return
    }
    for (const [i, item] of schema.items.entries()) this.visit(item, at(child(path, 'items'), i), inner)
  }

  #checkRules(schema: Schema, path: string, place: Place, before: number): void {
    const written = schema['x-kubernetes-validations'] ?? []
    const placeOf = (i: number): string => at(child(path, 'x-kubernetes-validations'), i)
    for (const [i, rule] of written.entries()) this.schemaFaults.push(...ruleTextFaults(rule, schema, placeOf(i)))
    // A rule over a schema that is wrong would be refused for the wrong reason.
    if (this.schemaFaults.length > before || place.isNested || this.#rules === undefined) return
    const shape = this.#rules.shapeOf(schema)
    for (const [i, compiled] of this.#rules.rulesOf(schema).entries()) {
      if (compiled.program !== undefined && shape !== undefined) {
        const cost = callCost(compiled.program.tree, shape) * (place.count ?? cardinality(shape))
        this.#observe(cost, child(placeOf(i), 'rule'))
      }
      this.ruleFaults.push(...compiledFaults(compiled, placeOf(i), place))
    }
  }

  #observe(cost: number, place: string): void {
    this.totalCost += cost
    this.#costs.push([place, cost])
    if (cost > ruleCostMax && !this.#isUnchanged) {
      this.ruleFaults.push(forbidden(place, costMessage('estimated rule cost', cost, ruleCostMax)))
    }
  }
}

function times(count: number | undefined, most: number | undefined): number | undefined {
  return count === undefined || most === undefined ? undefined : count * most
}

/** Keywords of JSON Schema that Kubernetes does not take. */
const unsupported = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref']

function keywordFaults(schema: Schema, path: string, place: Place): Fault[] {
  const faults: Fault[] = []
  const type = schema.type ?? ''
  if (type !== '' && !types.includes(type)) faults.push(notSupported(child(path, 'type'), type, types))
  if (schema.default !== undefined && place.noDefault !== undefined) {
    faults.push(forbidden(child(path, 'default'), `must not be set ${place.noDefault}`))
  }
  for (const keyword of unsupported) {
    const value = (schema as Record<string, unknown>)[keyword]
    if (isSet(value)) faults.push(forbidden(child(path, keyword), `${keyword} is not supported`))
  }
  if (type === 'null') {
    faults.push(forbidden(child(path, 'type'), 'type cannot be set to null, use nullable as an alternative'))
  }
  if (Array.isArray(schema.items)) {
    faults.push(forbidden(child(path, 'items'), 'items must be a schema object and not an array'))
  }
  if (place.isInMeta && schema['x-kubernetes-embedded-resource'] === true) {
    const why = 'must not be used inside of resource meta'
    faults.push(forbidden(child(path, 'x-kubernetes-embedded-resource'), why))
  }
  if (schema.uniqueItems === true) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    faults.push(forbidden(child(path, 'uniqueItems'), why))
  }
  return faults
}

function extensionFaults(schema: Schema, path: string): Fault[] {
  const faults: Fault[] = []
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    faults.push(invalid(child(path, 'x-kubernetes-preserve-unknown-fields'), false, 'must be true or undefined'))
  }
  const mapType = schema['x-kubernetes-map-type']
  if (mapType !== undefined) {
    faults.push(...wrongType(schema, 'object', 'x-kubernetes-map-type', path))
    if (mapType !== 'atomic' && mapType !== 'granular') {
      faults.push(notSupported(child(path, 'x-kubernetes-map-type'), mapType, ['atomic', 'granular']))
    }
  }
  return [...faults, ...listFaults(schema, path)]
}

function wrongType(schema: Schema, type: string, extension: string, path: string): Fault[] {
  if (schema.type === type) return []
  const why = `must be ${type} if ${extension} is specified`
  return [schema.type ? invalid(child(path, 'type'), schema.type, why) : required(child(path, 'type'), why)]
}

function listFaults(schema: Schema, path: string): Fault[] {
  const faults: Fault[] = []
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const place = child(path, 'x-kubernetes-list-type')
  if (listType !== undefined) {
    const mistyped = wrongType(schema, 'array', 'x-kubernetes-list-type', path)
    faults.push(...mistyped, ...(mistyped.length === 0 && listType === 'set' ? setItemFaults(schema, path) : []))
    if (!['atomic', 'set', 'map'].includes(listType))
      faults.push(notSupported(place, listType, ['atomic', 'set', 'map']))
  }
  if (keys.length > 0 && listType !== 'map') {
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty'
    faults.push(listType === undefined ? required(place, why) : invalid(place, listType, why))
  }
  if (listType === 'map') faults.push(...mapListFaults(schema, keys, path))
  return [...faults, ...keyedItemFaults(schema, keys, path)]
}

function setItemFaults(schema: Schema, path: string): Fault[] {
  const items = schema.items
  if (items === undefined || Array.isArray(items)) return []
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  const listType = items['x-kubernetes-list-type']
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalid(child(child(path, 'items'), 'x-kubernetes-list-type'), listType, why)]
  }
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    return [invalid(child(child(path, 'items'), 'x-kubernetes-map-type'), listType ?? null, why)]
  }
  return []
}

function mapListFaults(schema: Schema, keys: readonly string[], path: string): Fault[] {
  const faults: Fault[] = []
  const keysPath = child(path, 'x-kubernetes-list-map-keys')
  const itemsPath = child(path, 'items')
  if (keys.length === 0) faults.push(required(keysPath, 'must not be empty if x-kubernetes-list-type is map'))
  const { items } = schema
  if (items === undefined)
    return [...faults, required(itemsPath, 'must have a schema if x-kubernetes-list-type is map')]
  if (Array.isArray(items)) {
    return [...faults, invalid(itemsPath, items, 'must only have a single schema if x-kubernetes-list-type is map')]
  }
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map"
    return [...faults, invalid(child(itemsPath, 'type'), items.type ?? '', why)]
  }
  const seen = new Set<string>()
  for (const key of keys) {
    const property = items.properties?.[key]
    if (property === undefined) faults.push(invalid(keysPath, keys, 'entries must all be names of item properties'))
    else if (property.type === 'array' || property.type === 'object') {
      const why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
      faults.push(invalid(child(at(child(itemsPath, 'properties'), key), 'type'), items.type, why))
    }
    if (seen.has(key)) faults.push(invalid(keysPath, keys, 'must not contain duplicate entries'))
    seen.add(key)
  }
  return faults
}

function keyedItemFaults(schema: Schema, keys: readonly string[], path: string): Fault[] {
  const faults: Fault[] = []
  const listType = schema['x-kubernetes-list-type']
  const { items } = schema
  if (items === undefined || Array.isArray(items) || (listType !== 'set' && listType !== 'map')) return faults
  const itemsPath = child(path, 'items')
  if (items.nullable === true) {
    faults.push(
      forbidden(child(itemsPath, 'nullable'), `cannot be nullable when x-kubernetes-list-type is ${listType}`),
    )
  }
  if (listType !== 'map') return faults
  for (const key of keys) {
    const property = items.properties?.[key]
    if (property === undefined) continue
    const place = at(child(itemsPath, 'properties'), key)
    if (!items.required?.includes(key) && property.default === undefined) {
      const why = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'
      faults.push(required(child(place, 'default'), why))
    }
    if (property.nullable === true) {
      const why = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'
      faults.push(forbidden(child(place, 'nullable'), why))
    }
  }
  return faults
}

function ruleTextFaults(rule: ValidationRule, schema: Schema, path: string): Fault[] {
  const faults: Fault[] = []
  const { message = '', messageExpression = '', fieldPath = '' } = rule
  const isBroken = (text: string): boolean => /[\n\r]/.test(text)
  if (rule.rule.trim() === '') faults.push(required(child(path, 'rule'), 'rule is not specified'))
  else if (message !== '' && message.trim() === '') {
    faults.push(invalid(child(path, 'message'), message, 'must be non-empty if specified'))
  } else if (isBroken(message.trim())) {
    faults.push(invalid(child(path, 'message'), message, 'must not contain line breaks'))
  } else if (isBroken(rule.rule.trim()) && message.trim() === '') {
    faults.push(required(child(path, 'message'), 'message must be specified if rule contains line breaks'))
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    faults.push(required(child(path, 'messageExpression'), 'messageExpression must be non-empty if specified'))
  }
  if (rule.reason !== undefined && !reasons.includes(rule.reason)) {
    faults.push(notSupported(child(path, 'reason'), rule.reason, reasons))
  }
  if (fieldPath === '') return faults
  const place = child(path, 'fieldPath')
  if (fieldPath.trim() === '') faults.push(invalid(place, fieldPath, 'must be non-empty if specified'))
  if (isBroken(fieldPath)) faults.push(invalid(place, fieldPath, 'must not contain line breaks'))
  if (!('$ref' in schema) && normalFieldPath(fieldPath, nodeCompiler({})(schema)) instanceof Error) {
    faults.push(invalid(place, fieldPath, 'must be a valid path'))
  }
  return faults
}

function compiledFaults({ rule, problem, program, messageProblem }: CompiledRule, path: string, place: Place): Fault[] {
  const faults: Fault[] = []
  const shown = {
    Rule: rule.rule,
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  }
  if (problem !== undefined) faults.push(invalid(child(path, 'rule'), shown, problem))
  if (messageProblem !== undefined) faults.push(invalid(child(path, 'messageExpression'), shown, messageProblem))
  const usesOld = program?.uses('oldSelf') ?? false
  if (usesOld && place.uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`
    faults.push(invalid(child(path, 'rule'), rule.rule, why))
  } else if (!usesOld && rule.optionalOldSelf !== undefined) {
    const why = 'may not be set if oldSelf is not used in rule'
    faults.push(invalid(child(path, 'optionalOldSelf'), rule.optionalOldSelf, why))
  }
  return faults
}
