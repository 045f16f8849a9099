import { expect, test } from 'vitest'
import { realClock } from '../../runtime/clock.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { countDecisions, measureWaiting } from './metrics.ts'

const named = (kind: string, name: string) => ({ apiGroup: 'mooring.dev', kind, namespace: '', name })

test('a kind and a name that a claim made up are no labels', () => {
  const metrics = createMetrics()
  const decided = countDecisions(metrics, realClock)
  const waits = [named('AddressPool', 'vms'), named('Adress\u202ePool', 'a'), named('AddressPool', 'no name')]
  measureWaiting(metrics, { all: () => waits.map(pool => ({ desk: 'capi', pool, reason: 'PoolNotFound' })) })
  for (const pool of waits) {
    decided.decided({ what: 'refused', pool, reason: 'PoolNotFound' }, { desk: 'capi', claimKind: 'IPAddressClaim' })
  }
  const waiting = (kind: string, name: string) =>
    `mooring_claims_waiting{desk="capi",kind="${kind}",namespace="",name="${name}",reason="PoolNotFound"} 1`
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
