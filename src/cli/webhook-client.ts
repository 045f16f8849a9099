// By what the webhooks of `mooring up` know the API server beside them: a client certificate of this process alone. It is kept
// nowhere, so no other program of the machine can ask them.

import { type Issued, issueClientCertificate } from '../apiserver/certificates/issue.ts'
import type { KeptCertificates } from '../apiserver/certificates/keep.ts'

/** Nothing is permitted to a user of this name. */
export const webhookClientName = 'mooring:webhook-client'

const day = 24 * 60 * 60 * 1000
const [life, renewedAfter, clockSkew] = [30 * day, 10 * day, 60 * 60 * 1000]

/** Renewed when it is asked for. */
export function createWebhookClient(certificates: Pick<KeptCertificates, 'ca'>, now: () => Date): () => Issued {
  let made: { readonly issued: Issued; readonly at: number } | undefined
  return () => {
    const at = now().getTime()
    if (made !== undefined && Math.abs(at - made.at) < renewedAfter) return made.issued
    const lifetime = { notBefore: new Date(at - clockSkew), notAfter: new Date(at + life) }
    made = { issued: issueClientCertificate(certificates.ca(), webhookClientName, [], lifetime), at }
    return made.issued
  }
}
