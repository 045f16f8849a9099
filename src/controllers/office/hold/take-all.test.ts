import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { VirtualClock } from '../../../../test/harness/virtual-clock.ts'
import { type HoldSpec, holdName, parseHold } from '../../../api/hold.ts'
import type { Pool } from '../../../api/pool.ts'
import { parseIP, toIPText } from '../../../ip/address.ts'
import { ApiError } from '../../../kube/api-error.ts'
import type { Client } from '../../../kube/client.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import { Ledger } from '../ledger.ts'
import { createViews } from '../views.ts'
import { type PartTaking, takeAll } from './take-all.ts'

const pool = { apiGroup: 'mooring.dev', kind: 'ClusterAddressPool', namespace: '', name: 'vms' }
const by = { kind: 'Wish', key: 'lab/web' }

function aSpec(part: string, address: string): HoldSpec {
  const claim = { apiGroup: 'example.org', kind: 'Wish', namespace: 'lab', name: 'web', uid: 'u-1', part }
  const ip = orThrow(parseIP(address))
  return { space: 'main', ip, bits: ip.family === 4 ? 32 : 128, pool, claim, owner: undefined }
}

const four = aSpec('v4', '10.0.0.1')
const six = aSpec('v6', 'fd00::1')
const taking = (spec: HoldSpec): PartTaking => ({ how: 'take', spec })

interface Preconditions {
  readonly resourceVersion?: string
}

/** Holds in a map; `before` runs before each one is created, `between` after the first write to one that is there. */
function aServer(before: (name: string) => void = () => {}, between: (object: KubeObject) => void = () => {}) {
  const ledger = new Ledger()
  const stored = new Map<string, KubeObject>()
  let version = 0
  const put = (object: KubeObject) => {
    const metadata = {
      ...object.metadata,
      uid: object.metadata.uid ?? `h-${++version}`,
      resourceVersion: `${++version}`,
    }
    const kept = { ...object, metadata }
    stored.set(metadata.name ?? '', kept)
    return kept
  }
  const checked = (name: string, { resourceVersion }: Preconditions): KubeObject => {
    const object = stored.get(name) ?? { metadata: { name } }
    if (resourceVersion === undefined || object.metadata.resourceVersion === resourceVersion) return object
    throw new ApiError('it has changed', { reason: 'Conflict', code: 409 })
  }
  const write = (object: KubeObject): KubeObject => {
    const written = put(object)
    between(written)
    return written
  }
  const client = {
    async create(_: Kind, object: KubeObject) {
      const { name = '' } = object.metadata
      before(name)
      if (stored.has(name)) throw new ApiError('it is there', { reason: 'AlreadyExists', code: 409 })
      return put(object)
    },
    get: async (_: Kind, { name }: { name: string }) => stored.get(name),
    async delete(_: Kind, { name }: { name: string }, preconditions: Preconditions) {
      const object = checked(name, preconditions)
      if ((object.metadata.finalizers ?? []).length === 0) stored.delete(name)
      else write({ ...object, metadata: { ...object.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } })
    },
    async mergePatch(_: Kind, { name }: { name: string }, patch: KubeObject & { status?: object }, own: Preconditions) {
      const object = checked(name, own)
      const metadata = { ...object.metadata, ...patch.metadata }
      const next = { ...object, metadata, ...(patch.status && { status: patch.status }) } as KubeObject
      if (metadata.deletionTimestamp == null || metadata.finalizers?.length !== 0) return write(next)
      stored.delete(name)
      return next
    },
  } as unknown as Client
  const views = createViews()
  const sources = {
    poolsOf: () => [{ quarantineSeconds: 60, isDeleting: false } as Pool],
    whySpaceRefused: () => undefined,
    *poolsIn() {},
  }
  const world = { client, clock: new VirtualClock(), caches: views, ledger, sources, note: () => {} }
  const isTaken = ({ space, ip, bits }: HoldSpec) => ledger.indexOf(space).stateOf({ ip, bits }) === 'held'
  return {
    ledger,
    stored,
    put,
    isTaken,
    take: (...parts: PartTaking[]) => takeAll(world, parts, { own: [by] }),
    takeUnless: (isOutdated: () => Promise<boolean>, ...parts: PartTaking[]) =>
      takeAll(world, parts, { own: [by], isOutdated }),
  }
}

