// The keys of one installation, kept in one directory: made on the first start, read on later ones, renewed before
// they expire. A certificate and its key share a file, and a file is replaced whole, so a crash at any moment leaves
// either the old pair or the new pair, never half of each.
//
//   ca.pem               the authority; renewed with the same key, so that what it signed stays valid
//   server.pem           what the API server shows to clients
//   admin.pem            the administrator: user kubernetes-admin, group system:masters
//   service-account.pem  the key that signs service account tokens; never replaced, or every token would die
//   front-proxy-ca.pem   the authority of the next one alone: no other certificate may speak for users
//   front-proxy.pem      what the API server shows to extension API servers, to which it forwards requests of users
//
// A damaged file stops the start with one sentence. Replacing it silently would lock out every client that trusts it.

import type { KeyObject } from 'node:crypto'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readPrivate, removeTemporaryFiles, writePrivate } from '../../files/private.ts'
import type { Issued, Lifetime, ServerNames } from './issue.ts'
import { issueCA, issueClientCertificate, issueServerCertificate } from './issue.ts'

export interface KeepOptions {
  readonly directory: string
  /** Every name and address under which clients reach the server. */
  readonly names: ServerNames
  readonly clock: () => Date
}

/** What no other copy can stand in for: a client in the field trusts it, or was given something that it signed. */
export type Irreplaceable = 'ca' | 'admin' | 'service-account'

export interface KeptCertificates {
  /** Which of them were not there, and were made. */
  readonly made: readonly Irreplaceable[]
  ca(): Issued
  server(): Issued
  admin(): Issued
  serviceAccountKey(): KeyObject
  frontProxyCA(): Issued
  frontProxy(): Issued
  /** Renews what is in the last third of its life. True when the server must load its certificates anew. */
  renewIfNeeded(now: Date): boolean
}

const day = 24 * 60 * 60 * 1000
const caLife = 10 * 365 * day
const leafLife = 365 * day
/** Clocks of clients may run behind ours. */
const clockSkew = 60 * 60 * 1000

const adminUser = 'kubernetes-admin'
const adminGroup = 'system:masters'

/** The common name by which extension API servers know this one, as they read it in a ConfigMap. */
export const frontProxyName = 'front-proxy-client'

export function keepCertificates({ directory, names, clock }: KeepOptions): KeptCertificates {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  removeTemporaryFiles(directory)
  const files = {
    ca: join(directory, 'ca.pem'),
    server: join(directory, 'server.pem'),
    admin: join(directory, 'admin.pem'),
    serviceAccount: join(directory, 'service-account.pem'),
    frontProxyCA: join(directory, 'front-proxy-ca.pem'),
    frontProxy: join(directory, 'front-proxy.pem'),
  }

  const known = readSigningKey(files.serviceAccount)
  const serviceAccountKey = known ?? makeSigningKey(files.serviceAccount)
  let ca = readPair(files.ca)
  let server = readPair(files.server)
  let admin = readPair(files.admin)
  let frontProxyCA = readPair(files.frontProxyCA)
  let frontProxy = readPair(files.frontProxy)

  function renew(now: Date): boolean {
    const before = { ca, server, admin }
    ca = keepAuthority(files.ca, 'mooring-ca', ca, now)
    frontProxyCA = keepAuthority(files.frontProxyCA, 'mooring-front-proxy-ca', frontProxyCA, now)
    if (!isUsable(frontProxy, frontProxyCA, now)) {
      const life = leafLifetime(frontProxyCA, now)
      frontProxy = store(files.frontProxy, issueClientCertificate(frontProxyCA, frontProxyName, [], life))
    }
    const leaf = leafLifetime(ca, now)
    if (!isUsable(server, ca, now) || !covers(server, names)) {
      server = store(files.server, issueServerCertificate(ca, 'mooring', names, leaf))
    }
    if (!isUsable(admin, ca, now)) {
      admin = store(files.admin, issueClientCertificate(ca, adminUser, [adminGroup], leaf))
    }
    return before.ca !== ca || before.server !== server || before.admin !== admin
  }

  const found = { ca, admin, 'service-account': known }
  const missing = (['ca', 'admin', 'service-account'] as const).filter(name => found[name] === undefined)
  renew(clock())

  return {
    made: missing,
    ca: () => made(ca),
    server: () => made(server),
    admin: () => made(admin),
    serviceAccountKey: () => serviceAccountKey,
    frontProxyCA: () => made(frontProxyCA),
    frontProxy: () => made(frontProxy),
    renewIfNeeded: renew,
  }
}

