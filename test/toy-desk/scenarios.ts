// The life of claims of several parts, and two desks that compete for the same addresses; played under every fault plan.

import type { Scenario } from '../scenarios/scenario.ts'
import { desksWithToy as table } from './desks.ts'

/** Two addresses of IPv4; of IPv6 so many. */
const scarce = (v6: number, more: object = {}) => ({
  subnets: ['10.9.0.0/29', 'fd00:9::/125'],
  excludes: ['10.9.0.3-10.9.0.6', `fd00:9::${v6 + 1}-fd00:9::7`],
  ...more,
})

const mac = '02:00:5e:10:00:01'

export const toyScenarios: readonly Scenario[] = [
  {
    name: 'S06: a claim of both families and a MAC comes and goes, and another has the same after a rest',
    table,
    async play(people) {
      await people.makeNetwork('blue', scarce(1, { quarantineSeconds: 30 }))
      await people.makeBerth('a', { network: 'blue', mac })
      await people.untilServed('a')
      await people.remove('berth', 'a')
      await people.untilGone('berth', 'a')
      await people.makeBerth('b', { network: 'blue', mac })
      await people.untilServed('b')
    },
  },
  {
    name: 'S06: one family is exhausted: both or neither',
    table,
    async play(people) {
      await people.makeNetwork('blue', scarce(1))
      await people.makeBerth('a', { network: 'blue' })
      await people.untilServed('a')
      await people.makeBerth('b', { network: 'blue', mac })
      await people.untilWaiting('b', 'PoolExhausted')
      await people.remove('berth', 'a')
      await people.untilServed('b')
    },
  },
  {
    name: 'S06: a race for the last pair',
    table,
    interchangeable: ['a', 'b'],
    async play(people) {
      await people.makeNetwork('blue', scarce(1))
      await Promise.all([people.makeBerth('a', { network: 'blue' }), people.makeBerth('b', { network: 'blue' })])
      const winner = await people.whoIsServed('a', 'b')
      await people.remove('berth', winner)
      await people.untilServed(winner === 'a' ? 'b' : 'a')
    },
  },
  {
    name: 'S06: two desks compete for the last address of a space',
    table,
    async play(people) {
      await people.makeNetwork('blue', scarce(2))
      const pool = { addresses: ['10.9.0.1-10.9.0.2'], more: { space: 'blue', prefix: 29 } }
      await people.makePool({ kind: 'ClusterAddressPool', name: 'beside', ...pool })
      await people.makeClaim('claim', { pool: 'beside', poolKind: 'ClusterAddressPool' })
      await people.makeBerth('berth', { network: 'blue' })
      await people.untilBound('claim')
      await people.untilServed('berth')
      await people.makeBerth('late', { network: 'blue' })
      await people.untilWaiting('late', 'PoolExhausted')
      await people.remove('claim', 'claim')
      await people.untilServed('late')
      await people.makeClaim('last', { pool: 'beside', poolKind: 'ClusterAddressPool' })
      await people.untilRefused('last', 'PoolExhausted')
      await people.remove('berth', 'berth')
      await people.untilBound('last')
    },
  },
  {
    name: 'S06: a claim of both families goes at once, and comes back under its name',
    table,
    async play(people) {
      await people.makeNetwork('blue', scarce(1, { quarantineSeconds: 10 }))
      await people.makeBerth('a', { network: 'blue', mac })
      await people.remove('berth', 'a')
      await people.untilGone('berth', 'a')
      await people.makeBerth('a', { network: 'blue', mac })
      await people.untilServed('a')
    },
  },
  {
    name: 'S22: a MAC is in use, in one network and not in another; it changes with the claim',
    table,
    async play(people) {
      await people.makeNetwork('blue', scarce(2))
      await people.makeNetwork('green', { subnets: ['10.8.0.0/29', 'fd00:8::/125'] })
      await people.makeBerth('a', { network: 'blue', mac })
      await people.untilServed('a')
      await people.makeBerth('b', { network: 'blue', mac })
      await people.makeBerth('c', { network: 'green', mac })
      await people.untilWaiting('b', 'MACInUse')
      await people.untilServed('c')
      await people.change('berth', 'a', { spec: { mac: '02:00:5e:10:00:02' } })
      await people.remove('berth', 'a')
      await people.untilGone('berth', 'a')
      await people.makeBerth('a', { network: 'blue', mac: '02:00:5e:10:00:02' })
      await people.untilServed('a', 'b')
    },
  },
]
