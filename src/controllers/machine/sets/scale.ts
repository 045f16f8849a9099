// Which Machines a MachineSet takes, makes and deletes: one pure function from what was seen. A Machine is the set's by its owner
// reference; one that has none, and that the selector matches, becomes the set's; one of another owner is never touched.

import type { Machine } from '../../../api/machine.ts'
import type { MachineSet } from '../../../api/machine-set.ts'
import { deleteMachineAnnotations } from '../../../api/names.ts'
import { selects, selectsAll } from '../../../api/selector.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { machinesOfSetMax } from '../../../limits.ts'

export interface ScalePlan {
  readonly adopt: readonly Machine[]
  readonly create: number
  readonly remove: readonly Machine[]
}

export interface Counts {
  readonly replicas: number
  readonly fullyLabeledReplicas: number
  readonly readyReplicas: number
  readonly availableReplicas: number
}

/** `machines`: those of the namespace. A set that is deleted lets go of what it has; the API server collects it. */
export function planScale(set: MachineSet, machines: readonly Machine[]): ScalePlan {
  const { own, adopt } = machinesOf(set, machines)
  if (set.isDeleting || whyRefused(set) !== undefined) return { adopt: [], create: 0, remove: [] }
  const surplus = own.length + adopt.length - set.replicas
  return {
    adopt,
    create: Math.max(0, -surplus),
    // What was just taken in is the set's only once that is stored.
    remove: surplus > 0 ? inOrderOfRemoval(set, own).slice(0, surplus) : [],
  }
}

/**
 * The Machines that a set controls, and those without a controller that its selector matches, which it takes in; those on their way out
 * are neither. A selector that asks for nothing takes in nothing.
 */
export function machinesOf({ metadata, selector }: MachineSet, machines: readonly Machine[]) {
  const there = machines.filter(machine => machine.metadata.namespace === metadata.namespace && !machine.isDeleting)
  const controllerOf = (machine: Machine) => machine.metadata.ownerReferences.find(owner => owner.controller === true)
  const isWanted = ({ metadata: { labels } }: Machine) => !selectsAll(selector) && selects(selector, labels)
  return {
    own: there.filter(machine => controllerOf(machine)?.uid === metadata.uid),
    adopt: there.filter(machine => controllerOf(machine) === undefined && isWanted(machine)),
  }
}

/** Why no Machine is made of it. A selector that asks for nothing would take in every Machine of the namespace, and delete what is too many. */
export function whyRefused({ selector, labels, replicas, providerSpec }: MachineSet): string | undefined {
  if (selectsAll(selector)) return 'spec.selector selects every Machine of the namespace: name the labels of its own'
  if (!selects(selector, labels)) return 'spec.selector does not select the labels of spec.template.metadata.labels'
  if (replicas > machinesOfSetMax)
    return `spec.replicas is ${replicas}, and one set has ${machinesOfSetMax} Machines at most`
  if (providerSpec === undefined) return 'spec.template.spec.providerSpec is not one of vSphere'
  return isMalformed(providerSpec) ? providerSpec.malformed : undefined
}

/** Those that a user marked, then those that have failed, then by the policy; of equals the one without a virtual machine first. */
function inOrderOfRemoval({ deletePolicy }: MachineSet, machines: readonly Machine[]): Machine[] {
  const rank = (machine: Machine): number => {
    if (deleteMachineAnnotations.some(key => Object.hasOwn(machine.metadata.annotations, key))) return 0
    return machine.errorMessage === '' && machine.phase !== 'Failed' ? 2 : 1
  }
  const byAge = (a: Machine, b: Machine): number => {
    const [one, other] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp]
    if (one === other) return a.metadata.name < b.metadata.name ? -1 : 1
    return one < other ? -1 : 1
  }
  const byPolicy = (a: Machine, b: Machine): number => {
    if (deletePolicy === 'Oldest') return byAge(a, b)
    const readiness = deletePolicy === 'Newest' ? 0 : Number(isReady(a)) - Number(isReady(b))
    return readiness === 0 ? byAge(b, a) : readiness
  }
  return machines.toSorted((a, b) => rank(a) - rank(b) || byPolicy(a, b))
}

/** Its virtual machine runs. Whether a node on it is ready is for the controllers of nodes to say. */
export const isReady = ({ phase, isDeleting }: Machine): boolean =>
  !isDeleting && (phase === 'Running' || phase === 'Provisioned')

export function countMachines(set: MachineSet, machines: readonly Machine[]): Counts {
  const { own } = machinesOf(set, machines)
  const ready = own.filter(isReady).length
  const labelled = own.filter(({ metadata }) =>
    Object.entries(set.labels).every(([key, value]) => metadata.labels[key] === value),
  )
  return {
    replicas: own.length,
    fullyLabeledReplicas: labelled.length,
    readyReplicas: ready,
    availableReplicas: ready,
  }
}
