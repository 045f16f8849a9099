// claim.binding, the way out - a claim that is deleted gives its address back before it goes.
//
// Writes:  steps T8 to T11 of the model: what came from elsewhere is parked, the report goes, the hold rests under the same
//          name, the finalizer comes off last. What is gone already, or not ours, is no hindrance.
// Holds:   a paused Cluster or pool holds the release up, as it does everything; so does a finalizer of somebody else, for
//          whoever put it there is not done with the address. A Cluster or pool that is gone does not.

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim } from '../../api/ip-address-claim.ts'
import { protectAddressFinalizer, releaseAddressFinalizer } from '../../api/names.ts'
import type { Pool } from '../../api/pool.ts'
import { bitsOf, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import { askHoldsOf } from '../office/hold/of-claim.ts'
import { parkHold, quarantineHold } from '../office/hold/steps.ts'
import { reports as reportKind } from '../office/kinds.ts'
import { reportOf } from '../office/parsed.ts'
import type { Seen } from './plan.ts'
import { sayHandsOff } from './status.ts'
import { removeReport, unguardClaim } from './steps.ts'
import { chose, shows } from './whose.ts'
import { type CapiWorld, type HandsOff, isBoundToAnother, keyOfClaim, whyHandsOff } from './world.ts'

export async function releaseClaim(claim: IPAddressClaim, seen: Seen, world: CapiWorld): Promise<PassResult> {
  const key = keyOfClaim(claim)
  world.waiting.leave(key)
  if (!claim.metadata.finalizers.includes(releaseAddressFinalizer)) return done()
  const pool = seen.pool === undefined || isMalformed(seen.pool) ? undefined : seen.pool
  const why = whyHeldUp(claim, seen, pool)
  if (why !== undefined) {
    sayHandsOff(world, claim, seen.identity, why)
    return done()
  }
  world.leftAlone.delete(key)

  const held = await holdsToRest(claim, seen, world)
  await releaseReport(claim, pool, held, world)
  for (const hold of held) await rest(hold, pool, world)
  await unguardClaim(world, claim)
  const ip = held[0]?.ip ?? parseIP(claim.choice ?? '')
  world.note({
    what: 'released',
    claim: claim.metadata,
    pool: seen.identity,
    ...(pool && { space: pool.space }),
    ...(!isMalformed(ip) && { ip }),
  })
  return done()
}

/** A Cluster that is gone holds nothing up: it went before its claims. */
function whyHeldUp(claim: IPAddressClaim, seen: Seen, pool: Pool | undefined): HandsOff | undefined {
  if (isKeptByOthers(claim)) return 'KeptByOthers'
  const why = whyHandsOff(claim, seen)
  if (why !== undefined && why !== 'ClusterNotFound') return why
  return pool?.isPaused === true ? 'PoolPaused' : undefined
}

/** These are about the order in which owners and what they own go, and wait for us. */
const finalizersOfTheServer = ['foregroundDeletion', 'orphan']

/** Somebody else still needs the claim, as a rule because its machine still runs: until then the address is in use. */
function isKeptByOthers({ metadata }: IPAddressClaim): boolean {
  return metadata.finalizers.some(
    finalizer => finalizer !== releaseAddressFinalizer && !finalizersOfTheServer.includes(finalizer),
  )
}

/**
 * All that are in view, if the one of its choice is among them; else what the API server has. To ask each time would have it look
 * through every hold there is. One that is missed is a stray, and is put to rest as soon as it is seen.
 */
async function holdsToRest(claim: IPAddressClaim, { holds }: Seen, world: CapiWorld): Promise<readonly Hold[]> {
  return holds.some(hold => chose(claim, hold)) ? holds : askHoldsOf(claim.metadata.uid, world)
}

async function releaseReport(
  claim: IPAddressClaim,
  pool: Pool | undefined,
  held: readonly Hold[],
  world: CapiWorld,
): Promise<void> {
  const { namespace, name } = claim.metadata
  const object = await world.client.get(reportKind, { namespace, name })
  const report = object && reportOf(object)
  if (report === undefined || isMalformed(report) || !isReportOf(report, claim, pool)) return
  const ip = parseIP(report.address)
  const isRestDue =
    pool !== undefined && pool.space !== '' && !isMalformed(ip) && ip.family === pool.family && held.length === 0
  // What another bound claim shows is in use: a rest would keep it from the hold it is about to get.
  if (isRestDue && !isBoundToAnother(world, claim, pool.space, firstIP({ ip, bits: pool.bits }))) {
    const spec = {
      space: pool.space,
      ip: firstIP({ ip, bits: pool.bits }),
      bits: pool.bits,
      pool: pool.identity,
      claim: claimReference(claim),
      owner: undefined,
    }
    await parkHold(world, spec, pool.quarantineSeconds)
    world.note({ what: 'parked', claim: claim.metadata, pool: pool.identity, space: spec.space, ip: spec.ip })
  }
  await removeReport(world, report)
}

/**
 * It names the claim; or it names none, and carries our finalizer or shows the claim's choice: when a claim is deleted in the
 * foreground, the garbage collector takes its name off what the pool owns too, at any moment.
 */
function isReportOf(report: IPAddress, claim: IPAddressClaim, pool: Pool | undefined): boolean {
  const { ownerReferences, finalizers } = report.metadata
  const owners = ownerReferences.filter(({ kind }) => kind === 'IPAddressClaim')
  if (owners.length > 0) return owners.some(({ uid }) => uid === claim.metadata.uid)
  if (finalizers.includes(protectAddressFinalizer)) return true
  const ip = parseIP(claim.choice ?? '')
  return !isMalformed(ip) && shows(report, { ip, bits: pool?.bits ?? bitsOf(ip.family) })
}

async function rest(hold: Hold, pool: Pool | undefined, world: CapiWorld): Promise<void> {
  if (hold.state === 'quarantined') return
  // A pool on its way out has nobody to protect from a hasty second use.
  const seconds = pool === undefined || pool.isDeleting ? 0 : pool.quarantineSeconds
  // Its end is the work of hold.reclaim, which is woken by this write: at once, where there is nothing to wait for.
  await quarantineHold(world, hold, seconds)
}
