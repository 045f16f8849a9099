// Every hold in the name of a claim, from the API server itself, for a pass that cannot rely on the cache.

import type { Hold } from '../../../api/hold.ts'
import type { MACHold } from '../../../api/mac-hold.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import { holds, macHolds } from '../kinds.ts'
import { holdOf, macHoldOf } from '../parsed.ts'
import { type AnyHold, claimUidLabel, type HoldWorld } from './steps.ts'

type World = Omit<HoldWorld, 'clock' | 'note'>

export function askHoldsOf(uid: string, world: World): Promise<Hold[]> {
  return ask(uid, world, holds, world.caches.holds, holdOf)
}

/** Of addresses and of MACs: for claims of several parts. */
export async function askAllHoldsOf(uid: string, world: World): Promise<AnyHold[]> {
  const ofMACs = await ask<MACHold>(uid, world, macHolds, world.caches.macHolds, macHoldOf)
  return [...(await askHoldsOf(uid, world)), ...ofMACs]
}

async function ask<H extends AnyHold>(
  uid: string,
  { client }: World,
  kind: Kind,
  cache: World['caches']['holds'],
  read: (object: KubeObject) => H | Malformed,
): Promise<H[]> {
  const { items } = await client.list(kind, { labelSelector: `${claimUidLabel}=${uid}` })
  return items.flatMap(item => {
    cache.learn(item)
    const hold = read(item)
    // The label finds it, the reference decides: any user may write a label.
    return isMalformed(hold) || hold.claim.uid !== uid ? [] : [hold]
  })
}
