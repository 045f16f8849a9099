// What a launcher pod is given on its way in: the names of the claims of its interfaces, in the network selection elements that
// its CNI reads. It is asked again when KubeVirt writes the elements anew, for an interface that is plugged in or out.
//
// A new pod on a primary network also gets the MAC and the addresses that its machine asks for, in the annotation of the default
// network that OVN-Kubernetes reads. That annotation comes from here, or from the machine itself: a pod that brings another would
// have addresses that no claim has.
//
// Nothing else in the pod is touched. An element that names a claim already is left as it is: whether the pod may use that
// claim is decided where addresses are given. A NetworkAttachmentDefinition that is not there leaves its own element as it is.

import { allowed, denied, type JSONPatchOperation, patched, type Ruling, refused } from '../../../admission/ruling.ts'
import { fieldOf, recordIn } from '../../../admission/spec.ts'
import type { WebhookRequest } from '../../../admission/webhook.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import {
  defaultNetworkAnnotation,
  domainAnnotation,
  networksAnnotation,
  primaryClaimAnnotation,
} from '../../../api/names.ts'
import { type NetworkSelection, parseNetworkSelections, toNetworksText } from '../../../api/network-selection.ts'
import type { Pool } from '../../../api/pool.ts'
import { type AddressRequest, noRequest, type RequestedIP } from '../../../api/requests.ts'
import { isRecord } from '../../../api/shape.ts'
import type { VirtualMachineInstance } from '../../../api/virtual-machine.ts'
import { bitsOf } from '../../../ip/address.ts'
import { parseCIDR, toCIDRText } from '../../../ip/cidr.ts'
import { isMalformed, quoteText } from '../../../ip/malformed.ts'
import { keysOfMAC, type MACApplicant } from '../../../networks/reserved.ts'
import { keptIP } from '../binding/kept.ts'
import type { Wanted } from '../claims/belonging.ts'
import { podInterfaceName, podNetworkInterface } from '../claims/names.ts'
import type { VMFacts } from '../facts.ts'
import { faultsOf } from './judge.ts'

type Request = Pick<WebhookRequest, 'operation' | 'next' | 'namespace' | 'name' | 'isCallerProven'>

export async function nameClaims(request: Request, facts: VMFacts): Promise<Ruling> {
  const { operation, next, namespace, name } = request
  const annotations = annotationsOf(next)
  const domain = textIn(annotations, domainAnnotation)
  if (domain === '') return allowed()
  const selections = parseNetworkSelections(textIn(annotations, networksAnnotation), namespace)
  if (isMalformed(selections)) {
    return refused(`the annotation ${networksAnnotation} cannot be read: ${selections.malformed}`)
  }
  const isNew = operation === 'CREATE'
  const needsPrimary = isNew && facts.primaryOf(namespace) !== undefined
  if (!needsPrimary && selections.every(({ claim }) => claim !== '')) return allowed()
  const vmi = await instanceFor(request, domain, facts)
  if (vmi === undefined) return isNew ? noInstance(namespace, name, domain) : allowed()
  if (!facts.isServed(vmi)) return allowed()
  const found = await Promise.all(assign(selections, vmi).map(one => withClaim(one, vmi, facts)))
  const unseen = found.find(one => typeof one === 'string')
  if (unseen !== undefined) return refused(unseen)
  const named = found.filter(one => typeof one !== 'string')
  const faults = isNew ? faultsIn(vmi, facts) : []
  if (faults.length > 0) return refused(describe(faults))
  const patch: JSONPatchOperation[] = []
  if (named.some((one, i) => one !== selections[i])) {
    patch.push({ op: 'replace', path: pathTo(networksAnnotation), value: toNetworksText(named) })
  }
  const primary = needsPrimary ? primaryFor(vmi, annotations, facts) : []
  return 'kind' in primary ? primary : patched([...patch, ...primary])
}

/**
 * A request that no API server is known to have sent may be made up, to learn what a machine asks for. It hears of an instance
 * only if it knows the uid, as the pods that KubeVirt makes do.
 */
async function instanceFor(
  { next, namespace, isCallerProven }: Request,
  domain: string,
  facts: VMFacts,
): Promise<VirtualMachineInstance | undefined> {
  const vmi = await facts.instance(namespace, domain)
  const owners = recordIn(isRecord(next) ? next : {}, 'metadata').ownerReferences
  const isOwner = (owner: unknown) => isRecord(owner) && owner.uid === vmi?.metadata.uid
  return isCallerProven || (Array.isArray(owners) && owners.some(isOwner)) ? vmi : undefined
}

