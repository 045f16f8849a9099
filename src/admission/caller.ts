// Whether a request comes from an API server. API servers show a client certificate to webhooks where they are told to, so
// whether one is needed is for the installation to say. Without it every client that reaches the port is answered, and such
// an answer tells less (`isCallerProven` of a request).

import type { TLSSocket } from 'node:tls'

/** Whose certificates count. The authority comes with the serving certificate, for both are renewed while we serve. */
export interface CallerRules {
  /** Common names; empty for every certificate that the authority has signed. */
  readonly names: readonly string[]
  /**
   * Conversions are answered to every client: they know no facts. kube-apiserver shows a certificate to admission webhooks
   * alone; there is no way to tell it which one to show to a converter.
   */
  readonly areConversionsOpen: boolean
}

export interface CallerRefusal {
  readonly code: 401 | 403
  readonly sentence: string
}

/** Undefined for an API server. */
export function whyNotACaller(socket: TLSSocket, { names }: Pick<CallerRules, 'names'>): CallerRefusal | undefined {
  if (!socket.authorized) {
    return { code: 401, sentence: 'webhooks are answered to API servers only: show a client certificate' }
  }
  if (names.length === 0) return undefined
  // A list where the subject has several.
  const name: unknown = socket.getPeerCertificate().subject?.CN
  if (typeof name === 'string' && names.includes(name)) return undefined
  return { code: 403, sentence: 'webhooks are answered to API servers only: this certificate has another name' }
}
