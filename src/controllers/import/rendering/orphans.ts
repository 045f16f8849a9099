// What was made of a network that is gone, or was made anew under its name: its finalizer keeps it, and only Mooring takes that
// off. Gone is what the API server answers.

import { networkNameOfClusterUDN } from '../../../api/cluster-user-defined-network.ts'
import { networkNameOfUDN } from '../../../api/user-defined-network.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import { isInScope } from '../../office/scope.ts'
import type { ImportWorld } from '../world.ts'
import { attachmentsOf, isMadeOf } from './observe.ts'
import { remove } from './steps.ts'
import { whyUsed } from './use.ts'

/** False if one had to stay, because something uses it. */
export async function removeOrphans(
  kind: Kind,
  key: string,
  owner: KubeObject | undefined,
  world: ImportWorld,
): Promise<boolean> {
  const { client, scope } = world
  const orphans = attachmentsOf(kind, key, world).filter(
    one => isInScope(scope, one) && !isMadeOf(one, owner?.metadata.uid),
  )
  if (orphans.length === 0) return true
  const [first = '', second] = key.split('/')
  const ref = second === undefined ? { name: first } : { namespace: first, name: second }
  const network = second === undefined ? networkNameOfClusterUDN(first) : networkNameOfUDN(first, second)
  const live = await client.get(kind, ref)
  let isAllGone = true
  for (const orphan of orphans) {
    if (live !== undefined && isMadeOf(orphan, live.metadata.uid)) continue
    // No network stands for it any more: what has no address of it cannot keep it.
    if ((await whyUsed(client, { attachment: orphan, isElsewhere: true }, network)) === undefined)
      await remove(world, orphan)
    else isAllGone = false
  }
  return isAllGone
}
