// vm.claims - every interface of a virtual machine on a network with persistent addresses has one claim, which belongs to the
// virtual machine; claims that no interface and no pod needs any more go; the virtual machine shows which addresses it has.
//
// Reads:   the virtual machine, its instance, its launcher pods, its claims, its networks (observe.ts); decides in plan.ts.
// Writes:  claims, but not their status; an annotation of the virtual machine.
// Safe:    a claim is deleted only by what the API server answers about the virtual machine, and it stays until its addresses
//          are given back (end.ts). A pass may run twice, late, on an old view, or be cut between any two writes: the name of a
//          claim is the lock on its interface.

import type { KubeObject } from '../../../kube/object.ts'
import { done, type PassResult, requeue } from '../../../runtime/reconciler.ts'
import { isInScope, type Scope } from '../../office/scope.ts'
import type { VMWorld } from '../world.ts'
import { askMachine } from './ask.ts'
import { observe, withClaims } from './observe.ts'
import { type ClaimsPlan, decide } from './plan.ts'
import { adoptClaim, askFor, makeClaim, removeClaim, show } from './steps.ts'

export interface ClaimsWorld extends Pick<VMWorld, 'client' | 'caches' | 'networks' | 'recorder' | 'launchersOf'> {
  /** What each virtual machine was told last, so that it is told once. */
  readonly told: Map<string, string>
  /** By the key of a claim that is in the way: the virtual machines that wait for it to go. */
  readonly inTheWay: Map<string, Set<string>>
}

export async function reconcileVM(key: string, scope: Scope, world: ClaimsWorld): Promise<PassResult> {
  const seen = observe(key, world)
  const plan = seen !== undefined && isServed(scope, key, world) ? decide(seen) : undefined
  waitFor(key, plan?.waitsFor ?? [], world)
  if (seen === undefined || plan === undefined) return done()
  tell(key, plan, world)
  const { owner } = plan
  let isTaken = false
  if (owner !== undefined) {
    for (const adoption of plan.adopt) await adoptClaim(world, owner, adoption)
    for (const request of plan.ask) await askFor(world, request)
    for (const claim of plan.make) isTaken = !(await makeClaim(world, owner, claim)) || isTaken
  }
  if (plan.remove.length > 0) await removeAll(key, plan, world)
  if (seen.vm !== undefined && plan.shown !== seen.vm.shown) await show(world, seen.vm, plan.shown)
  return isTaken ? requeue() : done()
}

/** A virtual machine out of scope is left alone. Of one that is gone, its claims say whether it was. */
function isServed(scope: Scope, key: string, { caches }: ClaimsWorld): boolean {
  const object = caches.vms.get(key) ?? caches.vmis.get(key) ?? caches.claims.byIndex('vm', key)[0]
  return object !== undefined && isInScope(scope, object)
}

/** What the cache does not know may be there: a claim goes only if the API server agrees. */
async function removeAll(key: string, { remove }: ClaimsPlan, world: ClaimsWorld): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  const asked = await askMachine(world, namespace, name)
  if (asked === undefined) return
  const agreed = new Set(decide(withClaims(key, world, asked)).remove.map(({ metadata }) => metadata.uid))
  for (const claim of remove) if (agreed.has(claim.metadata.uid)) await removeClaim(world, claim)
}

function waitFor(key: string, waitsFor: readonly string[], { inTheWay }: ClaimsWorld): void {
  const namespace = key.slice(0, key.indexOf('/'))
  const keys = new Set(waitsFor.map(name => `${namespace}/${name}`))
  for (const [claim, waiting] of inTheWay) {
    if (!keys.has(claim)) waiting.delete(key)
    if (waiting.size === 0) inTheWay.delete(claim)
  }
  for (const claim of keys) inTheWay.set(claim, (inTheWay.get(claim) ?? new Set()).add(key))
}

function tell(key: string, { notices, owner }: ClaimsPlan, { told, recorder }: ClaimsWorld): void {
  const text = notices.map(({ message }) => message).join('\n')
  if (text === (told.get(key) ?? '')) return
  if (text === '') told.delete(key)
  else told.set(key, text)
  if (owner === undefined) return
  for (const { reason, message } of notices) {
    recorder.event({ about: owner as KubeObject, type: 'Warning', reason, action: 'Claim', note: message })
  }
}
