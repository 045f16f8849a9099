// What the vm desk knows and may touch: its caches, the networks, the ledger, one client. Its reconcilers take all of it from
// here and nothing from anywhere else.

import type { VirtualMachine } from '../../api/virtual-machine.ts'
import { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Recorder } from '../../kube/events.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Note } from '../office/journal.ts'
import { readable } from '../office/kept.ts'
import type { Ledger } from '../office/ledger.ts'
import type { NetworksView } from '../office/networks.ts'
import type { RecentRefusals } from '../office/recent-refusals.ts'
import type { Sources } from '../office/sources.ts'
import type { Views } from '../office/views.ts'
import type { Launchers } from './claims/ask.ts'
import type { PodMetrics } from './metrics.ts'
import { claimOf, keepClaim, keepPod, keepVM, keepVMI, podOf, vmiOf, vmOf } from './parsed.ts'
import { claimNamesOf, primarySelectionOf, selectionsOf, shownNetworksOf } from './pods/annotation.ts'

export interface Caches extends Views {
  /** By network name; by virtual machine, as namespace/name. */
  readonly claims: Cache<KubeObject, 'network' | 'vm'>
  /** By the NetworkAttachmentDefinitions of their interfaces, as namespace/name, and `namespace/` for the pod network. */
  readonly vms: Cache<KubeObject, 'attachment'>
  readonly vmis: Cache<KubeObject, 'attachment'>
  /**
   * Launcher pods alone: those with the label of KubeVirt. By virtual machine, by the IPAMClaims they name, and by the
   * NetworkAttachmentDefinitions they are on, each as namespace/name, and `namespace/` for a primary network.
   */
  readonly pods: Cache<KubeObject, 'vm' | 'claim' | 'attachment'>
}

export interface VMWorld {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly recorder: Pick<Recorder, 'event'>
  readonly caches: Caches
  readonly networks: NetworksView
  /** As the API server has them when it is asked, and not before. */
  readonly launchersOf: (namespace: string) => Promise<Launchers | undefined>
  /** What IPPools keep is known after it as of the call, however late their events are. */
  readonly readReservations: () => Promise<void>
  /** Networks, and what claims and pods show on them, are known: before that nothing is given out. */
  readonly isAllShown: () => boolean
  readonly ledger: Ledger
  readonly sources: Pick<Sources, 'whySpaceRefused' | 'poolsOf' | 'poolsIn'>
  /** Refusals written of late. */
  readonly recentRefusals: RecentRefusals
  readonly podMetrics: PodMetrics | undefined
  /** Of the pass that runs. */
  readonly note: Note
}

export function createCaches(isFrozen: boolean, views: Views): Caches {
  const options = { isFrozen }
  return {
    ...views,
    claims: new Cache<KubeObject, 'network' | 'vm'>({
      ...options,
      keep: keepClaim,
      indexes: {
        network: object => [readable(object, claimOf)?.network].filter(name => name !== undefined),
        vm: object => vmKeysOfClaim(object),
      },
    }),
    vms: new Cache<KubeObject, 'attachment'>({
      ...options,
      keep: keepVM,
      indexes: { attachment: object => attachmentsOf(readable(object, vmOf)) },
    }),
    vmis: new Cache<KubeObject, 'attachment'>({
      ...options,
      keep: keepVMI,
      indexes: { attachment: object => attachmentsOf(readable(object, vmiOf)) },
    }),
    pods: new Cache<KubeObject, 'vm' | 'claim' | 'attachment'>({
      ...options,
      keep: keepPod,
      indexes: {
        vm: object => vmKeysOfPod(object),
        claim: object => claimKeysOfPod(object),
        attachment: object => attachmentsOfPod(object),
      },
    }),
  }
}

function attachmentsOf(machine: Pick<VirtualMachine, 'metadata' | 'interfaces'> | undefined): string[] {
  if (machine === undefined) return []
  const { metadata, interfaces } = machine
  return [...new Set(interfaces.map(({ attachment }) => attachment ?? podNetworkOf(metadata.namespace)))]
}

/** Stands for the pod network of a namespace, among keys of NetworkAttachmentDefinitions. */
export const podNetworkOf = (namespace: string): string => `${namespace}/`

/** By its owners of KubeVirt, and by its label: an orphan has only that. */
export function vmKeysOfClaim(object: KubeObject): string[] {
  const claim = readable(object, claimOf)
  if (claim === undefined) return []
  const { namespace, ownerReferences } = claim.metadata
  if (ownerReferences.length === 0) return claim.vm === undefined ? [] : [`${namespace}/${claim.vm}`]
  const owners = ownerReferences.filter(({ apiVersion }) => apiVersion.startsWith('kubevirt.io/'))
  const names = new Set([...owners.map(({ name }) => name), ...(claim.vm === undefined ? [] : [claim.vm])])
  return [...names].map(name => `${namespace}/${name}`)
}

/** The annotation decides: labels may be cut, or say a host name. */
export function vmKeysOfPod(object: KubeObject): string[] {
  const pod = readable(object, podOf)
  return pod === undefined || pod.domain === '' ? [] : [`${pod.metadata.namespace}/${pod.domain}`]
}

function claimKeysOfPod(object: KubeObject): string[] {
  const pod = readable(object, podOf)
  if (pod === undefined) return []
  return claimNamesOf(pod).map(name => `${pod.metadata.namespace}/${name}`)
}

/** Those it asks for, and those it shows addresses on; that of its namespace in the place of the pod network, if it is on it. */
function attachmentsOfPod(object: KubeObject): string[] {
  const pod = readable(object, podOf)
  if (pod === undefined) return []
  const asked = selectionsOf(pod).map(({ namespace, name }) => `${namespace}/${name}`)
  if (primarySelectionOf(pod) !== undefined) asked.push(podNetworkOf(pod.metadata.namespace))
  return [...new Set([...asked, ...shownNetworksOf(pod).map(({ attachment }) => attachment)])]
}
