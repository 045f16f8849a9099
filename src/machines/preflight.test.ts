// What is said before Machines are ordered. One pool is called lab; of 10.0.0.0/24 it has as many addresses as a test lists.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aControlPlane,
  aFleet,
  aHold,
  aMachine,
  aMachineSet,
  aPool,
  aRunning,
  fromLab,
  namespace,
  type Thing,
} from '../../test/machines/builders.ts'
import { claimNameOf } from '../api/machine.ts'
import type { Wanted } from './orders.ts'
import { type Preflight, preflight } from './preflight.ts'

const nothing: Wanted = { scale: new Map(), rollOut: [] }
const scaled = (...sets: readonly [string, number][]): Wanted => ({ scale: new Map(sets), rollOut: [] })
const rolledOut = (...rollOut: readonly string[]): Wanted => ({ scale: new Map(), rollOut })

const nowMs = Date.parse('2026-01-02T12:00:00Z')

function judge(wanted: Wanted, ...things: readonly (Thing | readonly Thing[])[]): Preflight {
  const result = preflight(aFleet(...things.flat()), wanted, nowMs)
  if ('unknown' in result) throw new Error(`not known: ${result.unknown.join()}`)
  return result
}

const said = ({ orders }: Preflight) => orders.flatMap(({ sentences }) => sentences)
const verdicts = ({ orders }: Preflight) => orders.map(({ verdict }) => verdict)

/** Machines workers-0-1 and so on, which hold 10.0.0.1 and so on. */
const running = (set: string, count: number, from = 1, devices = fromLab): Thing[] =>
  Array.from({ length: count }, (_, i) => aRunning(`${set}-${i + 1}`, set, `10.0.0.${from + i}`, devices)).flat()

const workers = (replicas: number) => aMachineSet('workers-0', replicas, ...fromLab)

