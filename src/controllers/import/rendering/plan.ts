// One pure function: from a (Cluster)UserDefinedNetwork, its namespaces and its NetworkAttachmentDefinitions to what is to be
// written. Reasons and sentences of errors are those of OVN-Kubernetes, which people and programs know.

import type { ConditionFact } from '../../../api/condition.ts'
import {
  gatewaysAnnotation,
  managementAnnotation,
  networkAllocatedCondition,
  networkCreatedCondition,
  networkNameAnnotation,
  primaryNetworkLabel,
  protectNetworkFinalizer,
} from '../../../api/names.ts'
import { ownText } from '../../../api/shape.ts'
import type { UserDefinedNetwork } from '../../../api/user-defined-network.ts'
import { toIPText } from '../../../ip/address.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { RenderedNetwork } from '../../../networks/rendered.ts'
import type { UDNMode } from '../../office/networks.ts'
import { isSame, toAttachment } from './attachment.ts'

/** One namespace that the network is for, or in which there is something of it. */
export interface Place {
  readonly namespace: string
  /** The network is for it, and it is not on its way out. */
  readonly isTarget: boolean
  /** The network is not for it, whether it is on its way out or not. */
  readonly isElsewhere: boolean
  readonly hasPrimaryLabel: boolean
  /** Made of this very network. */
  readonly attachment: KubeObject | undefined
  /** One of the same name is there, and of something else. */
  readonly hasForeign: boolean
  /** The name of another primary network that the namespace has. */
  readonly otherPrimary: string | undefined
}

export interface Seen {
  readonly udn: UserDefinedNetwork
  readonly kind: 'UserDefinedNetwork' | 'ClusterUserDefinedNetwork'
  readonly rendered: RenderedNetwork | Malformed
  readonly places: readonly Place[]
}

/** What has to go as soon as nothing uses it. */
export interface Leaving {
  readonly attachment: KubeObject
  /** The network is not for its namespace, or no longer: only claims that have an address of it keep it there. */
  readonly isElsewhere: boolean
}

export interface RenderingPlan {
  readonly make: readonly KubeObject[]
  readonly restore: readonly { readonly there: KubeObject; readonly wanted: KubeObject }[]
  readonly remove: readonly Leaving[]
  readonly errors: readonly string[]
}

/**
 * Whether OVN-Kubernetes was seen to render it. Both signs are on the object itself: what tenants write to
 * NetworkAttachmentDefinitions of their namespaces decides nothing for the others.
 */
export function isObserved(udn: UserDefinedNetwork, mode: UDNMode): boolean {
  if (mode !== 'auto') return mode === 'observe'
  const { finalizers, annotations } = udn.metadata
  const isKept = finalizers.includes(protectNetworkFinalizer)
  // Mooring writes both in one request.
  if (isKept && ownText(annotations, networkNameAnnotation) === undefined) return true
  return udn.conditions.some(({ type }) => type === networkAllocatedCondition)
}

/** What the object itself is to say, beside its status: the definition of OVN-Kubernetes has no fields for it. */
export function shownOn({ udn, rendered }: Pick<Seen, 'udn' | 'rendered'>): Readonly<Record<string, string>> {
  const shown = { [networkNameAnnotation]: udn.networkName }
  if (isMalformed(rendered) || rendered.gateways.length === 0) return shown
  return {
    ...shown,
    [gatewaysAnnotation]: rendered.gateways.map(toIPText).join(),
    [managementAnnotation]: rendered.management.map(toIPText).join(),
  }
}

export function decide({ udn, kind, rendered, places }: Seen): RenderingPlan {
  const make: KubeObject[] = []
  const restore: { there: KubeObject; wanted: KubeObject }[] = []
  const remove: Leaving[] = []
  const errors: string[] = []
  for (const place of places) {
    const { namespace, attachment } = place
    if (!place.isTarget || (attachment !== undefined && isLeaving(attachment))) {
      if (attachment !== undefined) remove.push({ attachment, isElsewhere: place.isElsewhere })
      continue
    }
    const why = isMalformed(rendered) ? undefined : whyNot(udn, place)
    if (why !== undefined) errors.push(why)
    if (why !== undefined || isMalformed(rendered)) continue
    const wanted = toAttachment(udn, kind, namespace, rendered)
    if (attachment === undefined) make.push(wanted)
    else if (!isSame(attachment, wanted)) restore.push({ there: attachment, wanted })
  }
  if (isMalformed(rendered)) errors.push(`failed to generate NetworkAttachmentDefinition: ${rendered.malformed}`)
  return { make, restore, remove, errors }
}

/** A user deleted it: it goes as soon as it can, and is made again. */
const isLeaving = ({ metadata }: KubeObject): boolean => Boolean(metadata.deletionTimestamp)

function whyNot(udn: UserDefinedNetwork, place: Place): string | undefined {
  const { namespace } = place
  if (udn.isPrimary && !place.hasPrimaryLabel) return noPrimaryLabel(namespace)
  if (place.hasForeign) return foreign(namespace, udn.metadata.name)
  if (udn.isPrimary && place.attachment === undefined && place.otherPrimary !== undefined) {
    return `primary network already exist in namespace "${namespace}": "${place.otherPrimary}"`
  }
  return undefined
}

function noPrimaryLabel(namespace: string): string {
  const what = 'a valid primary user defined network or network attachment definition custom resource'
  const label = `required namespace label "${primaryNetworkLabel}"`
  return `invalid primary network state for namespace "${namespace}": ${what}, and ${label} must both be present`
}

export const foreign = (namespace: string, name: string): string =>
  `foreign NetworkAttachmentDefinition with the desired name already exist [${namespace}/${name}]`

// --- the condition ---

export interface Outcome {
  readonly errors: readonly string[]
  /** Of all namespaces in which it is now. */
  readonly attachments: readonly KubeObject[]
}

export function conditionOf(
  { udn, kind }: Pick<Seen, 'udn' | 'kind'>,
  { errors, attachments }: Outcome,
): ConditionFact {
  const isOfCluster = kind === 'ClusterUserDefinedNetwork'
  const fact = { type: networkCreatedCondition, observedGeneration: udn.metadata.generation }
  if (errors.length > 0) {
    const reason = isOfCluster ? 'NetworkAttachmentDefinitionSyncError' : 'SyncError'
    return { ...fact, status: 'False', reason, message: bounded(errors) }
  }
  const leaving = attachments.filter(isLeaving).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  if (leaving.length > 0) {
    const message = isOfCluster
      ? `NetworkAttachmentDefinition are being deleted: [${leaving.toSorted().join(' ')}]`
      : 'NetworkAttachmentDefinition is being deleted'
    return { ...fact, status: 'False', reason: 'NetworkAttachmentDefinitionDeleted', message }
  }
  const namespaces = attachments.map(({ metadata }) => metadata.namespace ?? '').toSorted()
  const created = 'NetworkAttachmentDefinition has been created'
  const message = isOfCluster ? `${created} in following namespaces: [${namespaces.join(', ')}]` : created
  return { ...fact, status: 'True', reason: 'NetworkAttachmentDefinitionCreated', message: cut(message) }
}

const messageCharsMax = 32_768
const cut = (text: string): string =>
  text.length <= messageCharsMax ? text : `${text.slice(0, messageCharsMax - 3)}...`

const bounded = (errors: readonly string[]): string => cut(errors.join('\n'))
