// pool.capacity - every pool's status tells the truth about its holds, and a pool of which a claim holds an address stays.
//
// Reads:   the pool, the holds and the ledger, the other pools; from the server, once, what can have the name of its space.
// Writes:  one thing per pass - our finalizer on the pool, or off it, clusterctl's mark off it (move-marks.ts), or its status;
//          each under the version it was decided on.
// Safe:    nothing rests on a status. The finalizer goes by what the caches show; a claim that was bound in that moment keeps
//          its hold without the pool, for a pool takes nothing away by going.
// Quiet:   a status that is there already is not written again, and a pool whose holders come and go in a burst is written a
//          few times a second. For one that cannot be read, only the condition that says why is written.

import { isDeepStrictEqual } from 'node:util'
import { type Condition, conditionsOf, setCondition } from '../../../api/condition.ts'
import { deleteForMoveAnnotation, protectPoolFinalizer } from '../../../api/names.ts'
import { apiVersionOf, type Identity, identityKey, parseIdentityKey } from '../../../api/object.ts'
import type { Pool } from '../../../api/pool.ts'
import { isRecord, shapeOf } from '../../../api/shape.ts'
import { ownPoolKindOf } from '../../../api/to-pool.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import { type Capacity, capacityOf } from '../../../ipam/capacity.ts'
import type { Joining } from '../../../ipam/joining.ts'
import type { Overlap } from '../../../ipam/overlap.ts'
import type { Refusal } from '../../../ipam/refusal.ts'
import { malformedPoolCondition, statusOfPool } from '../../../ipam/status.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Client } from '../../../kube/client.ts'
import type { EventInput, Recorder } from '../../../kube/events.ts'
import { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from '../../../kube/finalizers.ts'
import { type Kind, type KubeObject, keyOfRef, refOf } from '../../../kube/object.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import type { Note } from '../journal.ts'
import { readable } from '../kept.ts'
import { pools as poolKinds } from '../kinds.ts'
import type { Ledger } from '../ledger.ts'
import { poolOf } from '../parsed.ts'
import type { Sources } from '../sources.ts'
import { poolCacheOf, type Views } from '../views.ts'
import { isPoolHeld } from './held.ts'
import type { MoveMarks } from './move-marks.ts'
import type { Neighbours } from './neighbours.ts'
import type { Pace } from './pace.ts'
import type { SpaceNames } from './space-names.ts'

export interface PoolWorld {
  readonly client: Client
  readonly clock: Clock
  readonly recorder: Pick<Recorder, 'event'>
  readonly caches: Views
  readonly ledger: Ledger
  readonly sources: Pick<Sources, 'spaceFor' | 'all'>
  /** Whether every kind that can show an address in use has been listed. */
  readonly seesAll: () => boolean
  /** Of the pass that runs. */
  readonly note: Note
  readonly neighbours: Neighbours
  readonly pace: Pace
  readonly moveMarks: MoveMarks
  readonly spaceNames: SpaceNames
}

/** `key` is the pool's identity key. */
export async function reconcilePool(key: string, world: PoolWorld): Promise<PassResult> {
  const found = find(key, world)
  if (found === undefined) {
    world.pace.forget(key)
    world.moveMarks.forget(key)
    world.neighbours.forget(key)
    world.spaceNames.forget(key)
    return done()
  }
  try {
    const markedMs = world.moveMarks.msLeft(key, found.object)
    if (markedMs === 0) return await takeMarkOff(found, world)
    const next = await reconcileFound(key, found, world)
    if (markedMs === undefined || next.kind === 'requeue') return next
    return requeueAfter(next.kind === 'done' ? markedMs : Math.min(next.delayMs, markedMs))
  } catch (error) {
    // It went while it was looked at; the event that says so is on its way.
    if (isApiError(error, 'NotFound')) return done()
    throw error
  }
}

async function reconcileFound(key: string, found: Found, world: PoolWorld): Promise<PassResult> {
  const { object } = found
  const waitMs = world.pace.waitMs(key, object)
  // A pool on its way out is looked at all the same: it may go now.
  if (waitMs > 0 && !isDeleting(object)) return requeueAfter(waitMs)
  const plan = decide(observe(found, world), timestamp(world.clock))
  const pool = concludingOn(found, plan)
  if (pool === undefined) world.spaceNames.forget(key)
  if (waitMs > 0 || pool === undefined) return settle(key, found, plan, waitMs, world)
  const answer = world.spaceNames.answerFor(key, pool)
  if (answer === undefined) return done()
  const next = await settle(key, found, decide(observe(found, world, answer.refused), timestamp(world.clock)), 0, world)
  return answer.refused === undefined ? next : requeueAfter(readAgainMs)
}

/** How soon it is asked again what could not be read, or was not there yet. */
const readAgainMs = 10_000

/** The pool of which it would be stored for good that nothing in the cluster has the name of its space. */
function concludingOn({ object }: Found, plan: Plan): Pool | undefined {
  return plan.kind === 'write' && plan.isUnseen ? readable(object, poolOf) : undefined
}

/** Its own event brings the next pass. */
async function takeMarkOff(
  { object, kind, identity }: Found,
  { client, caches, note }: PoolWorld,
): Promise<PassResult> {
  const { uid = '', resourceVersion = '' } = object.metadata
  const patch = { metadata: { annotations: { [deleteForMoveAnnotation]: null } } }
  poolCacheOf(caches, kind)?.learn(await client.mergePatch(kind, refOf(object), patch, { uid, resourceVersion }))
  note({ what: 'mark off', pool: identity })
  return done()
}

interface Found {
  readonly object: KubeObject
  readonly kind: Kind
  readonly identity: Identity
}

function find(key: string, { caches }: PoolWorld): Found | undefined {
  const identity = parseIdentityKey(key)
  const kind = identity && poolKinds.find(({ kind, group }) => kind === identity.kind && group === identity.apiGroup)
  const object = identity && kind && poolCacheOf(caches, kind)?.get(keyOfRef(identity))
  return object && { object, kind, identity }
}

// --- observe ---

export interface Seen {
  readonly object: KubeObject
  readonly counted:
    | {
        readonly pool: Pool
        readonly capacity: Capacity
        readonly overlaps: readonly Overlap[]
        readonly joining: Joining | undefined
      }
    | Malformed
  /** Whether a hold or an IPAddress names it. Asked only of a pool on its way out. */
  readonly isHeld: boolean
  /** The server stores no conditions of this kind: an older definition of it is installed. */
  readonly keepsConditions: boolean
}

/** `refused`: why a space that nothing in view has may not be given yet. */
function observe(
  { object, identity }: Found,
  { caches, ledger, sources, neighbours, pace, seesAll }: PoolWorld,
  refused?: Refusal,
): Seen {
  const pool = poolOf(object)
  // While a kind that can show an address cannot be read, it is not known that nothing of the pool is in use.
  const isHeld = isDeleting(object) && (!seesAll() || isPoolHeld(identity, caches, ledger))
  const keepsConditions = pace.keepsConditions(identityKey(identity), object)
  if (isMalformed(pool)) return { object, counted: pool, isHeld, keepsConditions }
  const capacity = capacityOf(pool, ledger.indexOf(pool.space))
  const decided = sources.spaceFor(pool)
  const joining = refused !== undefined && isUnseen(decided) ? { refused } : decided
  const counted = { pool, capacity, overlaps: neighbours.of(pool), joining }
  return { object, counted, isHeld, keepsConditions }
}

const isUnseen = (joining: Joining | undefined): boolean =>
  joining !== undefined && 'space' in joining && joining.isUnseen === true

// --- decide ---

export type Plan =
  | { readonly kind: 'rest' }
  /** Our finalizer on. */
  | { readonly kind: 'guard' }
  /** Our finalizer off: no claim holds anything of it. */
  | { readonly kind: 'let go' }
  | {
      readonly kind: 'write'
      readonly status: object
      readonly events: readonly PoolEvent[]
      readonly turn: Turn | undefined
      /** The space in it is the namespace's own because nothing was seen that has its name. */
      readonly isUnseen: boolean
    }

/** It ran out of addresses, or has some again. */
type Turn = 'exhausted' | 'recovered'

type PoolEvent = Pick<EventInput, 'type' | 'reason' | 'note'>

function decide(seen: Seen, now: string): Plan {
  const { object, isHeld } = seen
  const isGuarded = hasFinalizer(object, protectPoolFinalizer)
  if (!isDeleting(object) && !isGuarded) return { kind: 'guard' }
  if (isDeleting(object) && isGuarded && !isHeld) return { kind: 'let go' }
  return decideStatus(seen, now)
}

function decideStatus({ object, counted, keepsConditions }: Seen, now: string): Plan {
  const current = statusIn(object)
  const before = conditionsOf(shapeOf(current, 'status', []), 'conditions')
  const status = isMalformed(counted)
    ? malformedStatus(object, counted, before, now)
    : statusOfPool(counted, before, now)
  const wanted = keepsConditions ? status : withoutConditions(status)
  if (isWritten(current, wanted)) return { kind: 'rest' }
  const plan = { kind: 'write', status: wanted, isUnseen: !isMalformed(counted) && isUnseen(counted.joining) } as const
  if (!keepsConditions) return { ...plan, events: [], turn: undefined }
  return { ...plan, events: eventsOf(before, status.conditions), turn: turnOf(before, status.conditions) }
}

function turnOf(before: readonly Condition[], next: readonly Condition[]): Turn | undefined {
  const [was, is] = [before, next].map(list => list.find(({ type }) => type === 'Exhausted')?.status)
  if (is === was) return undefined
  if (is === 'True') return 'exhausted'
  return was === 'True' ? 'recovered' : undefined
}

/** The counts stay as they were when the pool could last be read. */
function malformedStatus(
  { metadata }: KubeObject,
  { malformed }: Malformed,
  before: readonly Condition[],
  now: string,
) {
  const generation = metadata.generation ?? 0
  const conditions = setCondition(before, malformedPoolCondition(malformed, generation), now)
  return { conditions, ...(generation > 0 && { observedGeneration: generation }) }
}

function withoutConditions(status: object): object {
  return Object.fromEntries(
    Object.entries(status).filter(([key]) => key !== 'conditions' && key !== 'observedGeneration'),
  )
}

function statusIn(object: KubeObject): Readonly<Record<string, unknown>> {
  const { status } = object as { status?: unknown }
  return isRecord(status) ? status : {}
}

/** Fields that other controllers wrote do not count. */
function isWritten(current: Readonly<Record<string, unknown>>, wanted: object): boolean {
  return Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(current[key], value))
}

