// Webhooks, and the policies that some of them stand in for, on a server that many tests share: registered by the first test that wants them, answered with what the desk of the
// present test knows, and taken away by the first test that does not. A server learns of either a moment later, so both wait
// until it has.

import { toPolicies } from '../../scripts/config/policies.ts'
import {
  toMutatingConfiguration,
  toValidatingConfiguration,
  type WebhookAddress,
} from '../../src/admission/registration.ts'
import { startWebhookServer, type WebhookServer } from '../../src/admission/server.ts'
import type { Webhook, WebhookSet } from '../../src/admission/webhook.ts'
import { issueCA, issueServerCertificate } from '../../src/apiserver/certificates/issue.ts'
import { poolConversions } from '../../src/controllers/office/webhooks/conversion.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type KubeObject } from '../../src/kube/object.ts'
import { pause, realClock } from '../../src/runtime/clock.ts'
import { silentLog } from '../harness/silent-log.ts'
import { aPool, aPrefixPool, type PoolDraft } from './builders.ts'
import { kindOf } from './kinds.ts'

const registered = (['Validating', 'Mutating'] as const).map(type =>
  defineKind<KubeObject>({
    group: 'admissionregistration.k8s.io',
    versions: ['v1'],
    plural: `${type.toLowerCase()}webhookconfigurations`,
    kind: `${type}WebhookConfiguration`,
    namespaced: false,
  }),
)

const policies = ['', 'Binding'].map(more =>
  defineKind<KubeObject>({
    group: 'admissionregistration.k8s.io',
    versions: ['v1'],
    plural: more === '' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings',
    kind: `ValidatingAdmissionPolicy${more}`,
    namespaced: false,
  }),
)

/** The embedded server keeps policies, and does not evaluate them. */
const judgesByItself = () => process.env.MOORING_BEHAVIOURS_SERVER === 'cluster'

interface Asked {
  readonly server: WebhookServer
  /** Of the present test. */
  sets: readonly WebhookSet[]
  /** How often a validating webhook was. */
  count: number
}

let asked: Asked | undefined

export async function askWebhooks(client: Client, home: string, sets: readonly WebhookSet[]): Promise<void> {
  if (asked !== undefined && namesOf(asked.sets) === namesOf(sets)) {
    asked.sets = sets
    return
  }
  await endWebhooks(client, home)
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
  const ca = issueCA('webhook-ca', life)
  const serving = issueServerCertificate(ca, 'webhook', { dns: [], ips: ['127.0.0.1'] }, life)
  const server = await startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...serving,
    sets: sets.map((set, at) => ({
      ...set,
      webhooks: set.webhooks.map(counted),
      facts: kind => asked?.sets[at]?.facts(kind),
    })),
    conversions: poolConversions,
    clock: realClock,
    log: silentLog,
  })
  const mine = { server, sets, count: 0 }
  asked = mine
  const caBundle = Buffer.from(ca.certificate).toString('base64')
  const address: WebhookAddress = { kind: 'url', base: `https://127.0.0.1:${server.port}`, caBundle }
  const options = { address, withStandIns: true }
  const all = sets.flatMap(({ webhooks }) => webhooks)
  const webhooks = all.filter(({ policy }) => policy === undefined || !judgesByItself())
  for (const object of judgesByItself() ? toPolicies(all, { namePrefix: 'mooring-', labels: {} }) : []) {
    for (const kind of policies) if (kind.kind === object.kind) await client.create(kind, object)
  }
  const objects = [toValidatingConfiguration(webhooks, options), toMutatingConfiguration(webhooks, options)]
  for (const [at, kind] of registered.entries()) await client.create(kind, objects[at] as KubeObject)
  // The one changes what is stored, the other is asked about it.
  await until(async () => {
    const made = await tried(client, home, aPrefixPool('fd00::/62').with({ allocationPrefixLength: 0 }))
    return made !== undefined && mine.count > 0 && isDefaulted(made)
  })
}

/** A test with other desks than the one before has other webhooks. */
const namesOf = (sets: readonly WebhookSet[]): string => sets.map(({ name }) => name).join()

function counted(webhook: Webhook): Webhook {
  return {
    ...webhook,
    answer(request, facts) {
      if (asked !== undefined && webhook.type === 'validating') asked.count++
      return webhook.answer(request, facts)
    },
  }
}

export async function endWebhooks(client: Client, home: string): Promise<void> {
  if (asked === undefined) return
  const { server } = asked
  asked = undefined
  // A webhook that does not answer is a refusal: when none comes, none is asked any more.
  await server.stop()
  for (const kind of [...registered, ...(judgesByItself() ? policies : [])]) {
    for (const { metadata } of (await client.list(kind)).items) await client.delete(kind, { name: metadata.name ?? '' })
  }
  await until(async () => (await tried(client, home, aPool())) !== undefined)
}

/** As it would be stored; undefined where it would be refused. */
async function tried(client: Client, namespace: string, { object }: PoolDraft): Promise<KubeObject | undefined> {
  const placed = { ...object, metadata: { ...object.metadata, namespace } }
  return client.create(kindOf(object), placed, { isDryRun: true }).catch(() => undefined)
}

function isDefaulted({ spec }: KubeObject & { readonly spec?: { readonly allocationPrefixLength?: number } }): boolean {
  return spec?.allocationPrefixLength === 64
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let leftMs = 30_000; leftMs > 0; leftMs -= 100) {
    if (await holds()) return
    await pause(realClock, 100)
  }
  throw new Error('the server did not take notice of its webhooks within 30 s')
}
