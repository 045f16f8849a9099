// What is to be done for an IPAMClaim, as a table: everything that can have been seen, and the plan.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { networkOf } from '../../../../test/vm/networks.ts'
import { type Hold, parseHold, toHoldObject } from '../../../api/hold.ts'
import { type IPAMClaim, ipamClaimReference, parseIPAMClaim } from '../../../api/ipam-claim.ts'
import { type MACHold, parseMACHold, toMACHoldObject } from '../../../api/mac-hold.ts'
import { formerMACAnnotation, persistentIPFinalizer } from '../../../api/names.ts'
import { bitsOf, parseIP, toIPText } from '../../../ip/address.ts'
import { parseMAC } from '../../../ip/mac.ts'
import { refuse } from '../../../ipam/refusal.ts'
import { holdFinalizer } from '../../office/hold/steps.ts'
import { Ledger } from '../../office/ledger.ts'
import { noHolder } from './holder.ts'
import type { Seen } from './observe.ts'
import { decide, standsBy } from './plan.ts'
import { factsOf, wordsWhenServed } from './told.ts'

const blue = networkOf({ name: 'blue', subnets: ['10.9.0.0/28', 'fd00:9::/125'], excludes: ['10.9.0.9'] })
const claimRef = { apiGroup: 'k8s.cni.cncf.io', kind: 'IPAMClaim', namespace: 'default', name: 'vm.blue' }
const both = ['10.9.0.1/28', 'fd00:9::1/125']

function aHold(part: 'v4' | 'v6', address: string, uid = 'u-1', isGuarded = true): Hold {
  const ip = orThrow(parseIP(address))
  const spec = { space: 'blue', ip, bits: bitsOf(ip.family), pool: blue.source, claim: { ...claimRef, uid, part } }
  const object = toHoldObject({ ...spec, owner: undefined }, '')
  return orThrow(
    parseHold({ ...object, metadata: { ...object.metadata, finalizers: isGuarded ? [holdFinalizer] : [] } }),
  )
}

function aMACHold(text: string, uid = 'u-1', resourceVersion = '5'): MACHold {
  const spec = { space: 'blue', mac: orThrow(parseMAC(text)), pool: blue.source, owner: undefined }
  const object = toMACHoldObject({ ...spec, claim: { ...claimRef, uid, part: 'mac' } }, '')
  return orThrow(
    parseMACHold({ ...object, metadata: { ...object.metadata, resourceVersion, finalizers: [holdFinalizer] } }),
  )
}

interface Story {
  readonly ips?: readonly string[]
  readonly saysServed?: boolean
  readonly isGuarded?: boolean
  /** The mark of the MACHolds that it lets go of; its own version is 7. */
  readonly former?: string
  readonly isDeleting?: boolean
  readonly finalizers?: readonly string[]
  readonly holds?: readonly Hold[]
  readonly macHolds?: readonly MACHold[]
  /** What it asks for. */
  readonly asks?: { readonly ips?: readonly string[]; readonly mac?: string }
  readonly conflict?: string
  readonly network?: 'there' | 'gone' | 'observed' | 'not offered' | 'without subnets'
  readonly isLive?: boolean
  readonly isInScope?: boolean
  readonly isAllShown?: boolean
  /** What pods of its machine show. */
  readonly runs?: readonly string[]
}

