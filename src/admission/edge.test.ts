// The listener over a real socket, asked by a real API server.

import { type RequestOptions, request } from 'node:https'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aVersion, definitions } from '../../test/harness/objects.ts'
import { held, nothing } from '../../test/harness/review-facts.ts'
import { aWorld } from '../../test/harness/world.ts'
import { inClusterPoolKind } from '../api/in-cluster-pool.ts'
import { prefixPoolKind } from '../api/prefix-pool.ts'
import { issueCA, issueServerCertificate } from '../apiserver/certificates/issue.ts'
import { reviewBytesMax } from '../limits.ts'
import { silentLog } from '../telemetry/log.ts'
import { type Edge, startEdge } from './edge.ts'
import { type ReviewAddress, toConversion, toMutatingConfiguration, toValidatingConfiguration } from './registration.ts'
import { type Facts, webhooks } from './webhooks.ts'

const path = '/validate-ipam-cluster-x-k8s-io-v1alpha2-inclusterippool'
const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
const ca = issueCA('review-ca', life)
const serving = issueServerCertificate(ca, 'review', { dns: [], ips: ['127.0.0.1'] }, life)

let edge: Edge
let facts: Facts | undefined

beforeEach(async () => {
  facts = { ...nothing, poolOfClaim: () => undefined, addressOfReport: () => undefined }
  edge = await startEdge({ host: '127.0.0.1', port: 0, ...serving, facts: () => facts, log: silentLog })
})

afterEach(() => edge.stop())

const address = (): ReviewAddress => ({
  kind: 'url',
  base: `https://127.0.0.1:${edge.port}`,
  caBundle: Buffer.from(ca.certificate).toString('base64'),
})

const aPool = (spec: object, version = 'v1alpha2') => ({
  apiVersion: `ipam.cluster.x-k8s.io/${version}`,
  kind: 'InClusterIPPool',
  metadata: { name: 'vms', namespace: 'default' },
  spec,
})

describe('the listener', () => {
  interface Said {
    readonly code: number | undefined
    readonly text: string
  }

  function send(body: string, options: RequestOptions = {}): Promise<Said> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const sent = request(
        { host: '127.0.0.1', port: edge.port, ca: ca.certificate, method: 'POST', path, headers, ...options },
        response => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', chunk => {
            text += chunk
          })
          response.on('end', () => resolve({ code: response.statusCode, text }))
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  test('answers a review', async () => {
    const review = { kind: 'AdmissionReview', request: { uid: 'u-1', operation: 'CREATE', object: aPool({}) } }
    const { code, text } = await send(JSON.stringify(review))
    expect(code).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ response: { uid: 'u-1', allowed: false } })
  })

  test('answers at the paths that clusters know, with and without a query', async () => {
    for (const known of [...webhooks.map(webhook => webhook.path), '/convert', `${path}?timeout=10s`]) {
      expect((await send('{}', { path: known })).code).toBe(200)
    }
  })

  test.each<[string, number, RequestOptions]>([
    ['another path', 404, { path: '/' }],
    ['another method', 405, { method: 'PUT' }],
    ['another type', 415, { headers: { 'content-type': 'text/plain' } }],
    [
      'a body that says it is too large',
      413,
      { headers: { 'content-type': 'application/json', 'content-length': reviewBytesMax + 1 } },
    ],
  ])('refuses %s', async (_, code, options) => {
    expect((await send('', options)).code).toBe(code)
  })

  test('takes another certificate for those who come later', async () => {
    const other = issueCA('other-ca', life)
    edge.renew(issueServerCertificate(other, 'review', { dns: [], ips: ['127.0.0.1'] }, life))
    await expect(send('{}', { agent: false })).rejects.toThrow()
    expect((await send('{}', { ca: other.certificate, agent: false })).code).toBe(200)
  })
})

describe('an API server that is told to ask', () => {
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
        toValidatingConfiguration({ address: address() }),
      ),
      await world.admin.create(
        `${registrations}/mutatingwebhookconfigurations`,
        toMutatingConfiguration({ address: address() }),
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
    facts = { ...held('10.0.0.10'), poolOfClaim: () => undefined, addressOfReport: () => undefined }
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

  test('refuses everything while nobody knows the world', async () => {
    const { admin } = await aWorldThatAsks()
    facts = undefined
    const refused = await admin.create(poolPath, aPool({ addresses: ['10.0.0.10'] }))
    expect(refused.code).toBe(503)
  })
})

describe('the registration', () => {
  test('names each review once, fails closed for pools, and leaves Cluster API its own kinds', () => {
    const { webhooks } = toValidatingConfiguration({ address: { kind: 'service', namespace: 'a', name: 'b' } })
    expect(webhooks.map(({ name }) => name)).toEqual([
      'validation.addresspool.mooring.dev',
      'validation.clusteraddresspool.mooring.dev',
      'validation.inclusterippool.ipam.cluster.x-k8s.io',
      'validation.globalinclusterippool.ipam.cluster.x-k8s.io',
      'validation.inclusterprefixpool.ipam.cluster.x-k8s.io',
      'validation.globalinclusterprefixpool.ipam.cluster.x-k8s.io',
      'choice.ipaddressclaim.mooring.dev',
    ])
    expect(webhooks.map(({ failurePolicy }) => failurePolicy)).toEqual([...Array(6).fill('Fail'), 'Ignore'])
    expect(new Set(webhooks.map(({ sideEffects }) => sideEffects))).toEqual(new Set(['None']))
    // In every version as it comes: a converter that does not answer would be in the way of whoever writes a claim.
    expect(webhooks[6]).toMatchObject({
      rules: [{ apiVersions: ['*'], operations: ['UPDATE'], resources: ['ipaddressclaims'] }],
      timeoutSeconds: 2,
    })
    expect(webhooks[2]).toMatchObject({
      clientConfig: { service: { namespace: 'a', name: 'b', path } },
      rules: [
        { apiVersions: ['v1alpha2'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['inclusterippools'] },
      ],
      matchPolicy: 'Equivalent',
    })
  })

  test('reviews the kinds of Cluster API where nobody else does', () => {
    const { webhooks } = toValidatingConfiguration({ address: address(), withCore: true })
    expect(webhooks.map(({ clientConfig }) => clientConfig)).toContainEqual(
      expect.objectContaining({ url: expect.stringContaining('/validate-ipam-cluster-x-k8s-io-v1beta2-ipaddress') }),
    )
    expect(webhooks.map(({ name }) => name)).toContain('validation.ipaddressclaim.ipam.cluster.x-k8s.io')
  })
})
