// Every rule of the plan is a row: what was seen, and what is done next.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { type Hold, parseHold, toHoldObject } from '../../../api/hold.ts'
import { namespaceNameLabel } from '../../../api/names.ts'
import type { Pool } from '../../../api/pool.ts'
import { toPool } from '../../../api/to-pool.ts'
import { parseIP, toIPText } from '../../../ip/address.ts'
import { rangeOfIP } from '../../../ip/range.ts'
import { holdFinalizer, isOfAddress } from '../../office/hold/steps.ts'
import { Ledger } from '../../office/ledger.ts'
import { networkNamed, partOf, type Seen } from './observe.ts'
import { decide, type Plan } from './plan.ts'

const [fast, slow] = ['fast', 'slow'].map(name => networkNamed({ namespace: 'kubevirt', name })) as [
  ReturnType<typeof networkNamed>,
  ReturnType<typeof networkNamed>,
]

/** As the ledger has the pools of a network: one for each family, in the space of the network. */
function aPool(network: typeof fast, addresses: string): Pool {
  const spec = { space: network.name, addresses: [addresses], prefix: addresses.includes(':') ? 64 : 24 }
  const object = {
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'ClusterAddressPool',
    metadata: { name: network.name },
    spec,
  }
  return { ...orThrow(toPool(object)), identity: network, isOneOfTwo: true }
}

const [four, six] = [aPool(fast, '10.0.0.1-10.0.0.3'), aPool(fast, 'fd00::1-fd00::2')]
const formerFour = aPool(slow, '10.0.0.1-10.0.0.9')

const node = { apiGroup: '', kind: 'Node', namespace: '', name: 'node-1', uid: 'u-1' }
const other = { ...node, name: 'node-2', uid: 'u-2' }
const now = { state: 'held', since: '', until: '' }

interface HeldOptions {
  readonly by?: typeof node
  readonly pool?: Pool
  /** The second that it was made in. */
  readonly madeAt?: number
  readonly finalizers?: readonly string[]
}

function aHold(
  address: string,
  { by = node, madeAt = 0, finalizers = [holdFinalizer], ...more }: HeldOptions = {},
): Hold {
  const ip = orThrow(parseIP(address))
  const pool = more.pool ?? (ip.family === 4 ? four : six)
  const claim = { ...by, part: partOf(pool.identity, pool) }
  const bits = ip.family === 4 ? 32 : 128
  const object = toHoldObject({ space: pool.space, ip, bits, pool: pool.identity, claim, owner: undefined }, '')
  const metadata = { ...object.metadata, creationTimestamp: `2030-01-01T00:00:0${madeAt}Z`, finalizers }
  return orThrow(parseHold({ ...object, metadata, status: now }))
}

function seen(holds: readonly Hold[], more: Partial<Seen> = {}): Seen {
  const ledger = new Ledger()
  for (const hold of holds) ledger.putHold(hold)
  return {
    place: { node: node.name, network: fast },
    createdAt: '2030-01-01T00:00:00Z',
    isSelected: true,
    network: 'there',
    pools: [four, six],
    networks: [slow, fast],
    held: holds.filter(({ claim }) => claim.uid === node.uid),
    isLive: true,
    taken: holds.map(({ ip }) => rangeOfIP(ip)),
    isInUse: false,
    applicant: { claim: node, owner: undefined, namespaceLabels: { [namespaceNameLabel]: 'kubevirt' }, random: 0 },
    ledger: {
      indexOf: space => ledger.indexOf(space),
      holdAt: (space, ip) => ledger.holdAt(space, ip),
      macHoldAt: () => undefined,
      isDisputed: () => false,
    },
    ...more,
  }
}

