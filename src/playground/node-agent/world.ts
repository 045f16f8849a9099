// What the node agent knows and may touch.

import { domainAnnotation, networksAnnotation } from '../../api/names.ts'
import { type NetworkSelection, parseNetworkSelections } from '../../api/network-selection.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import { isDeleting } from '../../kube/finalizers.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Domain } from '../../runtime/domain.ts'
import { follow, type PlaygroundParts } from '../follow.ts'
import { attachments, claims, instances, migrations, nodes, pods } from '../kinds.ts'
import {
  type AddressClaim,
  controllerOf,
  type Instance,
  isCompleted,
  type Migration,
  type NetworkAttachment,
  type Node,
  type Pod,
} from '../shapes.ts'
import type { PodIPs } from './pod-ips.ts'

export type PodIndex = 'node' | 'machine' | 'instance' | 'attachment' | 'claim'

export interface Caches {
  /**
   * Launcher pods alone. By node (empty: none yet), by namespace/name of the virtual machine, by uid of the instance, by
   * namespace/name of the NetworkAttachmentDefinitions and of the IPAMClaims that it names.
   */
  readonly pods: Cache<Pod, PodIndex>
  readonly instances: Cache<Instance>
  readonly migrations: Cache<Migration, 'uid'>
  readonly nodes: Cache<Node>
  readonly attachments: Cache<NetworkAttachment>
  readonly claims: Cache<AddressClaim>
}

export interface AgentWorld {
  readonly client: Client
  /** Instances are written with this one: with KubeVirt's webhooks only its handler may. */
  readonly handler: Client
  readonly clock: Clock
  readonly caches: Caches
  readonly podIPs: PodIPs
  /** Uids of pods that were bound to a node, which the cache has not heard of yet. */
  readonly bound: Set<string>
  readonly saysReady: boolean
  /** Names of the nodes that the agent plays. Pods on other nodes are none of its business. */
  readonly nodes: readonly string[]
}

export function followAll(parts: PlaygroundParts, domain: Domain): Caches {
  return {
    pods: follow<Pod, PodIndex>(parts, domain, pods, {
      labelSelector: 'kubevirt.io=virt-launcher',
      indexes: {
        node: pod => (isCompleted(pod) ? [] : [pod.spec?.nodeName ?? '']),
        machine: pod => [machineKeyOf(pod)].filter(key => key !== undefined),
        instance: pod => [controllerOf(pod)?.uid].filter(uid => uid !== undefined),
        attachment: pod => selectionsOf(pod).map(({ namespace, name }) => `${namespace}/${name}`),
        claim: pod =>
          selectionsOf(pod).flatMap(({ claim }) => (claim === '' ? [] : [`${pod.metadata.namespace}/${claim}`])),
      },
    }),
    instances: follow<Instance>(parts, domain, instances),
    migrations: follow<Migration, 'uid'>(parts, domain, migrations, {
      indexes: { uid: ({ metadata }) => [metadata.uid ?? ''] },
    }),
    nodes: follow<Node>(parts, domain, nodes),
    attachments: follow<NetworkAttachment>(parts, domain, attachments, { isNeeded: false }),
    claims: follow<AddressClaim>(parts, domain, claims, { isNeeded: false }),
  }
}

/** Undefined for a pod of no virtual machine. */
export function machineKeyOf({ metadata }: Pod): string | undefined {
  const domain = metadata.annotations?.[domainAnnotation]
  return domain === undefined ? undefined : `${metadata.namespace}/${domain}`
}

/** What the pod asks to be attached to; nothing while the annotation cannot be read. */
export function selectionsOf({ metadata }: Pod): readonly NetworkSelection[] {
  const selections = parseNetworkSelections(metadata.annotations?.[networksAnnotation], metadata.namespace ?? '')
  return isMalformed(selections) ? [] : selections
}

export const isLiving = (pod: Pod): boolean => !isCompleted(pod) && !isDeleting(pod)
