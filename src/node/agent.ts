// The node's part of Mooring, put together over any Kubernetes API: what it follows, what it does by itself, and what it answers.
//
//   a pod of the node is seen           its interfaces are prepared: claims made, addresses found
//   a claim that it made has changed    the pod's interfaces are prepared; or the claim is let go
//   a sandbox has gone                  the pod's claims are looked at

import { nodeLabel } from '../api/names.ts'
import { readable } from '../controllers/office/kept.ts'
import type { Client } from '../kube/client.ts'
import { type KubeObject, keyOf } from '../kube/object.ts'
import { Reflector } from '../kube/reflector.ts'
import type { Clock } from '../runtime/clock.ts'
import { Manager } from '../runtime/manager.ts'
import type { Random } from '../runtime/random.ts'
import { defineReconciler, done, type PassResult } from '../runtime/reconciler.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Answer, answer, type Outcome } from './answer.ts'
import { requestOf } from './call.ts'
import { prepare } from './given.ts'
import { attachments, ipamClaims, pods } from './kinds.ts'
import { measureNode } from './metrics.ts'
import { podOfOwnClaim } from './own-claim.ts'
import { forgetPod, releaseClaim } from './release.ts'
import { selectedBy } from './selected.ts'
import { CNIError, codes, toErrorText, versions } from './spec.ts'
import { State, type StateDisk } from './state.ts'
import { attachmentOf, claimOf, createNodeCaches, type NodeWorld, type Pod, podOf } from './world.ts'

export interface NodeAgentOptions {
  /** Its name in the cluster. */
  readonly node: string
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly disk: StateDisk
  /** Another text after each start of the machine. */
  readonly boot: string
  readonly metrics?: Metrics
  readonly waitMs?: number
  readonly hasNetns?: (path: string) => boolean
}

export interface NodeAgent {
  /** What the forwarder wrote, answered. It does not throw. */
  answer(text: string): Promise<Answer>
  /** Why no addresses can be given to new pods; undefined while they can. */
  problem(): string | undefined
  /** How many interfaces are in sandboxes, as far as is known. */
  attached(): number
  /** Resolves when all that the node follows was listed once. */
  synced(signal?: AbortSignal): Promise<void>
  stop(): Promise<void>
}

const defaultWaitMs = 20_000
const concurrency = 16

/** It answers at once, from what is on the disk, and knows more as it goes on. */
export function startNodeAgent(options: NodeAgentOptions): NodeAgent {
  const { node, client, clock, random, log, disk, boot, metrics, waitMs = defaultWaitMs } = options
  const { hasNetns = () => false } = options
  const caches = createNodeCaches()
  const state = new State(disk, boot, log)
  const parts = { client, clock, random, log }
  const followed = [
    new Reflector({ ...parts, kind: pods, cache: caches.pods, fieldSelector: `spec.nodeName=${node}` }),
    new Reflector({ ...parts, kind: attachments, cache: caches.attachments }),
    new Reflector({ ...parts, kind: ipamClaims, cache: caches.claims, labelSelector: `${nodeLabel}=${node}` }),
  ]
  const problem = () => {
    const unread = Object.values(caches).some(cache => !cache.hasSynced)
    const why = followed.map(one => one.problem()).find(one => one !== undefined)
    return why ?? (unread ? 'the API server has not shown pods, networks and claims yet' : undefined)
  }
  const manager = new Manager({ clock, random, log })
  const domain = manager.domain('node')
  for (const one of followed) domain.addFeed(one)
  const reconciler = (name: string, reconcile: (key: string, world: NodeWorld) => Promise<PassResult>) =>
    domain.addReconciler(
      defineReconciler({
        name: `node.${name}`,
        concurrency,
        reconcile: (key, pass) => reconcile(key, { ...world, client: client.withPass(pass) }),
      }),
    )
  const world: NodeWorld = {
    ...{ node, client, clock, random, log, caches, state, waitMs, problem, hasNetns },
    asked: new Set(),
    making: new Map(),
    detached(podUID) {
      for (const claim of caches.claims.byIndex('pod', podUID)) claims.mark(keyOf(claim))
      left.mark(podUID)
    },
  }
  const preparing = reconciler('preparation', preparePod)
  const claims = reconciler('release', releaseClaim)
  const left = reconciler('memory', forgetPod)
  caches.pods.subscribe(({ key, old, new: next }) => {
    if (next !== undefined) preparing.mark(key)
    const uid = (next ?? old).metadata.uid ?? ''
    const pod = readable<Pod>(next, podOf)
    if (pod === undefined || pod.isDeleting || pod.isCompleted) world.detached(uid)
  })
  caches.claims.subscribe(({ key, new: next }) => {
    const claim = readable(next, claimOf)
    const owner = claim && podOfOwnClaim(claim)
    if (claim === undefined || owner === undefined) return
    claims.mark(key)
    preparing.mark(`${claim.metadata.namespace}/${owner.name}`)
  })
  caches.attachments.subscribe(({ key }) => {
    // What was prepared by what the network said before, and is in no sandbox yet, is found out again.
    for (const one of [...state.values()]) if (one.attachment === key && !one.wasAttached) state.remove(one)
    for (const pod of caches.pods.values()) if (isOn(pod, key)) preparing.mark(keyOf(pod))
  })
  void caches.pods.synced().then(() => {
    for (const uid of new Set([...state.values()].map(({ podUID }) => podUID))) left.mark(uid)
  })
  const counted = metrics && measureNode(metrics, world, followed, clock)
  // It ends when it is stopped before everything was listed.
  manager.start().catch(() => {})
  return {
    problem,
    attached: () => [...state.values()].filter(({ containerID }) => containerID !== '').length,
    async synced(signal) {
      await Promise.all(followed.map(one => one.synced(signal)))
    },
    async answer(text) {
      const end = counted?.begin()
      const outcome = await answerText(text, world)
      end?.(outcome)
      note(log, outcome)
      return { exit: outcome.exit, stdout: outcome.stdout }
    },
    stop: () => manager.stop('shutdown'),
  }
}

