// The pods that virtual machines run in: whose they are, which networks they are on, whether they can still run.

import type { Malformed } from '../ip/malformed.ts'
import {
  defaultNetworkAnnotation,
  domainAnnotation,
  endedClaimsAnnotation,
  formerMACsAnnotation,
  migrationJobLabel,
  networkStatusAnnotation,
  networksAnnotation,
  podNetworksAnnotation,
  primaryClaimAnnotation,
  targetReadyAnnotation,
} from './names.ts'
import { hasDeletionTimestamp, isParsed, type Metadata, metadataOf, type Parsed } from './object.ts'
import { shared } from './repeated.ts'
import { childOf, flagOf, itemsOf, malformedBy, ownText, shapeOf, textMapOf, textOf } from './shape.ts'

export interface LauncherPod {
  readonly metadata: Metadata
  /** Name of its VirtualMachineInstance; empty for a pod of no virtual machine. */
  readonly domain: string
  /** Uid of the VirtualMachineInstance that controls it; undefined where none does. */
  readonly instance: string | undefined
  /** The two annotations as they stand there; undefined where there is none. */
  readonly networks: string | undefined
  readonly podNetworks: string | undefined
  /** What Multus says about its attachments, as it stands there. */
  readonly networkStatus: string | undefined
  /** Name of the IPAMClaim of its primary network; undefined where none is said. */
  readonly primaryClaim: string | undefined
  /** What it asks for in the place of the pod network, as it stands there. */
  readonly defaultNetwork: string | undefined
  /** Uids of claims that ended, and that it is given nothing of. */
  readonly endedClaims: readonly string[]
  /** Of claims that let go of a MAC before it was told one: what their mark said, as `uid=version`. */
  readonly formerMACs: readonly string[]
  readonly nodeName: string
  readonly isOnHostNetwork: boolean
  /** Succeeded or Failed: it never runs again. */
  readonly isCompleted: boolean
  readonly isMigrationTarget: boolean
  readonly isTargetReady: boolean
  readonly isDeleting: boolean
}

export function parseLauncherPod(object: unknown, readMetadata = metadataOf): Parsed<LauncherPod> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const whole = childOf(root, 'metadata')
  const metadata = readMetadata(whole)
  const spec = childOf(root, 'spec')
  const annotations = textMapOf(whole, 'annotations')
  const phase = textOf(childOf(root, 'status'), 'phase') ?? ''
  const controller = metadata.ownerReferences.find(owner => owner.controller === true)
  const pod: Parsed<LauncherPod> = {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    domain: ownText(annotations, domainAnnotation) ?? '',
    instance: controller?.kind === 'VirtualMachineInstance' ? controller.uid : undefined,
    networks: ownText(annotations, networksAnnotation),
    podNetworks: ownText(annotations, podNetworksAnnotation),
    networkStatus: ownText(annotations, networkStatusAnnotation),
    primaryClaim: ownText(annotations, primaryClaimAnnotation),
    defaultNetwork: ownText(annotations, defaultNetworkAnnotation),
    endedClaims: itemsOf(ownText(annotations, endedClaimsAnnotation)),
    formerMACs: itemsOf(ownText(annotations, formerMACsAnnotation)),
    nodeName: shared(textOf(spec, 'nodeName') ?? ''),
    isOnHostNetwork: flagOf(spec, 'hostNetwork'),
    isCompleted: phase === 'Succeeded' || phase === 'Failed',
    isMigrationTarget: ownText(textMapOf(whole, 'labels'), migrationJobLabel) !== undefined,
    isTargetReady: ownText(annotations, targetReadyAnnotation) !== undefined,
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : pod
}
