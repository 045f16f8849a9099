// What the API server asks about, counted where it is answered.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { definitions } from '../../../../test/harness/objects.ts'
import { silentLog } from '../../../../test/harness/silent-log.ts'
import { aWorld, type World } from '../../../../test/harness/world.ts'
import { toValidatingConfiguration, type WebhookAddress } from '../../../admission/registration.ts'
import { startWebhookServer, type WebhookServer } from '../../../admission/server.ts'
import { choiceAnnotation, requestedAddressAnnotation } from '../../../api/names.ts'
import { issueCA, issueServerCertificate } from '../../../apiserver/certificates/issue.ts'
import { definitionsOf } from '../../../cli/definitions.ts'
import { realClock } from '../../../runtime/clock.ts'
import { capi } from '../desk.ts'
import type { CapiFacts } from '../facts.ts'
import { capiWebhooks } from './webhooks.ts'

const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
const ca = issueCA('webhook-ca', life)
const serving = issueServerCertificate(ca, 'webhook', { dns: [], ips: ['127.0.0.1'] }, life)

const paths = {
  claims: '/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddressclaims',
  addresses: '/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddresses',
}
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'vms' }

let server: WebhookServer
let asked: number
let isKnown: boolean

beforeEach(async () => {
  asked = 0
  isKnown = true
  const facts: CapiFacts = { poolOfClaim: () => undefined, addressOfReport: () => '10.0.0.10' }
  const count = () => {
    asked++
    return isKnown ? facts : undefined
  }
  server = await startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...serving,
    sets: [{ name: 'capi', webhooks: capiWebhooks, facts: count }],
    conversions: [],
    clock: realClock,
    log: silentLog,
  })
})

afterEach(() => server.stop())

async function aWorldThatAsks(withStandIns: boolean): Promise<World> {
  const world = await aWorld()
  const caBundle = Buffer.from(ca.certificate).toString('base64')
  const address: WebhookAddress = { kind: 'url', base: `https://127.0.0.1:${server.port}`, caBundle }
  for (const definition of definitionsOf([capi])) {
    expect((await world.admin.create(definitions, definition)).code).toBe(201)
  }
  await world.settled()
  const made = await world.admin.create(
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    toValidatingConfiguration(capiWebhooks, { address, withStandIns }),
  )
  expect(made.code).toBe(201)
  return world
}

const aClaim = (annotations?: object, spec: object = { poolRef }, version = 'v1beta2') => ({
  apiVersion: `ipam.cluster.x-k8s.io/${version}`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web-0', ...(annotations && { annotations }) },
  spec,
})

const chosen = (address: string | null) => ({ metadata: { annotations: { [choiceAnnotation]: address } } })

