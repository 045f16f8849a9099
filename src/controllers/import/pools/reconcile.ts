// ippool.status - the status of every IPPool says what is wrong with its entries, which NetworkAttachmentDefinitions its network
// has, and which addresses are in use there.
//
// Reads:   the IPPool, its network, the holds of its space; decides in plan.ts.
// Writes:  the status, and nothing else. What is kept by the entries is the office's to know (office/networks.ts).
// Safe:    no claim is decided on a status.

import { isDeepStrictEqual } from 'node:util'
import { setCondition } from '../../../api/condition.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { patchSeen } from '../../../kube/patch-seen.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { ipPools } from '../../office/kinds.ts'
import { ipPoolOf } from '../../office/parsed.ts'
import { observe } from './observe.ts'
import { planStatus } from './plan.ts'
import type { PoolsWorld } from './world.ts'

/** What is in use on a large network changes all the time: it is looked at again after so long. A new spec does not wait. */
const periodMs = 2_000

/** When each was last looked at. */
export type Looked = Map<string, { readonly generation: number; readonly atMs: number }>

export async function reconcileIPPool(key: string, looked: Looked, world: PoolsWorld): Promise<PassResult> {
  const { views, client, clock } = world
  const object = views.ipPools.get(key)
  const pool = object && ipPoolOf(object)
  // What cannot be read the definition has not let in.
  if (object === undefined || pool === undefined || isMalformed(pool)) {
    looked.delete(key)
    return done()
  }
  const { generation } = pool.metadata
  const last = looked.get(key)
  const waitMs = last?.generation === generation ? last.atMs + periodMs - clock.monotonicMs() : 0
  if (waitMs > 0) return requeueAfter(waitMs)
  looked.set(key, { generation, atMs: clock.monotonicMs() })
  const { facts, ...lists } = planStatus(observe(pool, world))
  const now = timestamp(clock)
  const conditions = facts.reduce((all, fact) => setCondition(all, fact, now), pool.conditions)
  const status = { conditions, ...lists }
  if (isSaid(object, status)) return done()
  await patchSeen(client, ipPools, views.ipPools, pool, { status }, 'status')
  return done()
}

function isSaid(object: KubeObject, status: Readonly<Record<string, unknown>>): boolean {
  const { status: before } = object as { status?: Readonly<Record<string, unknown>> }
  return before !== undefined && Object.keys(status).every(field => isDeepStrictEqual(before[field], status[field]))
}
