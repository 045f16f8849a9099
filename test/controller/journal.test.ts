// The log of a controller holds the ledger: a reader of its lines, in their order, knows which claim held which address, when and
// why, and ends with the holds that are there.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainInstall } from '../../scripts/config/manifests.ts'
import { refOf } from '../../src/kube/object.ts'
import { aClaim, addressOf, aGround, aNamespace, type Ground, installRoles, kindNamed, until } from './ground.ts'
import { aReplica, type Line, type Replica } from './replica.ts'

const home = 'journal-home'
const claims = kindNamed('IPAddressClaim')
const holds = kindNamed('Hold')

let ground: Ground
let replica: Replica
beforeAll(async () => {
  ground = await aGround()
  const options = { ...plainInstall, namespace: 'journal-system', namePrefix: 'journal-' }
  await installRoles(ground, options)
  await ground.apply(aNamespace(home))
  replica = await aReplica(await ground.kubeconfigOf(options.namespace, 'journal-controller'))
  await replica.untilReady()
})
afterAll(async () => {
  await replica.stop()
  await ground.stop()
})

/** Which state each hold is in, and for which claim: by the lines alone. */
function replay(lines: readonly Line[]): Record<string, string> {
  const ledger = new Map<string, string>()
  for (const { ledger: what, hold, uid, space } of lines) {
    if (what === undefined || space !== 'journal') continue
    const key = String(hold)
    if (what === 'freed' || what === 'given back') ledger.delete(key)
    else ledger.set(key, `${what === 'rests' ? 'quarantined' : 'held'} ${String(uid)}`)
  }
  return inOrder([...ledger])
}

const inOrder = (rows: readonly (readonly [hold: string, state: string])[]): Record<string, string> =>
  Object.fromEntries(rows.toSorted(([a], [b]) => a.localeCompare(b)))

interface Stored {
  readonly metadata: { readonly name?: string }
  readonly spec: { readonly space: string; readonly claimRef: { readonly uid: string } }
  readonly status: { readonly state: string }
}

async function stored(): Promise<Record<string, string>> {
  const { items } = await ground.admin.list(holds)
  const rows = (items as unknown as Stored[])
    .filter(({ spec }) => spec.space === 'journal')
    .map(({ metadata, spec, status }) => [metadata.name ?? '', `${status.state} ${spec.claimRef.uid}`] as const)
  return inOrder(rows)
}

const aPool = (name: string, addresses: string, quarantineSeconds: number) => ({
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'ClusterAddressPool',
  metadata: { name },
  spec: { space: 'journal', addresses: [addresses], prefix: 24, quarantineSeconds },
})

const claimOn = (name: string, pool: object) => {
  const claim = aClaim(home, name, pool)
  return { ...claim, spec: { poolRef: { ...claim.spec.poolRef, apiGroup: 'mooring.dev' } } }
}

async function release(claim: ReturnType<typeof claimOn>): Promise<void> {
  await ground.remove(claim)
  await until('the claim is gone', async () => (await ground.admin.get(claims, refOf(claim))) === undefined)
}

describe('the journal', () => {
  const resting = aPool('journal-resting', '10.6.0.0/24', 3600)
  const brief = aPool('journal-brief', '10.7.0.0/24', 0)

  test('read from its beginning, gives the ledger: taken, released, at rest, taken back, reclaimed', async () => {
    await ground.apply(resting, brief)
    const [kept, gone, back, other, stray] = [
      claimOn('kept', resting),
      claimOn('gone', resting),
      claimOn('back', resting),
      claimOn('other', brief),
      claimOn('stray', resting),
    ]
    await ground.apply(kept, gone, back, other, stray)
    for (const claim of [kept, gone, back, other, stray]) expect(await addressOf(ground.admin, claim)).not.toBe('')
    for (const claim of [gone, back, other]) await release(claim)
    // A namesake takes the address back; a claim that loses its finalizer leaves its hold behind.
    await ground.apply(back)
    await addressOf(ground.admin, back)
    await replica.stop()
    const live = await ground.admin.get(claims, refOf(stray))
    await ground.admin.mergePatch(claims, refOf(stray), { metadata: { finalizers: [] } }, live?.metadata ?? {})
    await release(stray)
    const first = replica.lines
    replica = await aReplica(await ground.kubeconfigOf('journal-system', 'journal-controller'))
    const all = () => [...first, ...replica.lines]

    await until('the stray is seen', () =>
      all().some(({ msg }) => msg === 'a hold that no claim stands by is released'),
    )
    await until('the lines say what is held', async () => {
      return JSON.stringify(replay(all())) === JSON.stringify(await stored())
    })
    const states = Object.values(await stored()).map(text => text.split(' ')[0] ?? '')
    expect(states.toSorted()).toEqual(['held', 'held', 'quarantined', 'quarantined'])
    expect(
      [...new Set(all().flatMap(({ ledger }) => (typeof ledger === 'string' ? [ledger] : [])))].toSorted(),
    ).toEqual(['freed', 'regained', 'rests', 'taken'])
  })

  test('says in each line who asked, for what, and which write it was', () => {
    const line = replica.lines.find(({ ledger }) => ledger === 'rests')
    expect(line).toEqual({
      time: expect.any(String),
      level: 'info',
      msg: 'an address rests',
      reconciler: expect.any(String),
      reconcileId: expect.any(String),
      key: expect.any(String),
      ledger: 'rests',
      desk: 'office',
      claimKind: 'IPAddressClaim',
      claim: 'stray',
      namespace: home,
      uid: expect.any(String),
      pool: 'ClusterAddressPool journal-resting',
      space: 'journal',
      address: expect.stringMatching(/^10\.6\.0\./),
      hold: expect.stringMatching(/^ip-10-6-0-\d+\.journal$/),
      revision: expect.stringMatching(/^\d+$/),
      until: expect.any(String),
    })
  })
})
