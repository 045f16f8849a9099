// The reconcilers `udn.rendering` and `cudn.rendering`, and what wakes them.
//
//   changed                                        wakes
//   a (Cluster)UserDefinedNetwork                  itself
//   a NetworkAttachmentDefinition                  the networks of its name; those of its namespace, and of the cluster, that wait
//   a namespace                                    the networks of the cluster, if its labels changed or it goes; its own
//   a hold of a network                            the network, if it waits

import { isDeepStrictEqual } from 'node:util'
import { clusterUDNOfNetwork } from '../../../api/cluster-user-defined-network.ts'
import { isDeleting } from '../../../kube/finalizers.ts'
import { type KubeObject, keyOf, namespaceOfKey } from '../../../kube/object.ts'
import { networkKind } from '../../../networks/network.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import { clusterUserDefinedNetworks, userDefinedNetworks } from '../../office/kinds.ts'
import { holdOf } from '../../office/parsed.ts'
import { controllerOf, type ImportWorld } from '../world.ts'
import { reconcileNetwork } from './reconcile.ts'

export function openRendering(domain: Domain, world: Omit<ImportWorld, 'note'>): void {
  const { client, caches } = world
  /** Keys whose last pass could not do all. */
  const waiting = new Set<string>()
  const [udns, cudns] = [userDefinedNetworks, clusterUserDefinedNetworks].map(kind =>
    domain.addReconciler(
      defineReconciler({
        name: kind.namespaced ? 'udn.rendering' : 'cudn.rendering',
        async reconcile(key, pass) {
          waiting.add(key)
          const note = noteIn(pass, undefined, { desk: domain.name, claimKind: '' })
          const result = await reconcileNetwork(kind, key, { ...world, client: client.withPass(pass), note })
          if (result.kind === 'done') waiting.delete(key)
          return result
        },
        groupOf: key => [namespaceOfKey(key)],
      }),
    ),
  )
  const mark = (key: string) => (key.includes('/') ? udns : cudns)?.mark(key)
  caches.udns.subscribe(({ key }) => mark(key))
  caches.clusterUDNs.subscribe(({ key }) => mark(key))
  const onAttachment = (key: string) => {
    const [namespace = '', name = ''] = key.split('/')
    if (caches.udns.get(key) !== undefined) mark(key)
    if (caches.clusterUDNs.get(name) !== undefined) mark(name)
    for (const one of waiting) if (['', namespace].includes(namespaceOfKey(one))) mark(one)
  }
  caches.attachments.subscribe(({ key }) => onAttachment(key))
  caches.rendered.subscribe(({ key, old, new: next }) => {
    onAttachment(key)
    for (const one of [old, next]) for (const owner of one === undefined ? [] : ownersOf(one)) mark(owner)
  })
  caches.namespaces.subscribe(({ key, old, new: next }) => {
    const isSame = isDeepStrictEqual(old?.metadata.labels, next?.metadata.labels)
    if (isSame && old !== undefined && next !== undefined && isDeleting(old) === isDeleting(next)) return
    for (const name of caches.clusterUDNs.keys()) mark(name)
    for (const udn of caches.udns.byIndex('namespace', key)) mark(keyOf(udn))
  })
  caches.holds.subscribe(change => {
    const pool = waiting.size === 0 ? undefined : readable(change.new ?? change.old, holdOf)?.pool
    if (pool?.kind !== networkKind) return
    for (const one of waiting) if (isNetworkOf(one, pool.name)) mark(one)
  })
}

const isNetworkOf = (key: string, network: string): boolean =>
  key === clusterUDNOfNetwork(network) || key.replace('/', '_') === network

function ownersOf(attachment: KubeObject): string[] {
  const owner = controllerOf(attachment)
  if (owner === undefined) return []
  return [owner.kind === userDefinedNetworks.kind ? `${attachment.metadata.namespace}/${owner.name}` : owner.name]
}
