// What other services need to verify our service account tokens themselves: the discovery document and the public keys.

import type { Tokens } from './service-account-token.ts'

export const openIDConfigurationPath = '/.well-known/openid-configuration'
export const jwksPath = '/openid/v1/jwks'

/** `address` is `host:port`, under which clients reach the server. */
export function openIDConfiguration(tokens: Tokens, address: string): Record<string, unknown> {
  return {
    issuer: tokens.issuer,
    jwks_uri: `https://${address}${jwksPath}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(tokens.keys.map(key => key.algorithm))].sort(),
  }
}

export function jwks(tokens: Tokens): { keys: Record<string, unknown>[] } {
  return {
    keys: tokens.keys.map(key => ({
      use: 'sig',
      kid: key.id,
      alg: key.algorithm,
      ...key.publicKey.export({ format: 'jwk' }),
    })),
  }
}
