// AdmissionReview: the question sent to a webhook, and what its answer must look like to count.

import { toObject } from '../authn/reviews.ts'
import { quote } from '../faults.ts'
import type { JSONValue, KubeObject } from '../object.ts'
import { getOwn, isObject, parseAPIVersion } from '../object.ts'
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

/** Throws an Error that says what is wrong with the answer. */
export function readAnswer(answer: JSONValue, version: ReviewVersion, uid: string, mayPatch: boolean): ReviewAnswer {
  const response = getOwn(answer, 'response')
  if (!isObject(response)) throw new Error('webhook response was absent')
  if (version === 'v1') checkEnvelope(answer, response, uid)
  const patch = Buffer.from(textOf(response.patch), 'base64').toString('utf8')
  const hasType = response.patchType !== undefined && response.patchType !== null
  const patchType = textOf(response.patchType)
  if (version === 'v1') checkPatch(patch, hasType, patchType, mayPatch)
  return {
    allowed: response.allowed === true,
    patch: mayPatch ? patch : '',
    patchType: version === 'v1' ? patchType : 'JSONPatch',
    result: isObject(response.status) ? response.status : undefined,
    warnings: Array.isArray(response.warnings) ? response.warnings.filter(item => typeof item === 'string') : [],
  }
}

function checkEnvelope(answer: JSONValue, response: Record<string, unknown>, uid: string): void {
  const found = textOf(response.uid)
  if (found !== uid) throw new Error(`expected response.uid=${quote(uid)}, got ${quote(found)}`)
  const { group, version } = parseAPIVersion(textOf(getOwn(answer, 'apiVersion')))
  const shown = `${group}/${version}, Kind=${textOf(getOwn(answer, 'kind'))}`
  const expected = 'admission.k8s.io/v1, Kind=AdmissionReview'
  if (shown !== expected) throw new Error(`expected webhook response of ${expected}, got ${shown}`)
}

function checkPatch(patch: string, hasType: boolean, patchType: string, mayPatch: boolean): void {
  if (!mayPatch) {
    if (patch !== '') throw new Error('validating webhook may not return response.patch')
    if (hasType) throw new Error('validating webhook may not return response.patchType')
    return
  }
  if (patch !== '' && !hasType) throw new Error('webhook returned response.patch but not response.patchType')
  if (patch === '' && hasType) throw new Error('webhook returned response.patchType but not response.patch')
  if (hasType && patchType === '') throw new Error('webhook returned invalid response.patchType of ""')
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
