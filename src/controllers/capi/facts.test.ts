// What a request that any client may have made up can learn from the caches.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { admissionReview, ask } from '../../../test/harness/webhooks.ts'
import { addressPoolKind } from '../../api/address-pool.ts'
import { toHoldObject } from '../../api/hold.ts'
import { choiceAnnotation } from '../../api/names.ts'
import { parseIP } from '../../ip/address.ts'
import type { KubeObject } from '../../kube/object.ts'
import { Gateways } from '../office/gateways.ts'
import { Ledger } from '../office/ledger.ts'
import { poolFacts } from '../office/pool-facts.ts'
import { Sources } from '../office/sources.ts'
import { poolCacheOf } from '../office/views.ts'
import { poolWebhooks } from '../office/webhooks/webhooks.ts'
import { capiFacts } from './facts.ts'
import { capiWebhooks } from './webhooks/webhooks.ts'
import { createCaches } from './world.ts'

const ipam = 'ipam.cluster.x-k8s.io'
const poolRef = { apiGroup: 'mooring.dev', kind: 'AddressPool', name: 'lab' }

const aClaim = (uid: string, choice?: string) => ({
  apiVersion: `${ipam}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: {
    name: 'vault',
    namespace: 'team-b',
    uid,
    ...(choice !== undefined && { annotations: { [choiceAnnotation]: choice } }),
  },
  spec: { poolRef },
  status: { addressRef: { name: 'vault' } },
})

const aReport: KubeObject = {
  apiVersion: `${ipam}/v1beta2`,
  kind: 'IPAddress',
  metadata: { name: 'vault', namespace: 'team-b', uid: 'r-1' },
  spec: { claimRef: { name: 'vault' }, poolRef, address: '172.20.5.7', prefix: 24 },
} as KubeObject

const aPool = (uid: string, addresses: string[]) => ({
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'AddressPool',
  metadata: { name: 'lab', namespace: 'team-b', uid },
  spec: { addresses, prefix: 24 },
})

describe('a request that was made up', () => {
  const caches = createCaches()
  const ledger = new Ledger()
  const sources = new Sources(caches, ledger)
  const gateways = new Gateways(sources, ledger)
  const pool = poolCacheOf(caches, { kind: 'AddressPool', group: 'mooring.dev' })
  caches.claims.put(aClaim('c-1', '172.20.5.7') as KubeObject)
  caches.reports.put(aReport)
  pool?.put(aPool('p-1', ['172.20.5.0/25']) as KubeObject)
  caches.holds.put(aHold())
  for (const cache of [caches.holds, caches.claims, caches.reports, ...caches.pools.values()]) cache.markSynced()

  const webhook = <T extends { readonly path: string }>(all: readonly T[], path: string): T => {
    const found = all.find(one => one.path === path)
    if (found === undefined) throw new Error(`there is no webhook at ${path}`)
    return found
  }
  const answerTo = async (body: object, path: string) => {
    if (path.includes('choice')) {
      return JSON.stringify(await ask(body, { webhook: webhook(capiWebhooks, path), facts: () => capiFacts(caches) }))
    }
    const known = { views: caches, ledger, sources, gateways, hasSeenAll: () => true }
    const facts = () => poolFacts(known, addressPoolKind)
    return JSON.stringify(await ask(body, { webhook: webhook(poolWebhooks, path), facts }))
  }
  const choicePath = '/validate-mooring-dev-ipaddressclaim-choice'
  const poolPath = '/validate-mooring-dev-v1alpha1-addresspool'
  const moves = (uid: string) =>
    admissionReview({ operation: 'UPDATE', oldObject: aClaim(uid), object: aClaim(uid, '172.20.5.9') })
  const shrinks = (uid: string) =>
    admissionReview({
      operation: 'UPDATE',
      oldObject: aPool(uid, ['172.20.5.0/25']),
      object: aPool(uid, ['172.20.5.100']),
    })
  const goes = (uid: string) =>
    admissionReview({ operation: 'DELETE', oldObject: aPool(uid, ['172.20.5.0/25']), object: null })

  test.each([
    ['which address a claim has', moves, choicePath, '172.20.5.7'],
    ['what is held of a pool', shrinks, poolPath, '172.20.5.7'],
    ['which claims hold it', goes, poolPath, 'vault'],
  ])('is not told %s', async (_, review, path, secret) => {
    for (const uid of ['', 'guessed']) expect(await answerTo(review(uid), path)).not.toContain(secret)
    const known = path === choicePath ? 'c-1' : 'p-1'
    expect(await answerTo(review(known), path)).toContain(secret)
  })
})

function aHold(): KubeObject {
  const spec = {
    space: 'AddressPool.mooring.dev/team-b/lab',
    ip: orThrow(parseIP('172.20.5.7')),
    bits: 32,
    pool: { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace: 'team-b', name: 'lab' },
    claim: { apiGroup: ipam, kind: 'IPAddressClaim', namespace: 'team-b', name: 'vault', uid: 'c-1' },
    owner: undefined,
  }
  const object = toHoldObject(spec, '2030-01-01T00:00:00Z')
  return { ...object, metadata: { ...object.metadata, uid: 'h-1' } }
}
