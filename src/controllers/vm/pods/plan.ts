// What a launcher pod is to be configured with, on the networks of OVN-Kubernetes that Mooring gives out: one pure function from
// what was seen to entries of its annotation, and to what its author is to be told. In the order in which the rules count:
//
//   the pod                                                   then
//   is not scheduled, on the host's network, ended, deleted   hands off
//   is on what takes the place of the pod network             the same rules hold as for an element, of the claim that it names
//   is on a network that is not ours to give out              that element is left alone
//   has an entry of the same addresses                        it stays as it is; with other addresses it is reported
//   names no claim, on a network without subnets, and ips     what it asks for
//   names no claim, or one that is not there                  reported
//   names a claim of another network, or of another machine   reported, and nothing of the claim changes
//   names a claim, and is controlled by no instance           the same: any user may write an owner reference
//   names a claim that has no addresses                       the claim's own reason, once it says one
//   names a claim that asks for a MAC it does not hold        the same
//   asks for a MAC that its claim does not hold               reported
//   names its primary network among the others                reported: it is on that in the place of the pod network
//   names a claim that holds what it shows                    its addresses; of one that is being deleted only while its
//                                                             machine lives and has the interface: then it does not go
//   has an entry of ours for a network that it left           the entry goes: the interface was unplugged

import type { MayUse } from '../../../api/claim-use.ts'
import type { Condition } from '../../../api/condition.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { ipsAllocatedCondition } from '../../../api/names.ts'
import { noRequest } from '../../../api/requests.ts'
import { isSameIP, parseIP } from '../../../ip/address.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { type MACText, parseMAC } from '../../../ip/mac.ts'
import { isMalformed, type Malformed, quoteText } from '../../../ip/malformed.ts'
import type { Refusal } from '../../../ipam/refusal.ts'
import type { Network, OVNDetails } from '../../../networks/network.ts'
import type { AnyHold } from '../../office/hold/steps.ts'
import { type ChosenIP, chosenOf, macProofOf, partOf, proofOf } from '../binding/choice.ts'
import { noHolder } from '../binding/holder.ts'
import { wordsOfRefusal } from '../binding/words.ts'

import {
  entriesOf,
  ipsOf,
  isSameSet,
  type KeyedSelection,
  macOfIP,
  parsedSelectionsOf,
  primarySelectionOf,
  shownNetworksOf,
  toEntry,
} from './annotation.ts'

/** A claim that an element names. */
export interface NamedClaim {
  readonly claim: IPAMClaim
  readonly held: readonly AnyHold[]
  readonly mayUse: MayUse
  /** Its machine lives and has the interface: the claim stays, also while it is being deleted. */
  readonly isKept: boolean
}

/** The NetworkAttachmentDefinition of an element. */
export type SeenNetwork =
  | { readonly network: Network; readonly isObserved: boolean }
  | { readonly foreign: string }
  | { readonly refused: Refusal }
  | undefined

export interface PodSeen {
  readonly pod: LauncherPod
  /** The NetworkAttachmentDefinition in the place of the pod network, as namespace/name. */
  readonly primary: string | undefined
  /** Its machine has an interface there. */
  readonly isOnPodNetwork: boolean
  networkOf(attachment: string): SeenNetwork
  claimOf(name: string): NamedClaim | undefined
}

/** For an event on the pod. */
export interface Problem {
  readonly reason: string
  readonly message: string
  /** Name of a claim that is not in view. */
  readonly missingClaim?: string
  /** Name of an instance that is not in view as the controller of the pod. */
  readonly missingInstance?: string
}

export interface PodPlan {
  /** By their keys: what is missing in the annotation; null for what is to go. */
  readonly entries: Readonly<Record<string, object | null>>
  readonly problems: readonly Problem[]
}

const nothing: PodPlan = { entries: {}, problems: [] }

export function planPod(seen: PodSeen): PodPlan {
  const { pod } = seen
  if (pod.nodeName === '' || pod.isOnHostNetwork || pod.isCompleted || pod.isDeleting) return nothing
  const others = parsedSelectionsOf(pod)
  if (isMalformed(others)) return { entries: {}, problems: [problem('InvalidNetworks', others.malformed)] }
  const primary = selectionOfPrimary(seen)
  const stored = entriesOf(pod)
  const entries: Record<string, object | null> = {}
  const problems: Problem[] = []
  if (isMalformed(primary)) problems.push(problem('InvalidDefaultNetwork', primary.malformed))
  const selections = primary === undefined || isMalformed(primary) ? others : [primary, ...others]
  for (const { key, attachment } of shownNetworksOf(pod)) {
    const isLeft = key !== seen.primary && !selections.some(selection => selection.key === key)
    if (isLeft && isOurs(seen.networkOf(attachment))) entries[key] = null
  }
  for (const selection of selections) {
    const found = entryFor(selection, seen)
    if (found === undefined) continue
    if ('reason' in found) {
      problems.push(found)
      continue
    }
    if (isMalformed(stored)) {
      problems.push(problem('InvalidPodNetworks', `${stored.malformed}: remove it`))
      continue
    }
    const before = Object.hasOwn(stored, selection.key) ? stored[selection.key] : undefined
    if (before === undefined) entries[selection.key] = found.entry
    else if (
      !isSameSet(
        ipsOf(before),
        found.ips.map(({ ip }) => ip),
      )
    )
      problems.push(otherAddresses(selection))
  }
  return { entries, problems }
}

