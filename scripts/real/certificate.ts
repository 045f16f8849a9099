// Certificates for loopback servers in tests: one authority, and leaves signed by it. Node can sign and parse X.509 but
// not compose it, so the few DER shapes that a certificate needs are written out here.

import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  /** PEM, PKCS #8. */
  readonly key: string
}

export interface Subject {
  readonly commonName: string
  readonly organization?: string
  /** DNS names and IPv4 addresses a server answers to. */
  readonly hosts?: readonly string[]
}

export function createAuthority(commonName: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = distinguishedName({ commonName })
  const extensions = [
    extension('2.5.29.19', true, sequence(boolean(true))),
    // keyCertSign and cRLSign.
    extension('2.5.29.15', true, Buffer.from([0x03, 0x02, 0x01, 0x06])),
  ]
  return compose(name, name, publicKey, privateKey, privateKey, extensions)
}

export function issue(authority: Certificate, subject: Subject): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = distinguishedName({ commonName: commonNameOf(authority) })
  const extensions = [
    extension('2.5.29.15', true, Buffer.from([0x03, 0x02, 0x07, 0x80])),
    // For servers and for clients.
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'), oid('1.3.6.1.5.5.7.3.2'))),
  ]
  if (subject.hosts) extensions.push(extension('2.5.29.17', false, sequence(...subject.hosts.map(alternativeName))))
  return compose(issuer, distinguishedName(subject), publicKey, privateKey, createPrivateKey(authority.key), extensions)
}

const names = new WeakMap<Certificate, string>()

function commonNameOf(authority: Certificate): string {
  const name = names.get(authority)
  if (name === undefined) throw new Error('an authority must come from createAuthority')
  return name
}

function compose(
  issuer: Buffer,
  subject: Buffer,
  publicKey: KeyObject,
  privateKey: KeyObject,
  signer: KeyObject,
  extensions: Buffer[],
): Certificate {
  const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'))
  const now = Date.now()
  const hour = 3_600_000
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01
  const body = sequence(
    wrap(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    issuer,
    sequence(time(new Date(now - hour)), time(new Date(now + 24 * 365 * hour))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    wrap(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, signer)
  const der = sequence(body, ecdsaWithSha256, wrap(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  const certificate = {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  names.set(certificate, nameTexts.get(subject) ?? '')
  return certificate
}

const nameTexts = new WeakMap<Buffer, string>()

function distinguishedName(subject: Subject): Buffer {
  const parts = []
  if (subject.organization) parts.push(attribute('2.5.4.10', subject.organization))
  parts.push(attribute('2.5.4.3', subject.commonName))
  const name = sequence(...parts)
  nameTexts.set(name, subject.commonName)
  return name
}

function attribute(type: string, text: string): Buffer {
  return wrap(0x31, sequence(oid(type), wrap(0x0c, Buffer.from(text))))
}

function alternativeName(host: string): Buffer {
  if (isIPv4(host)) return wrap(0x87, Buffer.from(host.split('.').map(Number)))
  return wrap(0x82, Buffer.from(host))
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  const octets = wrap(0x04, value)
  return critical ? sequence(oid(id), boolean(true), octets) : sequence(oid(id), octets)
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) {
    const septets = [arc & 0x7f]
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128))
      septets.unshift((high & 0x7f) | 0x80)
    bytes.push(...septets)
  }
  return wrap(0x06, Buffer.from(bytes))
}

function time(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return wrap(0x17, Buffer.from(`${text}Z`))
}

const integer = (bytes: Buffer): Buffer => wrap(0x02, bytes)
const boolean = (value: boolean): Buffer => Buffer.from([0x01, 0x01, value ? 0xff : 0x00])
const sequence = (...parts: Buffer[]): Buffer => wrap(0x30, Buffer.concat(parts))

function wrap(tag: number, content: Buffer): Buffer {
  const length = content.length
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content])
}
