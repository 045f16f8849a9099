// From the bytes of a body to an object of the asked kind. All errors that do not depend on the rules of the kind are
// found here: syntax, media type, another kind or version than the path says, fields that do not exist.

import { JSONSyntaxError, parseJSON } from '../json.ts'
import { builtinKinds } from './builtin/kinds.ts'
import { invalid, quote } from './faults.ts'
import type { ServedKind } from './kinds/kind.ts'
import type { ServedVersion } from './kinds/registry.ts'
import { bodyEncoding } from './media.ts'
import { isObject, type JSONValue, type KubeObject, parseAPIVersion, toAPIVersion } from './object.ts'
import type { FieldValidation } from './options.ts'
import { badRequest, invalidObject, StatusError } from './status.ts'
import { notRegistered } from './unregistered.ts'
import { wrongMetadata, wrongText, wrongType } from './wire/go-types.ts'
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
  // A typed decoder reads `null` as an empty object.
  const object = toKubeObject(served, value === null && !kind.isCustom ? {} : value, source.bytes)
  const faults = validation === 'Ignore' ? [] : textFaults
  settleStrictness(served, object, faults, validation, warn)
  return object
}

/** Unknown fields are dropped; what is said about them depends on how strict the client asked to be. */
export function settleStrictness(
  served: ServedVersion,
  object: KubeObject,
  textFaults: readonly string[],
  validation: FieldValidation,
  warn: (text: string) => void,
  refuse: Refuse = why => cannotHandle(served.kind, object.kind, parseAPIVersion(object.apiVersion).version, why),
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

function cannotHandle({ kind }: ServedKind, given: string, version: string, why: string): StatusError {
  return badRequest(`${given} in version ${quote(version)} cannot be handled as a ${kind}: ${why}`)
}

/**
 * A field of the wrong JSON type cannot even be decoded on a real server: that is a 400, not a 422. Of a custom object
 * only the metadata has types that Go knows; the rest is its schema's business.
 */
export function refuseWrongTypes(
  { kind }: ServedVersion,
  object: Record<string, unknown>,
  refuse: Refuse = why => cannotHandle(kind, kind.kind, kind.version, why),
): void {
  const wrong = kind.isCustom ? wrongMetadata(object.metadata) : wrongBuiltin(kind, object)
  if (wrong !== undefined) throw refuse(wrong)
}

function wrongBuiltin({ schemaName, definitions }: ServedKind, object: Record<string, unknown>): string | undefined {
  const type = messageType(schemaName, definitions)
  return type === undefined ? undefined : wrongType(object, type)
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

export function decodeYAML(bytes: Buffer, prefix = ''): DecodedBody {
  try {
    const { value, repeated } = readYAML(bytes.toString('utf8'))
    return { value, textFaults: repeated }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw badRequest(`${prefix}error converting YAML to JSON: ${why}`)
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

function toKubeObject(served: ServedVersion, value: JSONValue, bytes: Buffer): KubeObject {
  const { kind } = served
  const expected = toAPIVersion(kind.group, kind.version)
  if (!isObject(value)) {
    throw unrecognized(kind, "couldn't get version/kind; json parse error: the body is not an object", bytes)
  }
  const given = { apiVersion: textOf(kind, value, 'apiVersion', bytes), kind: textOf(kind, value, 'kind', bytes) }
  // Nothing but the body says what a custom object is; a built-in one is what its path says.
  if (kind.isCustom && given.kind === undefined) {
    throw unrecognized(kind, `Object 'Kind' is missing in '${bytes.toString('utf8')}'`, bytes)
  }
  const { apiVersion = kind.isCustom ? '' : expected, kind: kindName = kind.kind } = given
  if (kindName !== kind.kind && !kind.isCustom) {
    const { version } = parseAPIVersion(apiVersion)
    throw cannotHandle(kind, kindName, version, otherKind(kind, apiVersion, kindName))
  }
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    )
  }
  refuseWrongTypes(served, value)
  const { apiVersion: _, kind: __, metadata, ...rest } = value
  const object: KubeObject = { kind: kindName, apiVersion, metadata: dropNulls(metadata), ...rest }
  refuseOtherCustomKind(kind, object)
  return object
}

/** A custom object is decoded before its kind is checked, so another kind is a fault of the object. */
export function refuseOtherCustomKind(kind: ServedKind, { kind: given, metadata }: KubeObject): void {
  if (given === kind.kind) return
  const fault = invalid('kind', given, `must be ${kind.kind}`)
  throw invalidObject({ group: kind.group, kind: given }, metadata.name ?? '', [fault])
}

/** Why an object of one kind cannot be read as another: it is not registered, or there is no conversion. */
export function otherKind(kind: ServedKind, apiVersion: string, given: string): string {
  if (!isRegistered(apiVersion, given)) return notRegistered(apiVersion, given)
  const { version } = parseAPIVersion(apiVersion)
  return `converting (${version}.${given}) to (${internalPackage(kind.group)}.${kind.kind}): unknown conversion`
}

let registered: ReadonlySet<string> | undefined

function isRegistered(apiVersion: string, kind: string): boolean {
  registered ??= new Set(builtinKinds.map(one => `${toAPIVersion(one.group, one.version)} ${one.kind}`))
  return registered.has(`${apiVersion} ${kind}`)
}

/** The name Go's error gives the package of a kind: the first word of its group. The core group has all events. */
function internalPackage(group: string): string {
  const [word = ''] = group.split('.')
  return word === '' || word === 'events' ? 'core' : word
}

/** `metadata.labels: null` means no labels, to Go and so to every client. */
function dropNulls(metadata: unknown): KubeObject['metadata'] {
  if (!isObject(metadata)) return {}
  for (const key of Object.keys(metadata)) if (metadata[key] === null) delete metadata[key]
  return metadata
}

function textOf(kind: ServedKind, value: Record<string, unknown>, field: string, bytes: Buffer): string | undefined {
  const text = value[field]
  if (text === undefined || text === null || text === '') return undefined
  if (typeof text === 'string') return text
  const why = wrongText(text, field)
  throw unrecognized(kind, `couldn't get version/kind; json parse error: ${why}`, bytes)
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
