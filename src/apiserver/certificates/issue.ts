// Certificates for one small cluster: an authority, and the leaves it signs. Keys are EC P-256, signatures ECDSA with
// SHA-256, and the extensions are those strict verifiers ask for (Go's, and OpenSSL with -x509_strict): key identifiers
// on both sides, critical basic constraints and key usage, and names only as subject alternative names.

import type { KeyObject } from 'node:crypto'
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import * as der from './der.ts'

/** A certificate and the private key that belongs to it, both as PEM text. */
export interface Issued {
  readonly certificate: string
  readonly key: string
}

export interface Lifetime {
  readonly notBefore: Date
  readonly notAfter: Date
}

export interface ServerNames {
  readonly dns: readonly string[]
  readonly ips: readonly string[]
}

const oid = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSHA256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const

// Bit positions of the key usage extension.
const digitalSignature = 0
const keyCertSign = 5
const cRLSign = 6

/** A new authority, or, given the key of an old one, a longer life for it: what it signed before stays valid. */
export function issueCA(commonName: string, lifetime: Lifetime, existingKey?: string): Issued {
  const key = existingKey === undefined ? newKey() : createPrivateKey(existingKey)
  const name = distinguishedName(commonName, [])
  const identifier = keyIdentifier(key)
  const certificate = signCertificate({
    issuer: name,
    subject: name,
    lifetime,
    subjectKey: key,
    signingKey: key,
    extensions: [
      extension(oid.basicConstraints, true, der.sequence(der.boolean(true))),
      extension(oid.keyUsage, true, der.namedBits(digitalSignature, keyCertSign, cRLSign)),
      extension(oid.subjectKeyIdentifier, false, der.octetString(identifier)),
      extension(oid.authorityKeyIdentifier, false, der.sequence(der.node(0x80, identifier))),
    ],
  })
  return { certificate, key: toPEM(key) }
}

export function issueServerCertificate(ca: Issued, commonName: string, names: ServerNames, lifetime: Lifetime): Issued {
  const alternatives = [
    ...names.dns.map(name => der.node(0x82, ascii(name))),
    ...names.ips.map(ip => der.node(0x87, addressBytes(ip))),
  ]
  if (alternatives.length === 0) throw new Error('a server certificate needs at least one DNS name or IP address')
  return issueLeaf(ca, distinguishedName(commonName, []), lifetime, oid.serverAuth, [
    extension(oid.subjectAltName, false, der.sequence(...alternatives)),
  ])
}

/** A client certificate: the user is its common name, the user's groups are its organizations. */
export function issueClientCertificate(
  ca: Issued,
  user: string,
  groups: readonly string[],
  lifetime: Lifetime,
): Issued {
  return issueLeaf(ca, distinguishedName(user, groups), lifetime, oid.clientAuth, [])
}

function issueLeaf(ca: Issued, subject: Buffer, lifetime: Lifetime, usage: string, more: readonly Buffer[]): Issued {
  const key = newKey()
  const signingKey = createPrivateKey(ca.key)
  const certificate = signCertificate({
    issuer: subjectBytes(new X509Certificate(ca.certificate).raw),
    subject,
    lifetime,
    subjectKey: key,
    signingKey,
    extensions: [
      extension(oid.basicConstraints, true, der.sequence()),
      extension(oid.keyUsage, true, der.namedBits(digitalSignature)),
      extension(oid.extendedKeyUsage, false, der.sequence(der.objectIdentifier(usage))),
      extension(oid.subjectKeyIdentifier, false, der.octetString(keyIdentifier(key))),
      extension(oid.authorityKeyIdentifier, false, der.sequence(der.node(0x80, keyIdentifier(signingKey)))),
      ...more,
    ],
  })
  return { certificate, key: toPEM(key) }
}

interface Unsigned {
  readonly issuer: Buffer
  readonly subject: Buffer
  readonly lifetime: Lifetime
  readonly subjectKey: KeyObject
  readonly signingKey: KeyObject
  readonly extensions: readonly Buffer[]
}

