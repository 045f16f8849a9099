// The rules of a claim, as a table: what was seen, and what is to be done about it.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { type Hold, parseHold, toHoldObject } from '../../api/hold.ts'
import { parseIPAddress } from '../../api/ip-address.ts'
import { parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import type { LockState } from '../../api/lock.ts'
import { toPool } from '../../api/to-pool.ts'
import { isSameIP, parseIP } from '../../ip/address.ts'
import type { Choice } from '../../ipam/choose.ts'
import { type Refusal, refuse } from '../../ipam/refusal.ts'
import { holdFinalizer } from '../office/hold/steps.ts'
import type { Seen } from './observe.ts'
import { decide } from './plan.ts'

const ours = 'ipam.cluster.x-k8s.io/ReleaseAddress'
const identity = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', namespace: 'lab', name: 'vms' }
const poolRef = { apiGroup: identity.apiGroup, kind: identity.kind, name: identity.name }
const [seven, eight] = [orThrow(parseIP('10.0.0.7')), orThrow(parseIP('10.0.0.8'))]

function aPool(metadata: object = {}) {
  const object = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
    kind: 'InClusterIPPool',
    metadata: { name: 'vms', namespace: 'lab', uid: 'p-1', ...metadata },
    spec: { addresses: ['10.0.0.0/24'], prefix: 24 },
  }
  return orThrow(toPool(object))
}

interface ClaimParts {
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly isDeleted?: boolean
  /** The IPAddress that its status names, with Ready. */
  readonly bound?: boolean
  readonly cluster?: string
}

