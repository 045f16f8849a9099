// The plan of an import: networks that are not there yet are proposed, everything is checked against them, and only if there is no
// error are there objects to make.

import { clusterUserDefinedNetworks } from '../controllers/office/kinds.ts'
import { quoteText } from '../ip/malformed.ts'
import { type KubeObject, nameOfKind } from '../kube/object.ts'
import type { SourceMachine } from '../sources/machine.ts'
import { cardTargetOf, isSkipped, type PlannedMachine, planMachines } from './cards.ts'
import { checkImport } from './check.ts'
import { type Finding, isError, sortFindings } from './finding.ts'
import type { Mapping } from './mapping.ts'
import { type CardOfMachine, isProposed, type NoProposal, proposeNetwork } from './propose.ts'
import { renderImport } from './render.ts'
import type { ImportTarget } from './target.ts'

export interface ImportPlan {
  readonly machines: readonly PlannedMachine[]
  readonly findings: readonly Finding[]
  /** By name of the ClusterUserDefinedNetwork: why none can be proposed. */
  readonly unproposed: ReadonlyMap<string, Unproposed>
  /** In the order in which they have to be made; none where there is an error. */
  readonly objects: readonly KubeObject[]
}

export interface Unproposed extends NoProposal {
  /** What the source calls that which the cards are connected to. */
  readonly networks: readonly string[]
}

export function planImport(machines: readonly SourceMachine[], mapping: Mapping, found: ImportTarget): ImportPlan {
  const { target, unproposed } = withProposals(machines, mapping, found)
  const planned = planMachines(machines, mapping, target)
  const findings = sortFindings([
    ...checkImport(machines, mapping, target, planned).filter(one => !isToldBetter(one, unproposed)),
    ...[...unproposed].flatMap(([name, no]) => findingsOf(name, no)),
  ])
  const objects = findings.some(isError) ? [] : renderImport(planned, mapping, target)
  return { machines: planned, findings, unproposed, objects }
}

/** That a network is missing is said with the reason why the plan does not make it. */
const isToldBetter = ({ id, message }: Finding, unproposed: ReadonlyMap<string, Unproposed>): boolean =>
  id === 'CudnMissing' && [...unproposed.keys()].some(name => message.endsWith(` ${name}`))

function withProposals(
  machines: readonly SourceMachine[],
  mapping: Mapping,
  found: ImportTarget,
): { readonly target: ImportTarget; readonly unproposed: ReadonlyMap<string, Unproposed> } {
  // One that may be there, and cannot be seen, is not made anew.
  if (found.unread.includes(nameOfKind(clusterUserDefinedNetworks))) return { target: found, unproposed: new Map() }
  const cards = new Map<string, CardOfMachine[]>()
  for (const machine of machines.filter(one => !isSkipped(one, mapping))) {
    for (const nic of machine.nics) {
      const to = cardTargetOf(nic, mapping)
      if (to?.to !== 'primary' || found.networks.some(({ name }) => name === to.network)) continue
      cards.set(to.network, [...(cards.get(to.network) ?? []), { machine: machine.name, nic }])
    }
  }
  const unproposed = new Map<string, Unproposed>()
  const networks = [...found.networks]
  for (const [name, itsCards] of cards) {
    const keys = new Set(itsCards.flatMap(({ nic }) => [nic.network, nic.networkId].filter(key => key !== undefined)))
    const known = [...keys].flatMap(key => mapping.subnets.get(key) ?? [])
    const proposal = proposeNetwork(itsCards, { name, namespace: mapping.namespace, known })
    if (isProposed(proposal)) networks.push(proposal)
    else unproposed.set(name, { ...proposal, networks: sourceNetworksOf(itsCards) })
  }
  return { target: { ...found, networks }, unproposed }
}

const sourceNetworksOf = (cards: readonly CardOfMachine[]): string[] =>
  [...new Set(cards.flatMap(({ nic }) => nic.network ?? nic.networkId ?? []))].toSorted()

function findingsOf(name: string, { reason, message, groups, networks }: Unproposed): Finding[] {
  const listed = groups.map(({ says, machines }) => `${says}: ${machines.join(', ')}`).join('; ')
  const missing: Finding = {
    id: 'CudnMissing',
    severity: 'error',
    machine: '',
    nic: '',
    message: `there is no ClusterUserDefinedNetwork ${name}, and none can be proposed: ${message} (${listed})`,
    fix: fixes[reason] ?? `Say what it is: ${networks.map(subnetFlag).join(' ')}.`,
  }
  if (reason !== 'GatewayOutsideSubnet') return [missing]
  // The check of cards has no network to compare with.
  return [missing, ...groups.flatMap(group => group.machines.map(machine => outside(machine, group.says)))]
}

const outside = (machine: string, says: string): Finding => ({
  id: 'GatewayOutsideSubnet',
  severity: 'error',
  machine,
  nic: '',
  message: `the machine is in ${says}: a primary network has its gateway in its subnet`,
  fix: 'Map the card to a NetworkAttachmentDefinition in place of a primary network.',
})

const subnetFlag = (network: string): string => `--subnet ${quoteText(`${network}=10.0.0.0/24,10.0.0.1`)}`

/** What is not known can be said. */
const fixes: Readonly<Partial<Record<NoProposal['reason'], string>>> = {
  GatewayOutsideSubnet: 'Map the cards to a NetworkAttachmentDefinition in place of a primary network.',
  MachinesDisagree:
    'Plan each group by itself, on a network and in a namespace of its own: --skip, or --map MAC=TARGET.',
  NoRoom: 'Give one of the machines another address in the source, or skip it.',
}
