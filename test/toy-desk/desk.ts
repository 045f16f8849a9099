// The toy desk: what it brings, what it sees, what wakes its reconciler. How to write a desk: docs/how-to/write-a-desk.md.
//
//   changed        wakes
//   a berth        itself
//   a hold         its berth
//
// What wakes berths that wait, for an address, a MAC or a network, is the office's work (office/waiting.ts).

import { identityKey } from '../../src/api/object.ts'
import type { Desk, DeskInView } from '../../src/controllers/desk.ts'
import { noteIn } from '../../src/controllers/office/journal.ts'
import type { Office, SeenKind } from '../../src/controllers/office/office.ts'
import { RecentRefusals } from '../../src/controllers/office/recent-refusals.ts'
import { onHoldsOf } from '../../src/controllers/office/views.ts'
import { markOldestFirst } from '../../src/controllers/office/waiting.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { keyOf, namespaceOfKey } from '../../src/kube/object.ts'
import type { Domain } from '../../src/runtime/domain.ts'
import { defineReconciler } from '../../src/runtime/reconciler.ts'
import { reconcileBerth } from './binding.ts'
import { berths, networks, toyDefinitions } from './kinds.ts'
import { berthOf, networkOf } from './parsed.ts'
import { toyPermissions } from './permissions.ts'
import { standsBy } from './plan.ts'
import { followShown } from './shown.ts'
import { type ToyFacts, toyWebhooks } from './webhooks.ts'
import { type Caches, createCaches, type ToyWorld } from './world.ts'

const comesWith = 'the toy'

export const toy: Desk = {
  name: 'toy',
  about: 'Berths get an address of each family of their network, and their MAC',
  kinds: [
    { kind: berths, isNeeded: true, comesWith, usedAs: 'claim' },
    { kind: networks, isNeeded: true, comesWith },
  ],
  permissions: toyPermissions,
  webhooks: toyWebhooks,
  conversions: [],
  definitions: toyDefinitions,
  see: seeToy,
}

function seeToy(office: Office): DeskInView {
  const caches = createCaches(office.isFrozen, office.views)
  followShown(caches, office.ledger, office.sources)
  const where = 'networks'
  const seen = [office.see(berths, caches.berths, { where }), office.see(networks, caches.networks, { where })]
  return {
    facts: () => toyFacts(office, caches),
    open: domain => openToy(office, domain, caches, seen),
  }
}

function openToy(office: Office, domain: Domain, caches: Caches, seen: readonly SeenKind[]): void {
  const { client, clock, random, ledger, sources, metrics, scope } = office
  const recorder = office.recorderOf(toy.name)
  const world: Omit<ToyWorld, 'note'> = {
    ...{ client, clock, random, recorder, caches, ledger, sources },
    recentRefusals: new RecentRefusals(),
  }
  const about = { desk: toy.name, claimKind: berths.kind }
  const line = office.waiting.ofDesk(about, berth => binding.mark(berth))
  const binding = domain.addReconciler(
    defineReconciler({
      name: 'berth.binding',
      claimKind: berths.kind,
      reconcile: (key, pass) => {
        const inPass = { ...world, client: client.withPass(pass), note: noteIn(pass, metrics, about) }
        return line.during(key, () => reconcileBerth(key, scope, inPass))
      },
      groupOf: key => [namespaceOfKey(key), networkKeyOf(caches, key)],
      onStart: line.goOn,
      onPause: line.pause,
      onRest: line.rests,
    }),
  )
  metrics?.begin(about, {
    decisions: ['bound', 'waiting', 'lost race', 'released'],
    sources: [{ kind: networks.kind, strategies: [''] }],
    reasons: ['PoolNotFound', 'NamespaceNotAllowed', 'QuotaReached', 'PoolExhausted', 'MACInUse', 'MACQuarantined'],
  })
  // A list comes in the order of names: the berths of the first one are looked at when all of them are known.
  void caches.berths.synced().then(() => markOldestFirst([...caches.berths.values()], binding))
  caches.berths.subscribe(({ old, new: next }) => {
    if (caches.berths.hasSynced) binding.mark(keyOf((next ?? old) as NonNullable<typeof next>))
  })
  onHoldsOf(caches, ledger, berths, berth => binding.mark(berth))
  office.addClaimKind({
    kind: berths,
    cache: caches.berths,
    holdsMACs: true,
    standsBy(object, hold) {
      const berth = berthOf(object)
      return isMalformed(berth) || standsBy(berth, hold)
    },
  })
  for (const kind of seen) kind.neededBy(domain)
}

function networkKeyOf({ berths }: Caches, key: string): string {
  const object = berths.get(key)
  const berth = object && berthOf(object)
  return berth === undefined || isMalformed(berth) ? '' : identityKey(berth.network)
}

function toyFacts({ client }: Pick<Office, 'client'>, caches: Caches): ToyFacts | undefined {
  if (!caches.networks.hasSynced) return undefined
  return {
    defaultNetwork() {
      for (const object of caches.networks.values()) {
        const network = networkOf(object)
        if (!isMalformed(network) && network.isDefault) return network.identity.name
      }
      return undefined
    },
    hasNetwork: async name =>
      caches.networks.get(name) !== undefined || (await client.get(networks, { name })) !== undefined,
  }
}
