// Admission by webhooks: first those that may change the object, one after the other, then those that may only refuse
// it, all at once.
//
//   mutating    in order of configuration name, then as listed; each sees what the ones before it made. If one changes
//               the object after another that asked to be called again (IfNeeded), there is one second round.
//   validating  in parallel; all answers are awaited, and the client gets the first refusal in calling order, so
//               that the same write is always refused for the same reason.
//
// A webhook that cannot be called (unreachable, late, invalid answer) has failed: its own failurePolicy says whether
// the write is refused or goes on without it. A refusal is never ignored.

import { parseJSON } from '../../json.ts'
import { quote } from '../faults.ts'
import type { GroupVersionKind, JSONValue, KubeObject } from '../object.ts'
import { equal, isObject, toAPIVersion } from '../object.ts'
import { applyJSONPatch } from '../patch/json-patch.ts'
import { badRequest, internalError, timedOut } from '../status.ts'
import type { AdmissionAttributes } from './attributes.ts'
import type { Equivalent, MatchFacts } from './match.ts'
import { conditionsHold, wantedForm } from './match.ts'
import type { ReviewAnswer, Reviewed } from './review.ts'
import { checkAnswer, decodeResponse, denial, requestForConditions, reviewFor, reviewVersion } from './review.ts'
import type { Webhook } from './webhook.ts'
import { webhooksOf } from './webhook.ts'
import type { PostToWebhook } from './wire.ts'

export interface WebhookAdmissionOptions extends MatchFacts {
  /** The configurations as they are now. Unchanged ones should be the same objects: they are read once. */
  readonly configurations: (type: 'mutating' | 'validating') => readonly KubeObject[]
  readonly convert: (object: KubeObject, to: GroupVersionKind) => Promise<KubeObject>
  /**
   * What reading an object from a client does to it (defaults, dropping of unknown fields), after each patch. Throws a
   * `StatusError` for an object that cannot be read as its kind.
   */
  readonly normalize?: (object: KubeObject, kind: GroupVersionKind) => KubeObject
  readonly post: PostToWebhook
  readonly randomUUID: () => string
}

export interface WebhookAdmission {
  /**
   * The object after all mutating webhooks. `rerunBuiltIn` is called before a second round, for built-in rules that
   * must hold for what webhooks made of the object. Throws a `StatusError`.
   */
  mutate(
    attributes: AdmissionAttributes,
    rerunBuiltIn?: (object: KubeObject) => Promise<KubeObject>,
  ): Promise<KubeObject | undefined>
  validate(attributes: AdmissionAttributes): Promise<void>
}

/** The webhook could not be called, or its answer is invalid. */
class FailedCall extends Error {
  override readonly name = 'FailedCall'
}

const exemptGroup = 'admissionregistration.k8s.io'
const exemptKinds = new Set([
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
])