describe('A MachineSet that is scaled', () => {
  test('is told at which machine it stalls, and when more comes free', () => {
    const rests = ['10.0.0.8', '10.0.0.9'].map((ip, i) => aHold(ip, `gone-${i}`, { until: '2026-01-02T14:05:00Z' }))
    const result = judge(
      scaled(['workers-0', 10]),
      workers(3),
      running('workers-0', 3),
      aPool('lab', '10.0.0.1-10.0.0.9'),
      rests,
    )
    expect(said(result)).toEqual([
      `scaling MachineSet workers-0 from 3 to 10 needs 7 addresses of AddressPool ${namespace}/lab; 4 are free: it stalls at machine 5 of 7 (workers-0 #8); 2 more come free when their quarantine ends at 2026-01-02T14:05:00Z`,
    ])
    expect(result).toMatchObject({
      isEnough: false,
      orders: [{ verdict: 'stalls', pools: [{ gets: 4, stallsAt: 5 }] }],
    })
  })

  test('is told of what rests in the order in which it comes free, and no more than is missing', () => {
    const rests = ['16:00', '14:00', '15:00'].map((time, i) =>
      aHold(`10.0.0.${i + 1}`, `gone-${i}`, { until: `2026-01-02T${time}:00Z` }),
    )
    const result = judge(scaled(['workers-0', 2]), workers(0), aPool('lab', '10.0.0.1-10.0.0.3'), rests)
    expect(said(result)[0]).toContain(
      '2 more come free as their quarantines end, from 2026-01-02T14:00:00Z to 2026-01-02T15:00:00Z',
    )
  })

  test('counts no Machine that is being deleted: a new one takes its place', () => {
    const [machine, ...rest] = aRunning('workers-0-1', 'workers-0', '10.0.0.1')
    if (machine === undefined) throw new Error('there is a Machine')
    const leaving = { ...machine, metadata: { ...machine.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } }
    const result = judge(nothing, workers(1), leaving, rest, aPool('lab', '10.0.0.1-10.0.0.2'))
    expect(said(result)[0]).toContain('from 0 to 1 needs 1 address')
  })

  test('is told that there is enough', () => {
    const result = judge(
      scaled(['workers-0', 5]),
      workers(3),
      running('workers-0', 3),
      aPool('lab', '10.0.0.1-10.0.0.5'),
    )
    expect(said(result)).toEqual([
      `scaling MachineSet workers-0 from 3 to 5 needs 2 addresses of AddressPool ${namespace}/lab; 2 are free: enough`,
    ])
    expect(result.isEnough).toBe(true)
  })

  test('needs nothing when it shrinks', () => {
    const result = judge(
      scaled(['workers-0', 1]),
      workers(3),
      running('workers-0', 3),
      aPool('lab', '10.0.0.1-10.0.0.3'),
    )
    expect(said(result)).toEqual(['MachineSet workers-0 has 3 Machines, and needs no more'])
    expect(result.isEnough).toBe(true)
  })

  test('is judged by its replicas where no other number is asked for; one that has all its Machines is not mentioned', () => {
    const things = [running('workers-0', 1), running('workers-1', 1, 2), aPool('lab', '10.0.0.1-10.0.0.3')].flat()
    const result = judge(nothing, workers(3), aMachineSet('workers-1', 1, ...fromLab), ...things)
    expect(result.orders.map(({ set, verdict }) => [set, verdict])).toEqual([['MachineSet workers-0', 'stalls']])
  })

  test('takes turns with others of the same pool: they compete', () => {
    const sets = [aMachineSet('a', 0, ...fromLab), aMachineSet('b', 0, ...fromLab)]
    const result = judge(scaled(['a', 3], ['b', 3]), ...sets, aPool('lab', '10.0.0.1-10.0.0.5'))
    expect(result.orders.map(({ pools }) => pools[0]?.gets)).toEqual([3, 2])
    expect(said(result)[1]).toContain(
      '5 are free, which MachineSet a takes from too: it stalls at machine 3 of 3 (b #3)',
    )
  })

  test('comes after claims that wait already, of whichever namespace', () => {
    const pool = {
      ...aPool('lab', '10.0.0.1-10.0.0.3'),
      kind: 'ClusterAddressPool',
      metadata: { name: 'lab', uid: 'x' },
    }
    const devices = [{ pools: [{ group: 'mooring.dev', resource: 'ClusterAddressPool', name: 'lab' }] }]
    const claim = aClaim('theirs', { ofNamespace: 'shop' })
    const waits = { ...claim, spec: { poolRef: { apiGroup: 'mooring.dev', kind: 'ClusterAddressPool', name: 'lab' } } }
    const result = judge(scaled(['workers-0', 3]), aMachineSet('workers-0', 0, ...devices), pool, waits)
    expect(said(result)[0]).toContain('2 are free: it stalls at machine 3 of 3')
  })

  test('with two families is decided by the scarcer pool', () => {
    const devices = [{ pools: ['lab', 'lab6'] }]
    const result = judge(
      scaled(['workers-0', 4]),
      aMachineSet('workers-0', 0, ...devices),
      aPool('lab', '10.0.0.1-10.0.0.2'),
      aPool('lab6', 'fd00::/64'),
    )
    expect(verdicts(result)).toEqual(['stalls'])
    expect(result.orders[0]?.pools.map(({ stallsAt }) => stallsAt)).toEqual([3, undefined])
  })

  test('with two addresses of one pool for each Machine stalls at half', () => {
    const result = judge(
      scaled(['workers-0', 3]),
      aMachineSet('workers-0', 0, { pools: ['lab'] }, { pools: ['lab'] }),
      aPool('lab', '10.0.0.1-10.0.0.5'),
    )
    expect(said(result)[0]).toContain('needs 6 addresses')
    expect(said(result)[0]).toContain('it stalls at machine 3 of 3')
  })

  test('is held to the quota, in the words that its claims would have', () => {
    const pool = aPool('lab', '10.0.0.1-10.0.0.9', { quota: { perNamespace: 4 } })
    const result = judge(scaled(['workers-0', 6]), workers(3), running('workers-0', 3), pool)
    expect(said(result)[0]).toContain(
      'it stalls at machine 2 of 3 (workers-0 #5): namespace openshift-machine-api already',
    )
    expect(said(result)[0]).toContain('spec.quota.perNamespace')
  })

  test('does not get what is kept for other claims, or drained', () => {
    const pool = aPool('lab', '10.0.0.1-10.0.0.4', {
      preAllocations: { 'some-claim': '10.0.0.1' },
      draining: ['10.0.0.2'],
    })
    const result = judge(scaled(['workers-0', 3]), workers(0), pool)
    expect(said(result)[0]).toContain('2 are free: it stalls at machine 3 of 3')
  })

  test.each<[string, Thing[], string]>([
    ['does not exist', [], 'does not exist'],
    [
      'is paused',
      [aPool('lab', '10.0.0.1-10.0.0.9', {}, { annotations: { 'cluster.x-k8s.io/paused': '' } })],
      'is paused',
    ],
    ['is being deleted', [aPool('lab', '10.0.0.1-10.0.0.9', {}, { deletionTimestamp: 'x' })], 'is being deleted'],
    ['cannot be read', [aPool('lab', 'nonsense')], 'cannot be used until its spec is corrected'],
  ])('is told that its pool %s', (_, pools, words) => {
    const result = judge(scaled(['workers-0', 2]), workers(0), ...pools)
    expect(said(result)[0]).toContain('it stalls at machine 1 of 2 (workers-0 #1)')
    expect(said(result)[0]).toContain(words)
    expect(result.isEnough).toBe(false)
  })

  test('is told that a pool is not offered to its namespace', () => {
    const pool = aPool('lab', '10.0.0.1-10.0.0.9', { allowedNamespaces: { matchLabels: { team: 'a' } } })
    const ofCluster = { ...pool, kind: 'ClusterAddressPool', metadata: { name: 'lab', uid: 'x' } }
    const devices = [{ pools: [{ group: 'mooring.dev', resource: 'ClusterAddressPool', name: 'lab' }] }]
    const result = judge(scaled(['workers-0', 2]), aMachineSet('workers-0', 0, ...devices), ofCluster)
    expect(said(result)[0]).toContain('is not offered to namespace openshift-machine-api')
  })

  test('is told that nothing is known of a pool of a kind that Mooring does not serve', () => {
    const devices = [{ pools: [{ group: 'example.com', resource: 'Thing', name: 'lab' }] }]
    const result = judge(scaled(['workers-0', 2]), aMachineSet('workers-0', 0, ...devices))
    expect(verdicts(result)).toEqual(['unknown'])
    expect(said(result)[0]).toContain('a kind that Mooring does not serve')
    expect(result.isEnough).toBe(false)
  })

  test('is told that its template gives one address to all', () => {
    const result = judge(scaled(['workers-0', 2]), aMachineSet('workers-0', 0, { ipAddrs: ['10.0.0.5/24'] }))
    expect(said(result)[0]).toContain('gives "10.0.0.5/24" to each of its 2 Machines')
    expect(verdicts(result)).toEqual(['stalls'])
  })

  test('of another platform is none of Mooring', () => {
    const set = JSON.parse(JSON.stringify(workers(2)).replace('VSphereMachineProviderSpec', 'AWSMachineProviderConfig'))
    const result = judge(nothing, set)
    expect(said(result)).toEqual(['MachineSet workers-0: its Machines are not of vSphere'])
    expect(result.isEnough).toBe(true)
  })

  test('has the Machines too that its selector matches and that nothing else controls', () => {
    const labels = { set: 'workers-0' }
    const loose = ['m-1', 'm-2'].map(name => ({ ...aMachine(name), metadata: { name, namespace, labels } }))
    expect(said(judge(scaled(['workers-0', 2]), workers(0), ...loose))).toEqual([
      'MachineSet workers-0 has 2 Machines, and needs no more',
    ])
  })

  test('takes nothing where its devices use DHCP', () => {
    const result = judge(scaled(['workers-0', 2]), aMachineSet('workers-0', 0, {}))
    expect(said(result)).toEqual(['MachineSet workers-0 takes no address of a pool'])
    expect(result.isEnough).toBe(true)
  })

  test('that asks for billions keeps no other from being judged', () => {
    const many = aMachineSet('a', 2 ** 31 - 1, { pools: ['lab6'] })
    const result = judge(nothing, many, workers(2), aPool('lab6', 'fd00::/64'), aPool('lab', '10.0.0.1-10.0.0.9'))
    expect(verdicts(result)).toEqual(['unknown', 'enough'])
    expect(said(result).at(1)).toMatch(/only the first 9998 of 2147483647 new Machines were looked at/)
  })

  test('that is not there is named', () => {
    expect(preflight(aFleet(workers(1)), scaled(['x', 2], ['control-plane', 3]), nowMs)).toEqual({
      unknown: ['x', 'control-plane'],
    })
  })

  test('whose template cannot be read is told so, with the field', () => {
    const set = aMachineSet('workers-0', 0)
    const broken = JSON.parse(JSON.stringify(set).replace('"devices":[]', '"devices":"none"'))
    const result = judge(scaled(['workers-0', 2]), broken)
    expect(said(result)[0]).toContain('its template cannot be read: providerSpec.network.devices')
    expect(verdicts(result)).toEqual(['stalls'])
  })
})

