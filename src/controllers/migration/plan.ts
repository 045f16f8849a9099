// What is to be done next for the migration network: one pure function from what was seen. One step at a time, in this order, which
// never takes away what works before what follows it works:
//
//   1  make       the NetworkAttachmentDefinition, or take one that is there and says the same
//   2  begin      the order says that a roll-out begins, to what, and since when: the intention before the effect
//   3  switch     the KubeVirt object names the network; virt-operator replaces the pods of virt-handler one by one
//   4  wait       until virt-handler of every node runs on it with an address of it, and KubeVirt says that all is ready
//   5  remove     what nothing uses any more
//   6  finish     the order says what is in force: hash and NetworkAttachmentDefinition. Not before
//
// Where step 4 makes no progress for `patienceMs`, the order remembers that this value failed, and the way leads back to what was
// in force. A value that failed is not tried again until it changes, or an administrator takes the mark away.
//
// Every step may be done twice, late, on an old view, or never: the next look finds the same way again from any state in between, and
// from any state that a user makes by hand.

import type { ConditionFact } from '../../api/condition.ts'
import type { KubeObject } from '../../kube/object.ts'
import { attachmentName, differencesFrom } from '../../migration/attachment.ts'
import { configuredCondition } from '../../migration/names.ts'
import { countUsable, gives, hasSubnetOf } from '../../migration/range.ts'
import { defaultHash, type Wanted } from '../../migration/wanted.ts'
import type { KubeVirt } from './kubevirt.ts'
import { type Handler, type Progress, progressOf, type SelectedNode } from './rollout.ts'

/** What is asked for. */
export type Asks =
  | { readonly kind: 'network'; readonly network: Wanted }
  | { readonly kind: 'management' }
  | { readonly kind: 'unreadable'; readonly why: string }

/** What an order remembers, so that any process can go on where another one ended. */
export interface Memory {
  /** What is in force: it was seen to work. `text` is empty for the management network. */
  readonly done: { readonly hash: string; readonly attachment: string; readonly text: string } | undefined
  readonly rollout: Rollout | undefined
  /** The hash of the value that was rolled back. */
  readonly failed: string | undefined
}

export interface Rollout {
  readonly hash: string
  /** Name of the NetworkAttachmentDefinition. */
  readonly attachment: string
  /** When it last made progress, RFC 3339. */
  readonly since: string
  /** The most nodes that were ready. */
  readonly ready: number
}

/** A NetworkAttachmentDefinition that this desk made, or Harvester before it. */
export interface Made {
  readonly name: string
  readonly hash: string
  readonly config: string
  readonly hasMarks: boolean
  readonly isDeleting: boolean
  readonly createdAt: string
  readonly object: KubeObject
}

export interface Seen {
  readonly asks: Asks
  readonly memory: Memory
  /** What was in force, read again from what is remembered; undefined for the management network, and where it cannot be read. */
  readonly before: Wanted | undefined
  readonly kubeVirt: KubeVirt | undefined
  /** Why there is none. */
  readonly noKubeVirt: string
  readonly made: readonly Made[]
  readonly nodes: readonly SelectedNode[]
  /** How many nodes need an address: also those that virt-handler does not run on yet. */
  readonly needed: number
  readonly handlers: readonly Handler[]
  /** Migrations that copy memory now, as namespace/name. */
  readonly running: readonly string[]
  /** Nodes that have no address of their own yet, by the name of the NetworkAttachmentDefinition; none where another plugin gives them out. */
  unaddressed(network: Wanted, attachment: string): Unaddressed
  readonly nowMs: number
}

/** Why a node gets no address, by its name; undefined where it has none yet. */
export type Unaddressed = ReadonlyMap<string, string | undefined>

export type Step =
  | { readonly kind: 'make'; readonly network: Wanted }
  | { readonly kind: 'restore'; readonly made: Made; readonly network: Wanted }
  | { readonly kind: 'switch'; readonly kubeVirt: KubeVirt; readonly network: string }
  | { readonly kind: 'remove'; readonly made: Made }

export interface Plan {
  /** Undefined: nothing but to say how it stands. */
  readonly step: Step | undefined
  /** What the order is to say and to remember. Undefined: nothing is said, because nothing was ever asked for. */
  readonly says: ConditionFact | undefined
  readonly memory: Memory
  /** When it is requeued though nothing changes. */
  readonly waitMs?: number
}

