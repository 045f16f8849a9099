// Which Machines are to be made: what a user is about to order, and what the sets ask for already. A set that is named is judged by what
// the user says of it; every other one by its replicas, since its new Machines take addresses of the same pools.

import type { PoolReference } from '../api/ip-address-claim.ts'
import type { Machine } from '../api/machine.ts'
import { wantedBy, wishFaults } from '../controllers/machine/claims/wanted.ts'
import { machinesOf } from '../controllers/machine/sets/scale.ts'
import { isMalformed } from '../ip/malformed.ts'
import { quoteUnlessName } from '../ip/object-name.ts'
import type { Fleet, FleetSet } from './fleet.ts'

/** By the name of the set, or `control-plane`. */
export interface Wanted {
  readonly scale: ReadonlyMap<string, number>
  readonly rollOut: readonly string[]
}

/** Of the one ControlPlaneMachineSet, whatever it is called. */
export const controlPlaneName = 'control-plane'

export interface Order {
  readonly what: 'scale' | 'rollOut'
  readonly set: FleetSet
  /** Machines that the set has. */
  readonly present: readonly Machine[]
  readonly to: number
  /** The pools that each new Machine takes an address of, one entry for each claim. */
  readonly pools: readonly PoolReference[]
  /** Why it makes no Machine that takes an address of a pool; undefined where it may. */
  readonly idle: string | undefined
  /** Why its new Machines get nowhere, whatever is free; undefined where they may. */
  readonly fault: string | undefined
}

export function ordersOf(fleet: Fleet, { scale, rollOut }: Wanted): Order[] | { readonly unknown: readonly string[] } {
  const unknown = [...scale.keys(), ...rollOut].filter(name => setNamed(name, fleet) === undefined)
  if (unknown.length > 0) return { unknown: [...new Set(unknown)] }
  const isNamed = (names: Iterable<string>, set: FleetSet) => [...names].some(name => setNamed(name, fleet) === set)
  const toOf = (set: FleetSet) => [...scale].find(([name]) => setNamed(name, fleet) === set)?.[1] ?? set.replicas
  const orders = fleet.sets.map(set => orderOf('scale', set, toOf(set), fleet))
  return [
    ...orders.filter(({ set, present, to }) => isNamed(scale.keys(), set) || to > present.length),
    ...fleet.sets
      .filter(set => isNamed(rollOut, set))
      .map(set => orderOf('rollOut', set, membersOf(set, fleet).length, fleet)),
  ]
}

/** Also those that it is about to take in. */
function membersOf(set: FleetSet, { machines }: Fleet): Machine[] {
  const { own, adopt } = machinesOf(set, machines)
  return [...own, ...adopt]
}

function setNamed(name: string, { sets }: Fleet): FleetSet | undefined {
  if (name === controlPlaneName) return sets.find(({ type }) => type === 'ControlPlaneMachineSet')
  return sets.find(({ type, metadata }) => type === 'MachineSet' && metadata.name === name)
}

function orderOf(what: Order['what'], set: FleetSet, to: number, fleet: Fleet): Order {
  const present = membersOf(set, fleet)
  const idle = whyIdle(set)
  const fault = idle === undefined ? faultOf(set, Math.max(to, present.length)) : undefined
  const pools = idle === undefined && fault === undefined ? poolsOf(set) : []
  return { what, set, present, to, pools, idle, fault }
}

function whyIdle(set: FleetSet): string | undefined {
  if (set.isDeleting) return 'it is being deleted, and makes no Machine'
  if (set.type === 'ControlPlaneMachineSet' && !set.isActive)
    return 'it is not active, and makes no Machine: set spec.state to Active'
  return set.providerSpec === undefined ? 'its Machines are not of vSphere' : undefined
}

function faultOf({ type, providerSpec }: FleetSet, machines: number): string | undefined {
  if (providerSpec === undefined) return undefined
  if (isMalformed(providerSpec)) return `its template cannot be read: ${providerSpec.malformed}`
  const [wrong] = wishFaults(providerSpec)
  if (wrong !== undefined) return `${wrong.field} of its template ${wrong.detail}`
  const address = providerSpec.devices.flatMap(({ ipAddrs }) => ipAddrs)[0]
  // A ControlPlaneMachineSet leaves such addresses out.
  if (address === undefined || type !== 'MachineSet' || machines < 2) return undefined
  return `its template gives ${JSON.stringify(address)} to each of its ${machines} Machines: name a pool in addressesFromPools in its place`
}

/** The devices of a failure domain take the place of those of the template, unless the first of these names a pool. */
function poolsOf(set: FleetSet): readonly PoolReference[] {
  const { providerSpec } = set
  if (providerSpec === undefined || isMalformed(providerSpec)) return []
  const isReplaced = set.type === 'ControlPlaneMachineSet' && set.failureDomains.length > 0
  if (isReplaced && providerSpec.devices[0]?.addressesFromPools.length === 0) return []
  return wantedBy(set.metadata.name, providerSpec).map(({ poolRef }) => poolRef)
}

export const setText = ({ type, metadata }: FleetSet): string => `${type} ${quoteUnlessName(metadata.name)}`