test('Sets that compete get what is free between them, no more and no less, in whatever numbers', () => {
  const numbers = fc.record({
    sizes: fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
    offered: fc.integer({ min: 1, max: 30 }),
    held: fc.nat(10),
    resting: fc.nat(10),
  })
  fc.assert(
    fc.property(numbers, ({ sizes, offered, held, resting }) => {
      const taken = Array.from({ length: Math.min(offered, held + resting) }, (_, i) =>
        aHold(`10.0.0.${i + 1}`, `c-${i}`, i < held ? {} : { until: '2026-01-02T14:00:00Z' }),
      )
      const sets = sizes.map((size, i) => aMachineSet(`s-${i}`, size, ...fromLab))
      const { orders, isEnough } = judge(nothing, ...sets, ...taken, aPool('lab', `10.0.0.1-10.0.0.${offered}`))
      const free = offered - taken.length
      const needs = sizes.reduce((sum, size) => sum + size, 0)
      const gets = orders.flatMap(({ pools }) => pools).reduce((sum, pool) => sum + pool.gets, 0)
      expect(gets).toBe(Math.min(needs, free))
      expect(isEnough).toBe(needs <= free)
    }),
    { numRuns: 60 },
  )
})

describe('Machines that are there already', () => {
  test('are named with their claim, and why it waits', () => {
    const claim = aClaim(claimNameOf('m-1', 0, 0), { machine: 'm-1' })
    const machine = aMachine('m-1', { devices: fromLab, isRunning: false })
    const result = judge(nothing, machine, claim, aPool('lab', '10.0.0.1', { excludedAddresses: ['10.0.0.1'] }))
    expect(result.waiting).toEqual([
      expect.objectContaining({ machine: 'm-1', claim: 'm-1-claim-0-0', reason: 'PoolExhausted' }),
    ])
    expect(result.isEnough).toBe(false)
  })

  test('have their claims counted also before these are made, by the reservations for their names', () => {
    const machine = aMachine('m-1', { devices: fromLab, isRunning: false })
    const pool = aPool('lab', '10.0.0.1-10.0.0.2', { preAllocations: { 'm-1-claim-0-0': '10.0.0.2' } })
    const result = judge(scaled(['workers-0', 1]), machine, workers(0), pool)
    expect(result.waiting).toEqual([])
    expect(said(result)[0]).toContain('1 is free: enough')
  })
})

