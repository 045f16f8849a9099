// IPAMClaim of the network plumbing working group: the addresses of one interface of one virtual machine, which outlive its
// pods. `status.ips` is the choice: once it says something, it does not change for that claim's uid.

import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { type Condition, conditionsOf } from './condition.ts'
import type { ClaimReference } from './lock.ts'
import {
  attachmentAnnotation,
  cniGroup,
  formerMACAnnotation,
  madeBeforehandAnnotation,
  nodeLabel,
  requestedIPsAnnotation,
  requestedMACAnnotation,
  usedByAnnotation,
  vmLabel,
  vmNameAnnotation,
} from './names.ts'
import { hasDeletionTimestamp, isParsed, type Metadata, metadataOf, type Parsed, type VersionedKind } from './object.ts'
import { shared } from './repeated.ts'
import { type AddressRequest, isRequest, noRequest, parseRequestedIPs, parseRequestedMAC } from './requests.ts'
import {
  childOf,
  has,
  itemsOf,
  malformedBy,
  ownText,
  requiredText,
  type Shape,
  shapeOf,
  textMapOf,
  textOf,
  textsOf,
} from './shape.ts'

export const ipamClaimKind: VersionedKind = {
  group: cniGroup,
  version: 'v1alpha1',
  kind: 'IPAMClaim',
  plural: 'ipamclaims',
  isNamespaced: true,
}

export interface OwnRequest {
  readonly mac: boolean
  readonly ips: boolean
}

export interface IPAMClaim {
  readonly metadata: Metadata
  /** Name of the network inside of the config of its NetworkAttachmentDefinitions. */
  readonly network: string
  /** Of the pod; empty in claims of ipam-extensions. */
  readonly interface: string
  /** The NetworkAttachmentDefinition it is for, as namespace/name; undefined where it does not say. */
  readonly attachment: string | undefined
  /** Name of its virtual machine, by its label, or by its annotation where a label is too short; undefined where it has none. */
  readonly vm: string | undefined
  /** The node that made it for a pod; undefined for a claim that none made. */
  readonly node: string | undefined
  /** Uid of what uses it, by what a node wrote; undefined where none did. */
  readonly usedBy: string | undefined
  /** The MAC and the addresses that it asks for: a wish, by whichever user wrote it. */
  readonly request: AddressRequest | Malformed
  /** What of the request is the claim's own: it came with it, and no virtual machine wrote it. */
  readonly ownRequest: OwnRequest
  /** Of the MACHolds in its name, those up to this version are being let go of; undefined if none ever was. */
  readonly formerMACs: string | undefined
  /** As stored: they may have come from anywhere, so they are judged when they are used. */
  readonly ips: readonly string[]
  /** Empty if none. */
  readonly ownerPod: string
  readonly conditions: readonly Condition[]
  readonly isDeleting: boolean
}

export function parseIPAMClaim(object: unknown, readMetadata = metadataOf): Parsed<IPAMClaim> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const whole = childOf(root, 'metadata')
  const metadata = readMetadata(whole)
  const spec = childOf(root, 'spec')
  const status = childOf(root, 'status')
  const annotations = textMapOf(whole, 'annotations')
  const labels = textMapOf(whole, 'labels')
  const claim: Parsed<IPAMClaim> = {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    network: shared(requiredText(spec, 'network')),
    interface: shared(textOf(spec, 'interface') ?? ''),
    attachment: sharedText(ownText(annotations, attachmentAnnotation)),
    vm: ownText(annotations, vmNameAnnotation) || ownText(labels, vmLabel) || undefined,
    node: sharedText(ownText(labels, nodeLabel)),
    usedBy: ownText(annotations, usedByAnnotation) || undefined,
    request: requestOf(spec, annotations),
    ownRequest: ownRequestOf(spec, annotations),
    formerMACs: ownText(annotations, formerMACAnnotation) || undefined,
    ips: textsOf(status, 'ips'),
    ownerPod: textOf(childOf(status, 'ownerPod'), 'name') ?? '',
    conditions: conditionsOf(status, 'conditions'),
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : claim
}

/** The spec counts before the annotations: the definition of the working group keeps no fields for a request. */
function requestOf(spec: Shape, annotations: Readonly<Record<string, string>>): AddressRequest | Malformed {
  // What is wrong here is wrong with the request, and not with what the claim has.
  const own: Shape = { ...spec, faults: [] }
  const [listed, mac] = [textsOf(own, 'ips'), textOf(own, 'mac') || ownText(annotations, requestedMACAnnotation)]
  const ips = listed.length > 0 ? listed : itemsOf(ownText(annotations, requestedIPsAnnotation))
  if (own.faults.length > 0) return malformedBy(own.faults)
  if (ips.length === 0 && !mac) return noRequest
  const requested = { ips: parseRequestedIPs(ips), mac: mac ? parseRequestedMAC(mac) : undefined }
  if (isMalformed(requested.ips)) return { malformed: `the addresses that it asks for: ${requested.ips.malformed}` }
  if (isMalformed(requested.mac)) return { malformed: `the MAC that it asks for: ${requested.mac.malformed}` }
  return { ips: requested.ips, mac: requested.mac }
}

function ownRequestOf(spec: Shape, annotations: Readonly<Record<string, string>>): OwnRequest {
  const noted = itemsOf(ownText(annotations, madeBeforehandAnnotation))
  const isOwn = (field: 'mac' | 'ips'): boolean => noted.includes(field) || has(spec, field)
  const own = { mac: isOwn('mac'), ips: isOwn('ips') }
  return own.mac || own.ips ? own : nothingOwn
}

const nothingOwn: OwnRequest = { mac: false, ips: false }

/** Whether it asks for something, be it readable or not. */
export const hasRequest = ({ request }: Pick<IPAMClaim, 'request'>): boolean =>
  isMalformed(request) || isRequest(request)

const sharedText = (text: string | undefined): string | undefined => (text ? shared(text) : undefined)

/** `namespaceUID` is undefined where the namespace is not known. */
export function ipamClaimReference(
  { metadata }: Pick<IPAMClaim, 'metadata'>,
  namespaceUID: string | undefined,
): ClaimReference {
  const { namespace, name, uid } = metadata
  return {
    apiGroup: cniGroup,
    kind: ipamClaimKind.kind,
    namespace,
    name,
    uid,
    ...(namespaceUID !== undefined && { namespaceUID }),
  }
}
