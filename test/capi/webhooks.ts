// Managers run as processes here, not behind a Service: in what a provider registered, its Service is replaced by the loopback
// address of its process and the authority to trust.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthority, issue } from '../../scripts/real/certificate.ts'
import type { Body, Client } from '../conformance/client.ts'
import { must } from './answers.ts'

export interface Serving {
  /** Holds `tls.crt` and `tls.key`. */
  readonly dir: string
  /** PEM. */
  readonly authority: string
}

export function createServing(dir: string): Serving {
  const authority = createAuthority('webhooks-of-managers')
  const { cert, key } = issue(authority, { commonName: 'manager', hosts: ['127.0.0.1', 'localhost'] })
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'tls.crt'), cert)
  writeFileSync(join(dir, 'tls.key'), key, { mode: 0o600 })
  return { dir, authority: authority.cert }
}

interface ClientConfig {
  service?: { path?: string }
  url?: string
  caBundle?: string
}

const registrations = [
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
]
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Everything with the label of this provider that names a Service names this port of ours from now on. */
export async function pointToProcess(client: Client, provider: string, port: number, authority: string): Promise<void> {
  const query = `?labelSelector=cluster.x-k8s.io/provider=${provider}`
  const redirect = (config: ClientConfig): ClientConfig => ({
    url: `https://127.0.0.1:${port}${config.service?.path ?? ''}`,
    caBundle: Buffer.from(authority).toString('base64'),
  })
  for (const path of registrations) {
    for (const item of must(await client.get(`${path}${query}`)).items) {
      const webhooks = (item.webhooks as { clientConfig: ClientConfig }[] | undefined) ?? []
      for (const webhook of webhooks)
        if (webhook.clientConfig.service) webhook.clientConfig = redirect(webhook.clientConfig)
      must(await client.update(`${path}/${item.metadata.name}`, whole(path, item)))
    }
  }
  for (const item of must(await client.get(`${definitions}${query}`)).items) {
    const conversion = item.spec.conversion as { webhook?: { clientConfig: ClientConfig } } | undefined
    if (!conversion?.webhook?.clientConfig.service) continue
    const clientConfig = { ...redirect(conversion.webhook.clientConfig), service: null }
    must(
      await client.merge(`${definitions}/${item.metadata.name}`, {
        spec: { conversion: { webhook: { clientConfig } } },
      }),
    )
  }
}

/** Items of a list carry no kind. */
function whole(path: string, item: Body): Body {
  const kind = path.endsWith('validatingwebhookconfigurations')
    ? 'ValidatingWebhookConfiguration'
    : 'MutatingWebhookConfiguration'
  return { ...item, apiVersion: 'admissionregistration.k8s.io/v1', kind }
}
