// A world without sockets and without waiting: the API server of the product on a store in memory, the desk beside it, and
// one clock for both that moves when the test says so.

import { onTestFinished } from 'vitest'
import {
  toMutatingConfiguration,
  toValidatingConfiguration,
  type WebhookAddress,
} from '../../src/admission/registration.ts'
import { startWebhookServer } from '../../src/admission/server.ts'
import type { WebhookSet } from '../../src/admission/webhook.ts'
import { issueCA, issueServerCertificate } from '../../src/apiserver/certificates/issue.ts'
import { poolConversions } from '../../src/controllers/office/webhooks/conversion.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { speak } from '../../src/kube/speak.ts'
import type { Wire } from '../../src/kube/wire.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { ok } from '../harness/client.ts'
import { kubeWire } from '../harness/kube-wire.ts'
import type { MemoryDisk } from '../harness/memory-store.ts'
import { silentLog } from '../harness/silent-log.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import { aWorld as aServer, certificates, type World as Server, toDER } from '../harness/world.ts'
import { definitions } from './definitions.ts'
import { aDesk, type DesksUnderTest } from './desk.ts'
import type { Ground, WorldOptions } from './world.ts'

const home = 'default'

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export async function anInProcessWorld(options: WorldOptions): Promise<Ground> {
  const { define, hasWebhooks = false } = options
  const server = define === undefined ? await aServer({ disk: await withKinds() }) : await aServer()
  if (define !== undefined) await install(server, define(definitions))
  const clock = new VirtualClock()
  const peerCertificate = toDER(certificates().admin().certificate)
  const wireOf = (headers: Readonly<Record<string, string>>) =>
    kubeWire({ handler: () => server.server.handler, peerCertificate, headers })
  const clientBy = (wire: Wire) => speak({ wire, clock, name: 'tester', absentMs: 0 }).client
  const wireAs = (user?: string) => wireOf(user === undefined ? {} : { 'impersonate-user': user })
  const start = async (which: DesksUnderTest = options) => {
    const desk = aDesk(wireAs(which.user), clock, home, which)
    await desk.start()
    onTestFinished(() => desk.kill())
    return desk
  }
  const desk = await start()
  if (hasWebhooks) await askWebhooks(server, desk.webhookSets())
  return {
    client: clientBy(wireAs()),
    clientOf: user => clientBy(wireAs(user)),
    clock,
    desk,
    anotherDesk: start,
    home,
    async pass(milliseconds) {
      // The server's clock first: what the desk then writes is never older than what made it write.
      for (let leftMs = milliseconds; leftMs > 0; leftMs -= stepMs) {
        await server.pass(Math.min(stepMs, leftMs))
        await clock.advance(Math.min(stepMs, leftMs))
      }
      await server.pass(0)
    },
  }
}

const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }

/** The product's own webhook server, over a socket: the API server asks in no other way. */
async function askWebhooks(server: Server, sets: readonly WebhookSet[]): Promise<void> {
  const ca = issueCA('webhook-ca', life)
  const serving = issueServerCertificate(ca, 'webhook', { dns: [], ips: ['127.0.0.1'] }, life)
  const asked = await startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...serving,
    sets,
    conversions: poolConversions,
    clock: realClock,
    log: silentLog,
  })
  // Not waited for: it lets requests finish, and the time in which they would has stopped.
  onTestFinished(() => void asked.stop())
  const caBundle = Buffer.from(ca.certificate).toString('base64')
  const address: WebhookAddress = { kind: 'url', base: `https://127.0.0.1:${asked.port}`, caBundle }
  const group = '/apis/admissionregistration.k8s.io/v1'
  const options = { address, withStandIns: true }
  const webhooks = sets.flatMap(({ webhooks }) => webhooks)
  ok(
    await server.admin.create(`${group}/validatingwebhookconfigurations`, toValidatingConfiguration(webhooks, options)),
  )
  ok(await server.admin.create(`${group}/mutatingwebhookconfigurations`, toMutatingConfiguration(webhooks, options)))
}

/** Short beside anything that a behaviour measures. */
const stepMs = 250

let diskWithKinds: Promise<MemoryDisk> | undefined

/** The kinds take a hundred writes: they are made once and copied. */
async function withKinds(): Promise<MemoryDisk> {
  diskWithKinds ??= aServer().then(async server => {
    await install(server, definitions)
    return server.disk
  })
  const { meta, rows } = await diskWithKinds
  return { meta, rows: new Map(rows) }
}

async function install(server: Server, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) ok(await server.admin.create(definitionsPath, object))
  await server.settled()
}
