// Reviews on a server that many tests share: registered by the first test that wants them, answered with what the desk of the
// present test knows, and taken away by the first test that does not. A server learns of either a moment later, so both wait
// until it has.

import { type Edge, startEdge } from '../../src/admission/edge.ts'
import {
  type ReviewAddress,
  toMutatingConfiguration,
  toValidatingConfiguration,
} from '../../src/admission/registration.ts'
import { issueCA, issueServerCertificate } from '../../src/apiserver/certificates/issue.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type KubeObject } from '../../src/kube/object.ts'
import { pause, realClock } from '../../src/runtime/clock.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { aPool, aPrefixPool, type PoolDraft } from './builders.ts'
import type { DeskUnderTest } from './desk.ts'
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

let reviewing: { readonly edge: Edge; facts: DeskUnderTest['facts']; asked: number } | undefined

export async function reviewWith(client: Client, home: string, facts: DeskUnderTest['facts']): Promise<void> {
  if (reviewing !== undefined) {
    reviewing.facts = facts
    return
  }
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
  const ca = issueCA('review-ca', life)
  const serving = issueServerCertificate(ca, 'review', { dns: [], ips: ['127.0.0.1'] }, life)
  const edge = await startEdge({
    host: '127.0.0.1',
    port: 0,
    ...serving,
    facts: () => {
      if (reviewing === undefined) return undefined
      reviewing.asked++
      return reviewing.facts()
    },
    log: silentLog,
  })
  const mine = { edge, facts, asked: 0 }
  reviewing = mine
  const caBundle = Buffer.from(ca.certificate).toString('base64')
  const address: ReviewAddress = { kind: 'url', base: `https://127.0.0.1:${edge.port}`, caBundle }
  const options = { address, withCore: true }
  const objects = [toValidatingConfiguration(options), toMutatingConfiguration(options)]
  for (const [at, kind] of registered.entries()) await client.create(kind, objects[at] as KubeObject)
  // The one changes what is stored, the other is asked about it.
  await until(async () => {
    const made = await tried(client, home, aPrefixPool('fd00::/62').with({ allocationPrefixLength: 0 }))
    return made !== undefined && mine.asked > 0 && isDefaulted(made)
  })
}

export async function endReviews(client: Client, home: string): Promise<void> {
  if (reviewing === undefined) return
  const { edge } = reviewing
  reviewing = undefined
  // A review that nobody answers is a refusal: when none comes, nobody is asked any more.
  await edge.stop()
  for (const kind of registered) {
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
  throw new Error('the server did not take notice of its reviewers within 30 s')
}
