// udn.rendering, cudn.rendering - every namespace that a (Cluster)UserDefinedNetwork is for has one NetworkAttachmentDefinition
// of its name, which says what OVN-Kubernetes would have it say; no other namespace has one.
//
// Reads:   the network, namespaces, NetworkAttachmentDefinitions; decides in plan.ts. What uses a network is asked of the API
//          server, when something of it is to go.
// Writes:  NetworkAttachmentDefinitions; finalizer, annotations and status of the network.
// Safe:    where OVN-Kubernetes renders, nothing is written. What another object controls is never changed. What was rendered
//          stays while a pod or a claim of its namespace uses it.

import { protectNetworkFinalizer } from '../../../api/names.ts'
import { hasDeletionTimestamp, identityKey } from '../../../api/object.ts'
import { ownText } from '../../../api/shape.ts'
import type { UserDefinedNetwork } from '../../../api/user-defined-network.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { type Kind, type KubeObject, keyOf, refOf } from '../../../kube/object.ts'
import { networkNamed } from '../../../networks/network.ts'
import { renderNetwork } from '../../../networks/rendered.ts'
import { done, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { attachments } from '../../office/kinds.ts'
import { holdOf } from '../../office/parsed.ts'
import { isInScope } from '../../office/scope.ts'
import { type ImportWorld, udnOf } from '../world.ts'
import { isSame } from './attachment.ts'
import { attachmentsOf, isFor, isMadeOf, placesOf } from './observe.ts'
import { removeOrphans } from './orphans.ts'
import {
  conditionOf,
  decide,
  foreign,
  isObserved,
  type Leaving,
  type RenderingPlan,
  type Seen,
  shownOn,
} from './plan.ts'
import { make, mark, remove, restore, tell, unmark } from './steps.ts'
import { whyUsed } from './use.ts'

/** What holds a network up (a pod, a claim, an object of another user) is looked for again after so long. */
const usedPollMs = 15_000

export async function reconcileNetwork(kind: Kind, key: string, world: ImportWorld): Promise<PassResult> {
  const { caches, scope, mode } = world
  if (!(await world.isRendering())) return done()
  const object = kind.namespaced ? caches.udns.get(key) : caches.clusterUDNs.get(key)
  const areOrphansLeft = !(await removeOrphans(kind, key, object, world))
  const udn = object !== undefined && isInScope(scope, object) ? udnOf(object) : undefined
  // What cannot be read the definition has not let in.
  if (udn === undefined || isMalformed(udn)) return areOrphansLeft ? requeueAfter(usedPollMs) : done()
  const rendered = renderNetwork(udn)
  const made = [...madeOf(kind, key, udn, world), ...(await unlabelledOf(udn, world))]
  if (rendered === undefined || isObserved(udn, mode)) return done()
  if (hasDeletionTimestamp(udn.metadata)) return end(kind, udn, made, world)
  const marked = await marksOn(kind, udn, shownOn({ udn, rendered }), world)
  const seen = { udn: marked, kind: kind.kind as Seen['kind'], rendered, places: placesOf(marked, made, world) }
  const errors = await settle(decide(seen), marked, world)
  const now = madeOf(kind, key, marked, world)
  await tell(world, kind, marked, conditionOf(seen, { errors, attachments: now }))
  return errors.length > 0 || areOrphansLeft ? requeueAfter(usedPollMs) : done()
}

const madeOf = (kind: Kind, key: string, { metadata }: UserDefinedNetwork, world: ImportWorld): readonly KubeObject[] =>
  attachmentsOf(kind, key, world).filter(one => isMadeOf(one, metadata.uid))

/**
 * Those of which a user took the label away: they are found by their network, and read whole. When the network goes, all are
 * looked at: the config may have been changed as well, and what is missed then would stay for ever, by its finalizer. The cache
 * does not learn them: it is of those with the label.
 */
async function unlabelledOf({ networkName, metadata }: UserDefinedNetwork, { client, caches }: ImportWorld) {
  const { attachments: known, rendered } = caches
  const found: KubeObject[] = []
  for (const object of hasDeletionTimestamp(metadata) ? [...known.values()] : known.byIndex('network', networkName)) {
    if (rendered.get(keyOf(object)) !== undefined || !isMadeOf(object, metadata.uid)) continue
    const live = await client.get(attachments, refOf(object))
    if (live !== undefined && isMadeOf(live, metadata.uid)) found.push(live)
  }
  return found
}

async function marksOn(
  kind: Kind,
  udn: UserDefinedNetwork,
  shown: Readonly<Record<string, string>>,
  world: ImportWorld,
): Promise<UserDefinedNetwork> {
  const { annotations, finalizers } = udn.metadata
  const isShown = Object.entries(shown).every(([name, text]) => ownText(annotations, name) === text)
  if (isShown && finalizers.includes(protectNetworkFinalizer)) return udn
  const stored = udnOf(await mark(world, kind, udn.metadata, shown))
  if (isMalformed(stored)) throw new Error(stored.malformed)
  return stored
}

async function settle(plan: RenderingPlan, { metadata, networkName }: UserDefinedNetwork, world: ImportWorld) {
  const errors = [...plan.errors]
  for (const wanted of plan.make) {
    const there = await make(world, wanted)
    if (!isMadeOf(there, metadata.uid)) errors.push(foreign(there.metadata.namespace ?? '', metadata.name))
    else if (!isSame(there, wanted)) await restore(world, there, wanted)
  }
  for (const { there, wanted } of plan.restore) await restore(world, there, wanted)
  return [...errors, ...(await removeAll(plan.remove, networkName, world))]
}

/** Answers what had to stay, and why. */
async function removeAll(leaving: readonly Leaving[], network: string, world: ImportWorld): Promise<string[]> {
  const errors: string[] = []
  for (const one of leaving) {
    const why = await whyUsed(world.client, one, network)
    if (why === undefined) await remove(world, one.attachment)
    else errors.push(why)
  }
  return errors
}

/** The way out of a network: its NetworkAttachmentDefinitions first, then the network itself. */
async function end(
  kind: Kind,
  udn: UserDefinedNetwork,
  made: readonly KubeObject[],
  world: ImportWorld,
): Promise<PassResult> {
  if (!udn.metadata.finalizers.includes(protectNetworkFinalizer)) return done()
  const leaving = made.map(attachment => {
    const { namespace = '' } = attachment.metadata
    return { attachment, isElsewhere: !isFor(udn, namespace, world) }
  })
  const errors = [...heldElsewhere(udn, made, world), ...(await removeAll(leaving, udn.networkName, world))]
  if (errors.length === 0) {
    await unmark(world, kind, udn.metadata)
    return done()
  }
  const seen = { udn, kind: kind.kind as Seen['kind'] }
  await tell(world, kind, udn, conditionOf(seen, { errors, attachments: made }))
  return requeueAfter(usedPollMs)
}

/** Claims of namespaces that have no NetworkAttachmentDefinition of it, and addresses of it all the same. */
function heldElsewhere({ networkName }: UserDefinedNetwork, made: readonly KubeObject[], { caches }: ImportWorld) {
  const asked = new Set(made.map(({ metadata }) => metadata.namespace))
  const holds = caches.holds.byIndex('pool', identityKey(networkNamed(networkName)))
  const claims = holds.flatMap(object => {
    const hold = readable(object, holdOf)
    if (hold === undefined || hold.state !== 'held' || asked.has(hold.claim.namespace)) return []
    return [`${hold.claim.namespace}/${hold.claim.name}`]
  })
  if (claims.length === 0) return []
  return [
    `addresses of the network are held by claims, ${[...new Set(claims)].toSorted()[0]} for one: delete these first`,
  ]
}
