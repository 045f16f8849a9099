// Defaults are values like any other: they must have the fields and types of their schema, and pass its checks.

import { compileRules } from '../cel/rules.ts'
import { at, child, type Fault, invalid } from '../faults.ts'
import { clone, equal } from '../object.ts'
import { checkEmbedded } from '../schema/embedded.ts'
import { type Node, nodeCompiler } from '../schema/node.ts'
import { pruneValue } from '../schema/prune.ts'
import type { Schema } from '../schema/schema.ts'
import { validateValue } from '../schema/validate.ts'

export function checkDefaults(root: Schema, path: string): Fault[] {
  if (usesReferences(root)) return []
  const compile = nodeCompiler({})
  const faults: Fault[] = []

  function visit(schema: Schema, place: string, isInMeta: boolean): void {
    if (schema.default !== undefined && schema.default !== null && !isInMeta) {
      faults.push(...defaultFaults(schema.default, compile(schema), child(place, 'default')))
    }
    if (schema.items !== undefined && !Array.isArray(schema.items)) visit(schema.items, child(place, 'items'), isInMeta)
    const isResource = schema === root || schema['x-kubernetes-embedded-resource'] === true
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const isMeta = isResource && (name === 'metadata' || name === 'apiVersion' || name === 'kind')
      visit(property, at(child(place, 'properties'), name), isInMeta || isMeta)
    }
  }

  visit(root, path, false)
  return faults
}

function defaultFaults(value: unknown, node: Node, path: string): Fault[] {
  const faults: Fault[] = []
  const pruned = clone(value)
  pruneValue(pruned, node, { removes: true, bareIsOpen: false })
  if (!equal(pruned, value)) faults.push(invalid(path, value, 'must not have unknown fields'))
  const embedded = checkEmbedded(value, node, path)
  if (embedded.length > 0) return [...faults, ...embedded]
  const mistakes = validateValue(value, node, path)
  if (mistakes.length > 0) return [...faults, ...mistakes]
  const rules = compileRules(node, false)
  if (rules === undefined) return faults
  // Checked twice: as an unchanged value of an update, and as a new one.
  const asUpdate = rules.check(value, { value }, { path, isDefault: true })
  if (asUpdate.length > 0) return [...faults, ...asUpdate]
  return [...faults, ...rules.check(value, undefined, { path, isDefault: true })]
}

/** A CustomResourceDefinition may have no references; a schema with one is refused without being compiled. */
export function usesReferences(schema: Schema): boolean {
  if (schema.$ref !== undefined) return true
  const below = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ]
  if (typeof schema.additionalProperties === 'object') below.push(schema.additionalProperties)
  if (schema.items !== undefined) below.push(...(Array.isArray(schema.items) ? schema.items : [schema.items]))
  if (schema.not !== undefined) below.push(schema.not)
  return below.some(usesReferences)
}