describe('of several parts', () => {
  test('all are taken', async () => {
    const { take, stored } = aServer()
    expect(await take(taking(four), taking(six))).toEqual({ kind: 'taken' })
    expect([...stored.keys()]).toEqual([holdName('main', four.ip), holdName('main', six.ip)])
  })

  test('none is kept where another process was quicker to take one', async () => {
    const { take, stored, put } = aServer()
    put({ metadata: { name: holdName('main', six.ip) } })
    expect(await take(taking(four), taking(six))).toMatchObject({ kind: 'lost', spec: { claim: { part: 'v6' } } })
    expect([...stored.keys()]).toEqual([holdName('main', six.ip)])
  })

  test('one that another process has found in the name of the claim meanwhile is left to it, and is not on its way out', async () => {
    const found: KubeObject[] = []
    const { take, stored, put } = aServer(undefined, object => {
      if (found.length > 0) return
      found.push(put({ ...object, metadata: { ...object.metadata, finalizers: ['mooring.dev/hold'] } }))
    })
    put({ metadata: { name: holdName('main', six.ip) } })
    await expect(take(taking(four), taking(six))).rejects.toThrow('it has changed')
    const left = stored.get(holdName('main', four.ip))
    expect(left).toEqual(found[0])
    expect(left?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('none is kept where another object shows one by the time it is held', async () => {
    const { take, stored, ledger } = aServer(name => {
      const { space, ip, bits } = six
      if (name !== holdName(space, ip)) return
      ledger.show({ by: { kind: 'Report', key: 'lab/other' }, as: 'report', pool, space, ip, bits, namespace: 'lab' })
    })
    expect(await take(taking(four), taking(six))).toMatchObject({ kind: 'lost', spec: { claim: { part: 'v6' } } })
    expect(stored.size).toBe(0)
  })

  test('what was regained goes back to rest where another is lost', async () => {
    const { take, stored, put } = aServer()
    const { take: makeFour, stored: made } = aServer()
    await makeFour(taking(four))
    const object = put({ ...(made.get(holdName('main', four.ip)) as KubeObject) })
    put({ metadata: { name: holdName('main', six.ip) } })
    await take({ how: 'regain', spec: four, hold: orThrow(parseHold(object)) }, taking(six))
    expect(stored.get(object.metadata.name ?? '')).toMatchObject({ status: { state: 'quarantined' } })
  })

  test('none is sought by another pass of this process while one is being taken, and all may be afterwards', async () => {
    const seen: string[] = []
    const { take, isTaken } = aServer(() => {
      seen.push(...[four, six].filter(isTaken).map(({ ip }) => toIPText(ip)))
    })
    await take(taking(four), taking(six))
    expect(seen).toEqual(['10.0.0.1', 'fd00::1', '10.0.0.1', 'fd00::1'])
    expect([four, six].map(isTaken)).toEqual([false, false])
  })
  test('none is taken where what they were chosen on is outdated, and none is sought by another pass while that is asked', async () => {
    const { takeUnless, isTaken, stored } = aServer()
    const seen: boolean[] = []
    const isOutdated = async () => {
      seen.push(...[four, six].map(isTaken))
      return true
    }
    expect(await takeUnless(isOutdated, taking(four), taking(six))).toEqual({ kind: 'outdated' })
    expect(seen).toEqual([true, true])
    expect(stored.size).toBe(0)
    expect([four, six].map(isTaken)).toEqual([false, false])
  })
})