/**
 * Without progress for so long a roll-out is given up. virt-handler lets a migration end for up to 315 seconds before it stops, and
 * needs some 30 seconds to be ready.
 */
export const patienceMs = 15 * 60_000

/** Undefined network: the management network. */
interface Target {
  readonly hash: string
  readonly network: Wanted | undefined
  /** Back to what was in force. */
  readonly isReturn: boolean
}

export function decide(seen: Seen): Plan {
  const { asks, memory, kubeVirt, made } = seen
  if (asks.kind === 'unreadable') return says(seen, 'InvalidValue', asks.why)
  if (asks.kind === 'management' && isUntouched(memory) && made.length === 0)
    return { step: undefined, says: undefined, memory }
  if (kubeVirt === undefined) return says(seen, 'GetKubeVirtError', `get kubevirt error ${seen.noKubeVirt}`)
  const target = targetOf(seen, asks)
  return target.network === undefined
    ? toManagement(seen, target, kubeVirt)
    : toNetwork(seen, target, target.network, kubeVirt)
}

const isUntouched = ({ done, rollout, failed }: Memory): boolean =>
  done === undefined && rollout === undefined && failed === undefined

function targetOf({ memory, before }: Seen, asks: Exclude<Asks, { kind: 'unreadable' }>): Target {
  if (asks.kind === 'management') return { hash: defaultHash, network: undefined, isReturn: false }
  const { network } = asks
  if (memory.failed !== network.hash) return { hash: network.hash, network, isReturn: false }
  return { hash: before?.hash ?? defaultHash, network: before, isReturn: true }
}

// --- to a network ---

function toNetwork(seen: Seen, target: Target, network: Wanted, kubeVirt: KubeVirt): Plan {
  const { memory, running } = seen
  const made = madeFor(seen, network, kubeVirt)
  if (made === undefined) return step(seen, { kind: 'make', network }, 'its NetworkAttachmentDefinition is made')
  if (made.isDeleting)
    return says(seen, 'InProgress', `${made.name} is being deleted: it is made again when it is gone`)
  if (!isAsWanted(made, network))
    return step(seen, { kind: 'restore', made, network }, `${made.name} is brought up to date`)
  if (kubeVirt.network !== made.name) {
    const without = seen.unaddressed(network, made.name)
    // That they come one after the other is no alarm.
    const isAlarm = [...without.values()].some(why => why !== undefined)
    if (without.size > 0) return says(seen, isAlarm ? 'WaitingForAddresses' : 'InProgress', withoutAddress(without))
    if (running.length > 0) return says(seen, 'WaitingForMigrations', migrating(running))
    const begun = beginning(memory, target.hash, made.name, seen.nowMs)
    if (begun !== memory) return inProgress({ ...seen, memory: begun }, target, progressIn(seen, made.name, network))
    return step(seen, { kind: 'switch', kubeVirt, network: made.name }, `KubeVirt is told to use ${made.name}`)
  }
  const progress = progressIn(seen, made.name, network)
  if (isComplete(progress, kubeVirt)) return complete(seen, target, made, progress)
  return unfinished(seen, target, made, progress, kubeVirt)
}

/**
 * By its name, which follows from what a pod cannot take on while it runs; else one that says the same under another name, as Harvester
 * made it: nothing has to restart then. What KubeVirt names comes first, then the oldest: every process takes the same.
 */
function madeFor({ made }: Seen, network: Wanted, { network: named }: KubeVirt): Made | undefined {
  const name = attachmentName(network)
  const rank = (one: Made) => `${one.name === named ? 0 : 1} ${one.name === name ? 0 : 1} ${one.createdAt} ${one.name}`
  const [first] = made
    .filter(one => one.name === name || (!one.isDeleting && differencesFrom(one.config, network).length === 0))
    .toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1))
  return first
}

const isAsWanted = ({ hash, config, hasMarks }: Made, network: Wanted): boolean =>
  hash === network.hash && hasMarks && differencesFrom(config, network).length === 0

/** That a node has no address of its own is why its pod does not start. */
function progressIn({ nodes, handlers, unaddressed }: Seen, attachment: string, network: Wanted): Progress {
  const progress = progressOf(nodes, handlers, attachment, ip => hasSubnetOf(network.ranges, ip))
  if (progress.waiting.length === 0) return progress
  const without = unaddressed(network, attachment)
  return { ...progress, waiting: progress.waiting.map(({ node, why }) => ({ node, why: without.get(node) ?? why })) }
}

