// The life of pools under their claims: growing, shrinking, pausing, going, overlapping, being shared and rationed.

import type { Scenario } from './scenario.ts'

export const poolScenarios: readonly Scenario[] = [
  {
    name: 'a pool grows and shrinks',
    needsPatience: true,
    interchangeable: ['a', 'b'],
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10'] })
      await people.makeClaim('a')
      await people.makeClaim('b')
      await people.whoIsBound('a', 'b')
      await people.change('pool', 'pool', { spec: { addresses: ['10.0.0.10-10.0.0.11'] } })
      await people.untilBound('a', 'b')
      await people.change('pool', 'pool', { spec: { addresses: ['10.0.0.11'] } })
      await people.makeClaim('c')
      await people.untilRefused('c', 'PoolExhausted')
    },
  },
  {
    name: 'a pool is deleted while in use',
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.12'], more: { quarantineSeconds: 30 } })
      await people.makeClaim('a')
      await people.makeClaim('b')
      await people.untilBound('a', 'b')
      await people.remove('claim', 'a')
      await people.remove('pool', 'pool')
      await people.pass(10)
      await people.remove('claim', 'b')
      await people.untilGone('claim', 'a', 'b')
      await people.untilGone('pool', 'pool')
    },
  },
  {
    name: 'a namespace is deleted with its claims',
    async play(people) {
      await people.makePool({ kind: 'ClusterAddressPool', addresses: ['10.0.0.10-10.0.0.11'] })
      await people.makeNamespace('team')
      await people.makeClaim('team/a', { poolKind: 'ClusterAddressPool' })
      await people.makeClaim('team/b', { poolKind: 'ClusterAddressPool' })
      await people.untilBound('team/a', 'team/b')
      await people.remove('namespace', 'team')
      await people.untilGone('namespace', 'team')
      await people.makeClaim('c', { poolKind: 'ClusterAddressPool' })
      await people.untilBound('c')
    },
  },
  {
    name: 'a namespace is deleted with its pool and claims',
    async play(people) {
      await people.makeNamespace('team')
      await people.makePool({ namespace: 'team', addresses: ['10.0.0.10-10.0.0.11'] })
      await people.makeClaim('team/a')
      await people.untilBound('team/a')
      await people.remove('namespace', 'team')
      await people.untilGone('namespace', 'team')
    },
  },
  {
    name: 'a pool is paused and resumed',
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.12'] })
      await people.makeClaim('a')
      await people.untilBound('a')
      await people.change('pool', 'pool', { metadata: { annotations: { 'cluster.x-k8s.io/paused': 'true' } } })
      await people.makeClaim('b')
      await people.remove('claim', 'a')
      await people.pass(10)
      await people.change('pool', 'pool', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } })
      await people.untilGone('claim', 'a')
      await people.untilBound('b')
    },
  },
  {
    name: 'two pools share a space and overlap',
    // While the space of a pool is being decided, its claims have passes under way: what it has goes to the one that ends first.
    needsPatience: true,
    interchangeable: ['a', 'b', 'c'],
    async play(people) {
      await people.makePool({ name: 'one', addresses: ['10.0.0.10-10.0.0.11'], more: { space: 'lab' } })
      await people.makePool({ name: 'two', addresses: ['10.0.0.11-10.0.0.12'], more: { space: 'lab' } })
      await people.makeClaim('a', { pool: 'one' })
      await people.makeClaim('b', { pool: 'two', asks: '10.0.0.12' })
      await people.makeClaim('c', { pool: 'one' })
      await people.untilBound('a', 'b', 'c')
      await people.makeClaim('d', { pool: 'two' })
      await people.untilRefused('d', 'PoolExhausted')
      await people.remove('claim', 'a')
      await people.remove('claim', 'c')
      await people.untilBound('d')
    },
  },
  {
    name: 'pools of one name, in two namespaces and for all',
    async play(people) {
      await people.makeNamespace('red')
      await people.makeNamespace('blue')
      await people.makePool({ namespace: 'red', addresses: ['10.0.0.10'] })
      await people.makePool({ namespace: 'blue', addresses: ['10.0.0.10'] })
      await people.makePool({ kind: 'ClusterAddressPool', addresses: ['10.0.0.10'] })
      await people.makeClaim('red/a')
      await people.makeClaim('blue/a')
      await people.makeClaim('red/b', { poolKind: 'ClusterAddressPool' })
      await people.untilBound('red/a', 'blue/a', 'red/b')
      await people.remove('claim', 'red/a')
      await people.untilGone('claim', 'red/a')
    },
  },
  {
    name: 'a pool is shared with a namespace, then no longer',
    needsPatience: true,
    async play(people) {
      const allowedNamespaces = { matchLabels: { tier: 'gold' } }
      await people.makeNamespace('team', { tier: 'gold' })
      await people.makePool({
        kind: 'ClusterAddressPool',
        addresses: ['10.0.0.10-10.0.0.12'],
        more: { allowedNamespaces },
      })
      await people.makeClaim('team/a', { poolKind: 'ClusterAddressPool' })
      await people.untilBound('team/a')
      await people.change('namespace', 'team', { metadata: { labels: { tier: null } } })
      await people.pass(5)
      await people.makeClaim('team/b', { poolKind: 'ClusterAddressPool' })
      await people.untilRefused('team/b', 'AllocationFailed')
    },
  },
  {
    name: 'a quota is reached, raised, and lowered below use',
    needsPatience: true,
    interchangeable: ['a', 'b'],
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.19'], more: { quota: { perNamespace: 1 } } })
      await people.makeClaim('a')
      await people.makeClaim('b')
      await people.whoIsBound('a', 'b')
      await people.change('pool', 'pool', { spec: { quota: { perNamespace: 2 } } })
      await people.untilBound('a', 'b')
      await people.change('pool', 'pool', { spec: { quota: { perNamespace: 1 } } })
      await people.makeClaim('c')
      await people.untilRefused('c', 'AllocationFailed')
    },
  },
]
