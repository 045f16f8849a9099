// ClusterUserDefinedNetwork of OVN-Kubernetes, as far as Mooring reads it: which namespaces its administrator offers the network
// to. The network itself is read from the NetworkAttachmentDefinitions that OVN-Kubernetes makes of it.

import type { Malformed } from '../ip/malformed.ts'
import { ovnGroup } from './names.ts'
import { isParsed, type Metadata, metadataOf, type Parsed } from './object.ts'
import { type LabelSelector, selectorOf } from './selector.ts'
import { childOf, has, malformedBy, shapeOf, textOf } from './shape.ts'

const clusterUDNKind = 'ClusterUserDefinedNetwork'

export interface ClusterUDN {
  readonly metadata: Metadata
  readonly namespaceSelector: LabelSelector
}

/** The name of the network of a ClusterUserDefinedNetwork begins with it. */
const networkNamePrefix = 'cluster_udn_'

export const networkNameOfClusterUDN = (name: string): string => `${networkNamePrefix}${name}`

/** Undefined for a network that cannot be of one. */
export const clusterUDNOfNetwork = (network: string): string | undefined =>
  network.startsWith(networkNamePrefix) ? network.slice(networkNamePrefix.length) : undefined

export function parseClusterUDN(object: unknown, readMetadata = metadataOf): Parsed<ClusterUDN> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = readMetadata(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  // An empty selector is one that selects every namespace.
  if (!has(spec, 'namespaceSelector')) faults.push('spec.namespaceSelector is missing')
  const udn: Parsed<ClusterUDN> = {
    [isParsed]: true,
    apiVersion: textOf(root, 'apiVersion') ?? '',
    kind: textOf(root, 'kind') ?? '',
    metadata,
    namespaceSelector: selectorOf(childOf(spec, 'namespaceSelector')),
  }
  return faults.length > 0 ? malformedBy(faults) : udn
}

/** Whether OVN-Kubernetes made this object of it: of the same name, and under its control. */
export function isRenderedFrom(udn: ClusterUDN, { name, ownerReferences }: Metadata): boolean {
  const isOwner = ownerReferences.some(
    ({ apiVersion, kind, uid, controller }) =>
      controller === true &&
      kind === clusterUDNKind &&
      apiVersion.startsWith(`${ovnGroup}/`) &&
      uid === udn.metadata.uid,
  )
  return isOwner && name === udn.metadata.name
}
