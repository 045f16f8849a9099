// The kubeconfig for kubectl and other clients: the server's address, the authority to trust, the client's certificate.
// Certificates are embedded, so the file works wherever it is copied.

import { stringify } from 'yaml'
import type { Issued } from './issue.ts'

export interface Cluster {
  /** `https://127.0.0.1:7443` */
  readonly server: string
  /** The authority's certificate, as PEM text. */
  readonly caCertificate: string
}

const contextName = 'mooring'
const userName = 'mooring-admin'

export function adminKubeconfig(cluster: Cluster, admin: Issued): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: contextName,
        cluster: { server: cluster.server, 'certificate-authority-data': base64(cluster.caCertificate) },
      },
    ],
    users: [
      {
        name: userName,
        user: { 'client-certificate-data': base64(admin.certificate), 'client-key-data': base64(admin.key) },
      },
    ],
    contexts: [{ name: contextName, context: { cluster: contextName, user: userName } }],
    'current-context': contextName,
    preferences: {},
  }
  return stringify(config, { lineWidth: 0 })
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