/** What is wrong with the requests of interfaces that are yet to be served: what a claim has, it keeps, whatever is asked for. */
function faultsIn(vmi: VirtualMachineInstance, facts: VMFacts): readonly string[] {
  const { namespace } = vmi.metadata
  return facts.wantedBy(vmi, namespace).flatMap(wanted => {
    const { request, network, name, isAbsent } = wanted
    if (request === undefined || network?.isPersistent !== true || isAbsent) return []
    const claim = facts.claimFor(vmi, wanted)
    if (claim !== undefined && claim.ips.length > 0) return []
    return faultsOf(request, facts.poolsOf(wanted, namespace)).map(
      fault => `what the interface ${quoteText(name)} asks for cannot be had: ${fault}`,
    )
  })
}

const faultsNamedMax = 10

function describe(faults: readonly string[]): string {
  const more = faults.length - faultsNamedMax
  return [...faults.slice(0, faultsNamedMax), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

interface Assigned {
  readonly selection: NetworkSelection
  /** Of the interface of the virtual machine; undefined where the element belongs to none. */
  readonly interface: string | undefined
}

/**
 * Which interface each element is for: by the name of the interface in the pod. Pods of older versions of KubeVirt have ordinal
 * names, which say nothing: there, of the interfaces on the same NetworkAttachmentDefinition the first is for the first element.
 */
function assign(selections: readonly NetworkSelection[], vmi: VirtualMachineInstance): readonly Assigned[] {
  const onMultus = vmi.interfaces.filter(({ attachment, isDefault }) => attachment !== undefined && !isDefault)
  const byPodInterface = new Map(onMultus.map(({ name }) => [podInterfaceName(name), name]))
  const taken = new Set(selections.map(one => byPodInterface.get(one.interface)))
  return selections.map(selection => {
    const name = byPodInterface.get(selection.interface) ?? nextOn(selection)
    return { selection, interface: name }
  })

  function nextOn(selection: NetworkSelection): string | undefined {
    if (isOfBinding(selection)) return undefined
    const key = `${selection.namespace}/${selection.name}`
    const next = onMultus.find(({ name, attachment, isAbsent }) => attachment === key && !isAbsent && !taken.has(name))
    taken.add(next?.name)
    return next?.name
  }
}

/** A binding plugin has an element of its own behind that of its network. */
function isOfBinding({ element }: NetworkSelection): boolean {
  const args = Object.hasOwn(element, 'cni-args') ? element['cni-args'] : undefined
  return isRecord(args) && Object.hasOwn(args, 'logicNetworkName')
}

/** A text: why the pod is to be made again in a moment. */
async function withClaim(
  { selection, interface: name }: Assigned,
  vmi: VirtualMachineInstance,
  facts: VMFacts,
): Promise<NetworkSelection | string> {
  if (selection.claim !== '' || name === undefined) return selection
  const attachment = `${selection.namespace}/${selection.name}`
  const wanted = facts.interfaceOf(vmi, name, attachment)
  if (wanted.network === undefined) {
    const isUnseen = !wanted.isInView && (await facts.isUnseen(attachment))
    return isUnseen ? `the NetworkAttachmentDefinition ${attachment} was made a moment ago: try again` : selection
  }
  if (!wanted.network.isPersistent) return selection
  const claim = facts.claimNameFor(vmi, wanted)
  return { ...selection, claim, element: { ...selection.element, 'ipam-claim-reference': claim } }
}

/**
 * OVN-Kubernetes looks for the claim of the network in the place of the pod network in two annotations, of which the newer one
 * asks for a MAC and addresses too. It is asked again when another webhook changed the pod: what is there already, and is what
 * would be written, stays.
 */
function primaryFor(
  vmi: VirtualMachineInstance,
  annotations: Readonly<Record<string, unknown>>,
  facts: VMFacts,
): readonly JSONPatchOperation[] | Ruling {
  const { namespace } = vmi.metadata
  const wanted = facts.wantedBy(vmi, namespace).find(({ podInterface }) => podInterface === podNetworkInterface)
  if (wanted?.network?.isPersistent !== true) return []
  const said = textIn(annotations, primaryClaimAnnotation)
  const claim = said || facts.claimNameFor(vmi, wanted)
  const given = textIn(annotations, defaultNetworkAnnotation)
  const value =
    vmi.defaultNetwork === undefined
      ? asDefaultNetwork(vmi, wanted, claim, facts)
      : decorated(vmi.defaultNetwork, claim)
  if (given !== '' && given !== vmi.defaultNetwork && given !== value) {
    return denied(`multus default network annotation "${defaultNetworkAnnotation}" is not allowed on pod creation`)
  }
  return [
    ...(value !== '' && value !== given ? [add(defaultNetworkAnnotation, value)] : []),
    ...(said === '' ? [add(primaryClaimAnnotation, claim)] : []),
  ]
}

const add = (annotation: string, value: string): JSONPatchOperation => ({ op: 'add', path: pathTo(annotation), value })

/** Empty where neither the machine nor its claim asks for anything. What the claim has comes before what is asked for. */
function asDefaultNetwork(vmi: VirtualMachineInstance, wanted: Wanted, name: string, facts: VMFacts): string {
  const claim = facts.claimFor(vmi, wanted)
  const own = requestIn(claim?.request)
  const asked = requestIn(wanted.request)
  const mac = asked.mac ?? own.mac
  const requested = asked.ips.length > 0 ? asked.ips : own.ips
  if (mac === undefined && requested.length === 0) return ''
  const { namespace, name: virtualMachine } = vmi.metadata
  const pools = facts.poolsOf(wanted, namespace)
  const kept = mac === undefined ? [] : keptFor({ mac, namespace, virtualMachine }, requested, pools)
  const ips = [...requested, ...kept].map(one => had(one, claim) ?? withLength(one, pools))
  const element = {
    name: 'default',
    namespace: facts.defaultNetworkNamespace,
    ...(ips.length > 0 && { ips }),
    ...(mac !== undefined && { mac }),
    'ipam-claim-reference': name,
  }
  return JSON.stringify([element])
}

/** What the IPPool of the network keeps for the MAC, of the families that are not asked for. */
function keptFor(applicant: MACApplicant, requested: readonly RequestedIP[], pools: readonly Pool[]): RequestedIP[] {
  return pools.flatMap(pool => {
    if (requested.some(({ ip }) => ip.family === pool.family)) return []
    const ip = keptIP(pool, keysOfMAC(pool, applicant, undefined))
    return ip === undefined ? [] : [{ ip, prefix: undefined }]
  })
}

const requestIn = (request: Wanted['request']): AddressRequest =>
  request === undefined || isMalformed(request) ? noRequest : request

/** The address of the same family. */
const had = ({ ip }: RequestedIP, claim: IPAMClaim | undefined): string | undefined =>
  claim?.ips.find(text => {
    const cidr = parseCIDR(text)
    return !isMalformed(cidr) && cidr.ip.family === ip.family
  })

function withLength({ ip, prefix }: RequestedIP, pools: readonly Pool[]): string {
  const pool = pools.find(({ family }) => family === ip.family)
  return toCIDRText({ ip, bits: prefix ?? pool?.prefix ?? bitsOf(ip.family) })
}

/** What the machine asks for, as it stands there, with the name of the claim. */
function decorated(text: string, claim: string): string {
  const selections = parseNetworkSelections(text, '')
  // What cannot be read was refused before.
  const [one] = isMalformed(selections) ? [] : selections
  return one === undefined ? text : JSON.stringify([{ ...one.element, 'ipam-claim-reference': claim }])
}

function noInstance(namespace: string, name: string, domain: string): Ruling {
  const pod = name === '' ? 'this pod' : `the pod ${namespace}/${name}`
  return refused(`there is no VirtualMachineInstance ${quoteText(domain)} in the namespace of ${pod}: try again`)
}

function annotationsOf(pod: unknown): Readonly<Record<string, unknown>> {
  return recordIn(recordIn(isRecord(pod) ? pod : {}, 'metadata'), 'annotations')
}

function textIn(annotations: Readonly<Record<string, unknown>>, key: string): string {
  const value = fieldOf(annotations, key)
  return typeof value === 'string' ? value : ''
}

const pathTo = (annotation: string): string =>
  `/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`
