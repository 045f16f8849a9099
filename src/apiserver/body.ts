// From the bytes of a body to an object of the asked kind. Everything a user can get wrong before any rule of the kind
// applies is told here: syntax, media type, another kind or version than the path says, fields that do not exist.

import { JSONSyntaxError, parseJSON } from '../json.ts'
import { quote } from './faults.ts'
import type { ServedKind } from './kinds/kind.ts'
import type { ServedVersion } from './kinds/registry.ts'
import { bodyEncoding } from './media.ts'
import { checkMetadataShape } from './metadata.ts'
import { isObject, type JSONValue, type KubeObject, parseAPIVersion, toAPIVersion } from './object.ts'
import type { FieldValidation } from './options.ts'
import { badRequest, StatusError } from './status.ts'
import { wrongType } from './wire/go-types.ts'
import { messageType } from './wire/message-types.ts'
import { decodeProtobuf } from './wire/protobuf.ts'
import { readYAML } from './yaml.ts'

export interface BodySource {
  readonly bytes: Buffer
  readonly contentType: string | undefined
}

export interface DecodedBody {
  readonly value: JSONValue
  /** What a strict reader objects to in the text itself: repeated keys. */
  readonly textFaults: readonly string[]
}

/** Reads an object of the kind that the path names. Objections to unknown or repeated fields follow `validation`. */
export function readObject(
  served: ServedVersion,
  source: BodySource,
  validation: FieldValidation,
  warn: (text: string) => void,
): KubeObject {
  const { kind } = served
  const { value, textFaults } = decodeBody(kind, source)
  // To a typed reader `null` is an object in which nothing is said.
  const object = toKubeObject(kind, value === null && !kind.isCustom ? {} : value, source.bytes)
  const faults = validation === 'Ignore' ? [] : textFaults
  settleStrictness(served, object, faults, validation, warn)
  if (!kind.isCustom) refuseWrongTypes(served, object)
  return object
}

/** Unknown fields are dropped; what is said about them depends on how strict the client asked to be. */
export function settleStrictness(
  served: ServedVersion,
  object: KubeObject,
  textFaults: readonly string[],
  validation: FieldValidation,
  warn: (text: string) => void,
  refuse: Refuse = why => cannotHandle(served, object, why),
): void {
  const unknown = served.compiled.prune(object).map(path => `unknown field ${quote(path)}`)
  if (validation === 'Ignore') return
  // A typed reader meets unknown fields while it reads; an untyped one reads first and is pruned afterwards.
  const faults = served.kind.isCustom ? [...textFaults, ...unknown] : [...unknown, ...textFaults]
  if (faults.length === 0) return
  if (validation === 'Warn') return faults.forEach(warn)
  throw refuse(`strict decoding error: ${faults.join(', ')}`)
}

/** How a body that is no object of its kind is refused; a patch has its own way. */
export type Refuse = (why: string) => StatusError

function cannotHandle(served: ServedVersion, { kind, apiVersion }: KubeObject, why: string): StatusError {
  const { version } = parseAPIVersion(apiVersion)
  return badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${served.kind.kind}: ${why}`)
}

/** A builtin field of the wrong JSON type cannot even be decoded on a real server: that is a 400, not a 422. */
export function refuseWrongTypes(
  served: ServedVersion,
  object: KubeObject,
  refuse: Refuse = why => cannotHandle(served, object, why),
): void {
  const { schemaName, definitions } = served.kind
  const type = messageType(schemaName, definitions)
  const wrong = type === undefined ? undefined : wrongType(object, type)
  if (wrong !== undefined) throw refuse(wrong)
}

export function decodeBody(kind: ServedKind, source: BodySource): DecodedBody {
  switch (bodyEncoding(source.contentType, { protobuf: !kind.isCustom })) {
    case 'json':
      return decodeJSON(kind, source.bytes)
    case 'yaml':
      return decodeYAML(source.bytes)
    case 'protobuf':
      return decodeEnvelope(kind, source.bytes)
  }
}

function decodeJSON(kind: ServedKind, bytes: Buffer): DecodedBody {
  try {
    const { value, duplicates } = parseJSON(bytes.toString('utf8'))
    return { value, textFaults: duplicates.map(path => `duplicate field ${quote(path)}`) }
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${error.message}`, bytes)
  }
}

export function decodeYAML(bytes: Buffer): DecodedBody {
  try {
    const { value, repeated } = readYAML(bytes.toString('utf8'))
    return { value, textFaults: repeated }
  } catch (error) {
    throw badRequest(`error converting YAML to JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function decodeEnvelope(kind: ServedKind, bytes: Buffer): DecodedBody {
  try {
    return { value: decodeProtobuf(bytes, kind.definitions) as unknown as JSONValue, textFaults: [] }
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw unrecognized(kind, error instanceof Error ? error.message : String(error), bytes)
  }
}

function toKubeObject(kind: ServedKind, value: JSONValue, bytes: Buffer): KubeObject {
  const expected = toAPIVersion(kind.group, kind.version)
  if (!isObject(value)) {
    throw unrecognized(kind, "couldn't get version/kind; json parse error: the body is not an object", bytes)
  }
  const apiVersion = textOf(value, 'apiVersion') ?? expected
  const kindName = textOf(value, 'kind') ?? kind.kind
  if (kindName !== kind.kind) {
    const { group, version } = parseAPIVersion(apiVersion)
    throw badRequest(
      `${kindName} in version ${quote(version)} cannot be handled as a ${kind.kind}: converting (${version}.${kindName}) to ` +
        `(${internalPackage(kind.group, group)}.${kind.kind}): unknown conversion`,
    )
  }
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    )
  }
  const shape = checkMetadataShape(value)
  if (shape !== undefined) {
    throw badRequest(`${kind.kind} in version ${quote(kind.version)} cannot be handled as a ${kind.kind}: ${shape}`)
  }
  const { apiVersion: _, kind: __, metadata, ...rest } = value
  return { kind: kindName, apiVersion, metadata: dropNulls(metadata), ...rest }
}

/** The name Go's error gives the package of a kind: the first word of its group, or `core`. */
function internalPackage(group: string, given: string): string {
  const [word = ''] = (group === '' ? given : group).split('.')
  return word === '' ? 'core' : word
}

/** `metadata.labels: null` means no labels, to Go and so to every client. */
function dropNulls(metadata: unknown): KubeObject['metadata'] {
  if (!isObject(metadata)) return {}
  for (const key of Object.keys(metadata)) if (metadata[key] === null) delete metadata[key]
  return metadata
}

function textOf(value: Record<string, unknown>, field: string): string | undefined {
  const text = value[field]
  if (text === undefined || text === null || text === '') return undefined
  if (typeof text === 'string') return text
  throw badRequest(`couldn't get version/kind; json parse error: ${field} must be a string`)
}

function unrecognized(kind: ServedKind, why: string, bytes: Buffer): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${why} (${summary(bytes)})`)
}

const summaryBytes = 30

function summary(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>'
  const head = bytes.subarray(0, summaryBytes)
  const more = bytes.length > summaryBytes ? ' ...' : ''
  return (bytes[0] === 0x7b ? head.toString('utf8') : head.toString('hex')) + more
}
