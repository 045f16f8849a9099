// TokenRequest: `POST .../serviceaccounts/NAME/token` answers with a token for that account, perhaps bound to a pod, a
// secret or a node, so that it dies with it. First the request is prepared, which webhooks see; then it is answered.

import { invalid } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import { clone, getOwn, isObject, parseAPIVersion } from '../object.ts'
import { badRequest, conflict, invalidObject, notFound } from '../status.ts'
import type { Find, TokenContent, Tokens } from './service-account-token.ts'

const tokenRequestKind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }
const hour = 60 * 60
const shortest = 10 * 60
const longest = 2 ** 32
/** What pods ask for by default: an hour, plus seven seconds by which it is recognised. */
const podTokenSeconds = hour + 7
const extendedSeconds = 365 * 24 * hour
/** More than a year is granted as a year, as kube-apiserver does under --service-account-max-token-expiration. */
const grantedSecondsMax = 365 * 24 * hour

export interface TokenRequestContext {
  readonly namespace: string
  /** The service account's name, from the path. */
  readonly name: string
  readonly tokens: Tokens
  readonly find: Find
  readonly now: Date
  readonly warn: (text: string) => void
}

/** What every TokenRequest has, whatever was left out. */
export function defaultTokenRequest(request: KubeObject): void {
  const spec = isObject(request.spec) ? request.spec : {}
  const { audiences = null, boundObjectRef = null, expirationSeconds } = spec
  request.spec = { ...spec, audiences, expirationSeconds: secondsOf(expirationSeconds), boundObjectRef }
  request.status = { token: '', expirationTimestamp: null }
}

/** A copy of the request, checked, with all that it leaves to the server but the token. Throws a `StatusError`. */
export function prepareTokenRequest(request: KubeObject, context: TokenRequestContext): KubeObject {
  const { namespace, name, tokens, now } = context
  const { metadata } = request
  if (metadata.name && metadata.name !== name) {
    throw mismatch(name, 'metadata.name', metadata.name, 'must match the service account name if specified')
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw mismatch(
      name,
      'metadata.namespace',
      metadata.namespace,
      'must match the service account namespace if specified',
    )
  }
  const uid = uidOf(context)
  if (metadata.uid && metadata.uid !== uid) {
    throw conflict(
      { group: tokenRequestKind.group, plural: tokenRequestKind.kind },
      name,
      `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`,
    )
  }

  const spec = isObject(request.spec) ? clone(request.spec) : {}
  const asked = listOfText(spec.audiences)
  const audiences = asked.length > 0 ? asked : tokens.audiences
  const askedSeconds = secondsOf(spec.expirationSeconds)
  if (askedSeconds < shortest) {
    throw badDuration(askedSeconds, 'may not specify a duration less than 10 minutes')
  }
  if (askedSeconds > longest) {
    throw badDuration(askedSeconds, 'may not specify a duration larger than 2^32 seconds')
  }

  return {
    ...request,
    metadata: { ...metadata, name, namespace, uid, creationTimestamp: toTimestamp(now) },
    spec: { ...spec, audiences: [...audiences], expirationSeconds: askedSeconds },
    status: { token: '', expirationTimestamp: null },
  }
}

/** The prepared request with its token. Throws a `StatusError`. */
export function answerTokenRequest(prepared: KubeObject, context: TokenRequestContext): KubeObject {
  const { namespace, name, tokens, now, warn } = context
  const spec = isObject(prepared.spec) ? prepared.spec : {}
  const audiences = listOfText(spec.audiences)
  const askedSeconds = secondsOf(spec.expirationSeconds)
  const expirationSeconds = Math.min(askedSeconds, grantedSecondsMax)
  if (expirationSeconds < askedSeconds) {
    warn(`requested expiration of ${askedSeconds} seconds shortened to ${expirationSeconds} seconds`)
  }

  const uid = uidOf(context)
  const bound = boundTo(spec.boundObjectRef, context)
  const isExtended =
    bound.pod !== undefined &&
    expirationSeconds === podTokenSeconds &&
    audiences.every(audience => tokens.audiences.includes(audience))
  const token = tokens.sign({
    namespace,
    serviceAccount: { name, uid },
    ...bound,
    audiences,
    expirationSeconds: isExtended ? extendedSeconds : expirationSeconds,
    ...(isExtended && { warnAfterSeconds: expirationSeconds }),
  })
  return {
    ...prepared,
    spec: { ...spec, expirationSeconds },
    status: { token, expirationTimestamp: toTimestamp(new Date(now.getTime() + expirationSeconds * 1000)) },
  }
}

function uidOf({ namespace, name, find }: TokenRequestContext): string {
  const account = find('serviceaccounts', namespace, name)
  if (account === undefined) throw notFound({ group: '', plural: 'serviceaccounts' }, name)
  return account.metadata.uid ?? ''
}

function boundTo(reference: unknown, context: TokenRequestContext): Pick<TokenContent, 'pod' | 'secret' | 'node'> {
  if (!isObject(reference)) return {}
  const { namespace, name: account, find } = context
  const { group, version } = parseAPIVersion(textOf(reference.apiVersion))
  const kind = textOf(reference.kind)
  const name = textOf(reference.name)
  if (group === '' && kind === 'Pod') {
    const pod = present(find('pods', namespace, name), 'pods', name)
    const spec = pod.spec
    if (getOwn(spec, 'serviceAccountName') !== account) {
      throw badRequest(
        `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
      )
    }
    checkUID(reference, pod, kind)
    const nodeName = textOf(getOwn(spec, 'nodeName'))
    const node = nodeName === '' ? undefined : { name: nodeName, uid: find('nodes', '', nodeName)?.metadata.uid ?? '' }
    return { pod: { name, uid: pod.metadata.uid ?? '' }, ...(node && { node }) }
  }
  if (group === '' && kind === 'Node') {
    const node = present(find('nodes', '', name), 'nodes', name)
    checkUID(reference, node, kind)
    return { node: { name, uid: node.metadata.uid ?? '' } }
  }
  if (group === '' && kind === 'Secret') {
    const secret = present(find('secrets', namespace, name), 'secrets', name)
    checkUID(reference, secret, kind)
    return { secret: { name, uid: secret.metadata.uid ?? '' } }
  }
  throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`)
}

function present(object: KubeObject | undefined, plural: string, name: string): KubeObject {
  if (object === undefined) throw notFound({ group: '', plural }, name)
  return object
}

function checkUID(reference: Record<string, unknown>, object: KubeObject, kind: string): void {
  const wanted = textOf(reference.uid)
  if (wanted === '' || wanted === object.metadata.uid) return
  throw conflict(
    { group: '', plural: kind },
    textOf(reference.name),
    `the UID in the bound object reference (${wanted}) does not match the UID in record. ` +
      'The object might have been deleted and then recreated',
  )
}

function mismatch(name: string, field: string, value: string, why: string): Error {
  return invalidObject(tokenRequestKind, name, [invalid(field, value, why)])
}

function badDuration(seconds: number, why: string): Error {
  return invalidObject(tokenRequestKind, '', [invalid('spec.expirationSeconds', seconds, why)])
}

function secondsOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : hour
}

function listOfText(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function toTimestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z')
}