function keepAuthority(file: string, name: string, known: Issued | undefined, now: Date): Issued {
  if (known !== undefined && !isDue(known, now)) return known
  return store(file, issueCA(name, lifeOf(caLife, now), known?.key))
}

function made(pair: Issued | undefined): Issued {
  if (pair === undefined) throw new Error('certificates are made before they are handed out')
  return pair
}

function lifeOf(milliseconds: number, now: Date): Lifetime {
  return { notBefore: new Date(now.getTime() - clockSkew), notAfter: new Date(now.getTime() + milliseconds) }
}

/** A leaf never outlives its authority: verifiers would refuse it from then on. */
function leafLifetime(ca: Issued, now: Date): Lifetime {
  const life = lifeOf(leafLife, now)
  const caEnd = new Date(new X509Certificate(ca.certificate).validTo)
  return caEnd < life.notAfter ? { ...life, notAfter: caEnd } : life
}

/** In the last third of its life; or not yet alive, which happens when a clock that ran ahead is set right. */
function isDue(pair: Issued, now: Date): boolean {
  const { validFrom, validTo } = new X509Certificate(pair.certificate)
  const [start, end] = [Date.parse(validFrom), Date.parse(validTo)]
  return now.getTime() < start || end - now.getTime() < (end - start) / 3
}

function isUsable(leaf: Issued | undefined, ca: Issued, now: Date): leaf is Issued {
  if (leaf === undefined || isDue(leaf, now)) return false
  const authority = new X509Certificate(ca.certificate)
  const certificate = new X509Certificate(leaf.certificate)
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

function covers(server: Issued, names: ServerNames): boolean {
  const certificate = new X509Certificate(server.certificate)
  const hasNames = names.dns.every(name => certificate.checkHost(name) !== undefined)
  return hasNames && names.ips.every(ip => certificate.checkIP(ip) !== undefined)
}

function makeSigningKey(file: string): KeyObject {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  writePrivate(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  return privateKey
}

function readSigningKey(file: string): KeyObject | undefined {
  const text = readPrivate(file)
  if (text === undefined) return undefined
  const key = readKey(file, text)
  const isECP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  if (!isECP256 && key.asymmetricKeyType !== 'rsa') throw damaged(file, 'it holds neither an EC P-256 nor an RSA key')
  return key
}

function readPair(file: string): Issued | undefined {
  const text = readPrivate(file)
  if (text === undefined) return undefined
  const [certificate] = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?/.exec(text) ?? []
  const [keyText] = /-----BEGIN PRIVATE KEY-----[^-]*-----END PRIVATE KEY-----\n?/.exec(text) ?? []
  if (certificate === undefined) throw damaged(file, 'it holds no certificate')
  if (keyText === undefined) throw damaged(file, 'it holds no private key')
  const key = readKey(file, keyText)
  if (!readCertificate(file, certificate).checkPrivateKey(key)) {
    throw damaged(file, 'its private key does not belong to its certificate')
  }
  return { certificate, key: keyText }
}

function readCertificate(file: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch (cause) {
    throw damaged(file, 'its certificate cannot be read', cause)
  }
}

function readKey(file: string, text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (cause) {
    throw damaged(file, 'its private key cannot be read', cause)
  }
}

function damaged(file: string, why: string, cause?: unknown): Error {
  return new Error(`${file} is damaged: ${why}`, { cause })
}

function store(file: string, pair: Issued): Issued {
  writePrivate(file, pair.certificate + pair.key)
  return pair
}