interface Selected extends KeyedSelection {
  readonly isPrimary?: true
}

/** The network in the place of the pod network is in no list of the pod; it is told by the claim that the pod names for it. */
function selectionOfPrimary({ pod, primary: attachment, isOnPodNetwork }: PodSeen): Selected | Malformed | undefined {
  const primary = primarySelectionOf(pod) ?? (isOnPodNetwork ? { claim: '', mac: '' } : undefined)
  if (attachment === undefined || primary === undefined) return undefined
  if (isMalformed(primary)) return isOnPodNetwork || pod.primaryClaim ? primary : undefined
  const [namespace = '', name = ''] = attachment.split('/')
  // What is asked for is the claim's to say.
  return { ...primary, namespace, name, interface: '', ips: [], element: {}, key: attachment, isPrimary: true }
}

const isOurs = (found: SeenNetwork): boolean =>
  found !== undefined && 'network' in found && !found.isObserved && found.network.ovn !== undefined

interface Found {
  readonly entry: object
  readonly ips: readonly Pick<ChosenIP, 'ip' | 'prefix'>[]
}

/** Undefined for an element that is left alone, or whose claim has not been decided about. */
function entryFor(selection: Selected, seen: PodSeen): Found | Problem | undefined {
  const { namespace, name, claim: claimName } = selection
  const attachment = `${namespace}/${name}`
  const found = seen.networkOf(attachment)
  if (found === undefined) return claimName === '' ? undefined : networkNotFound(attachment)
  if ('foreign' in found) return undefined
  if ('refused' in found) return refusedNetwork(found.refused)
  const { network, isObserved } = found
  if (isObserved) return undefined
  if (network.ovn?.isPrimary === true && selection.isPrimary !== true) return primaryAmongOthers(attachment)
  const ips = claimName === '' ? asked(selection, network) : ipsOfClaim(selection, network, seen)
  if (ips === undefined || 'reason' in ips || network.ovn === undefined)
    return ips !== undefined && 'reason' in ips ? ips : undefined
  const mac = macFor(selection, ips, seen)
  if (typeof mac !== 'string') return mac
  return { ips, entry: toEntry({ ips, mac, ovn: network.ovn satisfies OVNDetails }) }
}

/**
 * The MAC that the element asks for, else that of its claim, else the one that OVN-Kubernetes makes of the first address. With a
 * claim it is one that the claim holds, or is made of its own address: no other machine has it. Undefined while the claim is yet
 * to take it.
 */
function macFor(
  { mac: typed, claim: claimName, namespace, name }: Selected,
  [first]: Found['ips'],
  seen: PodSeen,
): MACText | Problem | undefined {
  const asked = typed === '' ? undefined : parseMAC(typed)
  const element = `the MAC address of an element on ${namespace}/${name}`
  if (isMalformed(asked)) return problem('InvalidMACAddress', `${element} ${asked.malformed}`)
  const own = first && macOfIP(first.ip)
  const named = claimName === '' ? undefined : seen.claimOf(claimName)
  const request = named === undefined || isMalformed(named.claim.request) ? noRequest : named.claim.request
  if (named !== undefined && request.mac !== undefined && macProofOf(request.mac, named.held) === undefined)
    return refusedClaim(named.claim)
  const mac = asked ?? request.mac ?? own
  if (mac === undefined)
    return problem('InvalidMACAddress', `${element} is missing, and there is no address to make one from`)
  if (named !== undefined && mac !== own && macProofOf(mac, named.held) === undefined)
    return problem(
      'MACNotInClaim',
      `${mac} is not held by IPAMClaim ${quoteText(claimName)}: write it as macAddress of the interface`,
    )
  return mac
}

/** Without a claim: on a network without subnets the author knows the addresses. */
function asked({ namespace, name, ips }: KeyedSelection, network: Network): Found['ips'] | Problem | undefined {
  const isWithoutSubnets = network.pools.length === 0 && network.ovn !== undefined
  if (!isWithoutSubnets) return network.allowsPersistentIPs ? noClaim(`${namespace}/${name}`) : undefined
  if (ips.length === 0) return undefined
  const cidrs = ips.map(text => parseCIDR(text))
  const wrong = cidrs.find(isMalformed)
  if (wrong !== undefined)
    return problem('InvalidIPAddress', `ips of an element on ${namespace}/${name}: ${wrong.malformed}`)
  return cidrs.flatMap(cidr => (isMalformed(cidr) ? [] : [{ ip: cidr.ip, prefix: cidr.bits }]))
}

