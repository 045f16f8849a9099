// One schema, compiled once and used many times. Custom kinds are pruned, defaulted and validated by it; built-in kinds
// use it to find unknown fields and wrong JSON types.

import { compileRules } from '../cel/rules.ts'
import { type Fault, type FaultType, invalid } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import { isSurelyComplete } from './complete.ts'
import { applyDefaults } from './defaults.ts'
import { checkEmbedded } from './embedded.ts'
import { checkListTypes } from './list-type.ts'
import { type Node, nodeCompiler } from './node.ts'
import { objectMetaSchema } from './object-meta.ts'
import { pruneNulls, pruneResource, pruneValue } from './prune.ts'
import type { Definitions, Schema } from './schema.ts'
import { validateValue } from './validate.ts'

export interface CompiledSchema {
  /** Removes what the schema does not name, in place; answers with the paths, as `fieldValidation` reports them. */
  prune(object: KubeObject): string[]
  /** The same paths, with the object left as it is. */
  unknownFields(object: KubeObject): string[]
  /** Fills in defaults, in place. Run it after pruning. */
  applyDefaults(object: KubeObject): void
  /** True only if both would leave the object as it is; false where a look at it is not enough to tell. */
  isSurelyComplete(object: KubeObject): boolean
  /** All faults at once. With `old`, parts that did not change are not judged again. */
  validate(object: KubeObject, old?: KubeObject): Fault[]
  /** The faults of a write to the status subresource: only `status` is held against the schema. */
  validateStatus(object: KubeObject, old: KubeObject): Fault[]
}

export interface CompileOptions {
  /** A built-in kind: its root metadata is in its own schema, and an object without declared fields is raw JSON. */
  readonly isBuiltin?: boolean
}

export function compileSchema(schema: Schema, definitions: Definitions, options: CompileOptions = {}): CompiledSchema {
  const compile = nodeCompiler(definitions)
  const root = compile(schema)
  return options.isBuiltin === true ? builtin(root) : custom(root, compile(objectMetaSchema))
}

function builtin(root: Node): CompiledSchema {
  return {
    prune: object => pruneValue(object, root, { removes: true, bareIsOpen: true }),
    unknownFields: object => pruneValue(object, root, { removes: false, bareIsOpen: true }),
    applyDefaults: object => applyDefaults(object, root),
    isSurelyComplete: () => false,
    validate: object => validateValue(object, root),
    validateStatus: object => validateValue(object, root),
  }
}

function custom(root: Node, meta: Node): CompiledSchema {
  const status = root.properties.get('status')
  const rules = compileRules(root)

  return {
    prune: object => {
      const unknown = pruneResource(object, root, meta, { removes: true, bareIsOpen: false })
      pruneNulls(object, root)
      return unknown
    },
    unknownFields: object => pruneResource(object, root, meta, { removes: false, bareIsOpen: false }),
    applyDefaults: object => applyDefaults(object, root),
    isSurelyComplete: object => isSurelyComplete(object, root, meta),
    validate: (object, old) => {
      const faults = validateValue(object, root, '', old && { value: old })
      return withInvariants(faults, object, old)
    },
    validateStatus: (object, old) => {
      const faults =
        status === undefined || !Object.hasOwn(object, 'status')
          ? []
          : validateValue(
              object.status,
              status,
              'status',
              Object.hasOwn(old, 'status') ? { value: old.status } : undefined,
            )
      return withInvariants(faults, object, old)
    },
  }

  function withInvariants(faults: Fault[], object: KubeObject, old: KubeObject | undefined): Fault[] {
    faults.push(...checkEmbedded(object, root))
    // A list that already held duplicates may keep them: the object must stay editable.
    if (old === undefined || checkListTypes(old, root).length === 0) faults.push(...checkListTypes(object, root))
    if (rules === undefined) return faults
    if (faults.some(fault => blocking.has(fault.type))) faults.push(unchecked)
    else faults.push(...rules.check(object, old && { value: old }))
    return faults
  }
}

/** Rules take the types of their values for granted, so they wait until those are right. */
const blocking: ReadonlySet<FaultType> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const unchecked = invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
)
