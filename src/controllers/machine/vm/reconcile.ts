// machine.vm - every Machine whose addresses are there has one virtual machine at its vCenter, which is told them as kernel arguments;
// when the Machine goes, the virtual machine goes first, then the Machine, then `machine.claims` lets its claims go.
//
// Reads:   the Machine, its claims and their IPAddresses from the caches; Secrets; the vCenter. Decides in plan.ts.
// Writes:  finalizers, status and providerID of the Machine; the vCenter.
// Safe:    what was ordered is written before it is sent. A pass may run twice, late, on an old view, or be cut between any two writes:
//          the instance UUID finds the virtual machine again, and the version of the Machine is the lock on its order. The Machine goes
//          only after the vCenter has said that no virtual machine of the Machine is there, nor may come.

import { describeFault } from '../../../admission/fault.ts'
import { poolOfClaim } from '../../../api/ip-address-claim.ts'
import type { Machine } from '../../../api/machine.ts'
import { addressClaimedCondition, machineFinalizer } from '../../../api/names.ts'
import { hasStaticNetwork, type VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { done, type PassResult, requeue } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { isInScope } from '../../office/scope.ts'
import { claimOf, machineOf, reportOf } from '../parsed.ts'
import { make } from './make.ts'
import { devicesOf, faultsOf, type MachineDevices } from './network.ts'
import { creationCondition, isMade } from './plan.ts'
import { protect, say } from './steps.ts'
import { tagFaults } from './tag-faults.ts'
import { takeDown } from './take-down.ts'
import { complain, type Turn } from './turn.ts'
import { withVCenter } from './with-vcenter.ts'

export async function reconcileVM(key: string, turn: Turn): Promise<PassResult> {
  const object = turn.caches.machines.get(key)
  const machine = readable(object, machineOf)
  if (object === undefined || machine === undefined || !isInScope(turn.scope, object)) return done()
  const { providerSpec: spec } = machine
  if (machine.isDeleting) return takeDown(turn, machine)
  // One of another platform is another controller's.
  if (spec === undefined) return done()
  if (isMalformed(spec)) return fail(turn, machine, spec.malformed)
  if (!machine.metadata.finalizers.includes(machineFinalizer)) {
    await protect(turn, machine)
    return requeue()
  }
  const { devices, unbound } = devicesIn(turn, machine, spec)
  if (!isMade(machine)) {
    if (unbound.length > 0 || !hasAddresses(machine, spec)) return wait(turn, machine)
    const faults = [...faultsOf(devices), ...tagFaults(spec).map(describeFault)]
    if (faults.length > 0) return fail(turn, machine, faults.join('; '))
  }
  return withVCenter(turn, machine, spec, creationCondition, ground => make(turn, ground, devices))
}

function devicesIn({ caches, sources }: Turn, machine: Machine, spec: VSphereProviderSpec): MachineDevices {
  const { namespace } = machine.metadata
  return devicesOf(machine, spec, {
    claim: name => readable(caches.claims.get(`${namespace}/${name}`), claimOf),
    address: name => readable(caches.reports.get(`${namespace}/${name}`), reportOf),
    nameservers: claim => {
      const pool = poolOfClaim(claim)
      return pool === undefined ? [] : (sources.poolsOf(pool)[0]?.nameservers ?? [])
    },
  })
}

/** `machine.claims` has said so: then the Machine remembers them, and it is known if they change later. */
function hasAddresses({ providerStatus }: Machine, spec: VSphereProviderSpec): boolean {
  if (!hasStaticNetwork(spec)) return true
  return providerStatus.conditions.some(({ type, status }) => type === addressClaimedCondition && status === 'True')
}

/** A claim that is bound wakes it. */
async function wait(turn: Turn, machine: Machine): Promise<PassResult> {
  if (machine.phase === '') await say(turn, machine, { phase: 'Provisioning' })
  return done()
}

/** The spec has to change; that wakes it. */
async function fail(turn: Turn, machine: Machine, message: string): Promise<PassResult> {
  const reason = 'InvalidConfiguration'
  await complain(turn, machine, creationCondition, { reason, message }, { phase: 'Failed', error: { reason, message } })
  return done()
}
