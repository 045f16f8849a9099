// Which spaces of the ledger are known to be on which wire: by NetworkAttachmentDefinitions whose addresses come from Mooring. Pods of such
// a network and virt-handler would meet there, so they must not have the same addresses.

import { cniGroup } from '../../api/names.ts'
import { difference } from '../../ip/range-set.ts'
import type { SpaceOnWire } from '../../migration/check.ts'
import { attachmentPrefix } from '../../migration/names.ts'
import { isOfMooring } from '../../networks/attachment.ts'
import { attachmentKind } from '../../networks/network.ts'
import { readable } from '../office/kept.ts'
import { attachmentOf } from '../office/parsed.ts'
import type { Sources } from '../office/sources.ts'
import type { Views } from '../office/views.ts'

/** `kubevirtNamespace`: where administrators write, and the migration network itself is. */
export function spacesOnWires(
  { attachments }: Pick<Views, 'attachments'>,
  sources: Sources,
  kubevirtNamespace: string,
): SpaceOnWire[] {
  return [...attachments.values()].flatMap(object => {
    const attachment = readable(object, attachmentOf)
    if (attachment === undefined || !isOfMooring(attachment)) return []
    const { metadata, reading } = attachment
    const { namespace, name } = metadata
    const isAdministrators = namespace === kubevirtNamespace
    if (reading.wire === undefined || (isAdministrators && name.startsWith(attachmentPrefix))) return []
    const { from } = reading.config
    const source = 'pool' in from ? from.pool : { apiGroup: cniGroup, kind: attachmentKind, namespace, name }
    const [pool] = sources.poolsOf(source)
    if (pool === undefined) return []
    const pools = [...sources.poolsIn(pool.space)]
    // A pool of the cluster counts where its administrator offers it to the namespace that says on which wire it is.
    const isOffered = source.namespace === '' && sources.isSpaceOffered(pool.space, namespace)
    return [
      {
        space: pool.space,
        wire: reading.wire,
        addresses: pools.map(({ addresses, excluded }) => difference(addresses, excluded)),
        isOfCluster: isAdministrators || isOffered,
      },
    ]
  })
}