const isComplete = ({ waiting, down }: Progress, { whyNotReady }: KubeVirt): boolean =>
  waiting.length === 0 && down.length === 0 && whyNotReady === undefined

function beginning(memory: Memory, hash: string, attachment: string, nowMs: number): Memory {
  const { rollout } = memory
  if (rollout?.hash === hash && rollout.attachment === attachment) return memory
  return { ...memory, rollout: { hash, attachment, since: new Date(nowMs).toISOString(), ready: 0 } }
}

function complete(seen: Seen, target: Target, { name }: Made, progress: Progress): Plan {
  const { memory, made, handlers } = seen
  const others = made.filter(one => one.name !== name && !one.isDeleting)
  const unused = others.find(one => !isUsed(one, handlers))
  if (unused !== undefined) {
    return step(seen, { kind: 'remove', made: unused }, `${unused.name} is removed, which nothing uses any more`)
  }
  // A pod that goes still has it.
  if (others.length > 0) return inProgress(seen, target, progress)
  const text = target.network?.canonical ?? ''
  return finished(
    { ...seen, memory: { ...memory, done: { hash: target.hash, attachment: name, text } } },
    target,
    progress,
  )
}

const isUsed = ({ name }: Made, handlers: readonly Handler[]): boolean =>
  handlers.some(({ uses }) => uses.includes(name))

function unfinished(seen: Seen, target: Target, made: Made, progress: Progress, kubeVirt: KubeVirt): Plan {
  const { memory, nowMs } = seen
  const { rollout } = memory
  // It worked: a node joined, or a pod restarts.
  if (rollout === undefined || rollout.hash !== target.hash || rollout.attachment !== made.name) {
    if (memory.done?.hash === target.hash && memory.done.attachment === made.name) {
      return says(seen, 'NodesNotReady', progressText(progress, kubeVirt))
    }
    const begun = beginning(memory, target.hash, made.name, nowMs)
    return inProgress({ ...seen, memory: begun }, target, progress, patienceMs)
  }
  if (progress.ready.length > rollout.ready) {
    const since = new Date(nowMs).toISOString()
    const moved = { ...rollout, since, ready: progress.ready.length }
    return inProgress({ ...seen, memory: { ...memory, rollout: moved } }, target, progress, patienceMs)
  }
  const leftMs = (Date.parse(rollout.since) || 0) + patienceMs - nowMs
  const isTheirs = progress.waiting.length > 0 || progress.down.length === 0
  if (target.isReturn || !isTheirs || leftMs > 0)
    return inProgress(seen, target, progress, leftMs > 0 ? leftMs : undefined)
  const failed: Memory = { ...memory, rollout: undefined, failed: target.hash }
  return says(
    { ...seen, memory: failed },
    'RollingBack',
    `${progressText(progress, kubeVirt)}: no node followed for ${patienceMs / 60_000} minutes`,
  )
}

// --- to the management network ---

function toManagement(seen: Seen, target: Target, kubeVirt: KubeVirt): Plan {
  const { memory, made, handlers, running, nodes } = seen
  if (isOurs(kubeVirt.network, memory, made)) {
    if (running.length > 0) return says(seen, 'WaitingForMigrations', migrating(running))
    return step(seen, { kind: 'switch', kubeVirt, network: '' }, 'KubeVirt is told to use the management network')
  }
  const progress = progressOf(nodes, handlers, kubeVirt.network, () => true)
  const living = made.filter(one => !one.isDeleting)
  const users = handlers.filter(({ uses }) => living.some(({ name }) => uses.includes(name)))
  if (users.length > 0 || kubeVirt.whyNotReady !== undefined) {
    // What was given up, and what was never used, waits for nothing.
    if (living.length > 0 || memory.done?.hash !== target.hash) return inProgress(seen, target, progress)
  }
  const [unused] = living
  if (unused !== undefined) {
    return step(seen, { kind: 'remove', made: unused }, `${unused.name} is removed, which nothing uses any more`)
  }
  const done = { hash: target.hash, attachment: '', text: '' }
  return finished({ ...seen, memory: { ...memory, done } }, target, progress)
}

/** What an administrator wrote there without asking for a migration network is left alone. */
function isOurs(named: string, { done, rollout }: Memory, made: readonly Made[]): boolean {
  if (named === '') return false
  return made.some(({ name }) => name === named) || done?.attachment === named || rollout?.attachment === named
}

