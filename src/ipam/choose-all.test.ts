import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import type { Pool } from '../api/pool.ts'
import { toPool } from '../api/to-pool.ts'
import { parseIP, toIPText } from '../ip/address.ts'
import type { Wish } from './choose.ts'
import { chooseAll, type PartWish } from './choose-all.ts'
import { SpaceIndex } from './space-index.ts'

const claim = { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', namespace: 'lab', name: 'vm', uid: 'u' }

function aPool(spec: Record<string, unknown>, name = 'vms'): Pool {
  const apiVersion = 'mooring.dev/v1alpha1'
  return orThrow(
    toPool({ apiVersion, kind: 'ClusterAddressPool', metadata: { name }, spec: { space: 'wire', ...spec } }),
  )
}

const v4 = aPool({ addresses: ['10.0.0.10-10.0.0.12'], prefix: 24 })
const v6 = aPool({ addresses: ['fd00::10-fd00::12'], prefix: 64 })

const aPart = (part: string, pool: Pool, index: SpaceIndex, wish: Partial<Wish> = {}): PartWish => ({
  part,
  pool,
  index,
  wish: { claim, namespaceLabels: {}, owner: undefined, keptFor: [], requested: undefined, random: 0, ...wish },
})

function holding(pool: Pool, state: 'held' | 'quarantined', ...addresses: string[]): SpaceIndex {
  const index = new SpaceIndex()
  for (const address of addresses) {
    const ip = orThrow(parseIP(address))
    index.put({ ip, bits: pool.bits, pool: pool.identity, claim, owner: undefined, state, since: '' })
  }
  return index
}

function said(wishes: readonly PartWish[]): string[] {
  const answer = chooseAll(wishes)
  if (answer.kind === 'refused') return [`${answer.part} ${answer.reason}`]
  return answer.choices.map(({ part, kind, ip }) => `${part} ${kind} ${toIPText(ip)}`)
}

describe('a claim for both families', () => {
  test('gets an address of each', () => {
    const index = new SpaceIndex()
    expect(said([aPart('IPv4', v4, index), aPart('IPv6', v6, index)])).toEqual([
      'IPv4 take 10.0.0.10',
      'IPv6 take fd00::10',
    ])
  })

  test('gets none where one family has none, and reads which', () => {
    const index = holding(v6, 'held', 'fd00::10', 'fd00::11', 'fd00::12')
    expect(chooseAll([aPart('IPv4', v4, index), aPart('IPv6', v6, index)])).toMatchObject({
      kind: 'refused',
      part: 'IPv6',
      reason: 'PoolExhausted',
      message: expect.stringMatching(/^IPv6: no address available in ClusterAddressPool vms/),
    })
  })

  test('has each family counted by itself against a quota', () => {
    const quota = { perNamespace: 1 }
    const index = new SpaceIndex()
    const pools = [
      aPool({ addresses: ['10.0.0.10'], prefix: 24, quota }),
      aPool({ addresses: ['fd00::10'], prefix: 64, quota }),
    ]
    expect(said(pools.map(pool => aPart(`IPv${pool.family}`, pool, index)))).toHaveLength(2)
    const full = holding(v6, 'held', 'fd00::11')
    expect(said(pools.map(pool => aPart(`IPv${pool.family}`, pool, full)))).toEqual(['IPv6 QuotaReached'])
  })
})

describe('two interfaces of one claim', () => {
  test('get two addresses of one pool', () => {
    const index = new SpaceIndex()
    expect(said([aPart('eth0', v4, index), aPart('eth1', v4, index)])).toEqual([
      'eth0 take 10.0.0.10',
      'eth1 take 10.0.0.11',
    ])
  })

  test('find both addresses again that the claim left in quarantine', () => {
    const index = holding(v4, 'quarantined', '10.0.0.11', '10.0.0.12')
    expect(said([aPart('eth0', v4, index), aPart('eth1', v4, index)])).toEqual([
      'eth0 retake 10.0.0.11',
      'eth1 retake 10.0.0.12',
    ])
  })

  test('get two addresses of two pools that share a space', () => {
    const other = aPool(
      { addresses: ['10.0.0.8-10.0.0.12'], prefix: 24, excludedAddresses: ['10.0.0.8-10.0.0.9'] },
      'b',
    )
    const index = new SpaceIndex()
    expect(said([aPart('eth0', v4, index), aPart('eth1', other, index)])).toEqual([
      'eth0 take 10.0.0.10',
      'eth1 take 10.0.0.11',
    ])
  })

  test('may have the same address in two spaces', () => {
    const other = aPool({ addresses: ['10.0.0.10'], prefix: 24, space: 'another' })
    expect(said([aPart('eth0', v4, new SpaceIndex()), aPart('eth1', other, new SpaceIndex())])).toEqual([
      'eth0 take 10.0.0.10',
      'eth1 take 10.0.0.10',
    ])
  })

  test('are refused where they ask for the same address', () => {
    const index = new SpaceIndex()
    const requested = '10.0.0.11'
    const answer = chooseAll([aPart('eth0', v4, index, { requested }), aPart('eth1', v4, index, { requested })])
    expect(answer).toMatchObject({
      part: 'eth1',
      reason: 'RequestsConflict',
      message: 'eth1: 10.0.0.11 is for eth0 of this claim already: ask for two different addresses',
    })
  })

  test('are refused where only one address is left', () => {
    const index = holding(v4, 'held', '10.0.0.10', '10.0.0.12')
    expect(said([aPart('eth0', v4, index), aPart('eth1', v4, index)])).toEqual(['eth1 PoolExhausted'])
  })

  test('count both against a quota', () => {
    const pool = aPool({ addresses: ['10.0.0.10-10.0.0.12'], prefix: 24, quota: { perNamespace: 1 } })
    const index = new SpaceIndex()
    expect(said([aPart('eth0', pool, index), aPart('eth1', pool, index)])).toEqual(['eth1 QuotaReached'])
  })
})
