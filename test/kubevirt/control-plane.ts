// KubeVirt's control plane on a server: virt-api and virt-controller as processes with the service accounts and roles that
// KubeVirt gives them. There is no operator and no virt-handler.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { type Certificate, createAuthority, issue } from '../../scripts/real/certificate.ts'
import { freePort } from '../../scripts/real/free-port.ts'
import { type KubeVirtVersion, kubevirtBinary } from '../../scripts/real/kubevirt.ts'
import { must } from '../capi/answers.ts'
import type { Processes } from '../capi/processes.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'
import { apply } from './apply.ts'
import { type Account, kubeconfigOf } from './identity.ts'
import { installKubeVirt, kubevirtNamespace, virtApiService } from './install.ts'

export interface Place {
  /** Names the logs. */
  readonly name: string
  readonly dir: string
  readonly kubeconfig: string
  readonly client: Client
  readonly version: KubeVirtVersion
}

const accountNamed = (name: string): Account => ({ namespace: kubevirtNamespace, name })

/** Everything at work, with KubeVirt's webhooks and subresources registered. */
export async function startKubeVirt(place: Place, processes: Processes): Promise<void> {
  const authority = createAuthority('kubevirt-test')
  const registrations = await installKubeVirt(place.client, place.version, authority.cert)
  const port = await startVirtApi(place, processes, authority)
  const caBundle = Buffer.from(authority.cert).toString('base64')
  for (const configuration of registrations.webhooks) {
    const webhooks = configuration.webhooks as { clientConfig: { service?: object; caBundle?: string } }[]
    for (const { clientConfig } of webhooks) {
      Object.assign(clientConfig.service ?? {}, { port })
      clientConfig.caBundle = caBundle
    }
    await apply(place.client, configuration)
  }
  for (const service of registrations.apiServices) {
    Object.assign(service.spec.service as object, { port })
    service.spec.caBundle = caBundle
    await apply(place.client, service)
  }
  await untilAvailable(place.client, registrations.apiServices)
  await startVirtController(place, processes, authority)
}

async function startVirtApi(place: Place, processes: Processes, authority: Certificate): Promise<number> {
  const port = await freePort()
  const hosts = [`${virtApiService}.${kubevirtNamespace}.svc`, 'localhost', '127.0.0.1']
  const serving = certificateFiles(place, authority, 'virt-api', hosts)
  const towardsHandlers = certificateFiles(place, authority, 'virt-api-to-handlers')
  await processes.start({
    name: `virt-api-${place.name}`,
    path: await kubevirtBinary('virt-api', place.version),
    args: [
      `--kubeconfig=${await kubeconfigOf(place, accountNamed('kubevirt-apiserver'))}`,
      '--listen=127.0.0.1',
      `--port=${port}`,
      `--tls-cert-file=${serving.cert}`,
      `--tls-key-file=${serving.key}`,
      `--handler-cert-file=${towardsHandlers.cert}`,
      `--handler-key-file=${towardsHandlers.key}`,
    ],
    isReady: async () => {
      const text = await textAt(`https://127.0.0.1:${port}/apis/subresources.kubevirt.io/v1/healthz`, authority)
      return text?.includes('ok') ?? false
    },
  })
  return port
}

async function startVirtController(place: Place, processes: Processes, authority: Certificate): Promise<void> {
  const port = await freePort()
  const serving = certificateFiles(place, authority, 'virt-controller', ['localhost', '127.0.0.1'])
  await processes.start({
    name: `virt-controller-${place.name}`,
    path: await kubevirtBinary('virt-controller', place.version),
    args: [
      `--kubeconfig=${await kubeconfigOf(place, accountNamed('kubevirt-controller'))}`,
      '--listen=127.0.0.1',
      `--port=${port}`,
      `--prom-cert-file=${serving.cert}`,
      `--prom-key-file=${serving.key}`,
      '--launcher-image=example.invalid/virt-launcher',
    ],
    isReady: async () => {
      const text = await textAt(`https://127.0.0.1:${port}/leader`, authority)
      return text?.includes('"true"') ?? false
    },
  })
}

/** Each pair in a directory of its own: KubeVirt watches the directory, and reads the pair again whenever it changes. */
function certificateFiles(
  { dir }: Place,
  authority: Certificate,
  name: string,
  hosts: readonly string[] = [],
): Certificate {
  const own = join(dir, `${name}-certificate`)
  mkdirSync(own, { recursive: true })
  const { cert, key } = issue(authority, {
    commonName: `kubevirt.io:system:${name}`,
    ...(hosts.length > 0 && { hosts }),
  })
  writeFileSync(join(own, 'tls.crt'), cert)
  writeFileSync(join(own, 'tls.key'), key, { mode: 0o600 })
  return { cert: join(own, 'tls.crt'), key: join(own, 'tls.key') }
}

async function untilAvailable(client: Client, services: readonly Body[]): Promise<void> {
  for (const { metadata } of services) {
    await until(`${metadata.name} is available`, async () => {
      const { status } = must(await client.get(`/apis/apiregistration.k8s.io/v1/apiservices/${metadata.name}`))
      const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] }
      const isAvailable = conditions.some(({ type, status }) => type === 'Available' && status === 'True')
      return isAvailable ? undefined : JSON.stringify(conditions)
    })
  }
}

async function textAt(url: string, authority: Certificate): Promise<string | undefined> {
  const dispatcher = new Agent({ connect: { ca: authority.cert } })
  try {
    const { statusCode, body } = await request(url, { dispatcher })
    const text = await body.text()
    return statusCode === 200 ? text : undefined
  } catch {
    return undefined
  } finally {
    await dispatcher.close()
  }
}