async function answerText(text: string, world: NodeWorld): Promise<Outcome> {
  try {
    return await answer(requestOf(text), world)
  } catch (error) {
    const known = error instanceof CNIError ? error : new CNIError(codes.internal, 'this is a fault of Mooring')
    const stdout = toErrorText(versions.at(-1) ?? '', known)
    return { exit: 1, stdout, verb: 'unknown', code: known.code, about: { error: known.message } }
  }
}

function note(log: Log, { verb, code, about }: Outcome): void {
  if (code !== 0) log.info('a CNI call was refused', { verb, code, ...about })
  else if (verb === 'ADD' || verb === 'DEL') log.info('a CNI call was answered', { verb, ...about })
  else log.debug('a CNI call was answered', { verb, ...about })
}

const isOn = (object: KubeObject, attachment: string): boolean => {
  const pod = readable<Pod>(object, podOf)
  return pod !== undefined && selectedBy(pod).some(({ key }) => key === attachment)
}

/**
 * nodepod.preparation - what an ADD will ask for is there when it comes: the claim of the pod is made as soon as the pod is seen, and
 * its addresses are on the disk as soon as it has them. What cannot be prepared is told to the ADD.
 */
async function preparePod(key: string, world: NodeWorld): Promise<PassResult> {
  const pod = readable<Pod>(world.caches.pods.get(key), podOf)
  if (pod?.nodeName !== world.node) return done()
  if (pod.isDeleting || pod.isCompleted || pod.isOnHostNetwork) return done()
  for (const selected of selectedBy(pod)) {
    if (world.state.ofPod(pod.metadata.uid, selected.ifname) !== undefined) continue
    if (world.asked.has(`${pod.metadata.uid} ${selected.ifname}`)) continue
    const object = world.caches.attachments.get(selected.key)
    const read = object && readable(object, attachmentOf)
    if (read?.reading.family !== 'mooring') continue
    try {
      await prepare(pod, selected, world)
    } catch (error) {
      if (!(error instanceof CNIError)) throw error
      world.log.debug('an interface could not be prepared yet', {
        pod: key,
        interface: selected.ifname,
        why: error.message,
      })
    }
  }
  // It may have gone while it was asked about.
  if (world.caches.pods.byIndex('uid', pod.metadata.uid).length === 0) world.detached(pod.metadata.uid)
  return done()
}
