// Conversion of custom objects by a webhook of their CustomResourceDefinition. The webhook may change everything of an
// object but its identity: kind, name, namespace and uid must come back as they were sent, and of the rest of the
// metadata only labels and annotations are taken over. Objects already in the wanted version are not sent.

import { readAddress } from '../admission/webhook.ts'
import type { PostToWebhook } from '../admission/wire.ts'
import { quote } from '../faults.ts'
import type { JSONValue, KubeObject, ObjectMeta } from '../object.ts'
import { clone, getOwn, isObject, parseAPIVersion } from '../object.ts'
import { internalError } from '../status.ts'

export interface ConversionWire {
  readonly post: PostToWebhook
  readonly randomUUID: () => string
  readonly signal?: AbortSignal
}

/** What kube-apiserver allows a conversion to take: reads wait for it, so it must end well before they give up. */
const timeoutSeconds = 30

/**
 * The objects in the wanted version, in the same order. `conversion` is the definition's `spec.conversion`. Throws a
 * 500 `StatusError` that begins with `conversion webhook for`.
 */
export async function convertByWebhook(
  objects: readonly KubeObject[],
  desiredAPIVersion: string,
  conversion: unknown,
  wire: ConversionWire,
): Promise<KubeObject[]> {
  const outdated = objects.filter(object => object.apiVersion !== desiredAPIVersion)
  const [first] = outdated
  if (first === undefined) return [...objects]
  const subject = describeKind(first, objects.length === 1 ? '' : 'List')
  const failed = (what: string, cause?: unknown) => internalError(`conversion webhook for ${subject} ${what}`, cause)

  const webhook = getOwn(conversion, 'webhook')
  const version = reviewVersion(getOwn(webhook, 'conversionReviewVersions'))
  if (version === undefined) throw internalError('no supported conversion review versions')
  const uid = wire.randomUUID()
  const review = {
    kind: 'ConversionReview',
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion, objects: outdated },
  }
  const limits = { timeoutSeconds, ...(wire.signal && { signal: wire.signal }) }
  const address = readAddress(getOwn(webhook, 'clientConfig'))
  const answer = await wire.post(address, review, limits).catch((error: unknown) => {
    throw failed(`failed: ${messageOf(error)}`, error)
  })
  const converted = attempt(
    () => convertedObjects(answer, version, uid),
    error => failed(`failed: ${messageOf(error)}`, error),
  )
  if (converted.length !== outdated.length) {
    throw failed(`returned ${converted.length} objects, expected ${outdated.length}`)
  }

  const results = outdated.map((original, i) =>
    attempt(
      () => taken(original, converted[i], desiredAPIVersion),
      error => failed(`returned invalid converted object at index ${i}: ${messageOf(error)}`, error),
    ),
  )
  const bySource = new Map(outdated.map((original, i) => [original, results[i]]))
  return objects.map(object => bySource.get(object) ?? object)
}

function reviewVersion(versions: unknown): string | undefined {
  if (!Array.isArray(versions)) return undefined
  return versions.find(version => version === 'v1' || version === 'v1beta1')
}

function convertedObjects(answer: JSONValue, version: string, uid: string): readonly unknown[] {
  const response = getOwn(answer, 'response')
  if (version === 'v1') {
    const { group, version: found } = parseAPIVersion(textOf(getOwn(answer, 'apiVersion')))
    const shown = `${group}/${found}, Kind=${textOf(getOwn(answer, 'kind'))}`
    const expected = 'apiextensions.k8s.io/v1, Kind=ConversionReview'
    if (shown !== expected) throw new Error(`expected webhook response of ${expected}, got ${shown}`)
  }
  if (!isObject(response)) throw new Error('no response provided')
  const answered = textOf(response.uid)
  if (version === 'v1' && answered !== uid) {
    throw new Error(`expected response.uid=${quote(uid)}, got ${quote(answered)}`)
  }
  const status = textOf(getOwn(response.result, 'status'))
  if (status !== 'Success') {
    const message = textOf(getOwn(response.result, 'message'))
    throw new Error(message === '' ? `response.result.status was '${status}', not 'Success'` : message)
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : []
}

/** The converted object with the original's metadata, of which the webhook decides labels and annotations. */
function taken(original: KubeObject, converted: unknown, desiredAPIVersion: string): KubeObject {
  if (!isObject(converted)) throw new Error('it is not an object')
  const { kind, apiVersion, metadata } = converted
  if (apiVersion !== desiredAPIVersion) {
    throw new Error(`invalid groupVersion (expected ${desiredAPIVersion}, received ${textOf(apiVersion)})`)
  }
  if (kind !== original.kind) throw new Error(`invalid kind (expected ${original.kind}, received ${textOf(kind)})`)
  if (metadata === undefined) throw new Error('missing metadata in converted object')
  if (!isObject(metadata)) throw new Error('invalid metadata in converted object')
  mustBeSame('name', original.metadata.name, metadata.name)
  mustBeSame('namespace', original.metadata.namespace, metadata.namespace)
  mustBeSame('UID', original.metadata.uid, metadata.uid)

  const kept: ObjectMeta = clone(original.metadata)
  for (const field of ['labels', 'annotations'] as const) {
    const texts = readTexts(field, metadata[field])
    if (texts === undefined) delete kept[field]
    else kept[field] = texts
  }
  return { ...converted, kind: original.kind, apiVersion: desiredAPIVersion, metadata: kept }
}

function mustBeSame(what: string, expected: string | undefined, found: unknown): void {
  if ((expected ?? '') === textOf(found)) return
  throw new Error(`must have the same ${what}: ${expected ?? ''} != ${textOf(found)}`)
}

function readTexts(field: string, value: unknown): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) throw new Error(`invalid metadata.${field} in converted object`)
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new Error(`metadata.${field}[${key}] must be a string`)
  }
  return value as Record<string, string>
}

function attempt<T>(act: () => T, toError: (error: unknown) => Error): T {
  try {
    return act()
  } catch (error) {
    throw toError(error)
  }
}

function describeKind({ apiVersion, kind }: KubeObject, suffix: string): string {
  const { group, version } = parseAPIVersion(apiVersion)
  return `${group}/${version}, Kind=${kind}${suffix}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
