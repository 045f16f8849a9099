// What stories promise about claims, written once.

import { expect } from 'vitest'
import { holdOf } from '../../src/controllers/office/parsed.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { events, holds } from './kinds.ts'
import { isInProcess, type Stored, type Thing, type World } from './world.ts'

export interface Ready {
  readonly status: string
  readonly reason: string
  readonly message: string
}

export function readyOf(claim: Stored | undefined): Ready | undefined {
  const said: Ready[] = claim?.status?.v1beta2?.conditions ?? claim?.status?.conditions ?? []
  return said.find(condition => (condition as Ready & { type: string }).type === 'Ready')
}

/** The address a consumer finds by following the claim; undefined while it finds none. */
export async function addressOf(world: World, claim: Thing): Promise<string | undefined> {
  const stored = await world.get(claim)
  if (stored?.status?.addressRef?.name === undefined || readyOf(stored)?.status !== 'True') return undefined
  return (await world.report(claim))?.spec.address
}

/** The claim is served, with this address if one is named. */
export async function isServed(world: World, claim: Thing, address?: string): Promise<string> {
  return world.eventually(async () => {
    const found = await addressOf(world, claim)
    if (address !== undefined) expect(found ?? (await whyNot(world, claim))).toBe(address)
    expect(found ?? (await whyNot(world, claim))).toMatch(/^[0-9a-f.:]+$/)
    return found ?? ''
  })
}

async function whyNot(world: World, claim: Thing): Promise<string> {
  const { reason, message } = readyOf(await world.get(claim)) ?? { reason: 'nothing is said', message: '' }
  return `not served: ${reason} ${message}`
}

/** Nothing is reported for the claim, for as long as one can reasonably wait. */
export async function staysUnserved(world: World, claim: Thing, forMs?: number): Promise<void> {
  await world.always(async () => {
    expect(await world.report(claim)).toBeUndefined()
    expect((await world.get(claim))?.status?.addressRef).toBeUndefined()
  }, forMs)
}

export async function saysWhy(
  world: World,
  claim: Thing,
  reason: string,
  message: RegExp | string = '',
): Promise<void> {
  await world.eventually(async () => {
    const ready = readyOf(await world.get(claim))
    expect(ready).toMatchObject({ status: 'False', reason })
    expect(ready?.message).toMatch(message)
  })
}

export async function isGone(world: World, thing: Thing, withinMs?: number): Promise<void> {
  await world.eventually(async () => expect(await world.get(thing)).toBeUndefined(), withinMs)
}

export async function reportIsGone(world: World, claim: Thing, withinMs?: number): Promise<void> {
  await world.eventually(async () => expect(await world.report(claim)).toBeUndefined(), withinMs)
}

/** The ledger's rows that name the claim's pool. */
export async function holdsOf(world: World, pool: Thing): Promise<Stored[]> {
  const stored = await world.get(pool)
  const all = (await world.client.list(holds)).items as Stored[]
  return all.filter(hold => isFrom(hold, stored))
}

const namesOf = (objects: readonly KubeObject[]) => new Set(objects.map(({ metadata }) => metadata.name))

const isFrom = ({ spec }: Stored, pool: Stored | undefined): boolean =>
  spec.poolRef.name === pool?.metadata.name && spec.poolRef.namespace === pool?.metadata.namespace

/** The same of a hold as a desk keeps it. */
function isKnownFrom(object: KubeObject, pool: Stored | undefined): boolean {
  const hold = holdOf(object)
  if (isMalformed(hold) || pool === undefined) return false
  return hold.pool.name === pool.metadata.name && hold.pool.namespace === (pool.metadata.namespace ?? '')
}

/** So many rows name the pool, and the desk's cache has them: a claim that comes now finds what is free. */
export async function holdsBecome(world: World, pool: Thing, count: number): Promise<void> {
  await world.eventually(async () => {
    const held = await holdsOf(world, pool)
    expect(held).toHaveLength(count)
    const stored = await world.get(pool)
    const known = [...world.desk.view(holds).values()].filter(hold => isKnownFrom(hold, stored))
    expect(namesOf(known)).toEqual(namesOf(held))
  })
}

/** Makes it and waits until it is served. */
export async function aServedClaim(world: World, claim: Thing, address?: string): Promise<Stored> {
  await world.create(claim)
  await isServed(world, claim, address)
  return (await world.get(claim)) as Stored
}

export async function eventsAbout(world: World, uid: string, namespace = world.home) {
  const { items } = await world.client.list(events, { namespace })
  return (items as unknown as { regarding: { uid: string }; type: string; reason: string }[])
    .filter(({ regarding }) => regarding.uid === uid)
    .map(({ type, reason }) => ({ type, reason }))
}

/** On a shared server a desk also tends to what other tests left: their rests end, their claims go. */
export const ownWrites = ({ desk, home }: World): readonly string[] =>
  desk.writes.filter(write => isInProcess || write.includes(home))