function signCertificate(unsigned: Unsigned): string {
  const algorithm = der.sequence(der.objectIdentifier(oid.ecdsaWithSHA256))
  const body = der.sequence(
    der.node(0xa0, der.integer(Buffer.from([2]))),
    der.integer(serialNumber()),
    algorithm,
    unsigned.issuer,
    der.sequence(der.time(unsigned.lifetime.notBefore), der.time(unsigned.lifetime.notAfter)),
    unsigned.subject,
    publicKeyBytes(unsigned.subjectKey),
    der.node(0xa3, der.sequence(...unsigned.extensions)),
  )
  const signature = sign('sha256', body, { key: unsigned.signingKey, dsaEncoding: 'der' })
  return pem('CERTIFICATE', der.sequence(body, algorithm, der.bitString(signature)))
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (type: string, value: string) => der.sequence(der.objectIdentifier(type), der.utf8String(value))
  return der.sequence(
    ...organizations.map(organization => der.set(attribute(oid.organization, organization))),
    der.set(attribute(oid.commonName, commonName)),
  )
}

function extension(type: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? [der.boolean(true)] : []
  return der.sequence(der.objectIdentifier(type), ...flag, der.octetString(value))
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

function toPEM(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function publicKeyBytes(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}

/** SHA-1 of the public key's bits, the method of RFC 5280 4.2.1.2: a name for the key, not a safeguard. */
function keyIdentifier(key: KeyObject): Buffer {
  const bits = der.readAll(der.readAll(publicKeyBytes(key))[0]?.content ?? Buffer.alloc(0))[1]?.content
  return createHash('sha1')
    .update(bits?.subarray(1) ?? Buffer.alloc(0))
    .digest()
}

/** 127 random bits: positive, and never as long as the 20 bytes RFC 5280 allows. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

function ascii(name: string): Buffer {
  if (!/^[\x21-\x7e]+$/.test(name))
    throw new Error(`${JSON.stringify(name)} cannot stand in a certificate as a DNS name`)
  return Buffer.from(name, 'ascii')
}

function addressBytes(ip: string): Buffer {
  if (isIP(ip) === 0) throw new Error(`${JSON.stringify(ip)} is not an IP address`)
  if (isIPv4(ip)) return Buffer.from(ip.split('.').map(Number))
  return ipv6Bytes(ip)
}

function ipv6Bytes(ip: string): Buffer {
  const withoutZone = ip.split('%')[0] ?? ip
  // The URL parser writes every IPv6 address the same way: hexadecimal groups only, at most one `::`.
  const canonical = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)))
  const left = groups(head)
  const right = tail === undefined ? [] : groups(tail)
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
  return Buffer.from(all.flatMap(group => [group >> 8, group & 0xff]))
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

export interface Subject {
  readonly commonName: string
  readonly organizations: readonly string[]
}

/** The subject of a certificate, read from its bytes: the printed form of a name can be forged. */
export function readSubject(certificate: Buffer): Subject {
  let commonName = ''
  const organizations: string[] = []
  const [name] = der.readAll(subjectBytes(certificate))
  for (const relative of der.readAll(name?.content ?? Buffer.alloc(0))) {
    for (const attribute of der.readAll(relative.content)) {
      const [type, value] = der.readAll(attribute.content)
      const text = value && der.readText(value)
      if (type === undefined || text === undefined) continue
      const dotted = der.readObjectIdentifier(type.content)
      if (dotted === oid.commonName) commonName = text
      if (dotted === oid.organization) organizations.push(text)
    }
  }
  return { commonName, organizations }
}

/** The certificate may identify a client: it has no extended key usage, or clientAuth (or any) among it. */
export function isForClients(certificate: X509Certificate): boolean {
  const usages: readonly string[] | undefined = certificate.keyUsage
  return usages === undefined || usages.includes(oid.clientAuth) || usages.includes('2.5.29.37.0')
}

function subjectBytes(certificate: Buffer): Buffer {
  const [whole] = der.readAll(certificate)
  const [body] = der.readAll(whole?.content ?? Buffer.alloc(0))
  const fields = der.readAll(body?.content ?? Buffer.alloc(0))
  const hasVersion = fields[0]?.tag === 0xa0
  const subject = fields[hasVersion ? 5 : 4]
  if (subject?.tag !== der.tag.sequence) throw new der.MalformedDER('the certificate has no subject')
  return subject.whole
}
