import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { type Hold, parseHold, toHoldObject } from '../../api/hold.ts'
import type { LockState } from '../../api/lock.ts'
import { type MACHold, parseMACHold, toMACHoldObject } from '../../api/mac-hold.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import { parseIP, toIPText } from '../../ip/address.ts'
import { parseMAC } from '../../ip/mac.ts'
import { type AnyHold, isOfAddress } from './hold/steps.ts'
import { Ledger } from './ledger.ts'
import { chooseParts, macSpecOf, type PartAsk, type PartsPlan, resumeParts, specOf } from './parts.ts'

const claim = { apiGroup: 'example.org', kind: 'Berth', namespace: 'lab', name: 'vm', uid: 'u-1' }
const stranger = { ...claim, name: 'other', uid: 'u-2' }
const mine = { claim, owner: undefined, namespaceLabels: {}, random: 0 }
const card = orThrow(parseMAC('02:00:5e:10:00:01'))

function aPool(name: string, addresses: string, more: object = {}): Pool {
  const spec = { space: 'wire', addresses: [addresses], prefix: addresses.includes(':') ? 64 : 24, ...more }
  return orThrow(toPool({ apiVersion: 'mooring.dev/v1alpha1', kind: 'ClusterAddressPool', metadata: { name }, spec }))
}

const four = aPool('four', '10.0.0.10-10.0.0.11')
const six = aPool('six', 'fd00::10-fd00::11')
const asks: readonly PartAsk[] = [
  { part: 'v4', pool: four },
  { part: 'v6', pool: six },
  { part: 'mac', pool: four, mac: card },
]

interface Held {
  readonly of?: typeof claim
  readonly part: string
  readonly state?: LockState
}

const status = (state: LockState) => ({ status: { state, since: '', until: '' } })

function aHold(address: string, { of = claim, part, state = 'held' }: Held): Hold {
  const ip = orThrow(parseIP(address))
  const spec = specOf({ ...mine, claim: of }, part, ip.family === 4 ? four : six, {
    ip,
    bits: ip.family === 4 ? 32 : 128,
  })
  if (!isOfAddress(spec)) throw new Error('no address')
  return orThrow(parseHold({ ...toHoldObject(spec, ''), ...status(state) }))
}

function aMACHold({ of = claim, part, state = 'held' }: Held): MACHold {
  const spec = macSpecOf({ ...mine, claim: of }, part, four, card)
  if (isOfAddress(spec)) throw new Error('no MAC')
  return orThrow(parseMACHold({ ...toMACHoldObject(spec, ''), ...status(state) }))
}

function ledgerOf(holds: readonly AnyHold[], isDisputed = (_: string) => false) {
  const ledger = new Ledger()
  for (const hold of holds) if (isOfAddress(hold)) ledger.putHold(hold)
  return {
    indexOf: (space: string) => ledger.indexOf(space),
    holdAt: (space: string, ip: Hold['ip']) => ledger.holdAt(space, ip),
    macHoldAt: () => holds.find((hold): hold is MACHold => !isOfAddress(hold)),
    isDisputed: (_: string, ip: Hold['ip']) => isDisputed(toIPText(ip)),
  }
}

function told(plan: PartsPlan): string[] {
  if (plan.kind === 'take') {
    return plan.parts.map(({ how, spec }) => {
      return `${spec.claim.part} ${how} ${isOfAddress(spec) ? toIPText(spec.ip) : spec.mac}`
    })
  }
  const needs = plan.needs.map(need => `${need.kind} of ${need.pool.split('/')[1]}`)
  return [`${plan.part} ${plan.reason}`, ...needs]
}

const chosen = (holds: readonly AnyHold[], isDisputed?: (address: string) => boolean) => {
  const own = holds.filter(hold => hold.claim.uid === claim.uid && hold.state === 'held')
  return told(chooseParts(asks, mine, own, ledgerOf(holds, isDisputed)))
}

const others = { of: stranger, part: 'v4' }
const full = (address: 'fd00::1' | '10.0.0.1') => [aHold(`${address}0`, others), aHold(`${address}1`, others)]

