// How the Machines of a control plane are replaced: one pure function from what was seen to one step. A new Machine comes first, and
// the old one goes when the new one runs; one at a time, so that a control plane never has fewer members than it is to have.
//
//   RollingUpdate   a Machine that is not what the template makes is replaced
//   OnDelete        one that a user deletes is replaced; it waits by the hooks of other controllers
//
// Machines are not owned by the set: an administrator that deletes the set by mistake does not lose the control plane.

import type { Machine } from '../../../api/machine.ts'
import type { ControlPlaneMachineSet } from '../../../api/machine-set.ts'
import { selects, selectsAll } from '../../../api/selector.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { differs, type FailureDomain, inDomain, isIn } from './failure-domains.ts'
import { isReady } from './scale.ts'

export interface ControlPlaneSeen {
  readonly set: ControlPlaneMachineSet
  /** Of its namespace. */
  readonly machines: readonly Machine[]
  readonly domains: readonly FailureDomain[]
  readonly clusterName: string
}

type Raw = Readonly<Record<string, unknown>>

export type ControlPlaneStep =
  | { readonly do: 'create'; readonly index: number; readonly providerSpec: Raw; readonly why: string }
  | { readonly do: 'delete'; readonly machine: Machine; readonly why: string }
  | { readonly do: 'nothing'; readonly why: string }
  | { readonly do: 'refuse'; readonly why: string }

export interface ControlPlaneCounts {
  readonly replicas: number
  readonly readyReplicas: number
  readonly updatedReplicas: number
  readonly unavailableReplicas: number
}

interface Member {
  readonly machine: Machine
  readonly index: number
  readonly domain: FailureDomain | undefined
  readonly isUpdated: boolean
}

export function decideControlPlane(seen: ControlPlaneSeen): ControlPlaneStep {
  const { set } = seen
  const refusal = whyRefused(seen)
  if (refusal !== undefined) return { do: 'refuse', why: refusal }
  if (!set.isActive || set.isDeleting) return { do: 'nothing', why: 'the set is not active' }
  const members = membersOf(seen)
  const indexes = Array.from({ length: set.replicas }, (_, i) => i)
  for (const index of indexes) {
    const at = members.filter(member => member.index === index)
    const staying = at.filter(({ machine }) => !machine.isDeleting)
    if (staying.length > 0) continue
    const leaving = at[0]
    const why = leaving === undefined ? `index ${index} has no Machine` : `${nameOf(leaving)} is being deleted`
    return { do: 'create', index, providerSpec: specFor(seen, members, leaving), why }
  }
  if (set.strategy === 'OnDelete') return { do: 'nothing', why: 'Machines are replaced when they are deleted' }
  const done = members.find(member => isReplaced(member, members, set))
  if (done !== undefined)
    return { do: 'delete', machine: done.machine, why: `${nameOf(done)} is replaced, and its successor runs` }
  const outdated = members.filter(({ machine, isUpdated }) => !isUpdated && !machine.isDeleting)
  const first = outdated.toSorted((a, b) => a.index - b.index)[0]
  if (first === undefined) return { do: 'nothing', why: 'every Machine is as the template says' }
  if (members.length > set.replicas)
    return { do: 'nothing', why: `${nameOf(first)} is to be replaced, after the replacement under way` }
  const providerSpec = specFor(seen, members, first)
  return { do: 'create', index: first.index, providerSpec, why: `${nameOf(first)} is not as the template says` }
}

const nameOf = ({ machine }: Member): string => machine.metadata.name

/** Its successor runs, and enough others do. */
function isReplaced(old: Member, members: readonly Member[], { replicas }: ControlPlaneMachineSet): boolean {
  if (old.isUpdated || old.machine.isDeleting) return false
  const others = members.filter(member => member !== old && isReady(member.machine))
  return others.length >= replicas && others.some(({ index, isUpdated }) => index === old.index && isUpdated)
}

function whyRefused({ set, domains }: ControlPlaneSeen): string | undefined {
  const { providerSpec, selector, labels, strategy } = set
  if (selectsAll(selector)) return 'spec.selector selects every Machine of the namespace'
  if (!selects(selector, labels)) return 'spec.selector does not select the labels of the template'
  if (providerSpec === undefined) return 'the provider spec of the template is not one of vSphere'
  if (isMalformed(providerSpec)) return providerSpec.malformed
  if (!['RollingUpdate', 'OnDelete'].includes(strategy))
    return `spec.strategy.type ${JSON.stringify(strategy)} is not served: use RollingUpdate or OnDelete`
  const unknown = set.failureDomains.filter(name => !domains.some(domain => domain.name === name))
  if (unknown.length === 0) return undefined
  return `Infrastructure cluster has no failure domain ${unknown.join(', ')}, which the template names`
}

function membersOf(seen: ControlPlaneSeen): Member[] {
  const { set, machines } = seen
  const own = machines.filter(
    ({ metadata }) => metadata.namespace === set.metadata.namespace && selects(set.selector, metadata.labels),
  )
  const named = own.map(machine => ({ machine, index: indexIn(machine.metadata.name, set.replicas) }))
  const free = Array.from({ length: set.replicas }, (_, i) => i).filter(i => !named.some(({ index }) => index === i))
  return named.map(({ machine, index }) => {
    const { providerSpec } = machine
    const isRead = providerSpec !== undefined && !isMalformed(providerSpec)
    const domain = isRead ? offered(seen).find(one => isIn(providerSpec, one)) : undefined
    const isPlaced = offered(seen).length === 0 || domain !== undefined
    const isUpdated = isRead && isPlaced && !differs(providerSpec, made(seen, domain))
    return { machine, index: index ?? free.shift() ?? 0, domain, isUpdated }
  })
}

/** The number at the end of its name, where it is one of the set's. */
function indexIn(name: string, replicas: number): number | undefined {
  const index = Number(/-(\d{1,3})$/.exec(name)?.[1])
  return index < replicas ? index : undefined
}

/** In the order of the template. */
const offered = ({ set, domains }: ControlPlaneSeen): readonly FailureDomain[] =>
  set.failureDomains.flatMap(name => domains.find(domain => domain.name === name) ?? [])

function made({ set, clusterName }: ControlPlaneSeen, domain: FailureDomain | undefined): Raw {
  const template = rawSpecOf(set)
  return domain === undefined ? template : inDomain(template, domain, clusterName)
}

function rawSpecOf({ machineSpec }: ControlPlaneMachineSet): Raw {
  const { providerSpec } = machineSpec as { readonly providerSpec?: { readonly value?: Raw } }
  return providerSpec?.value ?? {}
}

/** In the domain of the Machine that it replaces; else in the one with the fewest. */
function specFor(seen: ControlPlaneSeen, members: readonly Member[], old: Member | undefined): Raw {
  const all = offered(seen)
  const count = (domain: FailureDomain): number =>
    members.filter(member => member.domain?.name === domain.name && !member.machine.isDeleting).length
  return made(seen, old?.domain ?? all.toSorted((a, b) => count(a) - count(b))[0])
}

export function countControlPlane(seen: ControlPlaneSeen): ControlPlaneCounts {
  const members = membersOf(seen)
  const ready = members.filter(({ machine }) => isReady(machine))
  return {
    replicas: members.length,
    readyReplicas: ready.length,
    updatedReplicas: ready.filter(({ isUpdated }) => isUpdated).length,
    unavailableReplicas: Math.max(0, seen.set.replicas - ready.length),
  }
}
