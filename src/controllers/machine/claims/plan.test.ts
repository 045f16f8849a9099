import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { parseIPAddress } from '../../../api/ip-address.ts'
import { parseIPAddressClaim } from '../../../api/ip-address-claim.ts'
import { ownerReferenceTo, parseMachine } from '../../../api/machine.ts'
import { withCondition } from './condition.ts'
import { type ClaimSeen, decide } from './plan.ts'
import { rememberedIn, toRememberedText } from './remembered.ts'

const poolRef = { apiGroup: 'machine.openshift.io', kind: 'IPPool', name: 'p' }
const entry = { group: 'machine.openshift.io', resource: 'IPPool', name: 'p' }
const name = 'm-claim-0-0'
const namespace = 'n'
const protection = 'machine.openshift.io/ip-claim-protection'

const machine = ({
  pools = [entry],
  ...more
}: {
  pools?: readonly object[]
  metadata?: object
  status?: object
} = {}) =>
  orThrow(
    parseMachine({
      metadata: { name: 'm', namespace, uid: 'u', ...more.metadata },
      spec: {
        providerSpec: {
          value: {
            kind: 'VSphereMachineProviderSpec',
            network: { devices: [{ networkName: 'lab', addressesFromPools: pools }] },
          },
        },
      },
      status: more.status ?? {},
    }),
  )

const own = { ownerReferences: [ownerReferenceTo(machine())], finalizers: [protection] }

const claim = (metadata: object = own, more: object = {}) =>
  orThrow(
    parseIPAddressClaim({
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddressClaim',
      metadata: { name, namespace, uid: 'c', ...metadata },
      spec: { poolRef },
      ...more,
    }),
  )

const bound = { status: { addressRef: { name } } }

const address = (spec: object = {}, metadata: object = {}) =>
  orThrow(
    parseIPAddress({
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddress',
      metadata: { name, namespace, ...metadata },
      spec: { address: '10.0.0.5', prefix: 24, claimRef: { name }, poolRef, ...spec },
    }),
  )

const ready = (reason: string, message: string) => ({
  status: { conditions: [{ type: 'Ready', status: 'False', reason, message, lastTransitionTime: 'x' }] },
})

/** With one claim, of the first name. */
const planFor = (seen: ClaimSeen | 'unreadable' | undefined, of = machine()) =>
  decide({ machine: of, claimNamed: one => (one === name ? seen : undefined) })

const ordered = (annotations: object = {}) =>
  machine({ metadata: { annotations }, status: { providerStatus: { instanceId: 'i' } } })
const ranWith = (text: string) => ordered({ 'mooring.dev/claimed-addresses': text })
const owner = (kind: string, uid: string) => ({ apiVersion: 'v1', kind, name: kind === 'Machine' ? 'm' : 'x', uid })

