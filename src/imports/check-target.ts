// Checks of what the import needs in the cluster: the namespace, the networks, and what KubeVirt and OVN-Kubernetes can do.

import { networkNameOfClusterUDN } from '../api/cluster-user-defined-network.ts'
import { namespaceNameLabel, primaryNetworkLabel } from '../api/names.ts'
import { selects } from '../api/selector.ts'
import { toIPText } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import type { PlannedMachine } from './cards.ts'
import type { Finding, FindingId, Severity } from './finding.ts'
import type { Mapping } from './mapping.ts'
import type { ImportTarget, TargetNetwork } from './target.ts'

type Say = (id: FindingId, severity: Severity, message: string, fix: string) => void

export function checkTarget(planned: readonly PlannedMachine[], mapping: Mapping, target: ImportTarget): Finding[] {
  const findings: Finding[] = []
  const say: Say = (id, severity, message, fix) => {
    findings.push({ id, severity, machine: '', nic: '', message, fix })
  }
  const targets = planned.flatMap(machine => machine.cards.map(card => card.target))
  const names = different(targets.flatMap(to => (to.to === 'primary' ? [to.network] : [])))
  const attachments = different(targets.flatMap(to => (to.to === 'attachment' ? [`${to.namespace}/${to.name}`] : [])))
  if (names.length > 0) {
    checkNamespace(names, mapping, target, say)
    for (const name of names) checkNetwork(name, names, mapping, target, say)
    checkParts(target, say)
  }
  for (const key of attachments) checkAttachment(key, target, say)
  for (const kind of target.unread) {
    const message = `${kind} cannot be listed: conflicts with them are not found`
    say('TargetNotRead', 'warn', message, 'Plan as a user who may list them.')
  }
  return findings
}

const different = (texts: readonly string[]): string[] => [...new Set(texts)].toSorted()

function checkNamespace(
  names: readonly string[],
  { namespace }: Mapping,
  { namespaces }: ImportTarget,
  say: Say,
): void {
  const labels = namespaces.get(namespace)
  if (labels !== undefined && !Object.hasOwn(labels, primaryNetworkLabel)) {
    const message = `the namespace ${namespace} has no label ${primaryNetworkLabel}, and cannot get it any more`
    const fix = 'Choose a new namespace with --namespace: the plan makes it, with the label.'
    say('NamespaceLabelMissing', 'error', message, fix)
  }
  if (names.length > 1) {
    const message = `machines of ${namespace} are mapped to ${names.join(' and ')}: a namespace has one primary network`
    const fix = 'Plan the machines of each network by themselves, in a namespace of their own.'
    say('CudnNotOffered', 'error', message, fix)
  }
}

// --- networks ---

function checkNetwork(
  name: string,
  names: readonly string[],
  { namespace }: Mapping,
  target: ImportTarget,
  say: Say,
): void {
  const error = (id: FindingId, message: string, fix: string) => say(id, 'error', message, fix)
  const network = target.networks.find(one => one.name === name)
  if (network === undefined) {
    const message = `there is no ClusterUserDefinedNetwork ${name}`
    return error('CudnMissing', message, 'Make it, or map to another; the plan makes it where all machines agree.')
  }
  if (network.isProposed) {
    const what = `${network.subnets.map(toCIDRText).join(', ')} via ${network.gateways.map(toIPText).join(', ')}`
    say('CudnProposed', 'info', `the plan makes ClusterUserDefinedNetwork ${name}: ${what}`, '')
  }
  if (network.topology !== 'Layer2') {
    const message = `${name} is a ${network.topology} network: addresses can be asked for in Layer2 alone`
    return error('CudnNotLayer2', message, 'Map to a Layer2 network.')
  }
  if (!network.isPrimary) error('CudnNotPrimary', `${name} is a secondary network`, 'Map to a primary network.')
  if (!network.isPersistent) {
    const message = `${name} keeps no addresses: its ipam.lifecycle is not Persistent`
    error('CudnNotPersistent', message, 'Make another network: this cannot be changed.')
  }
  const labels = labelsOf(namespace, target)
  if (!selects(network.namespaceSelector, labels)) {
    const message = `the namespaceSelector of ${name} does not select ${namespace}`
    error('CudnNotOffered', message, 'Let it select the namespace, or choose another one with --namespace.')
  }
  for (const rival of rivalsOf(names, namespace, target)) {
    const message = `the namespace ${namespace} has the primary network ${rival} already`
    error('CudnNotOffered', message, 'Map to that one, or choose another namespace with --namespace.')
  }
}

/** Of a namespace that is not there: those that the plan gives it. */
const labelsOf = (namespace: string, { namespaces }: ImportTarget): Readonly<Record<string, string>> => ({
  ...(namespaces.get(namespace) ?? { [primaryNetworkLabel]: '' }),
  [namespaceNameLabel]: namespace,
})

/** Other primary networks of the namespace: ClusterUserDefinedNetworks that select it, and what else has an attachment there. */
function rivalsOf(names: readonly string[], namespace: string, target: ImportTarget): string[] {
  const labels = labelsOf(namespace, target)
  const isRival = ({ name, isPrimary, namespaceSelector }: TargetNetwork) =>
    isPrimary && !names.includes(name) && selects(namespaceSelector, labels)
  const known = new Set(target.networks.map(({ name }) => networkNameOfClusterUDN(name)))
  const others = [...target.attachments].filter(
    ([key, { isPrimary, networkName }]) => isPrimary && key.startsWith(`${namespace}/`) && !known.has(networkName),
  )
  return different([...target.networks.filter(isRival).map(({ name }) => name), ...others.map(([key]) => key)])
}

function checkAttachment(key: string, { attachments, namespaces }: ImportTarget, say: Say): void {
  const attachment = attachments.get(key)
  if (attachment?.isPrimary === true) {
    const message = `NetworkAttachmentDefinition ${key} is of a primary network, which takes the place of the pod network`
    say('AttachmentIsPrimary', 'error', message, 'Map to cudn:NAME.')
  }
  // Without a cluster none is known.
  if (attachment !== undefined || namespaces.size === 0) return
  say('AttachmentMissing', 'error', `there is no NetworkAttachmentDefinition ${key}`, 'Make it, or map to another.')
}

// --- the rest ---

function checkParts({ parts }: ImportTarget, say: Say): void {
  if (parts.hasL2Bridge === false) {
    const value = '{domainAttachmentType: managedTap, migration: {}}'
    const fix = `Set spec.configuration.network.binding.l2bridge of the KubeVirt: ${value}.`
    say('L2BridgeBindingMissing', 'error', 'KubeVirt does not know the network binding l2bridge', fix)
  }
  if (parts.hasPreconfiguredAddresses === false) {
    const fix = 'Start OVN-Kubernetes with enable-preconfigured-udn-addresses.'
    say('PreconfiguredAddressesOff', 'error', 'OVN-Kubernetes takes no requests for addresses', fix)
  }
  if (!parts.hasIPAMExtensions) {
    const message = 'without ipam-extensions the addresses are not kept for machines that are stopped'
    say('PersistenceLost', 'warn', message, 'Install ipam-extensions, or let Mooring take its place.')
  }
}
