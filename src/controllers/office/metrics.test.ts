import { expect, test } from 'vitest'
import { anAttachment, ovn, withoutOVN } from '../../../test/harness/attachments.ts'
import type { KubeObject } from '../../kube/object.ts'
import { realClock } from '../../runtime/clock.ts'
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts'
import { theOffice } from './journal.ts'
import { Ledger } from './ledger.ts'
import { countDecisions, measureNetworks, measurePools, measureWaiting, poolsMax } from './metrics.ts'
import { defaultNetworkRules, Networks } from './networks.ts'
import { Sources } from './sources.ts'
import { createViews } from './views.ts'

const named = (kind: string, name: string) => ({ apiGroup: 'mooring.dev', kind, namespace: '', name })

test('a kind and a name that a claim made up are no labels', () => {
  const metrics = createMetrics()
  const decided = countDecisions(metrics, realClock)
  const waits = [named('AddressPool', 'vms'), named('Adress\u202ePool', 'a'), named('AddressPool', 'no name')]
  measureWaiting(metrics, {
    all: () => waits.map(pool => ({ desk: 'capi', claimKind: 'IPAddressClaim', pool, reason: 'PoolNotFound' })),
  })
  for (const pool of waits) {
    decided.decided({ what: 'refused', pool, reason: 'PoolNotFound' }, { desk: 'capi', claimKind: 'IPAddressClaim' })
  }
  const waiting = (kind: string, name: string) =>
    `mooring_claims_waiting{desk="capi",claim_kind="IPAddressClaim",kind="${kind}",namespace="",name="${name}",reason="PoolNotFound"} 1`
  const lines = metrics.text().split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      waiting('AddressPool', 'vms'),
      waiting('unknown', 'a'),
      waiting('AddressPool', 'unknown'),
      'mooring_claims_refused_total{desk="capi",claim_kind="IPAddressClaim",kind="unknown",reason="PoolNotFound"} 1',
    ]),
  )
  expect(metrics.text()).not.toContain('\u202e')
})

test('what can be counted of a claim is there at zero before the first, and nothing that cannot', () => {
  const metrics = createMetrics()
  const decided = countDecisions(metrics, realClock)
  const about = { desk: 'vm', claimKind: 'IPAMClaim' }
  decided.begin(about, {
    decisions: ['bound', 'waiting', 'released'],
    sources: [{ kind: 'Network', strategies: ['leastRecentlyUsed'] }],
    reasons: ['PoolExhausted'],
  })
  decided.begin({ desk: 'office', claimKind: 'IPAMClaim' }, { decisions: ['stray hold'] })
  const of = 'desk="vm",claim_kind="IPAMClaim",kind="Network"'
  const counters = () =>
    metrics
      .text()
      .split('\n')
      .filter(line => line.includes('_total{'))
  expect(counters()).toEqual([
    `mooring_allocations_total{${of},strategy="leastRecentlyUsed",outcome="bound"} 0`,
    `mooring_allocations_total{${of},strategy="",outcome="waiting"} 0`,
    `mooring_claims_refused_total{${of},reason="PoolExhausted"} 0`,
    `mooring_releases_total{${of}} 0`,
    'mooring_strays_total{desk="office",claim_kind="IPAMClaim",what="hold"} 0',
  ])
  const pool = { apiGroup: 'k8s.cni.cncf.io', kind: 'Network', namespace: '', name: 'blue' }
  decided.decided({ what: 'waiting', pool, strategy: 'random', reason: 'PoolExhausted' }, about)
  decided.decided({ what: 'bound', pool, strategy: 'leastRecentlyUsed' }, about)
  decided.decided({ what: 'released', pool }, about)
  expect(counters()).toHaveLength(5)
})

const aPool = (name: string, apiGroup = 'mooring.dev', kind = 'AddressPool') => ({
  ...{ apiGroup, kind, namespace: 'red', name },
})

function exhaustionsIn(metrics: Metrics): string[] {
  const lines = metrics.text().split('\n')
  return lines.filter(line => line.startsWith('mooring_pool_exhaustions_total{'))
}

test('how often a pool ran out is there at zero from when the pool is, and goes with it', () => {
  const metrics = createMetrics()
  const decided = countDecisions(metrics, realClock)
  const lineOf = (name: string, count: number) =>
    `mooring_pool_exhaustions_total{kind="AddressPool",namespace="red",name="${name}"} ${count}`
  decided.poolSeen(aPool('vms'))
  decided.poolSeen(aPool('others'))
  expect(exhaustionsIn(metrics)).toEqual([lineOf('vms', 0), lineOf('others', 0)])
  decided.decided({ what: 'exhausted', pool: aPool('vms') }, theOffice)
  decided.poolSeen(aPool('vms'))
  expect(exhaustionsIn(metrics)).toEqual([lineOf('vms', 1), lineOf('others', 0)])
  decided.poolGone(aPool('vms'))
  expect(exhaustionsIn(metrics)).toEqual([lineOf('others', 0)])
})

