// What the status of an IPPool says, from what was seen.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { networkOf } from '../../../../test/vm/networks.ts'
import { type IPPool, parseIPPool } from '../../../api/ip-pool.ts'
import { fromValue, parseIP } from '../../../ip/address.ts'
import { parseMAC } from '../../../ip/mac.ts'
import { planStatus, type Seen, type Use } from './plan.ts'

const blue = networkOf({ name: 'blue', subnets: ['10.0.0.0/8'], excludes: ['10.0.0.16/28'], gateways: ['10.0.0.1'] })

const aPool = (entries: object, bindings: object = {}): IPPool =>
  orThrow(
    parseIPPool({
      metadata: { name: 'p', uid: 'u', resourceVersion: '1', generation: 3 },
      spec: { 'network-name': 'blue', entries, bindings },
    }),
  )

const aUse = (name: string, ips: readonly string[], mac?: string, namespace = 'lab'): Use => ({
  claim: { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', namespace, name: `${name}.net1` },
  virtualMachine: name,
  mac: mac === undefined ? undefined : orThrow(parseMAC(mac)),
  ips: ips.map(ip => orThrow(parseIP(ip))),
})

const look = (pool: IPPool, seen: Partial<Seen> = {}) =>
  planStatus({
    pool,
    counts: 'p',
    network: { kind: 'served', network: blue, isObserved: false },
    attachments: ['lab/blue'],
    uses: [],
    isOffered: () => true,
    ...seen,
  })

function usable(pool: IPPool, seen: Partial<Seen> = {}): string {
  const { status, reason, message } = look(pool, seen).facts.find(({ type }) => type === 'EntriesUsable') ?? {}
  return `${status} ${reason}: ${message}`
}

const mac = '02:00:5e:10:00:01'
const macAt = (i: number): string => `02:00:00:00:${hex(i >> 8)}:${hex(i)}`
const hex = (i: number): string => (i & 255).toString(16).padStart(2, '0')

describe('planStatus', () => {
  test('says for which version of the spec it speaks', () => {
    for (const { observedGeneration } of look(aPool({})).facts) expect(observedGeneration).toBe(3)
  })

  test.each<[string, object, Partial<Seen>, string]>([
    ['every address can be had', { [mac]: ['10.0.0.5/8'] }, {}, 'True AllUsable'],
    ['there is none', {}, {}, 'True AllUsable'],
    ['another pool counts', { [mac]: [] }, { counts: 'q' }, 'False OtherPoolCounts: IPPool q was there first'],
    ['there is no network', {}, { network: { kind: 'none' } }, 'False NetworkNotFound'],
    [
      'OVN-Kubernetes gives out the addresses',
      {},
      { network: { kind: 'served', network: blue, isObserved: true } },
      'False NetworkObserved: OVN-Kubernetes gives out the addresses of network blue',
    ],
    ['one is the gateway', { [mac]: ['10.0.0.1/8'] }, {}, `${mac}: 10.0.0.1 is the gateway of the network`],
    ['one is excluded', { [mac]: ['10.0.0.17/8'] }, {}, `${mac}: 10.0.0.17 is excluded from the network`],
    [
      'one is held without the MAC',
      { [mac]: ['10.0.0.5/8'] },
      { uses: [aUse('web', ['10.0.0.5'])] },
      `${mac}: 10.0.0.5 is held by IPAMClaim lab/web.net1`,
    ],
    [
      'one is held with the MAC',
      { [mac]: ['10.0.0.5/8'] },
      { uses: [aUse('web', ['10.0.0.5'], mac)] },
      'True AllUsable',
    ],
  ])('tells whether the entries are usable where %s', (_, entries, seen, said) => {
    expect(usable(aPool(entries), seen)).toContain(said)
  })

  test('tells of a MAC that is held by a claim that it is not bound to', () => {
    const pool = aPool({ [mac]: ['10.0.0.5/8'] }, { [mac]: { namespace: 'lab', virtualMachine: 'db' } })
    expect(usable(pool, { uses: [aUse('web', ['10.0.0.5'], mac)] })).toContain('held by IPAMClaim lab/web.net1, which')
    expect(usable(pool, { uses: [aUse('db', ['10.0.0.5'], mac)] })).toContain('True')
  })

  test('shows what is in use, and what of it the pool keeps', () => {
    const pool = aPool({ [mac]: ['10.0.0.5/8'], [macAt(7)]: ['10.0.0.9/8'] })
    const uses = [aUse('web', ['10.0.0.5'], mac), aUse('db', ['10.0.0.6']), aUse('old', ['10.0.0.9'])]
    expect(look(pool, { uses })['in-use']).toEqual([
      { mac, ips: ['10.0.0.5'], namespace: 'lab', claim: 'web.net1', 'virtual-machine': 'web', reserved: true },
      { ips: ['10.0.0.6'], namespace: 'lab', claim: 'db.net1', 'virtual-machine': 'db', reserved: false },
      { ips: ['10.0.0.9'], namespace: 'lab', claim: 'old.net1', 'virtual-machine': 'old', reserved: true },
    ])
  })

  test('stays small and quick on a network of fifty thousand machines, with all entries that a pool can have', () => {
    const ipAt = (i: number) => fromValue(4, 0x0a_01_00_00n + BigInt(i))
    const uses = Array.from({ length: 50_000 }, (_, i) => ({ ...aUse(`vm-${i}`, []), ips: [ipAt(i)] }))
    const entries = Object.fromEntries(
      Array.from({ length: 4_096 }, (_, i) => [macAt(i), [`10.1.${i >> 8}.${i & 255}/8`]]),
    )
    const attachments = Array.from({ length: 3_000 }, (_, i) => `team-${i}/blue`)
    const began = performance.now()
    const { facts, ...lists } = look(aPool(entries), { uses, attachments })
    expect(performance.now() - began).toBeLessThan(3_000)
    expect([lists['in-use'].length, lists['in-use-count'], lists['associated-nads'].length]).toEqual([
      1_000, 50_000, 1_000,
    ])
    for (const { message } of facts) expect(message.length).toBeLessThan(2_000)
    expect(JSON.stringify(lists).length).toBeLessThan(500_000)
  })

  test('no text of the spec makes a message long, or has more than one line in it', () => {
    const key = `${'x\n'.repeat(5_000)}`
    const pool = aPool({ [key]: ['y\u202e'.repeat(30)], 'x\ny': 7 }, { [key]: { namespace: '\n'.repeat(60) } })
    for (const { message } of look(pool).facts) {
      expect(message.length).toBeLessThan(2_000)
      expect(message).not.toMatch(/[\n\u202e]/)
    }
  })
})
