// The webhooks of pools, asked by a call and by a real API server over a real socket.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aVersion, definitions } from '../../../../test/harness/objects.ts'
import { held, nothing } from '../../../../test/harness/pool-facts.ts'
import { silentLog } from '../../../../test/harness/silent-log.ts'
import { admissionReview, anySpec, ask, expectAnswers, patchIn } from '../../../../test/harness/webhooks.ts'
import { aWorld } from '../../../../test/harness/world.ts'
import {
  toConversion,
  toMutatingConfiguration,
  toValidatingConfiguration,
  type WebhookAddress,
} from '../../../admission/registration.ts'
import { startWebhookServer, type WebhookServer } from '../../../admission/server.ts'
import type { Webhook } from '../../../admission/webhook.ts'
import { inClusterPoolKind } from '../../../api/in-cluster-pool.ts'
import { prefixPoolKind } from '../../../api/prefix-pool.ts'
import { issueCA, issueServerCertificate } from '../../../apiserver/certificates/issue.ts'
import { realClock } from '../../../runtime/clock.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { poolConversions } from './conversion.ts'
import { poolWebhooks } from './webhooks.ts'

const aPool = (spec: object, version = 'v1alpha2', kind = 'InClusterIPPool') => ({
  apiVersion: `ipam.cluster.x-k8s.io/${version}`,
  kind,
  metadata: { name: 'vms', namespace: 'default' },
  spec,
})