describe('where Cluster API answers for its own kinds', () => {
  async function aBoundClaim() {
    const { admin } = await aWorldThatAsks(false)
    const claim = `${paths.claims}/web-0`
    expect((await admin.create(paths.claims, aClaim())).code).toBe(201)
    expect((await admin.patch(claim, chosen('10.0.0.10'))).code).toBe(200)
    const status = { status: { addressRef: { name: 'web-0' } } }
    expect((await admin.patch(`${claim}/status`, status)).code).toBe(200)
    return { admin, claim }
  }

  test('a claim is made, bound, labelled, moved and deleted without a question', async () => {
    const { admin, claim } = await aBoundClaim()
    const annotations = { [choiceAnnotation]: null, 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
    expect((await admin.patch(claim, { metadata: { labels: { a: 'b' }, finalizers: ['a.b/c'] } })).code).toBe(200)
    expect((await admin.patch(claim, { metadata: { annotations } })).code).toBe(200)
    expect((await admin.delete(claim)).code).toBe(200)
    expect((await admin.patch(claim, { metadata: { finalizers: [] } })).code).toBe(200)
    expect((await admin.create(paths.claims, aClaim({ [choiceAnnotation]: '10.0.0.99' }))).code).toBe(201)
    expect(asked).toBe(0)
  })

  test.each([
    ['mooring.dev', 'ClusterAdressPool', 1],
    ['ipam.cluster.x-k8s.io', 'ClusterAddressPool', 1],
    ['ipam.cluster.x-k8s.io', 'InClusterIpPool', 1],
    ['mooring.dev', 'ClusterAddressPool', 0],
    ['ipam.cluster.x-k8s.io', 'InfobloxIPPool', 0],
    ['metallb.io', 'AddressPool', 0],
  ])(
    'a claim on a %s %s is created after %i questions, also while no webhook answers',
    async (apiGroup, kind, count) => {
      const { admin } = await aWorldThatAsks(false)
      const claim = aClaim(undefined, { poolRef: { apiGroup, kind, name: 'lab' } })
      expect((await admin.create(paths.claims, claim)).code).toBe(201)
      expect(asked).toBe(count)
      await server.stop()
      const next = { ...claim, metadata: { name: 'web-1' } }
      expect((await admin.create(paths.claims, next)).code).toBe(201)
    },
  )

  test.each(['v1beta2', 'v1beta1'])('an edit of its choice is refused, in %s', async version => {
    const { admin, claim } = await aBoundClaim()
    const refused = await admin.patch(claim.replace('v1beta2', version), chosen('10.0.0.11'))
    expect(refused).toMatchObject({ code: 403, body: { reason: 'Forbidden' } })
    expect(refused.body.message).toContain('admission webhook "choice.ipaddressclaim.mooring.dev" denied the request')
    expect((await admin.patch(claim, chosen(null))).code).toBe(200)
    expect((await admin.patch(claim, chosen('10.0.0.11'))).code).toBe(403)
    expect((await admin.patch(claim, chosen('10.0.0.10'))).code).toBe(200)
    expect(asked).toBe(4)
  })

  test.each<[string, () => Promise<void> | void]>([
    [
      'the caches are not filled',
      () => {
        isKnown = false
      },
    ],
    ['no webhook server runs', () => server.stop()],
  ])('nothing of a claim is refused while %s', async (_, happen) => {
    const { admin, claim } = await aBoundClaim()
    await happen()
    expect((await admin.patch(claim, chosen('10.0.0.11'))).code).toBe(200)
  })
})

describe('where Cluster API is not installed', () => {
  test('a claim is made, bound and released for one question, about the IPAddress', async () => {
    const { admin } = await aWorldThatAsks(true)
    const [claim, address] = [`${paths.claims}/web-0`, `${paths.addresses}/web-0`]
    expect((await admin.create(paths.claims, aClaim())).code).toBe(201)
    expect(
      (await admin.patch(claim, { metadata: { ...chosen('10.0.0.10').metadata, finalizers: ['a.b/c'] } })).code,
    ).toBe(200)
    expect(asked).toBe(0)
    const made = await admin.create(paths.addresses, {
      ...aClaim(),
      kind: 'IPAddress',
      metadata: { name: 'web-0', finalizers: ['a.b/c'] },
      spec: { poolRef, claimRef: { name: 'web-0' }, address: '10.0.0.10', prefix: 24 },
    })
    expect(made.code).toBe(201)
    expect(asked).toBe(1)
    expect((await admin.patch(`${claim}/status`, { status: { addressRef: { name: 'web-0' } } })).code).toBe(200)
    for (const path of [claim, address]) {
      expect((await admin.delete(path)).code).toBe(200)
      expect((await admin.patch(path, { metadata: { finalizers: [] } })).code).toBe(200)
    }
    expect(asked).toBe(1)
  })

  test.each<[string, object, number]>([
    ['names no group', aClaim(undefined, { poolRef: { kind: 'InClusterIPPool', name: 'vms' } }, 'v1beta1'), 403],
    ['wishes', aClaim({ [requestedAddressAnnotation]: '10.0.0.77' }), 201],
  ])('a claim that %s is asked about', async (_, claim, code) => {
    const { admin } = await aWorldThatAsks(true)
    const version = (claim as { apiVersion: string }).apiVersion.split('/')[1] ?? ''
    expect((await admin.create(paths.claims.replace('v1beta2', version), claim)).code).toBe(code)
    expect(asked).toBe(1)
  })

  test('a wish that changes is asked about; that a spec stays is a rule of its schema', async () => {
    const { admin } = await aWorldThatAsks(true)
    const claim = `${paths.claims}/web-0`
    expect((await admin.create(paths.claims, aClaim({ note: 'x' }))).code).toBe(201)
    expect((await admin.patch(claim, { spec: { poolRef: { name: 'others' } } })).code).toBe(422)
    expect((await admin.patch(claim, { metadata: { annotations: { ipAddress: '10.0.0.7' } } })).code).toBe(200)
    expect((await admin.patch(claim, { metadata: { annotations: { note: 'y' } } })).code).toBe(200)
    expect(asked).toBe(1)
  })
})
