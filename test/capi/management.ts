// A management cluster: a real API server, Cluster API with its real manager and webhooks, and Mooring, all installed by
// clusterctl and run as processes.

import { join } from 'node:path'
import { binary, type Program } from '../../scripts/real/binaries.ts'
import { startCluster } from '../../scripts/real/cluster.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import { freePort } from '../../scripts/real/free-port.ts'
import { type Client, connect } from '../conformance/client.ts'
import { must } from './answers.ts'
import type { Clusterctl } from './clusterctl.ts'
import { startMooring } from './mooring.ts'
import { answers, type Processes, type Running } from './processes.ts'
import type { Repository } from './repository.ts'
import { until, untilSame } from './until.ts'
import { createServing, pointToProcess } from './webhooks.ts'

export interface Management {
  readonly name: string
  readonly dir: string
  readonly kubeconfig: string
  readonly client: Client
}

/** With Mooring at work in it. */
export interface Managed extends Management {
  readonly mooring: Running
  /** Its output. */
  readonly log: string
}

/** The embedded server, without desks, is an API server like another. */
export type ServerKind = 'kube-apiserver' | 'embedded'

export async function startServer(
  name: string,
  dir: string,
  processes: Processes,
  kind: ServerKind = 'kube-apiserver',
): Promise<Management> {
  const own = join(dir, name)
  const server =
    kind === 'embedded' ? await startEmbedded({ dir: own, args: ['--desks=none'] }) : await startCluster({ dir: own })
  processes.keep(() => server.stop())
  const client = connect(server.kubeconfig)
  await pretendCertManager(client)
  return { name, dir: own, kubeconfig: server.kubeconfig, client }
}

export async function init(
  { client, kubeconfig }: Management,
  clusterctl: Clusterctl,
  providers: readonly string[],
): Promise<string> {
  // It tries cert-manager out in a namespace of its own. If that of the time before is still about to go, clusterctl takes it
  // for its own, and then waits for ten minutes in one that is no more.
  await untilSame('the namespace of the last trial is gone', '404', async () =>
    String((await client.get('/api/v1/namespaces/cert-manager-test')).code),
  )
  return clusterctl(['init', ...providers], kubeconfig)
}

/** Cluster API and Mooring, and nothing else. */
export function firstProviders({ coreVersion, version }: Repository): string[] {
  return [`--core=cluster-api:${coreVersion}`, '--bootstrap=-', '--control-plane=-', `--ipam=mooring:${version}`]
}

/** Everything at work. */
export async function startManagement(
  name: string,
  dir: string,
  processes: Processes,
  clusterctl: Clusterctl,
  repository: Repository,
  kind: ServerKind = 'kube-apiserver',
): Promise<Managed> {
  const management = await startServer(name, dir, processes, kind)
  await init(management, clusterctl, firstProviders(repository))
  await startCore(management, processes)
  const mooring = await startMooring(management, processes)
  return { ...management, mooring, log: mooring.log }
}

function startCore(management: Management, processes: Processes): Promise<Running> {
  const name = `cluster-api-manager-${management.name}`
  return startManager(management, processes, { name, program: 'cluster-api-manager', provider: 'cluster-api' })
}

export interface Manager {
  readonly name: string
  readonly program: Program
  /** As clusterctl labels what it installed of it. */
  readonly provider: string
  readonly args?: readonly string[]
}

/** A manager of Cluster API's kind as a process, with its webhooks pointing to it. */
export async function startManager(
  { dir, client, kubeconfig }: Management,
  processes: Processes,
  { name, program, provider, args = [] }: Manager,
): Promise<Running> {
  const [webhookPort, healthPort] = [await freePort(), await freePort()]
  const serving = createServing(join(dir, `${provider}-webhooks`))
  const running = await processes.start({
    name,
    path: await binary(program),
    args: [
      ...args,
      `--webhook-port=${webhookPort}`,
      `--webhook-cert-dir=${serving.dir}`,
      `--health-addr=127.0.0.1:${healthPort}`,
      '--diagnostics-address=127.0.0.1:0',
      '--insecure-diagnostics',
    ],
    env: { KUBECONFIG: kubeconfig },
    isReady: () => answers(`http://127.0.0.1:${healthPort}/healthz`),
  })
  await pointToProcess(client, provider, webhookPort, serving.authority)
  return running
}

/** clusterctl wants to make a Certificate; that it is issued is the Deployment's concern, and there is none. */
async function pretendCertManager(client: Client): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  for (const [kind, plural] of [
    ['Issuer', 'issuers'],
    ['Certificate', 'certificates'],
  ] as const) {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    must(
      await client.create(path, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.cert-manager.io` },
        spec: {
          group: 'cert-manager.io',
          scope: 'Namespaced',
          names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      }),
    )
    await until(`${plural} are served`, async () => {
      const { code } = await client.get(`/apis/cert-manager.io/v1/${plural}`)
      return code === 200 ? undefined : String(code)
    })
  }
}
