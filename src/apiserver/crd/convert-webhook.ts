// Conversion of custom objects by a webhook of their CustomResourceDefinition. The webhook may change everything of an
// object but its identity: kind, name, namespace and uid must come back as they were sent, and of the rest of the
// metadata only labels and annotations are taken over. Objects already in the wanted version are not sent.

import { readAddress } from '../admission/webhook.ts'
import type { PostToWebhook } from '../admission/wire.ts'
import type { Fault } from '../faults.ts'
import { describeFault, invalid, quote } from '../faults.ts'
import { checkLabels } from '../metadata.ts'
import { checkQualifiedName } from '../names.ts'
import type { JSONValue, KubeObject, ObjectMeta } from '../object.ts'
import { clone, equal, getOwn, isObject, parseAPIVersion, setOwn } from '../object.ts'
import { toGoType } from '../patch/go-text.ts'
import { unexplained } from '../patch/refusals.ts'

export interface ConversionWire {
  readonly post: PostToWebhook
  readonly randomUUID: () => string
  readonly signal?: AbortSignal
}

/** What is wrong with an answer, for the author of the webhook. */
class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer'
}

/** What kube-apiserver allows a conversion to take: reads wait for it, so it must end well before they give up. */
const timeoutSeconds = 30

/**
 * The objects in the wanted version, in the same order. `conversion` is the definition's `spec.conversion`. Throws a
 * 500 `StatusError` without a reason, whose message begins with `conversion webhook for`.
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
  const failed = (what: string) => unexplained(`conversion webhook for ${describeKind(first)} ${what}`)

  const webhook = getOwn(conversion, 'webhook')
  const version = reviewVersion(getOwn(webhook, 'conversionReviewVersions'))
  if (version === undefined) throw unexplained('no supported conversion review versions')
  const uid = wire.randomUUID()
  const review = {
    kind: 'ConversionReview',
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion, objects: outdated },
  }
  const limits = { timeoutSeconds, ...(wire.signal && { signal: wire.signal }) }
  const address = readAddress(getOwn(webhook, 'clientConfig'))
  const answer = await wire.post(address, review, limits).catch((error: unknown) => {
    throw failed(`failed: ${messageOf(error)}`)
  })
  const converted = attempt(
    () => convertedObjects(answer, version, uid),
    error => failed(`failed: ${messageOf(error)}`),
  )
  if (converted.length !== outdated.length) {
    throw failed(`returned ${converted.length} objects, expected ${outdated.length}`)
  }

  const results = outdated.map((original, i) =>
    attempt(
      () => taken(original, converted[i], desiredAPIVersion, i),
      error => failed(`returned invalid ${messageOf(error)}`),
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
    if (shown !== expected) throw new InvalidAnswer(`expected webhook response of ${expected}, got ${shown}`)
  }
  if (!isObject(response)) throw new InvalidAnswer('no response provided')
  const answered = textOf(response.uid)
  if (version === 'v1' && answered !== uid) {
    throw new InvalidAnswer(`expected response.uid=${quote(uid)}, got ${quote(answered)}`)
  }
  const status = textOf(getOwn(response.result, 'status'))
  if (status !== 'Success') {
    const message = textOf(getOwn(response.result, 'message'))
    throw new InvalidAnswer(message === '' ? `response.result.status was '${status}', not 'Success'` : message)
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : []
}

/**
 * The converted object with the original's metadata, of which the webhook decides labels and annotations. Throws an
 * `InvalidAnswer` that says what of the answer is invalid.
 */
function taken(original: KubeObject, converted: unknown, desiredAPIVersion: string, index: number): KubeObject {
  if (!isObject(converted)) throw new InvalidAnswer(`object at index ${index}: it is no object`)
  const { kind, apiVersion } = converted
  if (apiVersion !== desiredAPIVersion) {
    const versions = `(expected ${desiredAPIVersion}, received ${textOf(apiVersion)})`
    throw new InvalidAnswer(`object at index ${index}: invalid groupVersion ${versions}`)
  }
  if (kind !== original.kind) {
    throw new InvalidAnswer(
      `object at index ${index}: invalid kind (expected ${original.kind}, received ${textOf(kind)})`,
    )
  }
  const metadata = isObject(converted.metadata) ? converted.metadata : {}
  mustBeSame('name', original.metadata.name, metadata.name)
  mustBeSame('namespace', original.metadata.namespace, metadata.namespace)
  mustBeSame('UID', original.metadata.uid, metadata.uid)

  const kept: ObjectMeta = clone(original.metadata)
  for (const field of ['labels', 'annotations'] as const) {
    const texts = readTexts(field, metadata[field], original.metadata[field])
    if (texts === undefined) delete kept[field]
    else kept[field] = texts
  }
  return { ...converted, kind: original.kind, apiVersion: desiredAPIVersion, metadata: kept }
}

function mustBeSame(what: string, expected: string | undefined, found: unknown): void {
  if ((expected ?? '') === textOf(found)) return
  throw new InvalidAnswer(`object: must have the same ${what}: ${expected ?? ''} != ${textOf(found)}`)
}

function readTexts(
  field: 'labels' | 'annotations',
  value: unknown,
  before: Record<string, string> | undefined,
): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value)) {
    throw new InvalidAnswer(`metadata: invalid metadata.${field} of type ${toGoType(value)} in converted object`)
  }
  const texts: Record<string, string> = {}
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') {
      const what = `metadata.${field}[${key}] must be a string, but is ${toGoType(text)} in converted object`
      throw new InvalidAnswer(`metadata: ${what}`)
    }
    setOwn(texts, key, text)
  }
  // Texts that the webhook left as they were stored are not checked again.
  if (!equal(texts, before)) checkTexts(field, texts)
  return texts
}

function checkTexts(field: 'labels' | 'annotations', texts: Record<string, string>): void {
  const faults = field === 'labels' ? checkLabels(texts, 'metadata.labels') : annotationFaults(texts)
  const messages = [...new Set(faults.map(describeFault))]
  if (messages.length === 1) throw new InvalidAnswer(`metadata: ${messages[0]}`)
  if (messages.length > 1) throw new InvalidAnswer(`metadata: [${messages.join(', ')}]`)
}

function annotationFaults(texts: Record<string, string>): Fault[] {
  // Keys of annotations may be written in capitals, unlike those of labels.
  return Object.keys(texts).flatMap(key =>
    checkQualifiedName(key.toLowerCase()).map(why => invalid('metadata.annotation', key, why)),
  )
}

function attempt<T>(act: () => T, toError: (error: unknown) => Error): T {
  try {
    return act()
  } catch (error) {
    if (error instanceof InvalidAnswer) throw toError(error)
    throw error
  }
}

function describeKind({ apiVersion, kind }: KubeObject): string {
  const { group, version } = parseAPIVersion(apiVersion)
  return `${group}/${version}, Kind=${kind}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
