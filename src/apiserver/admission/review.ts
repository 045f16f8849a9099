// AdmissionReview: the request sent to a webhook, and what its answer must look like to be accepted.

import { toObject } from '../authn/reviews.ts'
import { quote } from '../faults.ts'
import type { JSONValue, KubeObject } from '../object.ts'
import { getOwn, isObject, parseAPIVersion } from '../object.ts'
import { toJSONKind } from '../patch/go-text.ts'
import type { StatusDetails } from '../status.ts'
import { StatusError } from '../status.ts'
import type { AdmissionAttributes } from './attributes.ts'
import type { Equivalent } from './match.ts'

export type ReviewVersion = 'v1' | 'v1beta1'

export interface Reviewed {
  readonly attributes: AdmissionAttributes
  /** The form the objects are in. */
  readonly form: Equivalent
  readonly object: KubeObject | undefined
  readonly oldObject: KubeObject | undefined
}

/** The first version in the webhook's list that we speak. */
export function reviewVersion(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find(version => version === 'v1' || version === 'v1beta1')
}

export function reviewFor(version: ReviewVersion, uid: string, reviewed: Reviewed): Record<string, unknown> {
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      ...requestOf(reviewed),
      object: reviewed.object ?? null,
      oldObject: reviewed.oldObject ?? null,
      dryRun: reviewed.attributes.dryRun,
      options: reviewed.attributes.options ?? null,
    },
  }
}

/** `request` as match conditions see it: without the objects, which have variables of their own. */
export function requestForConditions(reviewed: Reviewed): Record<string, unknown> {
  const { dryRun, options } = reviewed.attributes
  return { ...requestOf(reviewed), dryRun, options: options ?? null }
}

function requestOf({ attributes, form }: Reviewed): Record<string, unknown> {
  const { subresource, name, namespace } = attributes
  return {
    kind: ordered(form.kind.group, form.kind.version, { kind: form.kind.kind }),
    resource: ordered(form.resource.group, form.resource.version, { resource: form.resource.resource }),
    ...(subresource !== '' && { subResource: subresource }),
    requestKind: ordered(attributes.kind.group, attributes.kind.version, { kind: attributes.kind.kind }),
    requestResource: ordered(attributes.resource.group, attributes.resource.version, {
      resource: attributes.resource.resource,
    }),
    ...(subresource !== '' && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation: attributes.operation,
    userInfo: toObject(attributes.user),
  }
}

function ordered(group: string, version: string, last: Record<string, string>): Record<string, string> {
  return { group, version, ...last }
}

export interface ReviewAnswer {
  readonly allowed: boolean
  /** JSON text of a JSON patch; empty for none. */
  readonly patch: string
  readonly patchType: string
  readonly result: Record<string, unknown> | undefined
  readonly warnings: readonly string[]
}

interface Response {
  readonly uid: string
  readonly allowed: boolean
  readonly patch: string
  readonly patchType: string | undefined
  readonly result: Record<string, unknown> | undefined
  readonly warnings: readonly string[]
}

/** The answer's fields, each of the type it must have; undefined for an answer without a response. Throws an Error. */
export function decodeResponse(answer: JSONValue): Response | undefined {
  const response = getOwn(answer, 'response')
  if (response === undefined || response === null) return undefined
  if (!isObject(response)) {
    throw new Error(
      `json: cannot unmarshal ${toJSONKind(response)} into Go struct field AdmissionReview.response of type v1.AdmissionResponse`,
    )
  }
  const field = (name: string, type: 'string' | 'boolean', shown: string): unknown => {
    const value = getOwn(response, name) ?? undefined
    if (value === undefined || typeof value === type) return value
    const where = `Go struct field AdmissionResponse.response.${name} of type ${shown}`
    throw new Error(`json: cannot unmarshal ${toJSONKind(value)} into ${where}`)
  }
  const patchType = field('patchType', 'string', 'v1.PatchType')
  return {
    uid: textOf(field('uid', 'string', 'types.UID')),
    allowed: field('allowed', 'boolean', 'bool') === true,
    patch: decodeBase64(textOf(field('patch', 'string', '[]uint8'))),
    patchType: patchType === undefined ? undefined : textOf(patchType),
    result: isObject(response.status) ? response.status : undefined,
    warnings: Array.isArray(response.warnings) ? response.warnings.filter(item => typeof item === 'string') : [],
  }
}

function decodeBase64(text: string): string {
  const [good = ''] = /^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*/.exec(text) ?? []
  const digits = good.replace(/[\r\n]/g, '')
  if (good.length < text.length || digits.length % 4 !== 0) {
    throw new Error(`illegal base64 data at input byte ${good.length - (digits.length % 4)}`)
  }
  return Buffer.from(digits, 'base64').toString('utf8')
}

/** Throws an Error that says what is wrong with the answer. */
export function checkAnswer(answer: JSONValue, version: ReviewVersion, uid: string, mayPatch: boolean): ReviewAnswer {
  const response = decodeResponse(answer)
  if (response === undefined) throw new Error('webhook response was absent')
  const { allowed, patch, patchType, result, warnings } = response
  if (version === 'v1') {
    checkEnvelope(answer, response.uid, uid)
    checkPatch(patch, patchType, mayPatch)
  }
  return {
    allowed,
    patch: mayPatch ? patch : '',
    patchType: version === 'v1' ? (patchType ?? '') : 'JSONPatch',
    result,
    warnings,
  }
}

function checkEnvelope(answer: JSONValue, found: string, uid: string): void {
  if (found !== uid) throw new Error(`expected response.uid=${quote(uid)}, got ${quote(found)}`)
  const { group, version } = parseAPIVersion(textOf(getOwn(answer, 'apiVersion')))
  const shown = `${group}/${version}, Kind=${textOf(getOwn(answer, 'kind'))}`
  const expected = 'admission.k8s.io/v1, Kind=AdmissionReview'
  if (shown !== expected) throw new Error(`expected webhook response of ${expected}, got ${shown}`)
}

function checkPatch(patch: string, patchType: string | undefined, mayPatch: boolean): void {
  const hasType = patchType !== undefined
  if (!mayPatch) {
    if (patch !== '') throw new Error('validating webhook may not return response.patch')
    if (hasType) throw new Error('validating webhook may not return response.patchType')
    return
  }
  if (patch !== '' && !hasType) throw new Error('webhook returned response.patch but not response.patchType')
  if (patch === '' && hasType) throw new Error('webhook returned response.patchType but not response.patch')
  if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""')
}

/** The refusal of a webhook, in its own words and with its own code where it gave any. */
export function denial(webhookName: string, result: Record<string, unknown> = {}): StatusError {
  const deniedBy = `admission webhook ${quote(webhookName)} denied the request`
  const code = typeof result.code === 'number' && result.code >= 400 ? result.code : 400
  const said = textOf(result.message) || textOf(result.reason)
  const message = said === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${said}`
  const details = isObject(result.details) ? (result.details as StatusDetails) : undefined
  const reason = textOf(result.reason)
  const error = new StatusError(code, reason, message, details)
  if (reason === '') delete error.status.reason
  return error
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