describe('A control plane that is rolled out', () => {
  const plane = (...things: readonly Thing[]) => [aControlPlane(3, {}, ...fromLab), ...running('cluster', 3), ...things]

  test('needs one address at a time where nothing rests', () => {
    const result = judge(
      rolledOut('control-plane'),
      ...plane(aPool('lab', '10.0.0.1-10.0.0.4', { quarantineSeconds: 0 })),
    )
    expect(said(result)).toEqual([
      `rolling out ControlPlaneMachineSet cluster, 3 Machines one after the other (each new one is there before its old one goes), needs 1 address of AddressPool ${namespace}/lab; 1 is free: enough`,
    ])
    expect(result.isEnough).toBe(true)
  })

  test('needs three where what is released rests, and else waits for the first to have rested', () => {
    const enough = judge(
      rolledOut('control-plane'),
      ...plane(aPool('lab', '10.0.0.1-10.0.0.6', { quarantineSeconds: 600 })),
    )
    expect(said(enough)[0]).toContain('needs 1 to 3 addresses')
    expect(said(enough)[0]).toContain('since what is released rests for 600 s; 3 are free: enough')
    const waits = judge(
      rolledOut('control-plane'),
      ...plane(aPool('lab', '10.0.0.1-10.0.0.4', { quarantineSeconds: 600 })),
    )
    expect(verdicts(waits)).toEqual(['waits'])
    expect(said(waits)[0]).toContain('1 is free: machine 2 of 3 waits until an address has rested')
    expect(waits.isEnough).toBe(false)
  })

  test('stalls at once where nothing is free: the old Machine stays until the new one is there', () => {
    const result = judge(rolledOut('control-plane'), ...plane(aPool('lab', '10.0.0.1-10.0.0.3')))
    expect(verdicts(result)).toEqual(['stalls'])
    expect(said(result)[0]).toContain('0 are free: it stalls at machine 1 of 3')
  })

  test('says what it needs in all, also where it stalls before', () => {
    const result = judge(
      rolledOut('control-plane'),
      ...plane(aPool('lab', '10.0.0.1-10.0.0.3', { quarantineSeconds: 600 })),
    )
    expect(said(result)[0]).toContain('needs 1 to 3 addresses')
    expect(said(result)[0]).toContain('it stalls at machine 1 of 3')
  })

  test('to another pool needs all its addresses there: nothing comes back', () => {
    const things = [...running('cluster', 3), aPool('lab', '10.0.0.1-10.0.0.3'), aPool('next', '10.0.1.1-10.0.1.2')]
    const result = judge(rolledOut('control-plane'), aControlPlane(3, {}, { pools: ['next'] }), ...things)
    expect(said(result)[0]).toContain(`needs 3 addresses of AddressPool ${namespace}/next`)
    expect(said(result)[0]).toContain('it stalls at machine 3 of 3')
  })

  test('takes nothing of a pool that only its second device names: the networks of failure domains take their place', () => {
    const result = judge(rolledOut('control-plane'), aControlPlane(3, {}, {}, ...fromLab), ...running('cluster', 3))
    expect(said(result)).toEqual(['ControlPlaneMachineSet cluster takes no address of a pool'])
    const plain = aControlPlane(3, { failureDomains: [] }, {}, ...fromLab)
    expect(verdicts(judge(rolledOut('control-plane'), plain, ...running('cluster', 3)))).toEqual(['stalls'])
  })

  test('by a set that is not active replaces nothing', () => {
    const set = aControlPlane(3, { state: 'Inactive' }, ...fromLab)
    const result = judge(rolledOut('control-plane'), set, ...running('cluster', 3), aPool('lab', '10.0.0.1-10.0.0.3'))
    expect(said(result)[0]).toContain('it is not active')
    expect(result.isEnough).toBe(true)
  })
})

