// Certificates are renewed while the server runs. A disk that is full at that moment must not end it: they are good for months.

import type { KeptCertificates } from '../apiserver/certificates/keep.ts'
import type { Log } from '../telemetry/log.ts'

export function renew(certificates: Pick<KeptCertificates, 'renewIfNeeded'>, log: Log, onRenewed: () => void): void {
  let isRenewed: boolean
  try {
    isRenewed = certificates.renewIfNeeded(new Date())
  } catch (error) {
    log.error('certificates could not be renewed: it is tried again', { error })
    return
  }
  if (isRenewed) onRenewed()
}
