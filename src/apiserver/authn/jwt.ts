// JSON Web Tokens in their compact form, signed with ES256 or RS256. The key decides the algorithm; a token that names
// another one is refused, so that no client can choose a weaker check.

import type { KeyObject } from 'node:crypto'
import { createHash, createPublicKey, sign, verify } from 'node:crypto'
import { isObject } from '../object.ts'

export interface VerificationKey {
  readonly id: string
  readonly algorithm: 'ES256' | 'RS256'
  readonly publicKey: KeyObject
}

export function verificationKey(key: KeyObject): VerificationKey {
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return { id: createHash('sha256').update(spki).digest('base64url'), algorithm: algorithmOf(publicKey), publicKey }
}

function algorithmOf(key: KeyObject): 'ES256' | 'RS256' {
  if (key.asymmetricKeyType === 'rsa') return 'RS256'
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256'
  throw new Error('tokens are signed with an EC P-256 or an RSA key')
}

export function signToken(claims: Record<string, unknown>, privateKey: KeyObject, key: VerificationKey): string {
  const signed = `${encode({ alg: key.algorithm, kid: key.id })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

export interface UnverifiedToken {
  readonly header: Record<string, unknown>
  readonly claims: Record<string, unknown>
  readonly signed: Buffer
  readonly signature: Buffer
}

/** What a token claims, before it is verified; undefined when it is no token at all. */
export function readToken(token: string): UnverifiedToken | undefined {
  const parts = token.split('.')
  const [headerText, claimsText, signatureText] = parts
  if (parts.length !== 3 || headerText === undefined || claimsText === undefined || signatureText === undefined) {
    return undefined
  }
  const header = decode(headerText)
  const claims = decode(claimsText)
  if (header === undefined || claims === undefined) return undefined
  const signature = Buffer.from(signatureText, 'base64url')
  return { header, claims, signed: Buffer.from(`${headerText}.${claimsText}`), signature }
}

export function hasGoodSignature(token: UnverifiedToken, key: VerificationKey): boolean {
  if (token.header.alg !== key.algorithm || token.header.crit !== undefined) return false
  return verify('sha256', token.signed, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, token.signature)
}

function encode(value: Record<string, unknown>): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