describe('A MachineSet that is rolled out by deletion', () => {
  const set = (pool: Thing) => [workers(3), ...running('workers-0', 3), pool]

  test('goes through without a spare address where nothing rests', () => {
    const result = judge(rolledOut('workers-0'), ...set(aPool('lab', '10.0.0.1-10.0.0.3', { quarantineSeconds: 0 })))
    expect(verdicts(result)).toEqual(['enough'])
    expect(said(result)[0]).toContain('needs 0 to 1 address')
  })

  test('needs those that rest too, and else waits for them', () => {
    const result = judge(rolledOut('workers-0'), ...set(aPool('lab', '10.0.0.1-10.0.0.3', { quarantineSeconds: 600 })))
    expect(verdicts(result)).toEqual(['waits'])
    expect(said(result)[0]).toContain('needs 0 to 3 addresses')
    expect(said(result)[0]).toContain('machine 1 of 3 waits')
  })

  test('is held to how many of its namespace may rest', () => {
    const pool = aPool('lab', '10.0.0.1-10.0.0.9', { quarantineSeconds: 600, quota: { perNamespaceQuarantined: 1 } })
    const result = judge(rolledOut('workers-0'), ...set(pool))
    expect(result.orders[0]).toMatchObject({ verdict: 'waits', pools: [{ waitsAt: 3 }] })
  })
})