describe('the webhooks of pools', () => {
  const created = (object: object) => admissionReview({ operation: 'CREATE', object })
  const askAt = (path: string, body: object, facts: PoolFacts = nothing) => {
    const webhook = poolWebhooks.find(webhook => webhook.path === path) as Webhook<PoolFacts>
    return ask(body, { webhook, facts: () => facts })
  }
  const validate = '/validate-ipam-cluster-x-k8s-io-v1alpha2-inclusterippool'
  const mutate = '/mutate-ipam-cluster-x-k8s-io-v1alpha2-inclusterprefixpool'

  test('are registered under the names that clusters know, and fail closed', () => {
    const { webhooks } = toValidatingConfiguration(poolWebhooks, {
      address: { kind: 'service', namespace: 'a', name: 'b' },
    })
    expect(webhooks.map(({ name }) => name)).toEqual([
      'validation.addresspool.mooring.dev',
      'validation.clusteraddresspool.mooring.dev',
      'validation.inclusterippool.ipam.cluster.x-k8s.io',
      'validation.globalinclusterippool.ipam.cluster.x-k8s.io',
      'validation.inclusterprefixpool.ipam.cluster.x-k8s.io',
      'validation.globalinclusterprefixpool.ipam.cluster.x-k8s.io',
      'validation.ippool.installer.openshift.io',
      'validation.ippool.machine.openshift.io',
    ])
    expect(new Set(webhooks.map(({ failurePolicy }) => failurePolicy))).toEqual(new Set(['Fail']))
    expect(webhooks[2]).toMatchObject({
      clientConfig: { service: { path: validate } },
      rules: [
        { apiVersions: ['v1alpha2'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['inclusterippools'] },
      ],
    })
  })

  test('warn about a pool that is odd', async () => {
    const object = aPool({ addresses: ['10.0.0.10'], prefix: 24, gateway: '10.9.9.9' })
    const { response } = await askAt(validate, created(object))
    expect(response).toMatchObject({ allowed: true, warnings: [expect.stringContaining('spec.gateway')] })
  })

  test('look at a pool that is deleted as it was', async () => {
    const body = admissionReview({ operation: 'DELETE', object: null, oldObject: aPool({ addresses: ['10.0.0.10'] }) })
    expect((await askAt(validate, body)).response.allowed).toBe(true)
    expect((await askAt(validate, body, held('10.0.0.10'))).response).toMatchObject({ status: { code: 400 } })
  })

  test('add the usual length to a prefix pool that has none, and change nothing else', async () => {
    const answer = await askAt(mutate, created(aPool({ prefixes: ['fd00::/48'] }, 'v1alpha2', 'InClusterPrefixPool')))
    expect(patchIn(answer)).toEqual([{ op: 'add', path: '/spec/allocationPrefixLength', value: 64 }])
    const spec = { prefixes: ['fd00::/48'], allocationPrefixLength: 56 }
    const same = await askAt(mutate, created(aPool(spec, 'v1alpha2', 'InClusterPrefixPool')))
    expect(same.response).toEqual({ uid: 'u-1', allowed: true })
  })

  test('answer whatever a pool looks like', async () => {
    await expectAnswers(poolWebhooks, anySpec, () => held('10.0.0.1', 'fd00::/64'))
  })
})

describe('an API server that asks about pools', () => {
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
  const ca = issueCA('webhook-ca', life)
  const serving = issueServerCertificate(ca, 'webhook', { dns: [], ips: ['127.0.0.1'] }, life)
  let server: WebhookServer
  let facts: PoolFacts | undefined

  beforeEach(async () => {
    facts = nothing
    server = await startWebhookServer({
      host: '127.0.0.1',
      port: 0,
      ...serving,
      sets: [{ name: 'office', webhooks: poolWebhooks, facts: () => facts }],
      conversions: poolConversions,
      clock: realClock,
      log: silentLog,
    })
  })
  afterEach(() => server.stop())

  const address = (): WebhookAddress => ({
    kind: 'url',
    base: `https://127.0.0.1:${server.port}`,
    caBundle: Buffer.from(ca.certificate).toString('base64'),
  })

  const poolPath = '/apis/ipam.cluster.x-k8s.io/v1alpha2/namespaces/default/inclusterippools'

  async function aWorldThatAsks() {
    const world = await aWorld()
    const both = [aVersion('v1alpha2', { subresources: { status: {} } }), aVersion('v1alpha1', { storage: false })]
    for (const [kind, versions] of [
      [inClusterPoolKind, both],
      [prefixPoolKind, [aVersion('v1alpha2')]],
    ] as const) {
      const made = await world.admin.create(definitions, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${kind.plural}.${kind.group}` },
        spec: {
          group: kind.group,
          scope: 'Namespaced',
          names: { plural: kind.plural, kind: kind.kind },
          versions,
          conversion: toConversion(address()),
        },
      })
      expect(made.code).toBe(201)
    }
    await world.settled()
    const registrations = '/apis/admissionregistration.k8s.io/v1'
    const made = [
      await world.admin.create(
        `${registrations}/validatingwebhookconfigurations`,
        toValidatingConfiguration(poolWebhooks, { address: address() }),
      ),
      await world.admin.create(
        `${registrations}/mutatingwebhookconfigurations`,
        toMutatingConfiguration(poolWebhooks, { address: address() }),
      ),
    ]
    expect(made.map(({ code }) => code)).toEqual([201, 201])
    return world
  }

  test('refuses a pool in the words that its users know', async () => {
    const { admin } = await aWorldThatAsks()
    const refused = await admin.create(poolPath, aPool({ addresses: ['10.0.0.10'], gateway: 'invalid' }))
    expect(refused.code).toBe(422)
    expect(refused.body.message).toBe(
      'admission webhook "validation.inclusterippool.ipam.cluster.x-k8s.io" denied the request: ' +
        'InClusterIPPool.ipam.cluster.x-k8s.io "vms" is invalid: ' +
        'spec.gateway: Invalid value: "invalid": ParseAddr("invalid"): unable to parse IP',
    )
  })

  test('keeps a pool with holders, and lets it go with a word from its admin', async () => {
    const { admin } = await aWorldThatAsks()
    expect((await admin.create(poolPath, aPool({ addresses: ['10.0.0.10'], prefix: 24 }))).code).toBe(201)
    facts = held('10.0.0.10')
    const cut = await admin.patch(`${poolPath}/vms`, { spec: { addresses: ['10.0.0.11'] } })
    expect(cut).toMatchObject({ code: 400, body: { reason: 'BadRequest' } })
    expect(cut.body.message).toContain('pool addresses do not contain allocated addresses: [10.0.0.10-10.0.0.10]')
    const kept = await admin.delete(`${poolPath}/vms`)
    expect(kept.code).toBe(400)
    expect(kept.body.message).toContain('Pool has IPAddresses allocated.')
    const annotations = { 'ipam.cluster.x-k8s.io/skip-validate-delete-webhook': '' }
    expect((await admin.patch(`${poolPath}/vms`, { metadata: { annotations } })).code).toBe(200)
    expect((await admin.delete(`${poolPath}/vms`)).code).toBe(200)
  })

  test('shows a pool in both of its versions', async () => {
    const { admin } = await aWorldThatAsks()
    const old = poolPath.replace('v1alpha2', 'v1alpha1')
    const made = await admin.create(old, aPool({ subnet: '10.0.0.0/24', gateway: '10.0.0.1' }, 'v1alpha1'))
    expect(made.code).toBe(201)
    expect((await admin.get(`${poolPath}/vms`)).body).toMatchObject({
      spec: { addresses: ['10.0.0.1-10.0.0.254'], prefix: 24, gateway: '10.0.0.1' },
    })
    expect((await admin.get(`${old}/vms`)).body).toMatchObject({ spec: { subnet: '10.0.0.0/24' } })
  })

  test('fills in the length of a prefix pool', async () => {
    const { admin } = await aWorldThatAsks()
    const made = await admin.create('/apis/ipam.cluster.x-k8s.io/v1alpha2/namespaces/default/inclusterprefixpools', {
      ...aPool({ prefixes: ['fd00::/48'] }),
      kind: 'InClusterPrefixPool',
    })
    expect(made.body).toMatchObject({ spec: { allocationPrefixLength: 64 } })
  })

  test('lets clusterctl take a pool along while no webhook server runs, and lets nothing else happen to it', async () => {
    const { admin } = await aWorldThatAsks()
    const finalizers = ['ipam.cluster.x-k8s.io/ProtectPool']
    const pool = aPool({ addresses: ['10.0.0.10'], prefix: 24 })
    const path = `${poolPath}/vms`
    expect((await admin.create(poolPath, { ...pool, metadata: { ...pool.metadata, finalizers } })).code).toBe(201)
    await server.stop()
    expect((await admin.patch(path, { spec: { addresses: ['10.0.0.11'] } })).code).toBe(500)
    expect((await admin.delete(path)).code).toBe(500)
    const annotations = { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
    expect((await admin.patch(path, { metadata: { annotations } })).code).toBe(200)
    expect((await admin.delete(path)).code).toBe(200)
    expect((await admin.get(path)).body.metadata.deletionTimestamp).toBeDefined()
    expect((await admin.patch(path, { metadata: { finalizers: [] } })).code).toBe(200)
    expect((await admin.get(path)).code).toBe(404)
  })

  test('refuses everything while the caches are not filled', async () => {
    const { admin } = await aWorldThatAsks()
    facts = undefined
    const refused = await admin.create(poolPath, aPool({ addresses: ['10.0.0.10'] }))
    expect(refused.code).toBe(503)
  })
})