describe('the claim of an entry', () => {
  test.each<[string, ClaimSeen | 'unreadable', RegExp]>([
    ['cannot be read', 'unreadable', /what has its name cannot be read/],
    [
      'is of another owner',
      { claim: claim({ ownerReferences: [owner('Deployment', 'd')] }), report: undefined },
      /it belongs to Deployment x/,
    ],
    [
      'is of an earlier Machine',
      { claim: claim({ ownerReferences: [owner('Machine', 'old')] }), report: undefined },
      /an earlier Machine of this name/,
    ],
    ['goes', { claim: claim({ ...own, deletionTimestamp: 'x' }), report: undefined }, /is being deleted/],
    [
      'names another pool',
      { claim: claim(own, { spec: { poolRef: { ...poolRef, name: 'q' } } }), report: undefined },
      /names IPPool q of machine.openshift.io, and the Machine IPPool p/,
    ],
    [
      'has no answer',
      { claim: claim(), report: undefined },
      /no provider of IPPool p of machine.openshift.io has answered yet/,
    ],
    [
      'waits for its pool',
      { claim: claim(own, ready('PoolExhausted', 'none is free')), report: undefined },
      /\(PoolExhausted: none is free\)/,
    ],
    ['has no IPAddress', { claim: claim(own, bound), report: undefined }, /which does not exist or cannot be read/],
    [
      'has the IPAddress of another',
      { claim: claim(own, bound), report: address({ claimRef: { name: 'other' } }) },
      /which is of claim other/,
    ],
    ['has an address that is none', { claim: claim(own, bound), report: address({ address: 'x' }) }, /"x"/],
    ['has no prefix', { claim: claim(own, bound), report: address({ prefix: undefined }) }, /how long its subnet is/],
  ])('that %s is not used, and nothing is made in its place', (_, seen, message) => {
    const { make, fact, remember } = planFor(seen)
    expect(make).toEqual([])
    expect(remember).toBeUndefined()
    expect(fact).toMatchObject({ status: 'False', reason: 'WaitingForIPAddress' })
    expect(fact?.message).toMatch(/^Waiting on 1 IP address claims to be bound: m-claim-0-0 \(/)
    expect(fact?.message).toMatch(message)
  })

  test('that is bound and whole is used as it is', () => {
    const seen = { claim: claim(own, bound), report: address({}, { ownerReferences: [owner('IPAddressClaim', 'c')] }) }
    const remembered = machine({
      metadata: { annotations: { 'mooring.dev/claimed-addresses': `${name}=10.0.0.5/24` } },
    })
    const { adopt, own: owned, make, remember, fact } = planFor(seen, remembered)
    expect([adopt, owned, make, remember]).toEqual([[], [], [], undefined])
    expect(fact).toEqual({
      type: 'IPAddressClaimed',
      status: 'True',
      reason: 'IPAddressesClaimed',
      message: 'All IP address claims are bound',
    })
  })

  test.each<[string, object]>([
    ['has no owner', { finalizers: [protection] }],
    ['has no finalizer', { ownerReferences: own.ownerReferences }],
    [
      'is not controlled',
      { ownerReferences: [{ ...ownerReferenceTo(machine()), controller: false }], finalizers: [protection] },
    ],
  ])('that %s is adopted', (_, metadata) => {
    expect(planFor({ claim: claim(metadata), report: undefined }).adopt).toHaveLength(1)
  })

  test('with the other spelling of the finalizer is whole', () => {
    const metadata = { ...own, finalizers: ['machines.openshift.io/ip-claim-protection'] }
    expect(planFor({ claim: claim(metadata), report: undefined }).adopt).toEqual([])
  })

  test('that is bound to an IPAddress without an owner gets it for its own, if the pool is of a kind that Mooring serves', () => {
    expect(planFor({ claim: claim(own, bound), report: address() }).own).toHaveLength(1)
    const foreign = { ...poolRef, apiGroup: 'example.org' }
    const pools = [{ ...entry, group: 'example.org' }]
    const seen = { claim: claim(own, { spec: { poolRef: foreign }, ...bound }), report: address({ poolRef: foreign }) }
    expect(planFor(seen, machine({ pools }))).toMatchObject({ own: [], fact: { status: 'True' } })
  })
})

describe('a Machine', () => {
  test('without claims has one made for each entry', () => {
    const { make, fact } = decide({ machine: machine({ pools: [entry, entry] }), claimNamed: () => undefined })
    expect(make.map(one => [one.name, one.poolRef, one.address])).toEqual([
      ['m-claim-0-0', poolRef, undefined],
      ['m-claim-0-1', poolRef, undefined],
    ])
    expect(fact?.message).toMatch(/^Waiting on 2 IP address claims to be bound: /)
  })

  test('that waits for many names ten of them and counts the rest', () => {
    const { fact } = decide({
      machine: machine({ pools: Array.from({ length: 12 }, () => entry) }),
      claimNamed: () => undefined,
    })
    expect(fact?.message.match(/m-claim-/g)).toHaveLength(10)
    expect(fact?.message).toMatch(/; and 2 more$/)
  })

  test('that is deleted has nothing done for it', () => {
    expect(planFor(undefined, machine({ metadata: { deletionTimestamp: 'x' } }))).toMatchObject({
      make: [],
      fact: undefined,
    })
  })

  test('repeats what a provider says, but not without end', () => {
    const { fact } = planFor({ claim: claim(own, ready('Long', 'x'.repeat(10_000))), report: undefined })
    expect(fact?.message.length).toBeLessThan(500)
  })

  test('whose virtual machine was ordered has a lost claim made again with its address, and none where that is not known', () => {
    expect(planFor(undefined, ranWith(`${name}=10.0.0.5/24`)).make).toMatchObject([{ name, address: '10.0.0.5/24' }])
    expect(planFor(undefined, ordered())).toMatchObject({ make: [], fact: { reason: 'WaitingForIPAddress' } })
  })

  test('whose virtual machine was ordered with another address says so, and still remembers that one', () => {
    const seen = { claim: claim(own, bound), report: address() }
    const { fact, remember } = planFor(seen, ranWith(`${name}=10.0.0.9/24`))
    expect(fact).toMatchObject({ status: 'False', reason: 'IPAddressDrifted' })
    expect(remember).toBeUndefined()
    // Of one that was ordered before anything was remembered, its claims are believed.
    expect(planFor(seen, ordered())).toMatchObject({ fact: { status: 'True' }, remember: `${name}=10.0.0.5/24` })
  })
})

test('what is remembered is read as it was written, and nonsense is nothing', () => {
  const addresses = [
    { claim: 'a', address: '10.0.0.5/24' },
    { claim: 'b', address: 'fd00::5/64' },
  ]
  const read = (text: string) => [...rememberedIn({ 'mooring.dev/claimed-addresses': text })]
  expect(read(toRememberedText(addresses))).toEqual(addresses.map(({ claim, address }) => [claim, address]))
  expect(read('')).toEqual([])
  expect(read('a=b, =, c=10.0.0.5, d=10.0.0.5/24=x')).toEqual([])
})

describe('a condition among those of other programs', () => {
  const fact = { type: 'IPAddressClaimed', status: 'False', reason: 'R', message: 'm' } as const
  const other = { type: 'Drainable', status: 'True', severity: 'None', unknown: [1] }

  test('is appended, and keeps its time until the status changes', () => {
    const first = withCondition([other], fact, 't1', true) ?? []
    expect(first).toEqual([other, { ...fact, severity: 'Info', lastTransitionTime: 't1' }])
    expect(withCondition(first, fact, 't2', true)).toBeUndefined()
    const second = withCondition(first, { ...fact, message: 'n' }, 't2', true) ?? []
    expect(second[1]).toMatchObject({ message: 'n', lastTransitionTime: 't1' })
    const third = withCondition(second, { ...fact, status: 'True' }, 't3', true) ?? []
    expect(third).toEqual([other, { ...fact, status: 'True', lastTransitionTime: 't3' }])
  })

  test('replaces one that no program could have written', () => {
    expect(withCondition(['x', { type: fact.type, status: 7 }], fact, 't', false)).toEqual([
      'x',
      { ...fact, lastTransitionTime: 't' },
    ])
  })
})
