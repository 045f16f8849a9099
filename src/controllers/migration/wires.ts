// Which spaces of the ledger are known to be on which wire: by NetworkAttachmentDefinitions whose addresses come from Mooring. Pods of such
// a network and virt-handler would meet there, so they must not have the same addresses. What a tenant's pool lists of a space that it
// shares with an administrator's is told apart: any user of a namespace may list anything.

import { clusterUDNOfNetwork } from '../../api/cluster-user-defined-network.ts'
import { cniGroup } from '../../api/names.ts'
import { identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { difference } from '../../ip/range-set.ts'
import type { SpaceOnWire } from '../../migration/check.ts'
import { attachmentPrefix } from '../../migration/names.ts'
import { isOfMooring } from '../../networks/attachment.ts'
import { attachmentKind, networkKind } from '../../networks/network.ts'
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
    const { wire } = reading
    if (wire === undefined || (isAdministrators && name.startsWith(attachmentPrefix))) return []
    const { from } = reading.config
    const source = 'pool' in from ? from.pool : { apiGroup: cniGroup, kind: attachmentKind, namespace, name }
    const [pool] = sources.poolsOf(source)
    if (pool === undefined) return []
    // A pool of the cluster counts where its administrator offers it to the namespace that says on which wire it is.
    const isOffered = source.namespace === '' && sources.isSpaceOffered(pool.space, namespace)
    const isNamed = ({ identity }: Pool) => identityKey(identity) === identityKey(source)
    const isSaid = (one: Pool) => (isAdministrators || isOffered) && (isNamed(one) || isOfAdministrators(one))
    const pools = [...sources.poolsIn(pool.space)].filter(
      one => isNamed(one) || sources.whySpaceRefused(one) === undefined,
    )
    return [true, false].flatMap(isOfCluster => {
      const addresses = pools.filter(one => isSaid(one) === isOfCluster).map(givenBy)
      return addresses.length === 0 ? [] : [{ space: pool.space, wire, addresses, isOfCluster }]
    })
  })
}

/** A network has no namespace, whichever tenant made it. */
const isOfAdministrators = ({ identity: { namespace, kind, name } }: Pool): boolean =>
  namespace === '' && (kind !== networkKind || clusterUDNOfNetwork(name) !== undefined)

const givenBy = ({ addresses, excluded }: Pool) => difference(addresses, excluded)
