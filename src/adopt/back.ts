// The way back to the in-cluster provider. Claims, IPAddresses and pools are its own objects, with its own finalizers and
// owners: it goes on with them as they are. What only Mooring understands does no harm, but would be wrong when Mooring comes
// back after another provider has given out addresses, and keeps the definitions from being removed: holds, with their
// finalizer, and the annotations of choices on claims.
//
// Not a part of the protocol (docs/model): it undoes it, and is for a time in which no desk runs.

import type { Hold } from '../api/hold.ts'
import { poolOfClaim } from '../api/ip-address-claim.ts'
import { choiceAnnotation, ipamGroup, subnetAnnotation } from '../api/names.ts'
import { claims as claimKind } from '../controllers/capi/kinds.ts'
import type { Listed } from '../controllers/capi/listed.ts'
import { claimOf, reportOf } from '../controllers/capi/parsed.ts'
import { holds as holdKind } from '../controllers/office/kinds.ts'
import { holdOf } from '../controllers/office/parsed.ts'
import { isInScope, isInView, type Scope } from '../controllers/office/scope.ts'
import { isSameIP, parseIP } from '../ip/address.ts'
import { isMalformed } from '../ip/malformed.ts'
import { poolText } from '../ipam/refusal.ts'
import type { Client } from '../kube/client.ts'
import { type KubeObject, keyOf } from '../kube/object.ts'
import type { Verdict } from './verdict.ts'

/** What only Mooring writes on a claim. */
const ours = [choiceAnnotation, subnetAnnotation]

export interface Return {
  readonly verdicts: readonly Verdict[]
  /** Claims that carry a choice beside an IPAddress that says the same. */
  readonly choices: readonly KubeObject[]
  /** Holds of addresses that the other provider knows by an IPAddress, or that are free. */
  readonly holds: readonly Hold[]
}

/** What the in-cluster provider will make of what is there, and what can be removed before it starts. */
export function planReturn(listed: Listed, scope: Scope): Return {
  const verdicts: Verdict[] = []
  const choices: KubeObject[] = []
  const reports = new Map(listed.reports.map(object => [keyOf(object), reportOf(object)]))
  /** Uids of claims whose holds stay. */
  const unsettled = new Set<string>()
  for (const object of listed.claims) {
    if (!isInScope(scope, object)) {
      unsettled.add(object.metadata.uid ?? '')
      continue
    }
    const claim = claimOf(object)
    if (isMalformed(claim)) continue
    const pool = poolOfClaim(claim)
    if (pool === undefined) continue
    const key = keyOf(object)
    const report = reports.get(key)
    const shown = report === undefined || isMalformed(report) ? undefined : report
    const about = {
      address: shown?.address ?? claim.choice ?? '',
      pool: poolText(pool),
      claim: key,
      shownBy: shown === undefined ? '' : `IPAddress ${key}`,
    }
    const stays = (reason: string, message: string) => {
      unsettled.add(claim.metadata.uid)
      verdicts.push({ ...about, outcome: 'refused', reason, message })
    }
    if (pool.apiGroup !== ipamGroup) {
      stays('MooringOnly', 'its pool is of a kind that only Mooring serves: make a claim on an in-cluster pool first')
    } else if (claim.isDeleting) {
      verdicts.push({ ...about, outcome: 'leaves', reason: 'Deleting', message: 'its claim is being deleted' })
    } else if (shown === undefined && (claim.choice !== undefined || claim.addressName !== '')) {
      const why = 'it has no IPAddress: the in-cluster provider would give it another address. Let Mooring finish first'
      stays('NoIPAddress', why)
    } else if (shown !== undefined && claim.choice !== undefined && !isSameText(shown.address, claim.choice)) {
      stays('Contradiction', `the claim has ${claim.choice}, and its IPAddress shows another address`)
    } else if (shown !== undefined) {
      verdicts.push({ ...about, outcome: 'adopted', reason: 'AsIs', message: '' })
      if (ours.some(key => Object.hasOwn(claim.metadata.annotations, key))) choices.push(object)
    }
  }
  const holds: Hold[] = []
  for (const object of listed.holds) {
    const hold = holdOf(object)
    if (isMalformed(hold) || hold.pool.apiGroup !== ipamGroup || unsettled.has(hold.claim.uid)) continue
    if (!isInView(scope, hold.claim.namespace)) continue
    holds.push(hold)
    if (hold.state === 'held') continue
    verdicts.push({
      outcome: 'leaves',
      address: hold.address,
      pool: poolText(hold.pool),
      claim: `${hold.claim.namespace}/${hold.claim.name}`,
      shownBy: `Hold ${hold.metadata.name}`,
      reason: 'Quarantined',
      message: `it rests until ${hold.until ?? 'now'}: the in-cluster provider does not know that, and may give it at once`,
    })
  }
  return { verdicts, choices, holds }
}

/** Choices first: a claim without one and without a hold is as the other provider left it. */
export async function removeTraces(client: Client, { choices, holds }: Return): Promise<void> {
  for (const { metadata } of choices) {
    const { name = '', namespace, uid, resourceVersion } = metadata
    const patch = { metadata: { annotations: Object.fromEntries(ours.map(key => [key, null])) } }
    const version = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
    await client.mergePatch(claimKind, { name, ...(namespace && { namespace }) }, patch, version)
  }
  for (const { metadata } of holds) {
    const { name, uid, resourceVersion } = metadata
    const bare = await client.mergePatch(holdKind, { name }, { metadata: { finalizers: [] } }, { uid, resourceVersion })
    // One that was being deleted already went with its finalizer.
    const version = bare.metadata.resourceVersion ?? resourceVersion
    await client.delete(holdKind, { name }, { uid, resourceVersion: version })
  }
}

function isSameText(one: string, other: string): boolean {
  const [a, b] = [parseIP(one), parseIP(other)]
  return !isMalformed(a) && !isMalformed(b) && a.family === b.family && isSameIP(a, b)
}