describe('a claim of several parts that has chosen nothing', () => {
  test.each<[string, readonly AnyHold[], string[]]>([
    ['takes each', [], ['v4 take 10.0.0.10', 'v6 take fd00::10', 'mac take 02:00:5e:10:00:01']],
    [
      'uses what it holds for a part, and takes the rest',
      [aHold('fd00::11', { part: 'v6' })],
      ['v4 take 10.0.0.10', 'v6 found fd00::11', 'mac take 02:00:5e:10:00:01'],
    ],
    [
      'has back what it left in quarantine, MACs included',
      [aHold('fd00::11', { part: 'v6', state: 'quarantined' }), aMACHold({ part: 'mac', state: 'quarantined' })],
      ['v4 take 10.0.0.10', 'v6 regain fd00::11', 'mac regain 02:00:5e:10:00:01'],
    ],
    [
      'is refused for the part that has nothing, and waits for both families',
      full('fd00::1'),
      ['v6 PoolExhausted', 'any of six', 'any of four'],
    ],
    [
      'does not wait for a part that it has',
      [...full('fd00::1'), aHold('10.0.0.11', { part: 'v4' })],
      ['v6 PoolExhausted', 'any of six'],
    ],
    [
      'does not wait for a part that it will have back',
      [...full('10.0.0.1'), aHold('fd00::11', { part: 'v6', state: 'quarantined' })],
      ['v4 PoolExhausted', 'any of four'],
    ],
    ['waits for its MAC alone', [aMACHold({ of: stranger, part: 'mac' })], ['mac MACInUse', 'mac of four']],
    [
      'waits for a MAC that another left to have rested',
      [aMACHold({ of: stranger, part: 'mac', state: 'quarantined' })],
      ['mac MACQuarantined', 'mac of four'],
    ],
  ])('%s', (_, holds, plan) => {
    expect(chosen(holds)).toEqual(plan)
  })

  test('is refused what another object shows, though it holds it or left it', () => {
    const isDisputed = (address: string) => address === 'fd00::11'
    expect(chosen([aHold('fd00::11', { part: 'v6' })], isDisputed)).toEqual(['v6 AddressInUse', 'one of six'])
    const left = aHold('fd00::11', { part: 'v6', state: 'quarantined' })
    expect(chosen([left], isDisputed)).toEqual(['v6 AddressInUse', 'one of six'])
  })

  test('is given no MAC of a network that is not offered to it', () => {
    const pool = aPool('four', '10.0.0.10', { allowedNamespaces: { matchLabels: { team: 'a' } } })
    const plan = chooseParts([{ part: 'mac', pool, mac: card }], mine, [], ledgerOf([]))
    expect(told(plan)).toEqual(['mac NamespaceNotAllowed', 'change of four'])
  })
})

describe('a claim of several parts that has stored its choice', () => {
  const parts = [
    { spec: specOf(mine, 'v4', four, { ip: orThrow(parseIP('10.0.0.10')), bits: 32 }), pool: four },
    { spec: macSpecOf(mine, 'mac', four, card), pool: four },
  ]
  const resumed = (holds: readonly AnyHold[], isDisputed?: (address: string) => boolean) =>
    told(resumeParts(parts, ledgerOf(holds, isDisputed)))

  test.each<[string, readonly AnyHold[], string[]]>([
    [
      'finds what it holds',
      [aHold('10.0.0.10', { part: 'v4' }), aMACHold({ part: 'mac' })],
      ['v4 found 10.0.0.10', 'mac found 02:00:5e:10:00:01'],
    ],
    ['takes what was lost once more', [], ['v4 take 10.0.0.10', 'mac take 02:00:5e:10:00:01']],
    ['is refused what another holds', [aHold('10.0.0.10', others)], ['v4 AddressInUse', 'one of four']],
    [
      'does not take for a part what it holds for another',
      [aHold('10.0.0.10', { part: 'v6' })],
      ['v4 AddressInUse', 'one of four'],
    ],
  ])('%s', (_, holds, plan) => {
    expect(resumed(holds)).toEqual(plan)
  })

  test('does not take again what another object shows meanwhile', () => {
    expect(resumed([], () => true)).toEqual(['v4 AddressInUse', 'one of four'])
  })
})