export function createWebhookAdmission(options: WebhookAdmissionOptions): WebhookAdmission {
  const { configurations, post, randomUUID } = options

  async function ask(webhook: Webhook, reviewed: Reviewed, mayPatch: boolean): Promise<ReviewAnswer> {
    const { attributes } = reviewed
    if (attributes.dryRun && webhook.sideEffects !== 'None' && webhook.sideEffects !== 'NoneOnDryRun') {
      throw badRequest(`admission webhook ${quote(webhook.name)} does not support dry run`)
    }
    const version = reviewVersion(webhook.reviewVersions)
    if (version === undefined) {
      const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)'
      throw new FailedCall(`could not create admission objects: ${why}`)
    }
    const uid = randomUUID()
    const limits = {
      timeoutSeconds: webhook.timeoutSeconds,
      ...(attributes.signal && { signal: attributes.signal }),
    }
    const answer = await post(webhook.address, reviewFor(version, uid, reviewed), limits).catch((cause: unknown) => {
      throw new FailedCall(`failed to call webhook: ${messageOf(cause)}`, { cause })
    })
    attempt('failed to call webhook', () => decodeResponse(answer))
    const read = attempt('received invalid webhook response', () => checkAnswer(answer, version, uid, mayPatch))
    for (const warning of read.warnings) attributes.warn?.(warning)
    return read
  }

  /** Undefined: the failure is one the webhook's policy lets pass. */
  function toApiError(webhook: Webhook, attributes: AdmissionAttributes, error: unknown): unknown {
    if (!(error instanceof FailedCall)) return error
    if (attributes.signal?.aborted) return timedOut('request did not complete within requested timeout')
    if (webhook.failurePolicy === 'Ignore') return undefined
    return internalError(`failed calling webhook ${quote(webhook.name)}: ${error.message}`, error)
  }

  function conditionsAllow(webhook: Webhook, reviewed: Reviewed): boolean {
    if (webhook.matchConditions.length === 0) return true
    const bindings = {
      object: reviewed.object ?? null,
      oldObject: reviewed.oldObject ?? null,
      request: requestForConditions(reviewed),
    }
    return conditionsHold(webhook, reviewed.attributes, bindings, options)
  }

  async function convert(object: KubeObject | undefined, to: GroupVersionKind): Promise<KubeObject | undefined> {
    // What travels through a subresource (a Scale, an Eviction) is of a kind of its own and has no other form.
    if (object === undefined || object.kind !== to.kind || isOf(object, to)) return object
    try {
      return await options.convert(object, to)
    } catch (error) {
      throw internalError(messageOf(error), error)
    }
  }

  async function inForm(attributes: AdmissionAttributes, form: Equivalent): Promise<Reviewed> {
    const object = await convert(attributes.object, form.kind)
    const oldObject = await convert(attributes.oldObject, form.kind)
    return { attributes, form, object, oldObject }
  }

  async function askToMutate(webhook: Webhook, reviewed: Reviewed): Promise<KubeObject | undefined> {
    const answer = await ask(webhook, reviewed, true)
    if (!answer.allowed) throw denial(webhook.name, answer.result)
    if (answer.patch === '') return reviewed.object
    const patch = attempt('received undecodable patch in webhook response', () => readPatch(answer.patch))
    if (patch.length === 0) return reviewed.object
    if (reviewed.object === undefined) {
      const what = `admission webhook ${quote(webhook.name)} attempted to modify the object`
      throw internalError(`${what}, which is not supported for this operation`)
    }
    if (answer.patchType !== 'JSONPatch') throw new FailedCall(`unsupported patch type ${quote(answer.patchType)}`)
    const patched = apply(reviewed.object, patch)
    return options.normalize?.(patched, reviewed.form.kind) ?? patched
  }

  async function mutate(
    attributes: AdmissionAttributes,
    rerunBuiltIn?: (object: KubeObject) => Promise<KubeObject>,
  ): Promise<KubeObject | undefined> {
    const webhooks = isExempt(attributes) ? [] : webhooksOf(configurations('mutating'))
    if (webhooks.length === 0) return attributes.object
    const rounds = new Rounds()
    let current = attributes
    let isChanged = false

    const runRound = async (isSecond: boolean): Promise<void> => {
      for (const webhook of webhooks) {
        const form = wantedForm(webhook, current, options)
        if (form === undefined) continue
        const reviewed = await inForm(current, form)
        if (!conditionsAllow(webhook, reviewed)) continue
        if (isSecond && !rounds.isDue(webhook)) continue
        try {
          const object = await askToMutate(webhook, reviewed)
          if (object !== reviewed.object && !equal(object, reviewed.object)) {
            rounds.changed()
            isChanged = true
            current = { ...current, object: await convert(object, attributes.kind) }
          }
        } catch (error) {
          const refusal = toApiError(webhook, attributes, error)
          if (refusal !== undefined) throw refusal
        }
        if (webhook.reinvocationPolicy === 'IfNeeded') rounds.called(webhook)
      }
    }

    await runRound(false)
    if (!isChanged) return current.object
    if (rerunBuiltIn && current.object) {
      const object = await rerunBuiltIn(current.object)
      if (!equal(object, current.object)) rounds.changed()
      current = { ...current, object }
    }
    if (rounds.hasDue()) await runRound(true)
    return current.object
  }

  async function validate(attributes: AdmissionAttributes): Promise<void> {
    const webhooks = isExempt(attributes) ? [] : webhooksOf(configurations('validating'))
    const calls: { webhook: Webhook; reviewed: Reviewed }[] = []
    const forms = new Map<string, Reviewed>()
    for (const webhook of webhooks) {
      const form = wantedForm(webhook, attributes, options)
      if (form === undefined) continue
      const key = JSON.stringify([form.kind, form.resource])
      const reviewed = forms.get(key) ?? (await inForm(attributes, form))
      forms.set(key, reviewed)
      if (conditionsAllow(webhook, reviewed)) calls.push({ webhook, reviewed })
    }
    const refusals = await Promise.all(
      calls.map(async ({ webhook, reviewed }): Promise<unknown> => {
        try {
          const answer = await ask(webhook, reviewed, false)
          return answer.allowed ? undefined : denial(webhook.name, answer.result)
        } catch (error) {
          return toApiError(webhook, attributes, error)
        }
      }),
    )
    const first = refusals.find(refusal => refusal !== undefined)
    if (first !== undefined) throw first
  }

  return { mutate, validate }
}

/** Which webhooks must be called a second time: those that asked for it and were called before a later change. */
class Rounds {
  readonly #calledSinceChange = new Set<string>()
  readonly #due = new Set<string>()

  called(webhook: Webhook): void {
    this.#calledSinceChange.add(webhook.id)
  }

  changed(): void {
    for (const id of this.#calledSinceChange) this.#due.add(id)
    this.#calledSinceChange.clear()
  }

  isDue(webhook: Webhook): boolean {
    return this.#due.has(webhook.id)
  }

  hasDue(): boolean {
    return this.#due.size > 0
  }
}

/** Otherwise a bad configuration could forbid its own removal. */
function isExempt({ kind }: AdmissionAttributes): boolean {
  return kind.group === exemptGroup && exemptKinds.has(kind.kind)
}

function isOf(object: KubeObject, { group, version }: GroupVersionKind): boolean {
  return object.apiVersion === toAPIVersion(group, version)
}

function attempt<T>(what: string, act: () => T): T {
  try {
    return act()
  } catch (cause) {
    throw new FailedCall(`${what}: ${messageOf(cause)}`, { cause })
  }
}

function readPatch(text: string): JSONValue[] {
  const { value } = parseJSON(text)
  if (value === null) return []
  if (Array.isArray(value)) return value
  throw new Error(`json: cannot unmarshal ${typeof value} into Go value of type jsonpatch.Patch`)
}

function apply(object: KubeObject, patch: JSONValue[]): KubeObject {
  const patched = applied(object, patch)
  if (!isObject(patched) || patched.kind !== object.kind || patched.apiVersion !== object.apiVersion) {
    throw internalError(`the patch of an admission webhook must leave kind and apiVersion as they are`)
  }
  const { kind, apiVersion } = object
  return { ...patched, kind, apiVersion, metadata: isObject(patched.metadata) ? patched.metadata : {} }
}

function applied(object: KubeObject, patch: JSONValue[]): JSONValue {
  try {
    // An object is JSON data; its interface only says more than JSON does about some fields.
    return applyJSONPatch(object as unknown as JSONValue, patch)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    throw internalError(messageOf(cause ?? error), error)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
