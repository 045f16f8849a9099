// The reconciler `migration.addresses`, and what wakes it.
//
//   changed                          wakes
//   a node                           itself
//   a migration network, its pools   every node
//   a hold of such a network         the node that it names, and those that wait: a network keeps for a node what it has on another
//
// What else wakes nodes that wait for an address is the office's work (office/waiting.ts).

import { cniGroup } from '../../../api/names.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import type { Office } from '../../office/office.ts'
import { holdOf } from '../../office/parsed.ts'
import { attachments, nodes } from '../kinds.ts'
import type { Caches } from '../world.ts'
import { type AddressesWorld, counted, keyOfPlace, nodeOfKey, type Refusals, reconcileNode } from './node-addresses.ts'

/** `onChange`: a node has an address, or is told why it has none. */
export function openAddresses(
  domain: Domain,
  office: Office,
  caches: Caches,
  refusals: Refusals,
  onChange: () => void,
): void {
  const { client, clock, random, views, ledger, sources, metrics } = office
  const world: Omit<AddressesWorld, 'note'> = { client, clock, random, caches, views, ledger, sources }
  const about = { desk: domain.name, claimKind: nodes.kind }
  metrics?.begin(about, counted)
  const line = office.waiting.ofDesk(about, place => addresses.mark(nodeOfKey(place)))
  const whyWaits = (name: string): string => {
    const own = [...refusals.values()].filter(({ place }) => place.node === name)
    return own.map(({ place, message }) => `${keyOfPlace(place)}: ${message}`).join()
  }
  const addresses = domain.addReconciler(
    defineReconciler({
      name: 'migration.addresses',
      claimKind: nodes.kind,
      async reconcile(name, pass) {
        const before = whyWaits(name)
        const inPass = { ...world, client: client.withPass(pass), note: noteIn(pass, metrics, about) }
        try {
          return await reconcileNode(name, line, refusals, inPass)
        } finally {
          if (whyWaits(name) !== before) onChange()
        }
      },
      onStart: line.goOn,
      onPause: line.pause,
      onRest(name) {
        for (const { place } of refusals.values()) if (place.node === name) line.rests(keyOfPlace(place))
      },
    }),
  )
  const markAll = () => {
    for (const name of caches.nodes.keys()) addresses.mark(name)
  }
  caches.nodes.subscribe(({ key }) => addresses.mark(key))
  for (const cache of [caches.made, caches.settings, caches.migrationNetworks]) cache.subscribe(markAll)
  sources.subscribe(({ key }) => {
    if (key.includes(`.${cniGroup}/`)) markAll()
  })
  views.holds.subscribe(change => {
    const hold = readable(change.new ?? change.old, holdOf)
    if (hold === undefined || hold.pool.kind !== attachments.kind) return
    if (hold.claim.kind === nodes.kind) addresses.mark(hold.claim.name)
    for (const { place } of refusals.values()) addresses.mark(place.node)
    onChange()
  })
  office.addClaimKind({
    kind: nodes,
    cache: caches.nodes,
    // While its network is there. What is left of one that is gone is put to rest by the node's own pass.
    standsBy: (_, { pool }) => caches.made.get(`${pool.namespace}/${pool.name}`) !== undefined,
    isUsed: async (_, { pool }, ofPass) =>
      (await ofPass.get(attachments, { namespace: pool.namespace, name: pool.name })) !== undefined,
  })
}