/** Conditions that get an event when they come about. */
const worthAnEvent: readonly {
  readonly condition: string
  readonly status: string
  readonly type: EventInput['type']
}[] = [
  { condition: 'Exhausted', status: 'True', type: 'Warning' },
  { condition: 'Overlapping', status: 'True', type: 'Warning' },
  { condition: 'Drained', status: 'True', type: 'Normal' },
  { condition: 'Ready', status: 'False', type: 'Warning' },
]

function eventsOf(before: readonly Condition[], next: readonly Condition[]): PoolEvent[] {
  return worthAnEvent.flatMap(({ condition, status, type }) => {
    const [old, now] = [before, next].map(list => list.find(one => one.type === condition))
    if (now === undefined || now.status !== status || isExpected(old, now)) return []
    return [{ type, reason: now.reason, note: now.message }]
  })
}

/** A pause or a deletion is the act of a user: no event is recorded about it. */
function isExpected(old: Condition | undefined, now: Condition): boolean {
  if (now.reason === 'PoolPaused' || now.reason === 'PoolDeleting') return true
  return old?.status === now.status && old.reason === now.reason
}

// --- settle ---

/** Longer than a claim takes from its intent to its hold. */
const secondLookMs = 2_000

async function settle(
  key: string,
  { object, kind, identity }: Found,
  plan: Plan,
  waitMs: number,
  world: PoolWorld,
): Promise<PassResult> {
  const { client, caches, pace } = world
  const cache = poolCacheOf(caches, kind)
  switch (plan.kind) {
    case 'rest':
      return done()

    case 'guard':
      // Its own event brings the next pass.
      cache?.learn(await addFinalizer(client, kind, object, protectPoolFinalizer))
      return done()

    case 'let go':
      await removeFinalizer(client, kind, object, protectPoolFinalizer)
      return done()

    case 'write': {
      if (waitMs > 0) return requeueAfter(waitMs)
      const { uid = '', resourceVersion = '' } = object.metadata
      const options = { uid, resourceVersion, subresource: 'status' } as const
      const answer = await client.mergePatch(kind, refOf(object), { status: plan.status }, options)
      pace.noteWritten(key, answer, 'conditions' in plan.status && !('conditions' in statusIn(answer)))
      cache?.learn(answer)
      recordEvents(identity, object, plan.events, world)
      if (plan.turn !== undefined) world.note({ what: plan.turn, pool: identity })
      // A claim that was about to take an address when it was counted may have got none, and that is no event.
      return requeueAfter(secondLookMs)
    }
  }
}

function recordEvents(
  identity: Identity,
  { metadata }: KubeObject,
  events: readonly PoolEvent[],
  { recorder }: PoolWorld,
): void {
  const known = ownPoolKindOf(identity)
  const apiVersion = known === undefined ? identity.apiGroup : apiVersionOf(known)
  const about = { apiVersion, kind: identity.kind, metadata }
  for (const event of events) recorder.event({ about, action: 'Count', ...event })
}