test('two pools whose labels are the same are counted together, until the last of them goes', () => {
  const metrics = createMetrics()
  const decided = countDecisions(metrics, realClock)
  const [one, other] = [
    aPool('vms', 'installer.openshift.io', 'IPPool'),
    aPool('vms', 'machine.openshift.io', 'IPPool'),
  ]
  for (const pool of [one, other]) {
    decided.poolSeen(pool)
    decided.decided({ what: 'exhausted', pool }, theOffice)
  }
  const line = 'mooring_pool_exhaustions_total{kind="IPPool",namespace="red",name="vms"} 2'
  expect(exhaustionsIn(metrics)).toEqual([line])
  decided.poolGone(one)
  expect(exhaustionsIn(metrics)).toEqual([line])
  decided.poolGone(other)
  expect(exhaustionsIn(metrics)).toEqual([])
})

test('how often pools past the bound ran out is counted together, and is not less when one of them goes', () => {
  const metrics = createMetrics()
  const decided = countDecisions(metrics, realClock)
  for (let i = 0; i < poolsMax; i++) decided.poolSeen(aPool(`pool-${i}`))
  expect(exhaustionsIn(metrics)).toHaveLength(poolsMax)
  const lineOfOthers = (count: number) =>
    `mooring_pool_exhaustions_total{kind="other",namespace="other",name="other"} ${count}`
  for (const name of ['late', 'later']) decided.poolSeen(aPool(name))
  expect(exhaustionsIn(metrics).slice(poolsMax)).toEqual([lineOfOthers(0)])
  for (const name of ['late', 'later']) decided.decided({ what: 'exhausted', pool: aPool(name) }, theOffice)
  decided.poolGone(aPool('late'))
  decided.poolGone(aPool('pool-0'))
  expect(exhaustionsIn(metrics).slice(poolsMax - 1)).toEqual([lineOfOthers(2)])
  decided.poolSeen(aPool('new'))
  expect(exhaustionsIn(metrics)).toHaveLength(poolsMax + 1)
})

test('no series comes twice: both families of a network are added up, and networks keep their names', () => {
  const views = createViews()
  const sources = new Sources(views, new Ledger())
  new Networks(views, sources, defaultNetworkRules, withoutOVN)
  for (const [key, name] of [
    ['red/a', 'Tenant_Red'],
    ['red/b', 'cluster_udn_b'],
  ] as const) {
    const subnets = '10.0.0.0/29,fd00::/126'
    views.attachments.put(anAttachment(key, ovn({ name, subnets, reservedSubnets: '10.0.0.0/30' })) as KubeObject)
  }
  const metrics = createMetrics()
  measurePools(metrics, sources, new Ledger())
  const series = metrics
    .text()
    .split('\n')
    .filter(line => line.startsWith('mooring_pool_'))
  expect(new Set(series.map(line => line.split('} ')[0])).size).toBe(series.length)
  const of = (state: string) => `mooring_pool_addresses{kind="Network",namespace="",name="Tenant_Red",state="${state}"}`
  // Three of IPv4 are given to claims that ask for them.
  expect(series).toEqual(expect.arrayContaining([`${of('free')} 6`, `${of('reserved')} 3`]))
})

test('an IPv4 subnet without a free address is seen beside an IPv6 subnet', () => {
  const views = createViews()
  const sources = new Sources(views, new Ledger())
  const networks = new Networks(views, sources, defaultNetworkRules, withoutOVN)
  const config = ovn({ name: 'tenant', subnets: '10.0.0.0/30,fd00::/64', excludeSubnets: '10.0.0.0/30' })
  views.attachments.put(anAttachment('red/a', config) as KubeObject)
  const metrics = createMetrics()
  measureNetworks(metrics, networks, sources, new Ledger())
  const of = (what: string, family: string) =>
    `mooring_network_${what}{kind="Network",namespace="",name="tenant",family="${family}"}`
  const lines = metrics.text().split('\n')
  expect(lines).toContain(`${of('free', 'IPv4')} 0`)
  expect(lines.find(line => line.startsWith(of('free', 'IPv6')))).toMatch(/ \d{18,}$/)
})