function ipsOfClaim(selection: KeyedSelection, network: Network, seen: PodSeen): Found['ips'] | Problem | undefined {
  const named = seen.claimOf(selection.claim)
  const name = quoteText(selection.claim)
  if (named === undefined) {
    const why = `there is no IPAMClaim ${name} in the namespace of the pod`
    return { ...problem('IPAMClaimNotFound', why), missingClaim: selection.claim }
  }
  const { claim, held, mayUse, isKept } = named
  if (claim.network !== network.name) {
    const why = `IPAMClaim ${name} is for network ${quoteText(claim.network)}, and the pod uses it on ${quoteText(network.name)}`
    return problem('IPAMClaimOfAnotherNetwork', why)
  }
  if (mayUse === 'not known yet') return ofAnotherInstance(seen.pod, name)
  if (mayUse === 'no') {
    const why = `IPAMClaim ${name} belongs to another virtual machine: its addresses are not given to this pod`
    return problem('IPAMClaimOfAnotherVM', why)
  }
  const chosen = chosenOf(claim.ips)
  const isBound = !isMalformed(chosen) && chosen.length > 0 && chosen.every(one => proofOf(one, held) !== undefined)
  if (!isBound) return refusedClaim(claim)
  // What a claim that goes has is about to be given to others.
  if (claim.isDeleting && !isKept)
    return problem('IPAMClaimDeleting', `IPAMClaim ${name} is being deleted: the pod waits for another`)
  const missed = selection.ips.find(text => !isAmong(text, chosen))
  if (missed === undefined) return inOrder(claim.ips, chosen)
  return problem('IPNotInClaim', `${quoteText(missed)} is not among the addresses of IPAMClaim ${name}`)
}

/** As the status lists them: the MAC is made from the first. */
function inOrder(ips: readonly string[], chosen: readonly ChosenIP[]): readonly ChosenIP[] {
  return ips.flatMap(text => {
    const cidr = parseCIDR(text)
    return isMalformed(cidr) ? [] : chosen.filter(({ part }) => part === partOf(cidr.ip))
  })
}

/** Any spelling of it will do. */
function isAmong(text: string, chosen: readonly ChosenIP[]): boolean {
  const ip = parseIP(text.split('/', 1)[0] ?? '')
  return !isMalformed(ip) && chosen.some(one => isSameIP(one.ip, ip))
}

function refusedClaim({ conditions, metadata }: IPAMClaim): Problem | undefined {
  const said = conditions.find((one: Condition) => one.type === ipsAllocatedCondition && one.status === 'False')
  return said && { reason: said.reason, message: `IPAMClaim ${metadata.name}: ${said.message}` }
}

/** Of events on pods, beside those of the claims that they name. */
export const podReasons = [
  'AddressesDiffer',
  'InvalidIPAddress',
  'InvalidDefaultNetwork',
  'InvalidMACAddress',
  'InvalidNetworks',
  'InvalidPodNetworks',
  'IPAMClaimDeleting',
  'IPAMClaimMissing',
  'IPAMClaimNotFound',
  'IPAMClaimOfAnotherNetwork',
  'IPAMClaimOfAnotherVM',
  'IPNotInClaim',
  'MACNotInClaim',
  'NetworkNotFound',
  'PodOfAnotherInstance',
  'PrimaryNetworkSelected',
] as const

const problem = (reason: (typeof podReasons)[number], message: string): Problem => ({ reason, message })

const networkNotFound = (attachment: string): Problem =>
  problem('NetworkNotFound', `there is no NetworkAttachmentDefinition ${quoteText(attachment)}`)

const primaryAmongOthers = (attachment: string): Problem =>
  problem(
    'PrimaryNetworkSelected',
    `${attachment} takes the place of the pod network, and is not to be named among the networks of the pod`,
  )

const noClaim = (attachment: string): Problem =>
  problem('IPAMClaimMissing', `the pod names no IPAMClaim for its interface on ${attachment}: start it again`)

function ofAnotherInstance({ domain }: LauncherPod, claim: string): Problem {
  const which = domain === '' ? 'any VirtualMachineInstance' : `VirtualMachineInstance ${quoteText(domain)}`
  const why = `the pod is not controlled by ${which}: it is given no addresses of IPAMClaim ${claim}`
  return { ...problem('PodOfAnotherInstance', why), ...(domain !== '' && { missingInstance: domain }) }
}

const otherAddresses = ({ key }: KeyedSelection): Problem =>
  problem(
    'AddressesDiffer',
    `the pod is configured on ${key} with other addresses than its IPAMClaim has: start it again`,
  )

function refusedNetwork(refusal: Refusal): Problem {
  const { ipsAllocated, message } = wordsOfRefusal(refusal, undefined, noHolder)
  return { reason: ipsAllocated, message }
}
