import { expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { VirtualClock } from '../../../../test/harness/virtual-clock.ts'
import { type Hold, toHoldObject } from '../../../api/hold.ts'
import { toMACHoldObject } from '../../../api/mac-hold.ts'
import type { Identity } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { parseIP } from '../../../ip/address.ts'
import { parseMAC } from '../../../ip/mac.ts'
import { Cache } from '../../../kube/cache.ts'
import { type Client, createClient } from '../../../kube/client.ts'
import { defineKind, type KubeObject } from '../../../kube/object.ts'
import type { WireRequest } from '../../../kube/wire.ts'
import { ClaimKinds } from '../claim-kind.ts'
import type { Showing } from '../ledger.ts'
import { everything } from '../scope.ts'
import { createViews } from '../views.ts'
import { reconcileHold, reconcileMACHold } from './reclaim.ts'

interface Wish extends KubeObject {
  readonly chosen?: string
}

const wishes = defineKind<Wish>({
  group: 'example.org',
  versions: ['v1'],
  plural: 'wishes',
  kind: 'Wish',
  namespaced: true,
})

const aWish = (uid: string, chosen?: string, name = 'web'): Wish => ({
  apiVersion: 'example.org/v1',
  kind: 'Wish',
  metadata: { namespace: 'lab', name, uid, resourceVersion: '7' },
  ...(chosen !== undefined && { chosen }),
})

interface Story {
  /** What the cache has, and what the server has. */
  readonly known?: Wish
  readonly live?: Wish
  /** The kind of claim that the hold names. */
  readonly kind?: string
  /** What it was given from, and how long that says it rests. */
  readonly from?: Identity
  readonly restSeconds?: number
  readonly onPatch?: (patch: object) => void
  /** The object of a claim that shows the address, by its name. */
  readonly shownBy?: string
  /** Whether something still runs with it. */
  readonly isUsed?: (client: Client) => Promise<boolean>
  /** Of the pass; else one that knows `live`. */
  readonly ofPass?: Client
}

/** One hold of 10.0.0.1 for the claim with the uid u-1, of a kind that only its desk knows. */
async function look(story: Story) {
  const { known, live, kind = 'Wish', from, restSeconds = 0, onPatch, shownBy, isUsed = async () => false } = story
  const views = createViews()
  const pool = from ?? { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace: 'lab', name: 'vms' }
  const claim = { apiGroup: 'example.org', kind, namespace: 'lab', name: 'web', uid: 'u-1' }
  const spec = { space: 'main', ip: orThrow(parseIP('10.0.0.1')), bits: 32, pool, claim, owner: undefined }
  const object = toHoldObject(spec, '2030-01-01T00:00:00Z')
  const hold = { ...object, metadata: { ...object.metadata, uid: 'h-1', resourceVersion: '5' } }
  views.holds.put(hold)
  const cache = new Cache<KubeObject>()
  if (known !== undefined) cache.put(known)
  const calls: string[] = []
  const client =
    story.ofPass ??
    ({
      get: async (_: unknown, { name }: { name: string }) => {
        calls.push('asked')
        return live?.metadata.name === name ? live : undefined
      },
      mergePatch: async (_kind: unknown, _ref: unknown, patch: object) => {
        calls.push('released')
        onPatch?.(patch)
        return { ...hold, ...patch }
      },
    } as unknown as Client)
  const claimKinds = new ClaimKinds()
  claimKinds.add({
    kind: wishes,
    cache,
    standsBy: (wish: Wish, held) => wish.chosen === undefined || wish.chosen === (held as Hold).address,
    isUsed: (_wish, _hold, asking) => isUsed(asking),
  })
  const sources = {
    poolsOf: () => [{ quarantineSeconds: restSeconds, isDeleting: false } as Pool],
    whySpaceRefused: () => undefined,
    *poolsIn() {},
  }
  const ledger = {
    shownAt: () => (shownBy === undefined ? [] : [{ by: { kind: 'Wish', key: `lab/${shownBy}` } } as Showing]),
  }
  const world = { client, clock: new VirtualClock(), caches: views, sources, claimKinds, scope: everything, ledger }
  await reconcileHold(hold.metadata.name, { ...world, note: ({ what }) => calls.push(what) })
  return calls
}

test('a stray hold rests as long as its source says, a network too', async () => {
  const patches: object[] = []
  const network = { apiGroup: 'example.org', kind: 'Network', namespace: '', name: 'blue' }
  await look({ from: network, restSeconds: 90, onPatch: patch => patches.push(patch) })
  const [{ status }] = patches as [{ status: { since: string; until: string } }]
  expect(Date.parse(status.until) - Date.parse(status.since)).toBe(90_000)
})

const stray = ['asked', 'released', 'rests', 'stray hold']

test.each<[string, Story, string[]]>([
  ['stays, without a read, while its claim in the cache chose it', { known: aWish('u-1', '10.0.0.1') }, []],
  ['stays while its claim has not chosen yet', { known: aWish('u-1') }, []],
  ['stays when the server has a claim that the cache does not show', { live: aWish('u-1') }, ['asked']],
  [
    'stays when only an old cache shows another choice',
    { known: aWish('u-1', '10.0.0.2'), live: aWish('u-1') },
    ['asked'],
  ],
  ['goes when its claim chose another', { live: aWish('u-1', '10.0.0.2') }, stray],
  [
    'stays while something runs with it, although its claim chose another',
    { live: aWish('u-1', '10.0.0.2'), isUsed: async () => true },
    ['asked'],
  ],
  ['goes when a namesake has taken the place of its claim', { known: aWish('u-2'), live: aWish('u-2') }, stray],
  ['goes when its claim is gone', {}, stray],
  [
    'stays when its claim has another name than it says, and shows the address',
    { known: aWish('u-1', '10.0.0.1', 'db'), live: aWish('u-1', '10.0.0.1', 'db'), shownBy: 'db' },
    ['asked', 'asked'],
  ],
  [
    'goes when only another claim shows the address',
    { known: aWish('u-2', '10.0.0.1', 'db'), live: aWish('u-2', '10.0.0.1', 'db'), shownBy: 'db' },
    stray,
  ],
  ['stays when its claim is of a kind that no desk here serves', { kind: 'Dream' }, []],
])('a hold %s', async (_, story, calls) => {
  expect(await look(story)).toEqual(calls)
})

test('whether something runs with it is asked in the name of the pass', async () => {
  const requests: WireRequest[] = []
  const client = createClient({
    wire: async request => {
      requests.push(request)
      return { status: 200, headers: {}, body: JSON.stringify(aWish('u-1', '10.0.0.2')) }
    },
    clock: new VirtualClock(),
    versionOf: async kind => kind.versions[0],
    name: 'tester',
  })
  await look({
    ofPass: client.withPass({ id: 'cafe0001', signal: new AbortController().signal }),
    isUsed: async asking => (await asking.get(wishes, { namespace: 'lab', name: 'guest' })) !== undefined,
  })
  const path = '/apis/example.org/v1/namespaces/lab/wishes'
  expect(requests.map(one => [one.path, one.headers['x-mooring-pass']])).toEqual([
    [`${path}/web`, 'cafe0001'],
    [`${path}/guest`, 'cafe0001'],
  ])
})

test.each([
  ['goes, whichever desk its claim was of, where claims that are served hold MACs', true, ['removed']],
  ['is left alone where none do: no desk that is on may write it', false, []],
])('a hold of a MAC that has rested %s', async (_, holdsMACs, calls) => {
  const views = createViews()
  const claim = { apiGroup: 'example.org', kind: 'Dream', namespace: 'lab', name: 'web', uid: 'u-1' }
  const pool = { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace: 'lab', name: 'vms' }
  const mac = orThrow(parseMAC('02:00:5e:00:00:01'))
  const object = toMACHoldObject({ space: 'main', mac, pool, claim, owner: undefined }, '2000-01-01T00:00:00Z')
  const hold = {
    ...object,
    metadata: { ...object.metadata, uid: 'h-1', resourceVersion: '5' },
    status: { state: 'quarantined', since: '2000-01-01T00:00:00Z', until: '2000-01-01T00:00:01Z' },
  }
  views.macHolds.put(hold)
  const done: string[] = []
  const client = { delete: async () => void done.push('removed') } as unknown as Client
  const claimKinds = new ClaimKinds()
  claimKinds.add({ kind: wishes, cache: new Cache<KubeObject>(), holdsMACs, standsBy: () => true })
  const sources = { poolsOf: () => [], *poolsIn() {}, whySpaceRefused: () => undefined }
  const world = { client, clock: new VirtualClock(), caches: views, sources, claimKinds, scope: everything }
  await reconcileMACHold(hold.metadata.name, { ...world, ledger: { shownAt: () => [] }, note: () => {} })
  expect(done).toEqual(calls)
})
