// A client certificate names its user (common name) and the user's groups (organizations). It is accepted only when our
// authority signed it, it has not expired, and it is meant for clients. The TLS layer has already verified that the
// peer holds the private key.

import { createHash, X509Certificate } from 'node:crypto'
import { isForClients, readSubject } from '../certificates/issue.ts'
import type { UserInfo } from './user.ts'

export class InvalidCertificate extends Error {
  override readonly name = 'InvalidCertificate'
}

interface Known {
  readonly user: UserInfo | undefined
  readonly notBefore: number
  readonly notAfter: number
}

/** Clients keep a handful of certificates for a long time; verifying one costs as much as a small request. */
const knownMax = 1_000

export interface CertificateAuthenticator {
  /** Undefined: a good certificate without a common name, which says nothing. Throws `InvalidCertificate`. */
  authenticate(certificate: Buffer): UserInfo | undefined
}

export function createCertificateAuthenticator(ca: () => string, clock: () => Date): CertificateAuthenticator {
  const known = new Map<string, Known>()
  let trusted = ''
  let authority: X509Certificate | undefined

  function verify(certificate: Buffer, fingerprint: string): Known {
    const parsed = parse(certificate)
    if (authority === undefined || !parsed.checkIssued(authority) || !parsed.verify(authority.publicKey)) {
      throw new InvalidCertificate('x509: certificate signed by unknown authority')
    }
    if (!isForClients(parsed)) {
      throw new InvalidCertificate('x509: certificate specifies an incompatible key usage')
    }
    const { commonName, organizations } = readSubject(parsed.raw)
    const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] }
    return {
      user: commonName === '' ? undefined : { username: commonName, groups: organizations, extra },
      notBefore: Date.parse(parsed.validFrom),
      notAfter: Date.parse(parsed.validTo),
    }
  }

  return {
    authenticate(certificate) {
      const current = ca()
      if (current !== trusted) {
        known.clear()
        authority = new X509Certificate(current)
        trusted = current
      }
      const fingerprint = fingerprintOf(certificate)
      const found = known.get(fingerprint) ?? verify(certificate, fingerprint)
      if (known.size >= knownMax) known.clear()
      known.set(fingerprint, found)
      const now = clock().getTime()
      if (now < found.notBefore || now > found.notAfter) {
        throw new InvalidCertificate('x509: certificate has expired or is not yet valid')
      }
      return found.user
    },
  }
}

const fingerprints = new WeakMap<Buffer, string>()

/** A connection hands in the same buffer with each of its requests. */
function fingerprintOf(certificate: Buffer): string {
  const known = fingerprints.get(certificate)
  if (known !== undefined) return known
  const fingerprint = createHash('sha256').update(certificate).digest('hex')
  fingerprints.set(certificate, fingerprint)
  return fingerprint
}

function parse(certificate: Buffer): X509Certificate {
  try {
    return new X509Certificate(certificate)
  } catch (cause) {
    throw new InvalidCertificate('x509: malformed certificate', { cause })
  }
}
