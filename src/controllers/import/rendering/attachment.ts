// The NetworkAttachmentDefinition of a (Cluster)UserDefinedNetwork in one namespace, as OVN-Kubernetes would make it.

import { isDeepStrictEqual } from 'node:util'
import {
  gatewaysAnnotation,
  managementAnnotation,
  networkNameAnnotation,
  ovnGroup,
  protectNetworkFinalizer,
  userDefinedNetworkLabel,
} from '../../../api/names.ts'
import { ownText } from '../../../api/shape.ts'
import type { UserDefinedNetwork } from '../../../api/user-defined-network.ts'
import { hasFinalizer } from '../../../kube/finalizers.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { RenderedNetwork } from '../../../networks/rendered.ts'

interface AttachmentObject extends KubeObject {
  readonly spec?: { readonly config?: unknown }
}

export function toAttachment(
  { metadata }: UserDefinedNetwork,
  kind: string,
  namespace: string,
  { configIn }: RenderedNetwork,
): AttachmentObject {
  const { name, uid } = metadata
  const owner = { apiVersion: `${ovnGroup}/v1`, kind, name, uid, controller: true, blockOwnerDeletion: true }
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      name,
      namespace,
      labels: { ...metadata.labels, [userDefinedNetworkLabel]: '' },
      annotations: copied(metadata.annotations),
      finalizers: [protectNetworkFinalizer],
      ownerReferences: [owner],
    },
    spec: { config: configIn(namespace) },
  }
}

/** What says something of the other object alone: how it was applied, and what is shown on it. */
const notCopied = [
  'kubectl.kubernetes.io/last-applied-configuration',
  networkNameAnnotation,
  gatewaysAnnotation,
  managementAnnotation,
]

function copied(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(annotations)
  return Object.fromEntries(entries.filter(([key]) => !key.startsWith(ovnGroup) && !notCopied.includes(key)))
}

/** In all that is rendered. Annotations that others wrote on it stay. */
export function isSame(there: AttachmentObject, wanted: AttachmentObject): boolean {
  const { labels = {}, annotations = {} } = there.metadata
  const ours = Object.entries(wanted.metadata.annotations ?? {})
  return (
    isSameConfig(there.spec?.config, wanted.spec?.config) &&
    isDeepStrictEqual({ ...labels }, { ...wanted.metadata.labels }) &&
    ours.every(([key, text]) => ownText(annotations, key) === text) &&
    hasFinalizer(there, protectNetworkFinalizer)
  )
}

/** However it is spelled: another program may have written the same with its keys in another order. */
function isSameConfig(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'string' && typeof other === 'string' && isSameJSON(one, other))
}

function isSameJSON(one: string, other: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other))
  } catch {
    return false
  }
}