// --- what the order says ---

/** The condition that says beforehand that the next node would get no address. */
export const sufficientCondition = 'addressesSufficient'

/** Undefined where no network is asked for. */
export function sufficiencyOf({ asks, needed }: Pick<Seen, 'asks' | 'needed'>): ConditionFact | undefined {
  if (asks.kind !== 'network') return undefined
  const count = countUsable(asks.network.ranges)
  const text = `${needed} of ${count} addresses are needed, one for each node`
  const fact = { type: sufficientCondition, status: 'False' } as const
  const fix = 'widen the range, or exclude less of it'
  if (BigInt(needed) > count) return { ...fact, reason: 'RangeUsedUp', message: `${text}: ${fix}` }
  if (BigInt(needed) === count)
    return { ...fact, reason: 'NoSpareAddress', message: `${text}: the next node gets none: ${fix}` }
  return { ...fact, status: 'True', reason: 'Sufficient', message: text }
}

const step = (seen: Seen, one: Step, doing: string): Plan => ({
  ...says(seen, 'InProgress', doing),
  step: one,
})

function says({ memory }: Seen, reason: string, message: string): Plan {
  return { step: undefined, says: { type: configuredCondition, status: 'False', reason, message }, memory }
}

function inProgress(seen: Seen, target: Target, progress: Progress, waitMs?: number): Plan {
  const text = progressText(progress, seen.kubeVirt)
  const message = target.isReturn ? `back to what was in force: ${text}` : text
  return {
    ...says(seen, target.isReturn ? 'RollingBack' : 'InProgress', message),
    ...(waitMs !== undefined && { waitMs }),
  }
}

function finished(seen: Seen, target: Target, progress: Progress): Plan {
  const memory: Memory = { ...seen.memory, rollout: undefined }
  const over = target.network === undefined ? 'the management network' : (memory.done?.attachment ?? '')
  const count = progress.ready.length
  const now = `${count} of ${count} ${count === 1 ? 'node migrates' : 'nodes migrate'} over ${over}`
  if (target.isReturn) {
    const why = 'the value did not become healthy and was rolled back'
    const fix = 'change it, or remove the mark of the failed one to try again'
    return says({ ...seen, memory }, 'RolledBack', `${why}: ${now}; ${fix}`)
  }
  return {
    step: undefined,
    says: {
      type: configuredCondition,
      status: 'True',
      reason: 'Completed',
      message: [now, ...keptOver(seen, target)].join('; '),
    },
    memory: { ...memory, failed: undefined },
  }
}

/** An address that is excluded later is not taken away from the node that has it, as a pool that shrinks takes none away. */
function keptOver({ handlers }: Seen, { network }: Target): string[] {
  if (network === undefined) return []
  const over = handlers.flatMap(({ node, addresses = [] }) =>
    addresses.filter(ip => !gives(network.ranges, ip)).map(ip => `${node} has ${ip}`),
  )
  return over.length === 0 ? [] : [`excluded, and still in use until the network is reset: ${several(over)}`]
}

function progressText({ ready, waiting, down }: Progress, kubeVirt: KubeVirt | undefined): string {
  const all = ready.length + waiting.length + down.length
  const parts = [`${ready.length} of ${all} nodes are ready`]
  if (waiting.length > 0) parts.push(several(waiting.map(({ node, why }) => `${node}: ${why}`)))
  if (down.length > 0) parts.push(several(down.map(node => `${node}: the node itself is not ready`)))
  if (waiting.length + down.length === 0 && kubeVirt?.whyNotReady !== undefined)
    parts.push(`KubeVirt: ${kubeVirt.whyNotReady}`)
  return parts.join('; ')
}

const migrating = (running: readonly string[]): string =>
  `the network is changed when no migration runs: ${several(running)}`

const withoutAddress = (without: Unaddressed): string =>
  `KubeVirt is told when every node has an address: ${several([...without].map(([node, why]) => `${node}: ${why ?? 'it has none yet'}`))}`

/** More are counted: a cluster may have hundreds of nodes. */
const namedMax = 10

function several(texts: readonly string[]): string {
  const more = texts.length - namedMax
  const named = texts.slice(0, namedMax).join('; ')
  return more > 0 ? `${named}; and ${more} more` : named
}
