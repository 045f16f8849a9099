// The IPAMClaim that a node makes for an interface of a pod that names none. It lives with the pod: the pod owns it, and the
// finalizer of the node keeps it, and with it the address, until no sandbox of the pod is left on the node. Pure.

import { createHash } from 'node:crypto'
import { type IPAMClaim, ipamClaimKind } from '../api/ipam-claim.ts'
import type { LauncherPod } from '../api/launcher-pod.ts'
import {
  attachmentAnnotation,
  nodeFinalizer,
  nodeLabel,
  persistentIPFinalizer,
  requestedIPsAnnotation,
  requestedMACAnnotation,
} from '../api/names.ts'
import { apiVersionOf } from '../api/object.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Selected } from './selected.ts'

const nameCharsMax = 253
const hashChars = 10

/** By the uid too: a pod that is made again under its name does not wait for the claim of the former to end. */
export function ownClaimName({ metadata }: Pick<LauncherPod, 'metadata'>, { name, ifname, key }: Selected): string {
  const of = `${metadata.uid} ${key} ${ifname}`
  const hash = createHash('sha256').update(of).digest('hex').slice(0, hashChars)
  const parts = [metadata.name, name, ifname.toLowerCase()].map(part => part.replaceAll(/[^a-z0-9.-]/g, '-'))
  const base = parts
    .join('.')
    .replaceAll(/[-.]*\.[-.]*/g, '.')
    .slice(0, nameCharsMax - hashChars - 1)
    .replaceAll(/^[-.]+|[-.]+$/g, '')
  return `${base}-${hash}`
}

export function toOwnClaim(
  pod: Pick<LauncherPod, 'metadata'>,
  selected: Selected,
  network: string,
  node: string,
): KubeObject & { readonly spec: object } {
  const { namespace, name, uid } = pod.metadata
  const { ips, mac, key, ifname } = selected
  return {
    apiVersion: apiVersionOf(ipamClaimKind),
    kind: ipamClaimKind.kind,
    metadata: {
      namespace,
      name: ownClaimName(pod, selected),
      labels: { [nodeLabel]: node },
      annotations: {
        [attachmentAnnotation]: key,
        ...(ips.length > 0 && { [requestedIPsAnnotation]: ips.join(',') }),
        ...(mac !== '' && { [requestedMACAnnotation]: mac }),
      },
      finalizers: [persistentIPFinalizer, nodeFinalizer],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: { network, interface: ifname },
  }
}

/** The pod that it was made for; undefined for a claim that no node made. */
export function podOfOwnClaim({
  metadata,
  node,
}: IPAMClaim): { readonly name: string; readonly uid: string } | undefined {
  if (node === undefined) return undefined
  return metadata.ownerReferences.find(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Pod')
}
