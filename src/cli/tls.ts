// Versions and cipher suites of TLS, by the names that flags of Go programs take: those of IANA.

import { getCiphers, type SecureVersion } from 'node:tls'
import { exitCodes, Failure } from './failure.ts'

export interface TLSChoice {
  readonly minVersion: SecureVersion
  /** In the order of OpenSSL; left out for Node's own choice. */
  readonly ciphers?: string
}

const versions: Readonly<Record<string, SecureVersion>> = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' }

/** They cannot be chosen, and left out they would switch TLS 1.3 off. */
const suitesOfTLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

export function parseTLS({ minVersion, cipherSuites }: { minVersion: string; cipherSuites: string }): TLSChoice {
  const version = Object.hasOwn(versions, minVersion) ? versions[minVersion] : undefined
  if (version === undefined) {
    throw new Failure(
      exitCodes.usage,
      `--tls-min-version is ${JSON.stringify(minVersion)}, which is not spoken here`,
      `It takes one of: ${Object.keys(versions).join(', ')}.`,
    )
  }
  const names = cipherSuites.split(',').filter(name => name !== '')
  if (names.length === 0) return { minVersion: version }
  return { minVersion: version, ciphers: [...suitesOfTLS13, ...names.flatMap(toOpenSSL)].join(':') }
}

/** `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is `ECDHE-RSA-AES128-GCM-SHA256` there. */
function toOpenSSL(name: string): string[] {
  if (suitesOfTLS13.includes(name)) return []
  const text = name
    .replace(/^TLS_(RSA_WITH_)?/, '')
    .replace('_WITH_', '_')
    .replace(/AES_(128|256)/, 'AES$1')
    .replace('_CBC', '')
    .replace(/CHACHA20_POLY1305_SHA256$/, 'CHACHA20_POLY1305')
    .replaceAll('_', '-')
  if (name.startsWith('TLS_') && getCiphers().includes(text.toLowerCase())) return [text]
  throw new Failure(
    exitCodes.usage,
    `--tls-cipher-suites names ${JSON.stringify(name)}, which is not known here`,
    'Write IANA names, separated by commas, as in TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.',
  )
}
