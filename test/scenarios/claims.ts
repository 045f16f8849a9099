// The life of claims: taking, waiting, racing, asking for one address, and leaving at every moment.

import type { Scenario } from './scenario.ts'

const oneAddress = ['10.0.0.10']

export const claimScenarios: readonly Scenario[] = [
  {
    name: 'an address goes from one claim to another, after a rest',
    async play(people) {
      await people.makePool({ addresses: oneAddress, more: { quarantineSeconds: 30 } })
      await people.makeClaim('a')
      await people.untilBound('a')
      await people.remove('claim', 'a')
      await people.untilGone('claim', 'a')
      await people.makeClaim('b')
      await people.untilBound('b')
    },
  },
  {
    name: 'as many claims as addresses, and one more',
    interchangeable: ['b', 'c', 'd'],
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.12'] })
      for (const name of ['a', 'b', 'c']) await people.makeClaim(name)
      await people.untilBound('a', 'b', 'c')
      await people.makeClaim('d')
      await people.untilRefused('d', 'PoolExhausted')
      await people.remove('claim', 'a')
      await people.untilBound('b', 'c', 'd')
    },
  },
  {
    name: 'a race for the last address',
    interchangeable: ['a', 'b'],
    async play(people) {
      await people.makePool({ addresses: oneAddress })
      await Promise.all([people.makeClaim('a'), people.makeClaim('b')])
      const winner = await people.whoIsBound('a', 'b')
      await people.remove('claim', winner)
      await people.untilBound(winner === 'a' ? 'b' : 'a')
    },
  },
  {
    name: 'claims that ask for one address',
    async play(people) {
      await people.makePool({
        addresses: ['10.0.0.1-10.0.0.9'],
        more: { gateway: '10.0.0.1', excludedAddresses: ['10.0.0.5'] },
      })
      await people.makeClaim('free', { asks: '10.0.0.3' })
      await people.untilBound('free')
      await people.makeClaim('held', { asks: '10.0.0.3' })
      await people.makeClaim('excluded', { asks: '10.0.0.5' })
      await people.makeClaim('outside', { asks: '10.0.0.99' })
      await people.makeClaim('gateway', { asks: '10.0.0.1' })
      await people.makeClaim('family', { asks: 'fd00::3' })
      for (const name of ['held', 'excluded', 'outside', 'gateway', 'family']) {
        await people.untilRefused(name, 'AllocationFailed')
      }
      await people.remove('claim', 'free')
      await people.untilBound('held')
    },
  },
  {
    name: 'two claims ask for the same address',
    interchangeable: ['a', 'b'],
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.19'], more: { quarantineSeconds: 5 } })
      await Promise.all([people.makeClaim('a', { asks: '10.0.0.13' }), people.makeClaim('b', { asks: '10.0.0.13' })])
      const winner = await people.whoIsBound('a', 'b')
      await people.remove('claim', winner)
      await people.untilBound(winner === 'a' ? 'b' : 'a')
    },
  },
  {
    name: 'a machine wants an address of each family, and one pool is full',
    async play(people) {
      await people.makePool({ name: 'four', addresses: ['10.0.0.10-10.0.0.12'] })
      await people.makePool({ name: 'six', addresses: ['fd00::10'], more: { prefix: 64 } })
      await people.makeClaim('a-4', { pool: 'four', machine: 'a' })
      await people.makeClaim('a-6', { pool: 'six', machine: 'a' })
      await people.untilBound('a-4', 'a-6')
      await Promise.all([
        people.makeClaim('b-4', { pool: 'four', machine: 'b' }),
        people.makeClaim('b-6', { pool: 'six', machine: 'b' }),
      ])
      await people.untilBound('b-4')
      await people.untilRefused('b-6', 'PoolExhausted')
      await people.remove('claim', 'a-4')
      await people.remove('claim', 'a-6')
      await people.untilBound('b-4', 'b-6')
    },
  },
  {
    name: 'claims that are deleted before they are bound',
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.12'] })
      await people.makeClaim('at-once')
      await people.remove('claim', 'at-once')
      await people.makeClaim('when-held')
      await people.untilHeld('when-held')
      await people.remove('claim', 'when-held')
      await people.makeClaim('when-chosen')
      await people.untilChosen('when-chosen')
      await people.remove('claim', 'when-chosen')
      await people.untilGone('claim', 'at-once', 'when-held', 'when-chosen')
      for (const name of ['x', 'y', 'z']) await people.makeClaim(name)
      await people.untilBound('x', 'y', 'z')
    },
  },
  {
    name: 'a claim is deleted while its Cluster is paused',
    async play(people) {
      await people.makePool({ addresses: oneAddress })
      await people.makeCluster('blue', false)
      await people.makeClaim('a', { cluster: 'blue' })
      await people.untilBound('a')
      await people.change('cluster', 'blue', { spec: { paused: true } })
      await people.remove('claim', 'a')
      await people.makeClaim('b', { cluster: 'blue' })
      await people.pass(20)
      await people.change('cluster', 'blue', { spec: { paused: false } })
      await people.untilGone('claim', 'a')
      await people.untilBound('b')
    },
  },
  {
    name: 'a claim is deleted and made again with the same name',
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.11'], more: { quarantineSeconds: 30 } })
      await people.makeClaim('a')
      await people.untilBound('a')
      await people.remove('claim', 'a')
      await people.untilGone('claim', 'a')
      await people.makeClaim('a')
      await people.makeClaim('b')
      await people.untilBound('a', 'b')
      await people.remove('claim', 'a')
      await people.untilGone('claim', 'a')
      await people.makeClaim('a')
      await people.untilBound('a')
    },
  },
  {
    name: 'a machine is rebuilt and finds its address again',
    async play(people) {
      await people.makePool({ addresses: ['10.0.0.10-10.0.0.12'], more: { quarantineSeconds: 30, strategy: 'random' } })
      await people.makeClaim('m-1', { machine: 'm' })
      await people.untilBound('m-1')
      await people.remove('claim', 'm-1')
      await people.makeClaim('m-2', { machine: 'm' })
      await people.makeClaim('other')
      await people.untilBound('m-2', 'other')
    },
  },
  {
    name: 'the pool of a bound claim cannot be changed',
    async play(people) {
      await people.makePool({ addresses: oneAddress })
      await people.makePool({ name: 'other', addresses: ['10.0.1.10'] })
      await people.makeClaim('a')
      await people.untilBound('a')
      const code = await people.change('claim', 'a', { spec: { poolRef: { name: 'other' } } })
      if (code < 400) throw new Error(`the pool of a claim was changed: ${code}`)
    },
  },
]
