import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import { Ledger } from './ledger.ts'
import { Sources, toSource } from './sources.ts'
import { createViews } from './views.ts'

function aPool(addresses: string, { name = 'blue', space = 'blue', isOneOfTwo = false } = {}): Pool {
  const spec = { space, addresses: [addresses], prefix: addresses.includes(':') ? 64 : 24 }
  const object = { apiVersion: 'mooring.dev/v1alpha1', kind: 'ClusterAddressPool', metadata: { name }, spec }
  return { ...orThrow(toPool(object)), isOneOfTwo }
}

const key = 'ClusterAddressPool.mooring.dev/blue'

describe('a source of both families', () => {
  const sources = new Sources(createViews(), new Ledger())
  const isOneOfTwo = true
  sources.put(toSource([aPool('10.0.0.0/24', { isOneOfTwo }), aPool('fd00::/64', { isOneOfTwo })]))

  test('has a pool of each, under a key of its own', () => {
    expect([...sources.keysOf('blue')]).toEqual([`${key} IPv4`, `${key} IPv6`])
    expect(sources.keyOf(key, 6)).toBe(`${key} IPv6`)
    expect(sources.poolOf(`${key} IPv6`)?.family).toBe(6)
  })

  test('and one that is not known has the key of the source', () => {
    expect(sources.keyOf('ClusterAddressPool.mooring.dev/red', 4)).toBe('ClusterAddressPool.mooring.dev/red')
  })
})

test('two pools share addresses that both offer, in one space and of one family', () => {
  const sources = new Sources(createViews(), new Ledger())
  const keyOf = (name: string) => `ClusterAddressPool.mooring.dev/${name}`
  sources.put(toSource([aPool('10.0.0.0/24')]))
  sources.put(toSource([aPool('10.0.0.128/25', { name: 'half' })]))
  sources.put(toSource([aPool('10.0.1.0/24', { name: 'next' })]))
  sources.put(toSource([aPool('10.0.0.0/24', { name: 'elsewhere', space: 'red' })]))
  sources.put(toSource([aPool('fd00::/64', { name: 'six' })]))
  const shared = ['half', 'next', 'elsewhere', 'six', 'none'].filter(name => sources.isShared(key, keyOf(name)))
  expect(shared).toEqual(['half'])
})