function aClaim({ annotations, finalizers = [], isDeleted, bound, cluster }: ClaimParts = {}) {
  return orThrow(
    parseIPAddressClaim({
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddressClaim',
      metadata: {
        name: 'web',
        namespace: 'lab',
        uid: 'u-1',
        annotations,
        finalizers,
        ...(isDeleted && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
      },
      spec: { poolRef, ...(cluster !== undefined && { clusterName: cluster }) },
      ...(bound && {
        status: { addressRef: { name: 'web' }, conditions: [{ type: 'Ready', status: 'True', reason: 'x' }] },
      }),
    }),
  )
}

const chose = (address: string) => ({ 'mooring.dev/address': address })

function aReport(address = '10.0.0.7', uid = 'u-1', poolUid = 'p-1', metadata: object = {}) {
  return orThrow(
    parseIPAddress({
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddress',
      metadata: {
        name: 'web',
        namespace: 'lab',
        finalizers: ['ipam.cluster.x-k8s.io/ProtectAddress'],
        ownerReferences: [
          { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', name: 'web', uid },
          { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', name: 'vms', uid: poolUid },
        ],
        ...metadata,
      },
      spec: { claimRef: { name: 'web' }, poolRef, address, prefix: 24 },
    }),
  )
}

function aHold(uid = 'u-1', state: LockState = 'held', name = 'web', ip = seven, namespaceUID?: string): Hold {
  const ofNamespace = namespaceUID === undefined ? {} : { namespaceUID }
  const claim = {
    apiGroup: 'ipam.cluster.x-k8s.io',
    kind: 'IPAddressClaim',
    namespace: 'lab',
    name,
    uid,
    ...ofNamespace,
  }
  const object = toHoldObject({ space: aPool().space, ip, bits: 32, pool: identity, claim, owner: undefined }, '')
  const metadata = { ...object.metadata, finalizers: [holdFinalizer] }
  return orThrow(parseHold({ ...object, metadata, status: { ...object.status, state } }))
}

/** A new claim on a pool that has 10.0.0.8 to give, and nothing else in sight. */
function seen(
  parts: Partial<Omit<Seen, 'ledger'>> & { held?: Hold; isDisputed?: boolean; refusal?: Refusal; choice?: Choice } = {},
): Seen {
  const { held, isDisputed = false, refusal, choice = { kind: 'take', ip: eight, bits: 32 }, ...rest } = parts
  return {
    claim: aClaim(),
    identity,
    namespaceUID: 'n-1',
    cluster: 'none',
    pool: aPool(),
    spaceRefusal: undefined,
    holds: held?.claim.uid === 'u-1' ? [held] : [],
    report: undefined,
    isLive: false,
    isInScope: true,
    movingMs: 0,
    ledger: {
      holdAt: (_, ip) => (held !== undefined && isSameIP(held.ip, ip) ? held : undefined),
      isDisputed: () => isDisputed,
      choose: () => choice,
      whyNotForClaim: () => refusal,
    },
    ...rest,
  }
}

/** In short: what is done, and to what, or why. */
function planOf(given: Seen): string {
  const plan = decide(given)
  switch (plan.kind) {
    case 'bind':
      return `bind to ${plan.ip === eight ? '10.0.0.8' : '10.0.0.7'}: ${plan.by.how}`
    case 'refuse':
      return `refuse: ${plan.refusal.reason}`
    case 'leave alone':
      return plan.why === undefined ? 'leave alone' : `leave alone: ${plan.why}`
    default:
      return plan.kind
  }
}

const served = { claim: aClaim({ bound: true, finalizers: [ours], annotations: chose('10.0.0.7') }) }
const withSubnet = (text: string) => aClaim({ annotations: { ...chose('10.0.0.7'), 'mooring.dev/subnet': text } })
const arrived = { claim: aClaim({ annotations: chose('10.0.0.7') }) }
const deleted = (parts: ClaimParts = {}) => ({
  claim: aClaim({ finalizers: [ours], annotations: chose('10.0.0.7'), ...parts, isDeleted: true }),
})
const moved = aReport('10.0.0.7', 'u-1', 'p-1', {
  deletionTimestamp: '2030-01-01T00:00:00Z',
  annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' },
})
const paused = { annotations: { 'cluster.x-k8s.io/paused': '' } }

describe('a claim', () => {
  test.each<[string, Seen, string]>([
    ['that is new takes an address', seen(), 'bind to 10.0.0.8: take'],
    ['of another controller', seen({ isInScope: false }), 'leave alone'],
    ['of another controller, deleted', seen({ ...deleted(), isInScope: false }), 'leave alone'],
    ['that is paused', seen({ claim: aClaim(paused) }), 'leave alone: ClaimPaused'],
    ['whose Cluster is paused', seen({ cluster: 'paused' }), 'leave alone: ClusterPaused'],
    ['whose Cluster is not there', seen({ cluster: 'missing' }), 'leave alone: ClusterNotFound'],
    ['whose pool is paused', seen({ pool: aPool(paused) }), 'leave alone: PoolPaused'],
    ['whose pool does not exist', seen({ pool: undefined }), 'refuse: PoolNotFound'],
    ['whose pool cannot be read', seen({ pool: { malformed: 'x' } }), 'refuse: PoolMalformed'],
    ['that was served, and whose pool is gone', seen({ ...served, pool: undefined, report: aReport() }), 'leave alone'],
    ['whose pool and IPAddress are gone, as the caches know', seen({ ...served, pool: undefined }), 'recall'],
    ['whose pool and IPAddress are gone', seen({ ...served, pool: undefined, isLive: true }), 'refuse: PoolNotFound'],
    ['whose pool has no space yet', seen({ pool: { ...aPool(), space: '' } }), 'refuse: SpaceUndecided'],
    [
      'whose pool is not offered the space it asks for',
      seen({ spaceRefusal: refuse('SpaceNotOffered', 'x') }),
      'refuse: SpaceNotOffered',
    ],
    [
      'that arrives with an address in a space that is not offered',
      seen({ ...arrived, spaceRefusal: refuse('SpaceNotOffered', 'x'), isLive: true }),
      'refuse: SpaceNotOffered',
    ],
    [
      'that was served, and whose pool has no space any more',
      seen({ ...served, pool: { ...aPool(), space: '' }, report: aReport(), held: aHold() }),
      'leave alone',
    ],
    [
      'that asks for an address that it may not have',
      seen({ choice: refuse('AddressExcluded', 'x') }),
      'refuse: AddressExcluded',
    ],
    ['for which its pool has none', seen({ choice: refuse('PoolExhausted', 'x') }), 'refuse: PoolExhausted'],
    [
      'that left an address to rest has it back',
      seen({ choice: { kind: 'retake', ip: seven, bits: 32 }, held: aHold('u-0', 'quarantined') }),
      'bind to 10.0.0.7: regain',
    ],
    [
      'that left an address whose rest is over has it as a new one',
      seen({ choice: { kind: 'retake', ip: seven, bits: 32 } }),
      'bind to 10.0.0.7: take',
    ],
    ['that clusterctl moved away, and not its IPAddress', seen({ ...served, report: moved }), 'let report go'],
    ['of another controller, moved away', seen({ ...served, report: moved, isInScope: false }), 'leave alone'],
    ['that leaves with clusterctl, after its IPAddress', seen({ ...served, movingMs: 1 }), 'leave alone'],
    [
      'that leaves with clusterctl, before its IPAddress',
      seen({ ...served, movingMs: 1, report: aReport(), held: aHold() }),
      'keep',
    ],
  ])('%s', (_, given, plan) => expect(planOf(given)).toBe(plan))
})

describe('what remembers the address of a claim decides', () => {
  test.each<[string, Seen, string]>([
    ['all of it is in place', seen({ ...served, report: aReport(), held: aHold() }), 'keep'],
    [
      'its IPAddress names the pool of another cluster as its owner',
      seen({ ...served, report: aReport('10.0.0.7', 'u-1', 'p-0'), held: aHold() }),
      'bind to 10.0.0.7: chosen',
    ],
    [
      'its IPAddress shows another address than its choice, which is held',
      seen({ ...served, report: aReport('10.0.0.8'), held: aHold() }),
      'refuse: AddressInUse',
    ],
    [
      'its IPAddress shows another address than its choice, which is not held',
      seen({ ...served, report: aReport('10.0.0.8') }),
      'refuse: AddressInUse',
    ],
    ['its IPAddress is lost', seen({ ...served, held: aHold() }), 'bind to 10.0.0.7: chosen'],
    ['its hold is lost', seen({ ...served, report: aReport() }), 'bind to 10.0.0.7: arrive'],
    ['it arrives with a choice', seen(arrived), 'bind to 10.0.0.7: arrive'],
    ['only a hold remembers', seen({ held: aHold() }), 'bind to 10.0.0.7: found'],
    ['its hold rests', seen({ ...served, held: aHold('u-0', 'quarantined') }), 'bind to 10.0.0.7: regain'],
    [
      'it rests for a claim of its name in an earlier namespace of the name',
      seen({ ...served, held: aHold('u-0', 'quarantined', 'web', seven, 'n-0') }),
      'refuse: AddressQuarantined',
    ],
    [
      'the same, and a move brought its IPAddress',
      seen({ ...served, report: aReport(), held: aHold('u-0', 'quarantined', 'web', seven, 'n-0') }),
      'bind to 10.0.0.7: regain',
    ],
    ['another claim holds it', seen({ ...served, held: aHold('u-2', 'held', 'other') }), 'refuse: AddressInUse'],
    [
      'it rests for another claim',
      seen({ ...served, held: aHold('u-2', 'quarantined', 'other') }),
      'refuse: AddressQuarantined',
    ],
    ['another object shows it', seen({ ...served, isDisputed: true }), 'refuse: AddressInUse'],
    ['its choice cannot be read', seen({ claim: aClaim({ annotations: chose('x') }) }), 'refuse: NotAnAddress'],
    [
      'its choice is of the other family',
      seen({ claim: aClaim({ annotations: chose('fd00::1') }) }),
      'refuse: WrongFamily',
    ],
    ['it was bound and lost its choice', seen({ claim: aClaim({ bound: true }) }), 'recall'],
    ['it has our finalizer and no choice', seen({ claim: aClaim({ finalizers: [ours] }) }), 'recall'],
    [
      'it was bound, and nothing is left',
      seen({ claim: aClaim({ bound: true }), isLive: true }),
      'refuse: AddressInUse',
    ],
    [
      'it was bound, and holds several',
      seen({ claim: aClaim({ bound: true }), isLive: true, holds: [aHold(), aHold('u-1', 'held', 'web', eight)] }),
      'refuse: AddressInUse',
    ],
  ])('%s', (_, given, plan) => expect(planOf(given)).toBe(plan))
})

describe('a choice', () => {
  const refusal = refuse('NamespaceNotAllowed', 'x')

  test.each<[string, Seen, string]>([
    ['that the claim may not have, as far as caches know', seen({ ...arrived, refusal }), 'recall'],
    ['that the claim may not have', seen({ ...arrived, refusal, isLive: true }), 'refuse: NamespaceNotAllowed'],
    [
      'that the claim may not have, and another claim holds',
      seen({ ...arrived, refusal, isLive: true, held: aHold('u-2', 'held', 'other') }),
      'refuse: NamespaceNotAllowed',
    ],
    [
      'that the claim may not have, and left to rest under another uid',
      seen({ ...arrived, refusal, isLive: true, held: aHold('u-0', 'quarantined') }),
      'refuse: NamespaceNotAllowed',
    ],
    ['that a hold proves', seen({ ...arrived, refusal, held: aHold() }), 'bind to 10.0.0.7: found'],
    [
      'that a hold at rest proves, in its own uid',
      seen({ ...arrived, refusal, held: aHold('u-1', 'quarantined') }),
      'bind to 10.0.0.7: regain',
    ],
    ['that its IPAddress proves', seen({ ...arrived, refusal, report: aReport() }), 'bind to 10.0.0.7: arrive'],
    [
      'that an IPAddress of an earlier claim of the name shows',
      seen({ ...arrived, refusal, isLive: true, report: aReport('10.0.0.7', 'u-0') }),
      'refuse: NamespaceNotAllowed',
    ],
    [
      'that contradicts its IPAddress',
      seen({ ...arrived, isLive: true, report: aReport('10.0.0.8') }),
      'refuse: AddressInUse',
    ],
    ['beside the subnet of its pool', seen({ claim: withSubnet('24') }), 'bind to 10.0.0.7: arrive'],
    [
      'beside another subnet than that of its pool',
      seen({ claim: withSubnet('16 via 10.0.0.1'), isLive: true }),
      'refuse: RequestsConflict',
    ],
    [
      'beside another subnet, where its IPAddress proves it',
      seen({ claim: withSubnet('16 via 10.0.0.1'), report: aReport() }),
      'bind to 10.0.0.7: arrive',
    ],
  ])('%s', (_, given, plan) => expect(planOf(given)).toBe(plan))

  test('that nothing proves is had only while its pool is offered to its namespace', () => {
    expect(decide(seen(arrived))).toMatchObject({ kind: 'bind', isOfferAsked: true })
    expect(decide(seen({ ...arrived, report: aReport() }))).toMatchObject({ kind: 'bind', isOfferAsked: false })
  })
})

describe('a plan', () => {
  test('to leave a claim alone that moves says for how long', () => {
    expect(decide(seen({ ...served, movingMs: 70_000 }))).toEqual({ kind: 'leave alone', forMs: 70_000 })
  })

  const atTen = Date.parse('2030-01-01T10:00:00Z')
  const pool = { ...aPool({ creationTimestamp: '2030-01-01T10:00:00Z' }), space: '' }

  test('to refuse on account of a space that is not decided waits with the word for some seconds', () => {
    const plan = decide(seen({ pool }))
    expect(plan).toMatchObject({ kind: 'refuse', unsaidUntilMs: atTen + 5_000 })
  })

  test('to refuse for another reason does not wait with the word', () => {
    expect(decide(seen({ pool: undefined }))).not.toHaveProperty('unsaidUntilMs')
    expect(decide(seen({ pool: { ...pool, space: 'lab' }, choice: refuse('PoolExhausted', 'x') }))).not.toHaveProperty(
      'unsaidUntilMs',
    )
  })

  test('to refuse an address that another claim holds names that hold, and the address', () => {
    const held = aHold('u-2', 'held', 'other')
    expect(decide(seen({ ...served, held }))).toMatchObject({ kind: 'refuse', held, wants: { ip: seven, bits: 32 } })
  })

  test('to refuse an address that is shown by another object names the address, and no hold', () => {
    const plan = decide(seen({ ...served, isDisputed: true }))
    expect(plan).toMatchObject({ kind: 'refuse', wants: { ip: seven, bits: 32 } })
    expect(plan).not.toHaveProperty('held')
  })

  test('to refuse a wish that another claim holds names the address', () => {
    const claim = aClaim({ annotations: { 'mooring.dev/requested-address': '10.0.0.7' } })
    const held = aHold('u-2', 'held', 'other')
    const plan = decide(seen({ claim, held, choice: refuse('AddressInUse', 'x') }))
    expect(plan).toMatchObject({ kind: 'refuse', wants: { ip: seven, bits: 32 } })
    expect(plan.kind === 'refuse' && plan.refusal.message).toMatch(/claim other/)
  })

  test('to refuse names the IPAddress of an earlier claim of the name, which is in the way, and not the own one', () => {
    const report = aReport('10.0.0.7', 'u-0')
    const choice = refuse('PoolExhausted', 'x')
    expect(decide(seen({ report, choice }))).toMatchObject({ kind: 'refuse', inTheWay: report })
    expect(decide(seen({ ...served, report: aReport('10.0.0.8'), held: aHold() }))).not.toHaveProperty('inTheWay')
  })
})

describe('what a refusal repeats', () => {
  const hostile = `\u202e${'x'.repeat(40_000)}`
  const served = {
    ...aClaim({ bound: true, annotations: chose(hostile) }),
    addressName: hostile,
    poolRef: { ...poolRef, name: hostile },
  }
  const lost = { ...served, choice: undefined }
  test.each<[string, Seen]>([
    ['of a pool that is not there', seen({ identity: { ...identity, name: hostile }, pool: undefined })],
    ['of a choice, while its pool is gone', seen({ claim: served, pool: undefined, isLive: true })],
    ['of an address that is lost', seen({ claim: lost, isLive: true })],
    ['of a kind that does not exist', seen({ identity: { ...identity, kind: hostile }, pool: { malformed: 'x' } })],
    [
      'of an IPAddress of another pool',
      seen({ ...arrived, report: { ...aReport(), poolRef: { ...poolRef, name: hostile } } }),
    ],
  ])('%s is short, and shows what is hidden', (_, given) => {
    const plan = decide(given)
    const { message } = plan.kind === 'refuse' ? plan.refusal : { message: '' }
    expect(message).toContain('\\u202e')
    expect(message).not.toContain('\u202e')
    expect(message.length).toBeLessThan(1_000)
  })
})

describe('a claim that is deleted', () => {
  test.each<[string, Seen, string]>([
    ['gives its address back', seen(deleted()), 'release'],
    ['was never served', seen({ claim: aClaim({ isDeleted: true }) }), 'leave alone'],
    ['whose pool is gone', seen({ ...deleted(), pool: undefined }), 'release'],
    ['whose Cluster is gone', seen({ ...deleted({ cluster: 'c' }), cluster: 'missing' }), 'release'],
    [
      'whose Cluster is paused',
      seen({ ...deleted({ cluster: 'c' }), cluster: 'paused' }),
      'leave alone: ClusterPaused',
    ],
    ['whose pool is paused', seen({ ...deleted(), pool: aPool(paused) }), 'leave alone: PoolPaused'],
    ['that is paused', seen(deleted({ ...paused })), 'leave alone: ClaimPaused'],
    ['that another controller needs', seen(deleted({ finalizers: [ours, 'x/y'] })), 'leave alone: KeptByOthers'],
    ['in the foreground', seen(deleted({ finalizers: [ours, 'foregroundDeletion'] })), 'release'],
    ['that leaves with clusterctl', seen({ ...deleted(), movingMs: 1 }), 'release'],
  ])('%s', (_, given, plan) => expect(planOf(given)).toBe(plan))
})
