// Desks beside the embedded API server, in the same process: their kinds are installed, then they are started as in any
// cluster, only that their requests take no socket.

import { X509Certificate } from 'node:crypto'
import { hostname } from 'node:os'
import { toMutatingConfiguration, toValidatingConfiguration, type WebhookAddress } from '../admission/registration.ts'
import { startWebhookServer } from '../admission/server.ts'
import type { Webhook } from '../admission/webhook.ts'
import type { KeptCertificates } from '../apiserver/certificates/keep.ts'
import type { Handler } from '../apiserver/edge/handler.ts'
import { assemble, componentsOf, conversionsOf } from '../controllers/assemble.ts'
import type { Component } from '../controllers/component.ts'
import type { Desk } from '../controllers/desk.ts'
import type { NetworkRules } from '../controllers/office/networks.ts'
import type { MachineMode } from '../controllers/office/office.ts'
import type { VCenters } from '../controllers/office/vcenters.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import { speak } from '../kube/speak.ts'
import { realClock } from '../runtime/clock.ts'
import type { Domain } from '../runtime/domain.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { definitionsOf, needsConversion, standInsOf, withConversion } from './definitions.ts'
import { embeddedWire } from './embedded-wire.ts'
import { keepDefinitions } from './kept-definitions.ts'
import { toClusterRoles } from './user-roles.ts'
import { webhookClientName } from './webhook-client.ts'
import { mutatingConfigurations, validatingConfigurations } from './webhook-configurations.ts'

export interface EmbeddedDesks {
  /** The office first, then the desks that are on. */
  readonly domains: readonly Domain[]
  /** Which of their kinds are missing or on their way out, in sentences. */
  problems(): string[]
  /** Resolves when all of their kinds are there. */
  complete(): Promise<void>
  /** The server's certificate was renewed; webhooks are served with it too. */
  renew(): void
  stop(): Promise<void>
}

export interface EmbeddedDesksOptions {
  readonly handler: Handler
  readonly certificates: KeptCertificates
  /** Every desk there is. */
  readonly desks: readonly Desk[]
  /** Names of the desks that are on. */
  readonly on: readonly string[]
  readonly networkRules: NetworkRules
  readonly machineMode: MachineMode | undefined
  readonly vcenters: VCenters
  readonly log: Log
  readonly metrics: Metrics
}

const name = 'mooring'
const clock = realClock

export async function startEmbeddedDesks(options: EmbeddedDesksOptions): Promise<EmbeddedDesks> {
  const { handler, certificates, desks, on, networkRules, machineMode, vcenters, log, metrics } = options
  const { client, discovery } = connect(handler, certificates, { metrics })
  const random = Math.random
  const parts = { client, discovery, clock, random, log, metrics, instance: hostname() }
  const assembled = assemble({ ...parts, desks, on, networkRules, machineMode, vcenters })
  const sets = assembled.webhookSets
  const components = componentsOf(desks, on)
  const conversions = conversionsOf(desks)
  const server = await startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...certificates.server(),
    clientCA: certificates.ca().certificate,
    callers: { names: [webhookClientName], areConversionsOpen: false },
    sets,
    conversions,
    clock,
    log,
    metrics,
  })
  const address: WebhookAddress = {
    kind: 'url',
    base: `https://127.0.0.1:${server.port}`,
    caBundle: Buffer.from(certificates.ca().certificate).toString('base64'),
  }
  const wanted = definitionsOf(components).map(definition => withConversion(definition, conversions, address))
  const off = desks.filter(desk => !on.includes(desk.name))
  const converted = definitionsOf(off).filter(definition => needsConversion(definition, conversions))
  const kept = await keepDefinitions({
    ...{ client, fieldManager: name, clock, random, log },
    wanted,
    leftOver: converted.map(definition => withConversion(definition, conversions, address)),
    standIns: standInsOf(components),
  })
  await installRoles(client, components)
  // Before the first pass: what an earlier run registered leads to a port that is closed by now.
  const webhooks = sets.flatMap(({ webhooks }) => webhooks)
  await registerWebhooks(client, webhooks, address)
  await assembled.start()
  return {
    domains: assembled.domains,
    problems: () => kept.problems(),
    complete: () => kept.complete(),
    renew: () => server.renew({ ...certificates.server(), clientCA: certificates.ca().certificate }),
    async stop() {
      await kept.stop()
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

export interface ConnectOptions {
  readonly metrics?: Metrics
  /** A user to act as, with that one's permissions alone. */
  readonly as?: string
}

/** As the administrator. */
export function connect(handler: Handler, certificates: KeptCertificates, { metrics, as }: ConnectOptions = {}) {
  const peerCertificate = new X509Certificate(certificates.admin().certificate).raw
  const headers = as === undefined ? {} : { 'impersonate-user': as }
  const wire = embeddedWire({ handler: () => handler, peerCertificate, headers })
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