function told(plan: Plan): string {
  const texts = (holds: readonly Hold[]) => holds.map(({ ip }) => toIPText(ip)).join(' ')
  switch (plan.kind) {
    case 'rest':
      return `rest ${texts(plan.holds)}: ${plan.why}`
    case 'take':
      return plan.parts.map(({ how, spec }) => `${how} ${isOfAddress(spec) ? toIPText(spec.ip) : spec.mac}`).join(', ')
    case 'wait': {
      const needs = plan.refusal.needs.map(({ kind, pool }) => `${kind} of ${pool.slice(-'fast IPv4'.length)}`)
      const left = plan.letGo.length > 0 ? `, let go of ${texts(plan.letGo)}` : ''
      return `wait: ${plan.refusal.reason}, ${needs.join(' and ')}${left}`
    }
    default:
      return plan.kind
  }
}

const both = [aHold('10.0.0.1'), aHold('fd00::1')]
const usedUp = ['fd00::1', 'fd00::2'].map(address => aHold(address, { by: other }))

describe('A node that holds', () => {
  test.each<[string, readonly Hold[], Partial<Seen>, string]>([
    ['nothing', [], { isLive: false }, 'ask'],
    ['nothing, also at the API server', [], {}, 'take 10.0.0.1, take fd00::1'],
    ['one of each family', both, { isLive: false }, 'nothing'],
    [
      'one of each family, of which a process was about to give one back',
      [aHold('10.0.0.1', { finalizers: [] }), aHold('fd00::1')],
      {},
      'found 10.0.0.1',
    ],
    ['one family alone', [aHold('10.0.0.2')], {}, 'found 10.0.0.2, take fd00::1'],
    ['two of one family', [...both, aHold('10.0.0.2', { madeAt: 1 })], { isLive: false }, 'ask'],
    [
      'two of one family, also at the API server',
      [aHold('10.0.0.2'), aHold('10.0.0.1', { madeAt: 1 }), aHold('fd00::1')],
      {},
      'rest 10.0.0.1: surplus',
    ],
    ['two of one family, made in one second', [...both, aHold('10.0.0.2')], {}, 'rest 10.0.0.2: surplus'],
    ['an address on another network', [aHold('10.0.0.3', { pool: formerFour })], {}, 'take 10.0.0.3, take fd00::1'],
    [
      'one on another network that this one does not give out',
      [aHold('10.0.0.9', { pool: formerFour })],
      {},
      'take 10.0.0.1, take fd00::1',
    ],
    [
      'nothing, beside a node that has the lowest on another network',
      [aHold('10.0.0.1', { by: other, pool: formerFour })],
      {},
      'take 10.0.0.2, take fd00::1',
    ],
  ])('%s', (_, holds, more, expected) => {
    expect(told(decide(seen(holds, more)))).toBe(expected)
  })
})

describe('Where a family is used up', () => {
  test.each<[string, readonly Hold[], Partial<Seen>, string]>([
    ['a node takes neither', usedUp, {}, 'wait: PoolExhausted, any of fast IPv6'],
    [
      'a node that was cut off between the two lets go of the first',
      [...usedUp, aHold('10.0.0.1')],
      {},
      'wait: PoolExhausted, any of fast IPv6, let go of 10.0.0.1',
    ],
    [
      'a node whose virt-handler uses the first keeps it',
      [...usedUp, aHold('10.0.0.1')],
      { isInUse: true },
      'wait: PoolExhausted, any of fast IPv6',
    ],
  ])('%s', (_, holds, more, expected) => {
    expect(told(decide(seen(holds, more)))).toBe(expected)
  })
})

describe('A network that', () => {
  test.each<[string, readonly Hold[], Partial<Seen>, string]>([
    ['this desk does not know, and the node has nothing of', [], { network: 'unknown', isLive: false }, 'nothing'],
    ['this desk does not know', both, { network: 'unknown', isLive: false }, 'ask'],
    ['is gone', both, { network: 'gone' }, 'rest 10.0.0.1 fd00::1: network gone'],
    ['gives nothing out any more', [aHold('10.0.0.1')], { pools: [] }, 'nothing'],
    ['is not for nodes like this one', [], { isSelected: false }, 'nothing'],
  ])('%s', (_, holds, more, expected) => {
    expect(told(decide(seen(holds, more)))).toBe(expected)
  })
})
