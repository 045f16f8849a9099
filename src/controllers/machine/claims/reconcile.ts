// machine.claims - every entry of `addressesFromPools` of a Machine has one claim, which belongs to the Machine; the Machine says
// which of them it waits for, and why; claims of a Machine that is gone may go.
//
// Reads:   the Machine, the claims of its name and those it controls, their IPAddresses; decides in plan.ts.
// Writes:  claims, but neither their status nor their spec; the owner of an IPAddress that has none; an annotation and one condition
//          of the Machine.
// Safe:    the name of a claim is the lock on its entry. Whether a Machine is there, by uid, is asked of the API server before its
//          claims are made or adopted, and before they are let go. A pass may run twice, late, on an old view, or be cut between
//          any two writes.

import type { IPAddressClaim } from '../../../api/ip-address-claim.ts'
import { controllingMachine, type Machine } from '../../../api/machine.ts'
import { machineFinalizer } from '../../../api/names.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { refresh } from '../../../kube/refresh.ts'
import { done, type PassResult, requeue, requeueAfter } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { isInScope } from '../../office/scope.ts'
import { claims as claimKind, machines } from '../kinds.ts'
import { claimOf, machineOf, reportOf } from '../parsed.ts'
import type { MachineWorld } from '../world.ts'
import { type ClaimSeen, type ClaimsSeen, decide, type NewClaim } from './plan.ts'
import { adoptClaim, makeClaim, ownReport, remember, say, unprotect } from './steps.ts'

/** What the API server refuses is tried again now and then: a quota, a policy or an installed kind may have changed. */
const refusedRetryMs = 60_000

export async function reconcileMachine(key: string, world: MachineWorld): Promise<PassResult> {
  const object = world.caches.machines.get(key)
  await releaseLeftBehind(key, object?.metadata.uid, world)
  const machine = readable(object, machineOf)
  if (object === undefined || machine === undefined || !isInScope(world.scope, object)) return done()
  if (machine.isDeleting) {
    if (isVirtualMachineGone(machine)) await release(ownOf(key, machine, world), world)
    return done()
  }
  return serve(object, machine, world)
}

async function serve(object: KubeObject, machine: Machine, world: MachineWorld): Promise<PassResult> {
  const seen = observe(machine, world)
  const plan = decide(seen)
  if (plan.adopt.length + plan.make.length > 0 && !(await isThere(machine, world))) return requeue()
  for (const claim of plan.adopt) {
    await adoptClaim(world, machine, claim)
    world.note({
      what: 'changed',
      about: aboutOf(claim),
      message: `it belongs to Machine ${machine.metadata.name} now`,
    })
  }
  for (const { claim, report } of plan.own) await ownReport(world, claim, report)
  const refused = await makeAll(machine, plan.make, world)
  if (refused === 'taken') return requeue()
  if (plan.fact === undefined) return done()
  const fact = refused === undefined ? plan.fact : { ...plan.fact, message: `${plan.fact.message}. ${refused}` }
  const metadata = plan.remember === undefined ? machine.metadata : await remember(world, machine, plan.remember)
  if (await say(world, object, metadata, fact)) {
    const type = fact.status === 'True' ? 'Normal' : 'Warning'
    const about = { kind: machines.kind, namespace: metadata.namespace, name: metadata.name }
    world.note({ what: 'told', about, reason: fact.reason, message: fact.message })
    world.recorder.event({ about: object, type, reason: fact.reason, action: 'Claim', note: fact.message })
  }
  return refused === undefined ? done() : requeueAfter(refusedRetryMs)
}

/**
 * Asked of the API server, for the cache may still have a Machine that is gone. Another process that knows so takes the finalizer off
 * its claims; if this one put it back, the two would wake each other for as long as the cache is behind.
 */
async function isThere({ metadata: { namespace, name, uid } }: Machine, world: MachineWorld): Promise<boolean> {
  const live = await refresh(world.client, machines, world.caches.machines, { namespace, name })
  return live?.metadata.uid === uid && live.metadata.deletionTimestamp === undefined
}

/** What the API server says where it makes none; 'taken' where one of the names is there already. */
async function makeAll(
  machine: Machine,
  make: readonly NewClaim[],
  world: MachineWorld,
): Promise<'taken' | string | undefined> {
  let isTaken = false
  for (const claim of make) {
    const made = await makeClaim(world, machine, claim)
    if (typeof made === 'object') return `Claim ${claim.name} cannot be made: ${made.refused}`
    if (made === 'made')
      world.note({ what: 'made', about: aboutOf({ metadata: { ...machine.metadata, name: claim.name } }) })
    isTaken = made === 'taken' || isTaken
  }
  return isTaken ? 'taken' : undefined
}

function observe(machine: Machine, { caches: { claims, reports }, shown }: MachineWorld): ClaimsSeen {
  const { namespace } = machine.metadata
  const claimNamed = (name: string): ClaimSeen | 'unreadable' | undefined => {
    const object = claims.get(`${namespace}/${name}`)
    if (object === undefined) return undefined
    const claim = claimOf(object)
    if (isMalformed(claim)) return 'unreadable'
    const named = claim.addressName === '' ? undefined : reports.get(`${namespace}/${claim.addressName}`)
    const report = readable(named, reportOf)
    return { claim, report, rival: report && shown.before(report) }
  }
  return { machine, claimNamed }
}

// --- the way out ---

/** The finalizer of the controller of Machines stands for the virtual machine, be that OpenShift's or `machine.vm`. */
const isVirtualMachineGone = ({ metadata }: Machine): boolean => !metadata.finalizers.includes(machineFinalizer)

function ownOf(key: string, { metadata }: Machine, { owned }: MachineWorld): readonly IPAddressClaim[] {
  return owned.of(key).filter(claim => controllingMachine(claim.metadata)?.uid === metadata.uid)
}

/** Claims of Machines of this name that are gone; a Machine made anew under the name waits for them. */
async function releaseLeftBehind(key: string, uid: string | undefined, world: MachineWorld): Promise<void> {
  const left = world.owned.of(key).filter(claim => controllingMachine(claim.metadata)?.uid !== uid)
  if (left.length === 0) return
  const [namespace = '', name = ''] = key.split('/')
  const live = await world.client.get(machines, { namespace, name })
  await release(
    left.filter(claim => controllingMachine(claim.metadata)?.uid !== live?.metadata.uid),
    world,
  )
}

async function release(claims: readonly IPAddressClaim[], world: MachineWorld): Promise<void> {
  for (const claim of claims) {
    if (!(await unprotect(world, claim))) continue
    world.note({ what: 'changed', about: aboutOf(claim), message: 'its virtual machine is gone: it may go' })
  }
}

const aboutOf = ({
  metadata: { namespace, name },
}: {
  readonly metadata: Pick<Machine['metadata'], 'namespace' | 'name'>
}) => ({
  kind: claimKind.kind,
  namespace,
  name,
})
