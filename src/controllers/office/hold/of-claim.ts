// Every hold in the name of a claim, from the API server itself, for whoever cannot rely on what is in view.

import type { Hold } from '../../../api/hold.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { holds } from '../kinds.ts'
import { holdOf } from '../parsed.ts'
import { claimUidLabel, type HoldWorld } from './steps.ts'

export async function askHoldsOf(uid: string, { client, caches }: Omit<HoldWorld, 'clock'>): Promise<Hold[]> {
  const { items } = await client.list(holds, { labelSelector: `${claimUidLabel}=${uid}` })
  return items.flatMap(item => {
    caches.holds.learn(item)
    const hold = holdOf(item)
    // The label finds it, the reference decides: labels are for everybody to write.
    return isMalformed(hold) || hold.claim.uid !== uid ? [] : [hold]
  })
}
