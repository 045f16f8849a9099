// What the stand-in for virt-operator knows and may touch.

import type { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { KubeVirt, LedgerHold, NetworkAttachment, Node, Pod } from '../shapes.ts'

export interface OperatorWorld {
  readonly client: Client
  readonly clock: Clock
  readonly kubeVirt: { readonly namespace: string; readonly name: string }
  readonly caches: {
    readonly kubeVirts: Cache<KubeVirt>
    readonly nodes: Cache<Node>
    /** Pods of virt-handler, of every namespace. */
    readonly handlers: Cache<Pod>
    readonly attachments: Cache<NetworkAttachment>
    readonly holds: Cache<LedgerHold>
  }
}

/** Empty for the management network. */
export const networkOf = (kubeVirt: KubeVirt | undefined): string =>
  kubeVirt?.spec?.configuration?.migrations?.network ?? ''
