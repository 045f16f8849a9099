import { createSecureContext } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { parseTLS } from './tls.ts'

describe('TLS in the words of Go', () => {
  test.each([
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
    ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ])('%s is %s', (name, openSSL) => {
    const choice = parseTLS({ minVersion: 'VersionTLS12', cipherSuites: name })
    expect(choice.ciphers?.split(':').at(-1)).toBe(openSSL)
    // TLS 1.3 stays as it is.
    expect(choice.ciphers).toContain('TLS_AES_128_GCM_SHA256')
    expect(() => createSecureContext(choice)).not.toThrow()
  })

  test('without a list the choice is Node’s', () => {
    expect(parseTLS({ minVersion: 'VersionTLS13', cipherSuites: '' })).toEqual({ minVersion: 'TLSv1.3' })
  })

  test.each([
    ['VersionTLS11', '', '--tls-min-version is "VersionTLS11"'],
    ['toString', '', '--tls-min-version is "toString"'],
    ['VersionTLS12', 'TLS_NOTHING', '--tls-cipher-suites names "TLS_NOTHING"'],
    ['VersionTLS12', 'ECDHE-RSA-AES128-GCM-SHA256', '--tls-cipher-suites names'],
  ])('%s with %j is refused', (minVersion, cipherSuites, sentence) => {
    expect(() => parseTLS({ minVersion, cipherSuites })).toThrow(sentence)
  })
})
