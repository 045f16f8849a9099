// The way out of a Machine: its Node is drained, its virtual machine is powered off and destroyed; once the vCenter knows none, the Machine goes, and its
// claims after it. A Machine for which nothing was ever ordered goes at once, and its vCenter is not asked.

import { hasInstance, type Machine } from '../../../api/machine.ts'
import { machineFinalizer } from '../../../api/names.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { refresh } from '../../../kube/refresh.ts'
import { done, type PassResult } from '../../../runtime/reconciler.ts'
import { isVimFault } from '../../../vsphere/fault.ts'
import { destroy, powerOff } from '../../../vsphere/virtual-machine.ts'
import { readable } from '../../office/kept.ts'
import { machines } from '../kinds.ts'
import { machineOf } from '../parsed.ts'
import { drain } from './drain.ts'
import { decideUnmaking, deletionCondition } from './plan.ts'
import { release, say } from './steps.ts'
import { complain, noteOrder, pollLater, retryLater, soon, type Turn } from './turn.ts'
import { type Ground, look } from './vcenter.ts'
import { withVCenter } from './with-vcenter.ts'

export async function takeDown(turn: Turn, seen: Machine): Promise<PassResult> {
  if (!seen.metadata.finalizers.includes(machineFinalizer)) return done()
  if (seen.preDrainHooks.length > 0) return waitForHooks(turn, seen, seen.preDrainHooks)
  // A cache that is behind may not show what was ordered.
  const { namespace, name } = seen.metadata
  const live = readable(await refresh(turn.client, machines, turn.caches.machines, { namespace, name }), machineOf)
  if (live === undefined || live.metadata.uid !== seen.metadata.uid) return done()
  const machine = await say(turn, live, { phase: 'Deleting' })
  const { providerSpec: spec } = machine
  if (!hasInstance(machine)) {
    if (machine.preTerminateHooks.length > 0) return waitForHooks(turn, machine, machine.preTerminateHooks)
    await release(turn, machine)
    return done()
  }
  if (spec === undefined || isMalformed(spec)) {
    const message = `the provider spec cannot be read, and a virtual machine was ordered with it: put it right (${spec?.malformed ?? 'it is of another platform'})`
    await complain(turn, machine, deletionCondition, { reason: 'InvalidConfiguration', message })
    return done()
  }
  return withVCenter(turn, machine, spec, deletionCondition, ground => unmake(turn, ground))
}

/** The spec has to change; that wakes it. */
async function waitForHooks(turn: Turn, machine: Machine, hooks: readonly string[]): Promise<PassResult> {
  const message = `waiting for lifecycle hooks of others: ${hooks.slice(0, 10).join(', ')}`
  await complain(turn, machine, deletionCondition, { reason: 'HooksPending', message }, { phase: 'Deleting' })
  return done()
}

async function unmake(turn: Turn, ground: Ground): Promise<PassResult> {
  const there = await look(ground)
  const { machine, vcenter, signal } = ground
  const { vm } = there
  const step = decideUnmaking({ ...there, machine })
  switch (step.do) {
    case 'release':
      await release(turn, machine)
      return done()
    case 'power off':
    case 'destroy': {
      if (vm === undefined) return done()
      const why = await drain(turn.client, machine, vm)
      if (why !== undefined) {
        await complain(turn, machine, deletionCondition, why)
        return pollLater(turn)
      }
      if (machine.preTerminateHooks.length > 0) return waitForHooks(turn, machine, machine.preTerminateHooks)
      const run = step.do === 'destroy' ? destroy : powerOff
      const task = await run(vcenter, vm.ref, signal).catch(error => {
        // It went off, or away, by itself meanwhile.
        if (!isVimFault(error, 'InvalidPowerState', 'ManagedObjectNotFound', 'TaskInProgress')) throw error
        return ''
      })
      if (task !== '') noteOrder(turn, machine, step.do)
      await say(turn, machine, { provider: { instanceState: vm.powerState, taskRef: task } })
      return soon(turn)
    }
    case 'forget':
      if (step.why !== undefined) {
        await complain(turn, machine, deletionCondition, step.why, { provider: { taskRef: '' } })
        return retryLater(turn)
      }
      await say(turn, machine, { provider: { taskRef: '' } })
      return soon(turn)
    case 'wait':
    case 'refuse':
      if (step.why !== undefined) await complain(turn, machine, deletionCondition, step.why)
      return pollLater(turn)
  }
}
