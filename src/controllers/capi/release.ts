// claim.binding, the way out - a claim that is deleted gives its address back before it goes. Whether it may is decided in
// plan.ts.
//
// Writes:  steps T8 to T11 of the model: what came from elsewhere is parked, the report goes, the hold rests under the same
//          name, the finalizer comes off last. What is gone already, or not ours, is no hindrance.

import type { Hold } from '../../api/hold.ts'
import type { IPAddress } from '../../api/ip-address.ts'
import { claimReference, type IPAddressClaim } from '../../api/ip-address-claim.ts'
import { protectAddressFinalizer } from '../../api/names.ts'
import type { Pool } from '../../api/pool.ts'
import { bitsOf, parseIP } from '../../ip/address.ts'
import { firstIP } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import { isBoundToAnother } from '../office/disputes.ts'
import { askHoldsOf } from '../office/hold/of-claim.ts'
import { restSecondsOf } from '../office/hold/quarantine.ts'
import { parkHold, quarantineHold } from '../office/hold/steps.ts'
import { reports as reportKind } from './kinds.ts'
import type { Seen } from './observe.ts'
import { chose, shows } from './ownership.ts'
import { reportOf } from './parsed.ts'
import { ownOf } from './shown.ts'
import { removeReport, unguardClaim } from './steps.ts'
import { type CapiWorld, keyOfClaim } from './world.ts'

export async function releaseClaim(seen: Seen, pool: Pool | undefined, world: CapiWorld): Promise<PassResult> {
  const { claim } = seen
  const held = await holdsToRest(seen, world)
  await releaseReport(seen, pool, held, world)
  // Its end is the work of hold.reclaim, which is woken by this write: at once, where there is nothing to wait for.
  for (const hold of held) if (hold.state === 'held') await quarantineHold(world, hold, restSecondsOf(hold, world))
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

/**
 * All that are in the cache, if the one of its choice is among them; else what the API server has. To ask each time would have
 * it look through every hold there is. One that is missed is a stray, and is put to rest as soon as it is seen.
 */
async function holdsToRest({ claim, holds }: Seen, world: CapiWorld): Promise<readonly Hold[]> {
  return holds.some(hold => chose(claim, hold)) ? holds : askHoldsOf(claim.metadata.uid, world)
}

async function releaseReport(
  { claim, namespaceUID }: Seen,
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
  if (
    isRestDue &&
    !isBoundToAnother(world.ledger, pool.space, firstIP({ ip, bits: pool.bits }), ownOf(keyOfClaim(claim)))
  ) {
    const spec = {
      space: pool.space,
      ip: firstIP({ ip, bits: pool.bits }),
      bits: pool.bits,
      pool: pool.identity,
      claim: claimReference(claim, namespaceUID),
      owner: undefined,
    }
    await parkHold(world, spec, restSecondsOf(spec, world))
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
