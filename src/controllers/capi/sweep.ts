// claim.binding, what is left behind - an IPAddress does not outlive the claim it was made for.
//
// A claim that goes in good order takes its IPAddress with it (release.ts). One whose finalizer a user took off, or whose
// IPAddress was made by a process that slept, leaves it behind, and our own finalizer would keep it for ever.
//
// Writes:  step T13 of the model, by uid and version.
// Safe:    rule 8. That the claim is gone is what the API server answers, never what a cache does not know. An IPAddress that
//          names no claim's uid was made by hand and is not ours to delete, unless it carries our finalizer: then it named
//          one, and the garbage collector, which keeps what the pool still owns, took that off. It may be what the claim
//          that has the name now had; where that claim was never bound, or to something else, it was an earlier one's.

import type { IPAddress } from '../../api/ip-address.ts'
import { protectAddressFinalizer } from '../../api/names.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { done, type PassResult, requeueAfter } from '../../runtime/reconciler.ts'
import { findPool } from '../office/views.ts'
import { claims } from './kinds.ts'
import { isOwnOrUnowned, poolOfReport } from './ownership.ts'
import { claimOf, reportOf } from './parsed.ts'
import { removeReport, sweepAway } from './steps.ts'
import type { CapiWorld } from './world.ts'

/** `key` is that of the IPAddress; its claim, as a rule, has the same. */
export async function sweepReport(key: string, world: CapiWorld): Promise<PassResult> {
  const object = world.caches.reports.get(key)
  const report = object && reportOf(object)
  if (report === undefined || isMalformed(report) || poolOfReport(report) === undefined) return done()
  if (!(await isStray(report, world))) return done()
  // Its end wakes the claim that has the name now.
  await sweepAway(world, report)
  const { name, namespace, ownerReferences } = report.metadata
  const uid = ownerReferences.find(({ kind }) => kind === 'IPAddressClaim')?.uid ?? ''
  // Noted in the first of the two passes that it takes.
  if (!report.isDeleting)
    world.note({ what: 'stray report', claim: { namespace, name, uid }, pool: poolOfReport(report) })
  return done()
}

/** By then clusterctl has taken our finalizer off itself, if it is still there; an object that is gone costs it a retry. */
const movedGraceMs = 5_000

/**
 * clusterctl was killed before it took our finalizer off. It cannot repeat the move while the IPAddress is there: it copies the
 * time of deletion, which the target refuses.
 */
export async function letMovedReportGo(report: IPAddress, world: CapiWorld): Promise<PassResult> {
  const leftMs = Date.parse(report.metadata.deletionTimestamp ?? '') + movedGraceMs - world.clock.now()
  if (leftMs > 0) return requeueAfter(leftMs)
  await removeReport(world, report)
  if (report.metadata.finalizers.includes(protectAddressFinalizer))
    world.note({ what: 'report let go', claim: report.metadata, pool: poolOfReport(report) })
  return done()
}

async function isStray(report: IPAddress, { client, caches }: CapiWorld): Promise<boolean> {
  const { namespace, name, ownerReferences, finalizers } = report.metadata
  const owners = ownerReferences.filter(({ kind }) => kind === 'IPAddressClaim')
  if (owners.length === 0) {
    if (!finalizers.includes(protectAddressFinalizer)) return false
    const live = await client.get(claims, { namespace, name })
    const claim = live && claimOf(live)
    if (claim === undefined) return true
    return !isMalformed(claim) && !isOwnOrUnowned(report, claim, findPool(caches, poolOfReport(report)))
  }
  for (const owner of owners) {
    const live = await client.get(claims, { namespace, name: owner.name })
    if (live?.metadata.uid === owner.uid) return false
  }
  return true
}
