// Patch: four formats. Each makes the wanted object from the stored one; everything after
// that is an update like any other.

import { JSONSyntaxError, parseJSON, stringify } from '../../json.ts'
import {
  type DecodedBody,
  decodeYAML,
  otherKind,
  type Refuse,
  refuseOtherCustomKind,
  refuseWrongTypes,
  settleStrictness,
} from '../body.ts'
import type { Answer, Call, World } from '../call.ts'
import { invalid } from '../faults.ts'
import type { ServedKind } from '../kinds/kind.ts'
import { parseMediaType } from '../media.ts'
import { isObject, type JSONValue, type KubeObject, setOwn, toAPIVersion } from '../object.ts'
import { readWriteOptions, type WriteOptions } from '../options.ts'
import { applyJSONPatch } from '../patch/json-patch.ts'
import { applyMergePatch } from '../patch/merge-patch.ts'
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts'
import { toConverterText, toUsedUpPatch } from '../patch/strategic-refusal.ts'
import { badRequest, invalidObject, type StatusError, unsupportedMediaType } from '../status.ts'
import { apply } from './apply.ts'
import { changeObject } from './change.ts'

type Language = 'json' | 'merge' | 'strategic' | 'apply'

const languages = new Map<string, Language>([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
])

export async function patch(call: Call, world: World): Promise<Answer> {
  const language = readLanguage(call)
  const options = readWriteOptions(call.request.query, 'PatchOptions', language === 'apply')
  if (language === 'apply') return apply(call, world, readApplied(call, options), options)

  const { value, duplicates } = readJSON(call.body)
  return changeObject(call, world, {
    options,
    transform: existing => {
      const result = applyPatch(call, language, existing, value)
      // What a strategic patch changes is a struct, which knows its own kind whatever is written in it.
      if (language === 'strategic' && isObject(result)) {
        setOwn(result, 'apiVersion', existing.apiVersion)
        setOwn(result, 'kind', existing.kind)
      }
      const shown = call.served.kind.isCustom ? inOrder(result) : result
      const refuse: Refuse = language === 'strategic' ? why => unfitPatch(value, why) : why => unfit(shown, why)
      return patched(call, options, existing, { result, duplicates, refuse })
    },
  })
}

function readLanguage(call: Call): Language {
  const type = parseMediaType(call.headers.contentType ?? '').type
  const language = languages.get(type)
  const isServed = language !== undefined && !(language === 'strategic' && call.served.kind.isCustom)
  if (isServed) return language
  if (language === undefined) throw unsupportedMediaType('415: Unsupported Media Type')
  const accepted = [...languages.keys()].filter(name => name !== type)
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  )
}

function applyPatch(
  call: Call,
  language: Exclude<Language, 'apply'>,
  existing: KubeObject,
  value: JSONValue,
): JSONValue {
  const document = existing as unknown as JSONValue
  switch (language) {
    case 'json':
      return applyJSONPatch(document, value)
    case 'merge':
      return applyMergePatch(document, value)
    case 'strategic':
      return applyStrategicMergePatch(document, value, call.served.kind.schema, call.served.kind.definitions)
  }
}

/** The result must still be an object of this kind, under this name. */
function patched(
  call: Call,
  options: WriteOptions,
  existing: KubeObject,
  { result, duplicates, refuse }: { result: JSONValue; duplicates: readonly string[]; refuse: Refuse },
): KubeObject {
  if (!isObject(result)) throw badRequest('the patch does not leave an object')
  const { kind } = call.served
  refuseOtherKind(kind, result, refuse)
  refuseWrongTypes(call.served, result, refuse)
  const { apiVersion: _, kind: __, metadata, ...rest } = result
  const object: KubeObject = {
    kind: kind.kind,
    apiVersion: toAPIVersion(kind.group, kind.version),
    metadata: isObject(metadata) ? metadata : {},
    ...rest,
  }
  for (const [field, value] of Object.entries(object.metadata)) {
    if (value === null) delete object.metadata[field as keyof KubeObject['metadata']]
  }
  object.metadata.name ??= existing.metadata.name ?? ''
  refuseOtherName(call, object)
  const faults = duplicates.map(path => `duplicate field "${path}"`)
  settleStrictness(call.served, object, faults, options.fieldValidation, call.warn, refuse)
  return object
}

function refuseOtherKind(kind: ServedKind, result: Record<string, unknown>, refuse: Refuse): void {
  const expected = toAPIVersion(kind.group, kind.version)
  const { apiVersion = expected, kind: given = kind.kind } = result
  if (apiVersion === expected && given === kind.kind) return
  if (!kind.isCustom) throw refuse(otherKind(kind, String(apiVersion), String(given)))
  const metadata = isObject(result.metadata) ? result.metadata : {}
  refuseOtherCustomKind(kind, { apiVersion: expected, kind: String(given), metadata })
  const fault = invalid('apiVersion', apiVersion, `must be ${expected}`)
  throw invalidObject(kind, String(metadata.name ?? ''), [fault])
}

/** A patched object that no longer fits its kind is shown whole in the error. */
function unfit(result: unknown, why: string): StatusError {
  return invalidObject({ group: '', kind: '' }, '', [invalid('patch', stringify(result), why)])
}

/** A custom object has no Go struct that would order its fields, so kube-apiserver prints them sorted. */
function inOrder(value: JSONValue): JSONValue {
  if (Array.isArray(value)) return value.map(inOrder)
  if (!isObject(value)) return value
  const sorted: Record<string, JSONValue> = {}
  for (const key of Object.keys(value).sort()) setOwn(sorted, key, inOrder(value[key] ?? null))
  return sorted
}

/** For a strategic patch the error shows the patch, not the patched object. */
function unfitPatch(patch: JSONValue, why: string): StatusError {
  return invalidObject({ group: '', kind: '' }, '', [invalid('patch', toUsedUpPatch(patch), toConverterText(why))])
}

function refuseOtherName(call: Call, object: KubeObject): void {
  const { name } = call.request
  const given = object.metadata.name
  if (given !== name) throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`)
}

function readJSON(bytes: Buffer) {
  try {
    return parseJSON(bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof JSONSyntaxError) throw badRequest(`error decoding patch: ${error.message}`)
    throw error
  }
}

/** YAML that is JSON is read as JSON; repeated keys are told as strictly as the client asked. */
function readApplied(call: Call, options: WriteOptions): unknown {
  const { value, textFaults } = readYAML(call.body)
  if (textFaults.length === 0 || options.fieldValidation === 'Ignore') return value
  if (options.fieldValidation === 'Strict') throw badRequest(`error decoding YAML: ${textFaults.join(', ')}`)
  for (const fault of textFaults) call.warn(fault)
  return value
}

function readYAML(bytes: Buffer): DecodedBody {
  try {
    const { value, duplicates } = parseJSON(bytes.toString('utf8'))
    return { value, textFaults: duplicates.map(path => `duplicate field "${path}"`) }
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    return decodeYAML(bytes, 'error decoding YAML: ')
  }
}
