// Desks beside the embedded API server, in the same process: their kinds are installed, then they are started as in any
// cluster, only that their requests take no socket.

import { X509Certificate } from 'node:crypto'
import { hostname } from 'node:os'
import { toMutatingConfiguration, toValidatingConfiguration, type WebhookAddress } from '../admission/registration.ts'
import { startWebhookServer } from '../admission/server.ts'
import type { Webhook } from '../admission/webhook.ts'
import type { KeptCertificates } from '../apiserver/certificates/keep.ts'
import type { Handler } from '../apiserver/edge/handler.ts'
import { assemble, componentsOf } from '../controllers/assemble.ts'
import type { Component } from '../controllers/component.ts'
import { desks } from '../controllers/desks.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import { speak } from '../kube/speak.ts'
import { realClock } from '../runtime/clock.ts'
import type { Domain } from '../runtime/domain.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Definition, definitionsOf, withConversion } from './definitions.ts'
import { embeddedWire } from './embedded-wire.ts'
import { toClusterRoles } from './user-roles.ts'
import { webhookClientName } from './webhook-client.ts'
import { mutatingConfigurations, validatingConfigurations } from './webhook-configurations.ts'

export interface EmbeddedDesks {
  /** The office first, then the desks that are on. */
  readonly domains: readonly Domain[]
  /** The server's certificate was renewed; webhooks are served with it too. */
  renew(): void
  stop(): Promise<void>
}

export interface EmbeddedDesksOptions {
  readonly handler: Handler
  readonly certificates: KeptCertificates
  /** Names of the desks that are on. */
  readonly on: readonly string[]
  readonly log: Log
  readonly metrics: Metrics
}

const name = 'mooring'
const clock = realClock

export async function startEmbeddedDesks(options: EmbeddedDesksOptions): Promise<EmbeddedDesks> {
  const { handler, certificates, on, log, metrics } = options
  const { client, discovery } = connect(handler, certificates, metrics)
  const random = Math.random
  const assembled = assemble({ client, discovery, clock, random, log, metrics, instance: hostname(), desks, on })
  const sets = assembled.webhookSets
  const components = componentsOf(desks, on)
  const server = await startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...certificates.server(),
    clientCA: certificates.ca().certificate,
    callers: { names: [webhookClientName], areConversionsOpen: false },
    sets,
    conversions: components.flatMap(({ conversions }) => conversions),
    clock,
    log,
  })
  const address: WebhookAddress = {
    kind: 'url',
    base: `https://127.0.0.1:${server.port}`,
    caBundle: Buffer.from(certificates.ca().certificate).toString('base64'),
  }
  await installKinds(client, components, address)
  await installRoles(client, components)
  // Before the first pass: what an earlier run registered leads to a port that is closed by now.
  const webhooks = sets.flatMap(({ webhooks }) => webhooks)
  await registerWebhooks(client, webhooks, address)
  await assembled.start()
  return {
    domains: assembled.domains,
    renew: () => server.renew({ ...certificates.server(), clientCA: certificates.ca().certificate }),
    async stop() {
      await assembled.stop('shutdown')
      await server.stop()
    },
  }
}

/** Without desks no webhook is served: what an earlier run registered would refuse every write to a pool. */
export async function withdrawWebhooks(handler: Handler, certificates: KeptCertificates): Promise<void> {
  const { client } = connect(handler, certificates)
  for (const kind of [validatingConfigurations, mutatingConfigurations]) {
    await client.delete(kind, {
      name: `mooring-${kind === validatingConfigurations ? 'validating' : 'mutating'}-webhook-configuration`,
    })
  }
}

function connect(handler: Handler, certificates: KeptCertificates, metrics?: Metrics) {
  const peerCertificate = new X509Certificate(certificates.admin().certificate).raw
  const wire = embeddedWire({ handler: () => handler, peerCertificate })
  return speak({ wire, clock, name, metrics })
}

async function registerWebhooks(client: Client, webhooks: readonly Webhook[], address: WebhookAddress): Promise<void> {
  const options = { fieldManager: name, isForced: true }
  for (const [kind, configuration] of [
    [validatingConfigurations, toValidatingConfiguration(webhooks, { address, withStandIns: true })],
    [mutatingConfigurations, toMutatingConfiguration(webhooks, { address, withStandIns: true })],
  ] as const) {
    await client.apply(kind, { name: configuration.metadata.name }, configuration, options)
  }
}

const definitions = defineKind<KubeObject>({
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
})

/** Definitions are applied, so that a newer Mooring brings its newer kinds to older data. */
async function installKinds(client: Client, components: readonly Component[], address: WebhookAddress): Promise<void> {
  const wanted = definitionsOf(components)
  const conversions = components.flatMap(component => component.conversions)
  for (const definition of wanted) {
    const ref = { name: definition.metadata.name ?? '' }
    const whole = withConversion(definition, conversions, address)
    await client.apply(definitions, ref, whole, { fieldManager: name, isForced: true })
  }
  for (const { metadata } of wanted) await established(client, metadata.name ?? '')
}

const clusterRoles = defineKind<KubeObject>({
  group: 'rbac.authorization.k8s.io',
  versions: ['v1'],
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
})

/** The roles for users; the controller itself is the administrator here. */
async function installRoles(client: Client, components: readonly Component[]): Promise<void> {
  const labels = { 'app.kubernetes.io/name': name }
  for (const role of toClusterRoles({ namePrefix: `${name}-`, labels, components })) {
    await client.apply(clusterRoles, { name: role.metadata.name }, role, { fieldManager: name, isForced: true })
  }
}

/** The API server accepts names and serves a kind within a turn or two; a desk that starts before would look in vain. */
async function established(client: Client, name: string): Promise<void> {
  for (;;) {
    const definition = (await client.get(definitions, { name })) as Definition | undefined
    const conditions = definition?.status?.conditions ?? []
    if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return
    if (conditions.some(({ type, status }) => type === 'NamesAccepted' && status === 'False')) {
      throw new Error(`the names of ${name} are taken by another kind`)
    }
    await new Promise(resolve => setImmediate(resolve))
  }
}