function aClaim({
  ips = [],
  saysServed = ips.length > 0,
  isGuarded = true,
  finalizers = [],
  isDeleting,
  asks = {},
  conflict,
  former,
}: Story): IPAMClaim {
  const told = [{ type: 'IPsAllocated', status: 'False', reason: conflict }]
  const conditions =
    conflict !== undefined
      ? told
      : saysServed
        ? ['IPsAllocated', 'IPAllocated'].map(type => ({ type, status: 'True' }))
        : []
  return orThrow(
    parseIPAMClaim({
      metadata: {
        ...claimRef,
        uid: 'u-1',
        resourceVersion: '7',
        ...(former !== undefined && { annotations: { [formerMACAnnotation]: former } }),
        finalizers: [...(isGuarded ? [persistentIPFinalizer] : []), ...finalizers],
        ...(isDeleting === true && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
      },
      spec: { network: 'blue', interface: 'pod1', ...asks },
      status: { ips, conditions },
    }),
  )
}

function poolsOf(network: Story['network']): Seen['pools'] {
  if (network === 'gone') return refuse('PoolNotFound', 'it is gone')
  if (network === 'not offered') return refuse('NamespaceNotAllowed', 'not for you')
  return network === 'without subnets' ? [] : blue.pools
}

function seenOf(story: Story): Seen {
  const {
    holds = [],
    macHolds = [],
    network = 'there',
    isLive = false,
    isInScope = true,
    isAllShown = true,
    runs = [],
  } = story
  const claim = aClaim(story)
  const ledger = new Ledger()
  for (const hold of holds) ledger.putHold(hold)
  return {
    claim,
    isInScope,
    isAllShown,
    source: blue.source,
    isObserved: network === 'observed',
    pools: poolsOf(network),
    places: network === 'gone' ? [] : blue.pools,
    ovn: blue.ovn,
    reserved: undefined,
    held: [...holds, ...macHolds].filter(hold => hold.claim.uid === 'u-1'),
    isLive,
    applicant: { claim: ipamClaimReference(claim, undefined), owner: undefined, namespaceLabels: {}, random: 0 },
    ledger: {
      indexOf: space => ledger.indexOf(space),
      holdAt: (space, ip) => ledger.holdAt(space, ip),
      macHoldAt: (_, mac) => macHolds.find(hold => hold.mac === mac),
      isDisputed: () => false,
      isCounted: () => false,
    },
    own: [{ kind: 'IPAMClaim', key: 'default/vm.blue' }],
    holder: noHolder,
    isShownByPod: ip => toIPText(ip) === '10.9.0.7',
    runningIPs: runs.map(text => orThrow(parseIP(text))),
    isMACShownByPod: mac => mac === card7,
  }
}

function planOf(story: Story): string {
  const plan = decide(seenOf(story))
  if (plan.kind === 'refuse') return `refuse ${plan.refusal.reason}, let go of ${plan.letGo.length}`
  if (plan.kind === 'keep') return plan.letGo.length === 0 ? 'keep' : `keep, let go of ${plan.letGo.length}`
  if (plan.kind !== 'bind' && plan.kind !== 'mirror') return plan.kind
  const parts = plan.parts.map(({ how, spec }) => `${how} ${spec.claim.part}`).join(', ')
  return plan.kind === 'bind'
    ? `${parts}: ${plan.ips.join(' ')}`
    : `mirror ${parts}; ${plan.refusal?.reason ?? 'no fault'}`
}

const card5 = '02:00:00:00:00:05'
/** A pod of the machine runs with it. */
const card7 = '02:00:00:00:00:07'

const held = [aHold('v4', '10.9.0.1'), aHold('v6', 'fd00:9::1')]
const takenSix = Array.from({ length: 7 }, (_, i) => aHold('v6', `fd00:9::${i + 1}`, 'u-2'))

test.each<[string, Story, string]>([
  ['waits until it is known what others show', { isAllShown: false }, 'wait'],
  ['that has what it shows waits for it too', { isAllShown: false, ips: both, holds: held }, 'wait'],
  ['that is deleted waits for nothing', { isAllShown: false, isDeleting: true }, 'release'],
  ['of another controller waits for nothing', { isAllShown: false, isInScope: false }, 'leave alone'],
  ['that is new takes both', {}, `take v4, take v6: ${both.join(' ')}`],
  ['of a pass that was cut uses what that left', { holds: held.slice(0, 1) }, `found v4, take v6: ${both.join(' ')}`],
  [
    'lets go of one family where the other has nothing',
    { holds: [aHold('v4', '10.9.0.1'), ...takenSix] },
    'refuse PoolExhausted, let go of 1',
  ],
  [
    'of a machine that runs adopts what it runs with',
    { runs: ['10.9.0.5', 'fd00:9::5'] },
    'take v4, take v6: 10.9.0.5/28 fd00:9::5/125',
  ],
  ['adopts one family, and chooses the other', { runs: ['10.9.0.5'] }, 'take v4, take v6: 10.9.0.5/28 fd00:9::1/125'],
  [
    'uses what it holds before what its machine runs with',
    { holds: held, runs: ['10.9.0.5'] },
    `found v4, found v6: ${both.join(' ')}`,
  ],
  ['does not adopt what is excluded', { runs: ['10.9.0.9'] }, `take v4, take v6: ${both.join(' ')}`],
  ['does not adopt what is outside of the subnet', { runs: ['10.8.0.5'] }, `take v4, take v6: ${both.join(' ')}`],
  [
    'does not adopt what another holds',
    { holds: [aHold('v4', '10.9.0.5', 'u-2')], runs: ['10.9.0.5'] },
    `take v4, take v6: ${both.join(' ')}`,
  ],
  [
    'does not adopt of a network that is not for it',
    { network: 'not offered', runs: ['10.9.0.5'] },
    'refuse NamespaceNotAllowed, let go of 0',
  ],
  [
    'whose status and holds were lost has back what its machine runs with',
    { saysServed: true, isLive: true, runs: ['10.9.0.5', 'fd00:9::5'] },
    'take v4, take v6: 10.9.0.5/28 fd00:9::5/125',
  ],
  ['whose network is gone waits', { network: 'gone' }, 'refuse PoolNotFound, let go of 0'],
  ['whose network is not for it waits', { network: 'not offered' }, 'refuse NamespaceNotAllowed, let go of 0'],
  ['whose network gives out nothing waits', { network: 'without subnets' }, 'refuse PoolNotFound, let go of 0'],
  ['that has what it shows is kept', { ips: both, holds: held }, 'keep'],
  ['that has what it shows does without its network', { ips: both, holds: held, network: 'gone' }, 'keep'],
  [
    'that has what it shows keeps it in a network not for it',
    { ips: both, holds: held, network: 'not offered' },
    'keep',
  ],
  [
    'that has an address no longer offered keeps it',
    { ips: ['10.9.0.9/28'], holds: [aHold('v4', '10.9.0.9')] },
    'keep',
  ],
  [
    'that does not say what it has says so',
    { ips: both, holds: held, saysServed: false },
    `found v4, found v6: ${both.join(' ')}`,
  ],
  [
    'whose finalizer was taken off gets it back',
    { ips: both, holds: held, isGuarded: false },
    `found v4, found v6: ${both.join(' ')}`,
  ],
  [
    'whose hold lost its finalizer renews it',
    { ips: both, holds: [aHold('v4', '10.9.0.1', 'u-1', false), aHold('v6', 'fd00:9::1')] },
    `found v4, found v6: ${both.join(' ')}`,
  ],
  ['that lost a hold takes it again', { ips: both, holds: held.slice(1) }, `take v4, found v6: ${both.join(' ')}`],
  [
    'that shows what it does not hold wishes for it',
    { ips: ['fd00:9::5/125', '10.9.0.5/28'] },
    'take v4, take v6: fd00:9::5/125 10.9.0.5/28',
  ],
  [
    'may not wish for what is excluded',
    { ips: ['10.9.0.9/28', 'fd00:9::5/125'] },
    'refuse AddressExcluded, let go of 0',
  ],
  [
    'may not wish for what is not offered',
    { ips: both, network: 'not offered' },
    'refuse NamespaceNotAllowed, let go of 0',
  ],
  [
    'may not wish for what is outside',
    { ips: ['10.8.0.5/28', 'fd00:9::5/125'] },
    'refuse AddressOutOfRange, let go of 0',
  ],
  ['may not wish for another length', { ips: ['10.9.0.5/24', 'fd00:9::5/125'] }, 'refuse NotCanonical, let go of 0'],
  ['may not wish for one family of two', { ips: ['10.9.0.5/28'] }, 'refuse WrongFamily, let go of 0'],
  ['that shows nonsense says so', { ips: ['10.9.0.5'] }, 'refuse NotAnAddress, let go of 0'],
  [
    'whose address another claim holds says so, and gives nothing back',
    { ips: both, holds: [aHold('v4', '10.9.0.1', 'u-2'), aHold('v6', 'fd00:9::1')] },
    'refuse AddressInUse, let go of 0',
  ],
  [
    'that was served and whose status was changed says so, and gives nothing back',
    { ips: ['10.9.0.5/28', 'fd00:9::1/125'], saysServed: true, holds: held },
    'refuse RequestsConflict, let go of 0',
  ],
  [
    'that was never served may be told by another program what to have',
    { ips: ['10.9.0.5/28', 'fd00:9::1/125'], saysServed: false, holds: held },
    'take v4, found v6: 10.9.0.5/28 fd00:9::1/125',
  ],
  [
    'lets go of what another process left for it',
    { ips: both, holds: [...held, aHold('v4', '10.9.0.2')] },
    'keep, let go of 1',
  ],
  ['keeps what a pod of its machine still uses', { ips: both, holds: [...held, aHold('v4', '10.9.0.7')] }, 'keep'],
  ['that was served and shows nothing asks what it had', { saysServed: true }, 'recall'],
  [
    'that was served is given what it holds',
    { saysServed: true, isLive: true, holds: held },
    `found v4, found v6: ${both.join(' ')}`,
  ],
  [
    'that was served and lost a hold is given nothing, and gives nothing back',
    { saysServed: true, isLive: true, holds: held.slice(1) },
    'refuse RequestsConflict, let go of 0',
  ],
  ['of another program is left to it while it shows nothing', { network: 'observed' }, 'keep'],
  ['of another program is held as it shows', { network: 'observed', ips: ['10.9.0.9/28'] }, 'mirror take v4; no fault'],
  ['of another program that is held is kept', { network: 'observed', ips: both, holds: held }, 'keep'],
  [
    'of another program holds what no other claim has',
    { network: 'observed', ips: both, holds: [aHold('v4', '10.9.0.1', 'u-2')] },
    'mirror take v6; AddressInUse',
  ],
  ['of another program that shows nonsense is reported', { network: 'observed', ips: ['x'] }, 'mirror ; NotAnAddress'],
  ['that is deleted is released', { ips: both, holds: held, isDeleting: true }, 'release'],
  ['that is deleted with nothing is released too', { isDeleting: true }, 'release'],
  [
    'that is deleted is kept while the node says so that made it',
    { isDeleting: true, finalizers: ['mooring.dev/node'] },
    'ask for node',
  ],
  [
    'that is deleted is kept while others than the node need it',
    { isDeleting: true, finalizers: ['mooring.dev/node', 'a/b'] },
    'leave alone',
  ],
  ['that is deleted is kept while others need it', { isDeleting: true, finalizers: ['a/b'] }, 'leave alone'],
  [
    'that is deleted and not guarded is left alone',
    { isDeleting: true, isGuarded: false, finalizers: ['a/b'] },
    'leave alone',
  ],
  ['of another controller is left alone', { isInScope: false }, 'leave alone'],
])('a claim %s', (_, story, plan) => {
  expect(planOf(story)).toBe(plan)
})

test.each<[string, string[], readonly Hold[], Hold, boolean, boolean]>([
  ['stands by any hold in its name until it shows something', [], [], aHold('v4', '10.9.0.2'), false, true],
  ['stands by any hold while what it shows cannot be read', ['x'], [], aHold('v4', '10.9.0.2'), false, true],
  ['stands by any hold while it does not hold what it shows', both, [], aHold('v4', '10.9.0.2'), false, true],
  ['stands by what it shows', both, held, aHold('v4', '10.9.0.1'), false, true],
  ['does not stand by another address', both, held, aHold('v4', '10.9.0.2'), false, false],
  ['does not stand by a family that it does not show', ['10.9.0.1/28'], held, aHold('v6', 'fd00:9::1'), false, false],
  ['stands by what a pod of its machine still uses', both, held, aHold('v4', '10.9.0.2'), true, true],
])('a claim %s', (_, ips, held, hold, isShownByPod, stands) => {
  expect(standsBy({ ips }, hold, held, () => isShownByPod)).toBe(stands)
})

test.each<[string, Story, string]>([
  [
    'for addresses gets these',
    { asks: { ips: ['10.9.0.5', 'fd00:9::5'] } },
    'take v4, take v6: 10.9.0.5/28 fd00:9::5/125',
  ],
  [
    'for one family gets any of the other',
    { asks: { ips: ['fd00:9::5'] } },
    'take v4, take v6: 10.9.0.1/28 fd00:9::5/125',
  ],
  [
    'with the length of the subnet gets it',
    { asks: { ips: ['10.9.0.5/28'] } },
    'take v4, take v6: 10.9.0.5/28 fd00:9::1/125',
  ],
  ['with another length is told so', { asks: { ips: ['10.9.0.5/24'] } }, 'refuse NotCanonical, let go of 0'],
  ['for what is outside is told so', { asks: { ips: ['10.8.0.5'] } }, 'refuse AddressOutOfRange, let go of 0'],
  ['for what is excluded is told so', { asks: { ips: ['10.9.0.9'] } }, 'refuse AddressExcluded, let go of 0'],
  ['for what cannot be read is told so', { asks: { ips: ['x'] } }, 'refuse RequestMalformed, let go of 0'],
  [
    'for what another claim has waits for it, and lets go of the rest',
    { asks: { ips: ['10.9.0.5'] }, holds: [aHold('v4', '10.9.0.5', 'u-2'), aHold('v6', 'fd00:9::1')] },
    'refuse AddressInUse, let go of 1',
  ],
  [
    'for something else than an earlier pass left takes what it asks for now',
    { asks: { ips: ['10.9.0.5'] }, holds: [aHold('v4', '10.9.0.1')] },
    'take v4, take v6: 10.9.0.5/28 fd00:9::1/125',
  ],
  ['for a MAC holds it', { asks: { mac: card5 } }, `take v4, take v6, take mac: ${both.join(' ')}`],
  [
    'for a MAC that another claim has gets nothing at all',
    { asks: { mac: card5 }, holds: held, macHolds: [aMACHold(card5, 'u-2')] },
    'refuse MACInUse, let go of 2',
  ],
  [
    'for the MAC of its own address gets it',
    { asks: { mac: '0a:58:0a:09:00:01' } },
    `take v4, take v6, take mac: ${both.join(' ')}`,
  ],
  ['for the MAC of another address does not', { asks: { mac: '0a:58:0a:09:00:02' } }, 'refuse MACInUse, let go of 0'],
  [
    'for the MAC of an address outside gets it',
    { asks: { mac: '0a:58:0a:08:00:02' } },
    `take v4, take v6, take mac: ${both.join(' ')}`,
  ],
  ['and has all of it is kept', { asks: { mac: card5 }, ips: both, holds: held, macHolds: [aMACHold(card5)] }, 'keep'],
  ['for other addresses than it has is kept', { asks: { ips: ['10.9.0.5'] }, ips: both, holds: held }, 'keep'],
  [
    'and lost its status is given what it has',
    { asks: { ips: ['10.9.0.5'], mac: card5 }, saysServed: true, isLive: true, holds: held },
    `found v4, found v6, take mac: ${both.join(' ')}`,
  ],
  [
    'for a MAC when it has its addresses takes it, and keeps them',
    { asks: { mac: card5 }, ips: both, holds: held },
    `found v4, found v6, take mac: ${both.join(' ')}`,
  ],
  [
    'for a MAC that another claim has keeps its addresses',
    { asks: { mac: card5 }, ips: both, holds: held, macHolds: [aMACHold(card5, 'u-2')] },
    'refuse MACInUse, let go of 0',
  ],
  [
    'for a MAC that has become free takes it',
    { asks: { mac: card5 }, ips: both, holds: held, conflict: 'MACAddressConflict' },
    `found v4, found v6, take mac: ${both.join(' ')}`,
  ],
  [
    'for a MAC that it could not have is not asked again what addresses it wants',
    { asks: { mac: card5 }, ips: ['10.9.0.5/28', 'fd00:9::1/125'], holds: held, conflict: 'MACAddressConflict' },
    'refuse RequestsConflict, let go of 0',
  ],
  [
    'for another MAC lets go of the former',
    { asks: { mac: card5 }, ips: both, holds: held, macHolds: [aMACHold(card5), aMACHold('02:00:00:00:00:06')] },
    'keep, let go of 1',
  ],
  [
    'for another MAC keeps the former while a pod runs with it',
    { asks: { mac: card5 }, ips: both, holds: held, macHolds: [aMACHold(card5), aMACHold(card7)] },
    'keep',
  ],
  ['for no MAC any more lets go of it', { ips: both, holds: held, macHolds: [aMACHold(card5)] }, 'keep, let go of 1'],
  [
    'in a way that cannot be read keeps its MAC',
    { asks: { mac: 'x' }, ips: both, holds: held, macHolds: [aMACHold(card5)] },
    'keep',
  ],
  [
    'on a network of another program holds the MAC too',
    { asks: { mac: card5 }, network: 'observed', ips: both, holds: held },
    'mirror take mac; no fault',
  ],
  [
    'on a network of another program for a MAC in use is reported',
    { asks: { mac: card5 }, network: 'observed', ips: both, holds: held, macHolds: [aMACHold(card5, 'u-2')] },
    'mirror ; MACInUse',
  ],
  [
    'for a MAC of a network that is not for it does not get it',
    { asks: { mac: card5 }, network: 'not offered', ips: both, holds: held },
    'refuse NamespaceNotAllowed, let go of 0',
  ],
])('a claim that asks %s', (_, story, plan) => {
  expect(planOf(story)).toBe(plan)
})

const again = { asks: { mac: card5 }, ips: both, holds: held, macHolds: [aMACHold(card5)] }

test.each<[string, Story, string]>([
  ['never let go of a MAC', again, 'keep'],
  [
    'was letting go of it takes it once more',
    { ...again, former: '5' },
    `found v4, found v6, found mac: ${both.join(' ')}`,
  ],
  ['let go of an older one', { ...again, former: '4' }, 'keep'],
  ['has a mark ahead of itself, which a user wrote', { ...again, former: '99' }, 'keep'],
  ['has a mark that is no version', { ...again, former: 'zz' }, 'keep'],
  ['has a mark, on a network of another program', { ...again, former: '5', network: 'observed' }, 'keep'],
])('a claim with the MAC it asks for that %s', (_, story, plan) => {
  expect(planOf(story)).toBe(plan)
})

test.each<[string, object]>([
  ['the MAC that it asks for', { mac: card5 }],
  ['another MAC, since it may ask for that again', { mac: card7 }],
  ['every MAC while it cannot be read which it asks for', { mac: 'x' }],
])('a claim that lives stands by %s', (_, asks) => {
  expect(standsBy(aClaim({ ips: both, asks }), aMACHold(card5), held, () => false)).toBe(true)
})

describe('a claim that has what it shows', () => {
  const seen = seenOf({ ips: both, holds: held })
  const conditions = factsOf(seen.claim, 'True', wordsWhenServed(both, seen))
  const said = {
    ...seen,
    claim: {
      ...seen.claim,
      conditions: conditions.map(one => ({ ...one, lastTransitionTime: '2030-01-01T00:00:00Z' })),
    },
  }

  test.each<[string, Seen, boolean]>([
    ['is told so', seen, true],
    ['is not told again', said, false],
    ['is told that another pod uses it', { ...said, holder: { ...noHolder, pod: 'virt-launcher-2' } }, true],
    ['of a network of another program is told nothing', { ...seen, isObserved: true }, false],
  ])('%s', (_, given, isToTell) => expect(decide(given)).toEqual({ kind: 'keep', letGo: [], isToTell }))
})
