import { expect, test } from 'vitest'
import { parseHold, toHoldObject } from '../../src/api/hold.ts'
import { type AnyHold, holdFinalizer, isOfAddress } from '../../src/controllers/office/hold/steps.ts'
import { Ledger } from '../../src/controllers/office/ledger.ts'
import { specOf } from '../../src/controllers/office/parts.ts'
import { parseIP } from '../../src/ip/address.ts'
import { orThrow } from '../harness/or-throw.ts'
import { berthFinalizer, berthOf, choiceAnnotation, networkOf } from './parsed.ts'
import { decide, standsBy } from './plan.ts'

const { pools } = orThrow(networkOf({ metadata: { name: 'blue' }, spec: { subnets: ['10.9.0.0/29', 'fd00:9::/125'] } }))
const claim = { apiGroup: 'toy.example.org', kind: 'Berth', namespace: 'lab', name: 'vm', uid: 'u-1' }
const applicant = { claim, owner: undefined, namespaceLabels: {}, random: 0 }

function aHold(part: 'v4' | 'v6', address: string, uid = 'u-1'): AnyHold {
  const pool = pools.find(({ family }) => part === `v${family}`)
  const ip = orThrow(parseIP(address))
  if (pool === undefined) throw new Error('no such family')
  const spec = specOf({ ...applicant, claim: { ...claim, uid } }, part, pool, { ip, bits: pool.bits })
  if (!isOfAddress(spec)) throw new Error('no address')
  const object = toHoldObject(spec, '')
  return orThrow(parseHold({ ...object, metadata: { ...object.metadata, finalizers: [holdFinalizer] } }))
}

interface Story {
  readonly choice?: object
  readonly isGuarded?: boolean
  readonly isDeleting?: boolean
  readonly finalizers?: readonly string[]
  readonly shown?: readonly string[]
  readonly holds?: readonly AnyHold[]
  readonly hasNetwork?: boolean
  readonly isLive?: boolean
}

function planOf({ holds = [], hasNetwork = true, isLive = false, ...story }: Story): string {
  const { choice, shown, isGuarded = choice !== undefined, finalizers = [] } = story
  const berth = orThrow(
    berthOf({
      metadata: {
        ...claim,
        resourceVersion: '7',
        finalizers: [...(isGuarded ? [berthFinalizer] : []), ...finalizers],
        ...(story.isDeleting && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
        annotations: choice === undefined ? {} : { [choiceAnnotation]: JSON.stringify(choice) },
      },
      spec: { network: 'blue' },
      status: shown && { addresses: shown, conditions: [{ type: 'Ready', status: 'True' }] },
    }),
  )
  const ledger = new Ledger()
  for (const hold of holds) if (isOfAddress(hold)) ledger.putHold(hold)
  const plan = decide({
    berth,
    pools: hasNetwork ? pools : [],
    held: holds.filter(hold => hold.claim.uid === 'u-1'),
    isLive,
    isInScope: true,
    applicant,
    ledger: {
      indexOf: space => ledger.indexOf(space),
      holdAt: (space, ip) => ledger.holdAt(space, ip),
      macHoldAt: () => undefined,
      isDisputed: () => false,
    },
  })
  if (plan.kind === 'refuse') return `refuse ${plan.refusal.reason}, let go of ${plan.letGo.length}`
  if (plan.kind !== 'bind') return plan.kind
  const parts = plan.parts.map(({ how, spec }) => `${how} ${spec.claim.part}`).join(', ')
  return `${parts}${plan.isStored ? '' : ', store'}`
}

const both = { v4: '10.9.0.1', v6: 'fd00:9::1' }
const shown = Object.values(both)
const held = [aHold('v4', both.v4), aHold('v6', both.v6)]
const takenSix = Array.from({ length: 7 }, (_, i) => aHold('v6', `fd00:9::${i + 1}`, 'u-2'))

test.each<[string, Story, string]>([
  ['that is new takes both', {}, 'take v4, take v6, store'],
  ['of a pass that was cut uses what that left', { holds: held.slice(0, 1) }, 'found v4, take v6, store'],
  [
    'lets go of one family where the other has nothing',
    { holds: [aHold('v4', both.v4), ...takenSix] },
    'refuse PoolExhausted, let go of 1',
  ],
  ['that has chosen says so', { choice: both, holds: held }, 'found v4, found v6'],
  ['that has said so is kept', { choice: both, holds: held, shown }, 'keep'],
  [
    'whose finalizer was taken off gets it back',
    { choice: both, isGuarded: false, holds: held },
    'found v4, found v6, store',
  ],
  ['that lost a hold takes it again', { choice: both, holds: held.slice(1), shown }, 'take v4, found v6, store'],
  [
    'whose address another holds says so, and gives nothing back',
    { choice: both, holds: [aHold('v4', both.v4, 'u-2'), aHold('v6', both.v6)] },
    'refuse AddressInUse, let go of 0',
  ],
  ['that lost its choice asks what it had', { isGuarded: true, shown }, 'recall'],
  [
    'that lost its choice is given what it holds',
    { isGuarded: true, isLive: true, holds: held },
    'found v4, found v6, store',
  ],
  [
    'that lost its choice and a hold is given nothing, and gives nothing back',
    { isGuarded: true, isLive: true, holds: held.slice(1) },
    'refuse RequestsConflict, let go of 0',
  ],
  ['without its network waits', { hasNetwork: false }, 'refuse PoolNotFound, let go of 0'],
  ['that is served does without its network', { choice: both, shown, hasNetwork: false }, 'leave alone'],
  ['that is deleted is released', { choice: both, isDeleting: true }, 'release'],
  [
    'that is deleted is kept while others need it',
    { choice: both, isDeleting: true, finalizers: ['a/b'] },
    'leave alone',
  ],
  ['that is deleted with nothing is left alone', { isDeleting: true, finalizers: ['a/b'] }, 'leave alone'],
])('a berth %s', (_, story, plan) => {
  expect(planOf(story)).toBe(plan)
})

test.each<[string, object | undefined, AnyHold, boolean]>([
  ['stands by any hold in its name until it has chosen', undefined, aHold('v4', '10.9.0.2'), true],
  ['stands by what it chose', both, aHold('v4', both.v4), true],
  ['does not stand by another address for a part', both, aHold('v4', '10.9.0.2'), false],
  ['does not stand by its address for another part', { v6: both.v6 }, aHold('v4', both.v4), false],
])('a berth %s', (_, choice, hold, stands) => {
  const annotations = choice === undefined ? {} : { [choiceAnnotation]: JSON.stringify(choice) }
  const berth = orThrow(berthOf({ metadata: { ...claim, annotations }, spec: { network: 'blue' } }))
  expect(standsBy(berth, hold)).toBe(stands)
})
