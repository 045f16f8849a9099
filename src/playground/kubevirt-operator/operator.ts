// The KubeVirt operator: a stand-in for virt-operator and for virt-handler, as far as the network of migrations goes. It keeps a KubeVirt
// object, a pod of virt-handler on every node, and rolls these pods when the network in the KubeVirt object changes, as virt-operator
// does: one at a time, and on with the next when it is ready. Nothing runs in the pods.

import { keyOfRef } from '../../kube/object.ts'
import { Manager } from '../../runtime/manager.ts'
import { defineReconciler } from '../../runtime/reconciler.ts'
import { follow, type PlaygroundParts } from '../follow.ts'
import { attachments, holds, kubeVirts, nodes, pods } from '../kinds.ts'
import type { KubeVirt, LedgerHold, NetworkAttachment, Node, Pod } from '../shapes.ts'
import { keepHandlers } from './handlers.ts'
import { keepKubeVirt } from './kubevirt.ts'
import type { OperatorWorld } from './world.ts'

export interface OperatorOptions extends PlaygroundParts {
  /** The KubeVirt object it keeps; Harvester's by default. */
  readonly kubeVirt?: { readonly namespace: string; readonly name: string }
}

const harvesters = { namespace: 'harvester-system', name: 'kubevirt' }

/** Resolves when it works, or is known to wait for a kind that is not installed. */
export async function startKubeVirtOperator(
  options: OperatorOptions,
): Promise<{ backlog(): number; stop(): Promise<void> }> {
  const { client, clock, random, kubeVirt = harvesters } = options
  const log = options.log.with({ playground: 'KubeVirt operator (stand-in)' })
  const parts = { ...options, log }
  const manager = new Manager({ clock, random, log })
  const domain = manager.domain('kubevirt-operator')
  const caches = {
    kubeVirts: follow<KubeVirt>(parts, domain, kubeVirts),
    nodes: follow<Node>(parts, domain, nodes),
    handlers: follow<Pod>(parts, domain, pods, { labelSelector: 'kubevirt.io=virt-handler' }),
    attachments: follow<NetworkAttachment>(parts, domain, attachments, { isNeeded: false }),
    holds: follow<LedgerHold>(parts, domain, holds, { isNeeded: false }),
  }
  const key = keyOfRef(kubeVirt)
  const world: OperatorWorld = { client, clock, caches, kubeVirt }
  const life = domain.addReconciler(
    defineReconciler({
      name: 'playground.kubevirt',
      concurrency: 1,
      async reconcile(_, pass) {
        const own = { ...world, client: client.withPass(pass) }
        const handlers = await keepHandlers(own)
        await keepKubeVirt(own, handlers)
        return handlers.next
      },
    }),
  )
  for (const cache of Object.values(caches)) cache.subscribe(() => life.mark(key))
  life.mark(key)
  await manager.start()
  log.info('playground (stand-in) KubeVirt operator rolls pods of virt-handler: nothing runs in them')
  return { backlog: () => manager.backlog, stop: () => manager.stop('shutdown') }
}
