// What an interface of a pod is given: found out by the pod, its network, and the claim that has its addresses. It is the one way
// from a pod to addresses: pods that are seen coming are prepared by it, and an ADD that nothing was prepared for asks it.
//
//   the network's addresses are held by    the interface gets
//   nodes                                  the address that this node holds on the network
//   claims, and the pod names one          those of that claim, if the pod may use it
//   claims, and the pod names none         those of a claim that is made for it here, and lives with the pod
//
// Neither the status of a claim nor its annotations are believed: any user who may write them could put the address of another
// network on this one. What counts is the hold, which names the claim by its uid and the network that it was given out from.

import { mayUse, ownerOf, userOf } from '../api/claim-use.ts'
import { firstOfEachPart, holdName, parseHold } from '../api/hold.ts'
import type { IPAMClaim } from '../api/ipam-claim.ts'
import { ipsAllocatedCondition, usedByAnnotation } from '../api/names.ts'
import { type Identity, identityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { ownPoolKindOf, toPool } from '../api/to-pool.ts'
import { parseVirtualMachineInstance } from '../api/virtual-machine.ts'
import { claimUidLabel } from '../controllers/office/hold/steps.ts'
import { readable } from '../controllers/office/kept.ts'
import { type ChosenIP, chosenOf } from '../controllers/vm/binding/choice.ts'
import { bitsOf, isSameIP, toIPText } from '../ip/address.ts'
import { parseCIDR, toCIDRText } from '../ip/cidr.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { isApiError } from '../kube/api-error.ts'
import { Cache } from '../kube/cache.ts'
import type { KubeObject } from '../kube/object.ts'
import { Reflector } from '../kube/reflector.ts'
import { isOfMooring, type MooringReading, type Attachment as ReadAttachment } from '../networks/attachment.ts'
import { mooringNetworkOf, type Network } from '../networks/network.ts'
import { asking } from './ask.ts'
import { attachments, holds, ipamClaims, kindAs, nodes, pods, virtualMachineInstances } from './kinds.ts'
import { ownClaimName, toOwnClaim } from './own-claim.ts'
import type { Selected } from './selected.ts'
import { CNIError, codes, type Given } from './spec.ts'
import type { Attachment } from './state.ts'
import { attachmentOf, claimOf, type NodeWorld, type Pod, podOf } from './world.ts'

/** Answers what is known now, and what a call would have to wait for is made on the way: the claim of the pod. */
export async function prepare(pod: Pod, selected: Selected, world: NodeWorld): Promise<Attachment> {
  return found(pod, selected, world, () => Promise.resolve(undefined))
}

/** The same, and waits until the claim has its addresses, or is refused them. */
export async function waitForGiven(pod: Pod, selected: Selected, world: NodeWorld): Promise<Attachment> {
  return found(pod, selected, world, claim => served(claim, world))
}

async function found(
  pod: Pod,
  selected: Selected,
  world: NodeWorld,
  wait: (claim: IPAMClaim) => Promise<IPAMClaim | undefined>,
): Promise<Attachment> {
  const read = await attachmentAt(selected.key, world)
  const network = mooringNetworkOf(read)
  const common = {
    podUID: pod.metadata.uid,
    namespace: pod.metadata.namespace,
    pod: pod.metadata.name,
    ifname: selected.ifname,
    network: network.name,
    attachment: selected.key,
  }
  if (network.holder === 'node') {
    const given = await ofNode(pod, read, network, world)
    return world.state.prepare({ ...common, claim: '', given })
  }
  const first = await claimFor(pod, selected, read, world)
  const claim = first.ips.length > 0 ? first : ((await wait(first)) ?? first)
  if (claim.ips.length === 0) throw whyUnserved(claim)
  const given = await ofClaim(claim, read, network, world)
  const isAsked = selected.claim === '' ? undefined : selected.ips.find(text => !has(given, text))
  if (isAsked !== undefined) {
    const what = `IPAMClaim ${claim.metadata.namespace}/${claim.metadata.name} has ${claim.ips.join(', ')}`
    throw new CNIError(codes.refused, `${what}, and the network selection element asks for ${quoteText(isAsked)}`)
  }
  if (selected.claim === '') mustStillBe(claim, world)
  return world.state.prepare({ ...common, claim: claim.metadata.name, given })
}

/** In one step with what is written to the disk: a claim that was let go meanwhile gives nothing. */
function mustStillBe({ metadata: { namespace, name, uid } }: IPAMClaim, { caches }: NodeWorld): void {
  const now = readable(caches.claims.get(`${namespace}/${name}`), claimOf)
  if (now?.metadata.uid === uid && !now.isDeleting) return
  throw new CNIError(codes.tryAgainLater, `IPAMClaim ${namespace}/${name} was let go meanwhile`)
}

const has = ({ ips }: Given, text: string): boolean => {
  const asked = parseCIDR(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`)
  if (isMalformed(asked)) return false
  return ips.some(({ address }) => {
    const own = parseCIDR(address)
    return !isMalformed(own) && isSameIP(own.ip, asked.ip)
  })
}

// --- the pod and its network ---

/** Which pod a call is for: by what the runtime says, held against the object. */
export async function podNamed(
  name: { readonly namespace: string; readonly name: string; readonly uid: string },
  { caches, client, node }: NodeWorld,
): Promise<Pod> {
  const key = `${name.namespace}/${name.name}`
  const isIt = (pod: Pod | undefined): pod is Pod =>
    pod !== undefined && (name.uid === '' || name.uid === pod.metadata.uid || name.uid === pod.mirrored)
  let pod = readable<Pod>(caches.pods.get(key), podOf)
  if (!isIt(pod)) {
    const { namespace, name: podName } = name
    const object = await asking(`pod ${key}`, () => client.get(pods, { namespace, name: podName }))
    pod = readable<Pod>(object, podOf)
  }
  if (!isIt(pod)) throw new CNIError(codes.tryAgainLater, `there is no pod ${key} of uid ${name.uid || 'any'}`)
  if (pod.nodeName !== node) {
    const where = pod.nodeName === '' ? 'no node' : `node ${pod.nodeName}`
    throw new CNIError(codes.refused, `pod ${key} is for ${where}, and this is node ${node}`)
  }
  return pod
}

async function attachmentAt(key: string, { caches, client }: NodeWorld): Promise<ReadAttachment<MooringReading>> {
  const [namespace = '', name = ''] = key.split('/')
  const what = `NetworkAttachmentDefinition ${key}`
  const object = caches.attachments.get(key) ?? (await asking(what, () => client.get(attachments, { namespace, name })))
  if (object === undefined) throw new CNIError(codes.network, `${what} does not exist`)
  const read = attachmentOf(object)
  if (isMalformed(read)) throw new CNIError(codes.network, `${what} cannot be read`, read.malformed)
  if (isOfMooring(read)) return read
  const why = 'why' in read.reading ? read.reading.why : 'it is of OVN-Kubernetes, which gives addresses itself'
  throw new CNIError(codes.network, `${what} gives no addresses of Mooring`, why)
}

/** The pools of the network, one per family: its own, or that which it names. */
async function poolsOf({ pools: own, source }: Network, { client }: NodeWorld): Promise<readonly Pool[]> {
  const kind = ownPoolKindOf(source)
  if (own.length > 0 || kind === undefined) return own
  const { namespace, name } = source
  const ref = { name, ...(namespace !== '' && { namespace }) }
  const object = await asking(`${source.kind} ${name}`, () => client.get(kindAs(kind), ref))
  const pool = object && toPool(object)
  return pool === undefined || isMalformed(pool) ? [] : [pool]
}

// --- addresses of claims ---

async function claimFor(
  pod: Pod,
  selected: Selected,
  read: ReadAttachment<MooringReading>,
  world: NodeWorld,
): Promise<IPAMClaim> {
  if (selected.claim === '') return ownClaim(pod, selected, read, world)
  for (let tries = 1; ; tries++) {
    try {
      return await lockedClaim(pod, selected, read, world)
    } catch (error) {
      // Another program wrote to the claim at the same moment.
      if (tries === triesMax || !(error instanceof CNIError && isApiError(error.cause, 'Conflict'))) throw error
    }
  }
}

const triesMax = 3

async function lockedClaim(
  pod: Pod,
  selected: Selected,
  read: ReadAttachment<MooringReading>,
  world: NodeWorld,
): Promise<IPAMClaim> {
  const claim = await namedClaim(pod, selected, world)
  const key = `${claim.metadata.namespace}/${claim.metadata.name}`
  if (claim.network !== read.reading.name || (claim.attachment ?? read.key) !== read.key) {
    const its = claim.attachment ?? claim.network
    throw new CNIError(codes.refused, `IPAMClaim ${key} is for ${quoteText(its)}, and the interface is on ${read.key}`)
  }
  if (claim.isDeleting) throw new CNIError(codes.tryAgainLater, `IPAMClaim ${key} is being deleted`)
  const isOfOne = ownerOf(claim) !== undefined || claim.metadata.ownerReferences.some(({ kind }) => kind === 'Pod')
  const isFree = isOfOne || !(await isTaken(pod, claim, world))
  if (isFree) return claim
  throw new CNIError(
    codes.refused,
    `another pod uses IPAMClaim ${key}`,
    'a claim is for one pod, or one virtual machine',
  )
}

async function namedClaim(pod: Pod, { claim: name }: Selected, world: NodeWorld): Promise<IPAMClaim> {
  const { namespace } = pod.metadata
  const what = `IPAMClaim ${namespace}/${name}`
  const object = await asking(what, () => world.client.get(ipamClaims, { namespace, name }))
  if (object === undefined) throw new CNIError(codes.tryAgainLater, `${what}, which the pod names, does not exist`)
  const claim = claimOf(object)
  if (isMalformed(claim)) throw new CNIError(codes.refused, `${what} cannot be read`, claim.malformed)
  const may = await whetherUsed(pod, claim, world)
  if (may === 'yes') return claim
  const why =
    may === 'no' ? 'it is of another pod or virtual machine' : 'the instance of its virtual machine is not known yet'
  const code = may === 'no' ? codes.refused : codes.tryAgainLater
  throw new CNIError(code, `pod ${namespace}/${pod.metadata.name} may not use ${what}`, why)
}

async function whetherUsed(pod: Pod, claim: IPAMClaim, world: NodeWorld) {
  const at = mayUse(claim, pod, undefined)
  if (at !== 'not known yet') return at
  const ref = { namespace: pod.metadata.namespace, name: pod.domain }
  const object = await asking(`VirtualMachineInstance ${pod.domain}`, () =>
    world.client.get(virtualMachineInstances, ref),
  )
  const vmi = object && parseVirtualMachineInstance(object)
  return mayUse(claim, pod, vmi === undefined || isMalformed(vmi) ? undefined : vmi)
}

/**
 * A claim of no owner is for the user that was there first, and for another when no pod of the first is left. The version of the
 * claim is the lock: of two nodes at once one is refused, and tries again.
 */
async function isTaken(pod: Pod, claim: IPAMClaim, { client }: NodeWorld): Promise<boolean> {
  const user = userOf(pod)
  const { usedBy } = claim
  if (usedBy === user) return false
  const { namespace, name, uid, resourceVersion } = claim.metadata
  if (usedBy !== undefined) {
    const { items } = await asking(`the pods of namespace ${namespace}`, () => client.list(pods, { namespace }))
    const isUser = (object: KubeObject) => {
      const other = readable<Pod>(object, podOf)
      return other !== undefined && !other.isCompleted && userOf(other) === usedBy
    }
    if (items.some(isUser)) return true
  }
  const patch = { metadata: { annotations: { [usedByAnnotation]: user } } }
  await asking(`IPAMClaim ${namespace}/${name} to the pod`, () =>
    client.mergePatch(ipamClaims, { namespace, name }, patch, { uid, resourceVersion }),
  )
  return false
}

async function ownClaim(
  pod: Pod,
  selected: Selected,
  read: ReadAttachment<MooringReading>,
  world: NodeWorld,
): Promise<IPAMClaim> {
  const { caches, node, making } = world
  const { namespace, uid } = pod.metadata
  const name = ownClaimName(pod, selected)
  const key = `${namespace}/${name}`
  if (pod.isDeleting || pod.isCompleted)
    throw new CNIError(codes.tryAgainLater, `pod ${namespace}/${pod.metadata.name} ends`)
  let object = caches.claims.get(key)
  if (object === undefined) {
    const made = making.get(key) ?? makeClaim(toOwnClaim(pod, selected, read.reading.name, node), key, world)
    making.set(key, made)
    object = await made.finally(() => making.delete(key))
  }
  const claim = readable(object, claimOf)
  const isOfPod = claim?.metadata.ownerReferences.some(owner => owner.uid === uid) ?? false
  if (claim === undefined || claim.isDeleting)
    throw new CNIError(codes.tryAgainLater, `IPAMClaim ${key} is on its way out`)
  if (isOfPod && claim.node === node) return claim
  throw new CNIError(codes.refused, `IPAMClaim ${key} is there already, and was not made for the pod`, 'delete it')
}

async function makeClaim(
  claim: KubeObject & { readonly spec: object },
  key: string,
  { client, caches }: NodeWorld,
): Promise<KubeObject | undefined> {
  const { namespace = '', name = '' } = claim.metadata
  const object = await asking(`IPAMClaim ${key}`, async () => {
    try {
      return await client.create(ipamClaims, claim)
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
      return client.get(ipamClaims, { namespace, name })
    }
  })
  if (object !== undefined) caches.claims.learn(object)
  return object
}

/** Undefined if it is gone meanwhile. */
async function served(claim: IPAMClaim, world: NodeWorld): Promise<IPAMClaim | undefined> {
  const { namespace, name, uid } = claim.metadata
  const key = `${namespace}/${name}`
  const isKnown = (one: IPAMClaim | undefined): boolean =>
    one !== undefined && one.metadata.uid === uid && (one.ips.length > 0 || isRefused(one))
  if (claim.node === world.node) return untilSeen(world.caches.claims, key, isKnown, world)
  const { client, clock, random, log } = world
  const cache = new Cache<KubeObject>()
  const fieldSelector = `metadata.name=${name}`
  const reflector = new Reflector({ kind: ipamClaims, cache, client, clock, random, log, namespace, fieldSelector })
  reflector.start()
  try {
    return await untilSeen(cache, key, isKnown, world)
  } finally {
    void reflector.stop('not-needed')
  }
}

function untilSeen(
  cache: Cache<KubeObject, never> | Cache<KubeObject, 'pod'>,
  key: string,
  isKnown: (claim: IPAMClaim | undefined) => boolean,
  { clock, waitMs }: NodeWorld,
): Promise<IPAMClaim | undefined> {
  return new Promise(resolve => {
    const look = () => readable(cache.get(key), claimOf)
    const end = () => {
      cancel()
      unsubscribe()
      resolve(look())
    }
    const cancel = clock.setTimer(waitMs, end)
    const unsubscribe = cache.subscribe(change => {
      if (change.key === key && isKnown(look())) end()
    })
    if (isKnown(look())) end()
  })
}

const isRefused = ({ conditions }: IPAMClaim): boolean =>
  conditions.some(({ type, status }) => type === ipsAllocatedCondition && status === 'False')

function whyUnserved(claim: IPAMClaim): CNIError {
  const what = `IPAMClaim ${claim.metadata.namespace}/${claim.metadata.name} has no addresses yet`
  const told = claim.conditions.find(({ type, status }) => type === ipsAllocatedCondition && status === 'False')
  const why =
    told === undefined
      ? 'mooring controller has not served it: look whether its vm desk works'
      : `${told.reason}: ${told.message}`
  return new CNIError(codes.tryAgainLater, what, why)
}

async function ofClaim(
  claim: IPAMClaim,
  read: ReadAttachment<MooringReading>,
  network: Network,
  world: NodeWorld,
): Promise<Given> {
  const what = `IPAMClaim ${claim.metadata.namespace}/${claim.metadata.name}`
  const chosen = chosenOf(claim.ips)
  if (isMalformed(chosen)) throw new CNIError(codes.refused, `${what}: status.ips cannot be read`, chosen.malformed)
  const pools = await poolsOf(network, world)
  for (const one of chosen) {
    if (await isHeld(one, claim, network.source, pools, world)) continue
    const ip = toIPText(one.ip)
    const how = `no hold of ${ip} on the network ${read.key} names it: only what Mooring gave out on a network is used there`
    throw new CNIError(codes.refused, `${what} does not hold ${ip}`, how)
  }
  return toGiven(chosen, pools, read)
}

async function isHeld(
  { ip }: ChosenIP,
  { metadata: { uid } }: IPAMClaim,
  source: Identity,
  pools: readonly Pool[],
  { client }: NodeWorld,
): Promise<boolean> {
  const pool = pools.find(({ family }) => family === ip.family)
  if (pool === undefined) return false
  const name = holdName(pool.space, ip)
  const object = await asking(`Hold ${name}`, () => client.get(holds, { name }))
  const hold = object && parseHold(object)
  if (hold === undefined || isMalformed(hold)) return false
  return hold.state === 'held' && hold.claim.uid === uid && identityKey(hold.pool) === identityKey(source)
}

function toGiven(
  chosen: readonly Pick<ChosenIP, 'ip' | 'prefix'>[],
  pools: readonly Pool[],
  { reading }: ReadAttachment<MooringReading>,
): Given {
  const nameservers = [...new Set(pools.flatMap(pool => pool.nameservers))]
  return {
    ips: chosen.map(({ ip, prefix }) => {
      const gateway = pools.find(({ family }) => family === ip.family)?.gateway
      return { address: toCIDRText({ ip, bits: prefix }), ...(gateway && { gateway: toIPText(gateway) }) }
    }),
    routes: reading.config.routes,
    dns: reading.config.dns ?? (nameservers.length > 0 ? { nameservers } : {}),
  }
}

// --- addresses of nodes ---

/** One pod of a node at a time, in the namespace of the network alone: what a namespace is offered is no address of a node. */
async function ofNode(
  pod: Pod,
  read: ReadAttachment<MooringReading>,
  network: Network,
  { client, node, state }: NodeWorld,
): Promise<Given> {
  const { namespace, uid } = pod.metadata
  if (namespace !== read.metadata.namespace) {
    throw new CNIError(
      codes.refused,
      `network ${read.key} gives the addresses of nodes to pods of its own namespace alone`,
    )
  }
  const other = [...state.values()].find(
    one => one.attachment === read.key && one.containerID !== '' && one.podUID !== uid,
  )
  if (other !== undefined) {
    const what = `pod ${other.namespace}/${other.pod} has the address of node ${node} on network ${read.key}`
    throw new CNIError(codes.tryAgainLater, what, 'there is one for a node: it is free when that pod has ended')
  }
  const object = await asking(`Node ${node}`, () => client.get(nodes, { name: node }))
  const nodeUID = object?.metadata.uid ?? ''
  const labelSelector = `${claimUidLabel}=${nodeUID}`
  const { items } = await asking('the holds of the node', () => client.list(holds, { labelSelector }))
  const held = items.flatMap(item => {
    const hold = parseHold(item)
    if (isMalformed(hold) || hold.state !== 'held' || hold.claim.uid !== nodeUID || hold.claim.kind !== 'Node')
      return []
    return identityKey(hold.pool) === identityKey(network.source) ? [hold] : []
  })
  // Two processes may each have taken one for the node: the later rests soon, and another node has it then.
  const chosen = firstOfEachPart(held)
    .map(({ ip }) => ({
      ip,
      prefix: network.pools.find(pool => pool.family === ip.family)?.prefix ?? bitsOf(ip.family),
    }))
    .sort((one, two) => one.ip.family - two.ip.family)
  const missing = network.pools.find(({ family }) => !chosen.some(({ ip }) => ip.family === family))
  if (nodeUID === '' || missing !== undefined) {
    const what = `node ${node} has no address on network ${read.key} yet`
    throw new CNIError(codes.tryAgainLater, what, 'mooring controller takes one for each node that the network is for')
  }
  return toGiven(chosen, network.pools, read)
}
