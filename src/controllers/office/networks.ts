// Networks, as desks ask about them: what a NetworkAttachmentDefinition comes to, which network a claim is for, and which pools
// it may have its addresses from.
//
// Attachments are followed here. Of each network the first attachment is known, so that one more costs the same however many there
// are; whether it belongs to the network is found out when it is asked about. The addresses of a network are put into the sources
// once, and taken out with its last attachment.
//
// Any user of a namespace may write an attachment with the name of any network or space. It takes part in a network of
// OVN-Kubernetes if
//
//   1. the pools of the cluster that have the space of that name are all offered to its namespace,
//   2. the ClusterUserDefinedNetwork of that name, if there is one, selects its namespace, and says the same,
//   3. it is the first of those for which this is true; or the first one is offered to its namespace, and it says the same.

import { isDeepStrictEqual } from 'node:util'
import {
  type ClusterUDN,
  clusterUDNOfNetwork,
  networkNameOfClusterUDN,
} from '../../api/cluster-user-defined-network.ts'
import type { IPPool } from '../../api/ip-pool.ts'
import type { IPAMClaim } from '../../api/ipam-claim.ts'
import { allowedNamespacesAnnotation, namespaceNameLabel } from '../../api/names.ts'
import { type Identity, identityKey } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { type LabelSelector, selects } from '../../api/selector.ts'
import { parseUserDefinedNetwork } from '../../api/user-defined-network.ts'
import { isMalformed, type Malformed, quoteText } from '../../ip/malformed.ts'
import { quoteUnlessName } from '../../ip/object-name.ts'
import { poolMalformed, poolNotFound, type Refusal, refuse } from '../../ipam/refusal.ts'
import type { Change } from '../../kube/cache.ts'
import { type KubeObject, keyOf } from '../../kube/object.ts'
import type { Presence } from '../../kube/presence.ts'
import { type Attachment, isOfMooring, isOVN, networkNameOf } from '../../networks/attachment.ts'
import { contradictionsOf, type DefinedNetwork, leavesOut } from '../../networks/defined.ts'
import {
  attachmentKind,
  comesBefore,
  differencesOf,
  mooringNetworkOf,
  type Network,
  networkKind,
  networkNamed,
  type OVNAttachment,
  offeredBy,
  ovnNetworkOf,
} from '../../networks/network.ts'
import { reservedOf } from '../../networks/reserved.ts'
import { readable } from './kept.ts'
import { attachmentOf, clusterUDNOf, definedNetworkOf, ipPoolOf } from './parsed.ts'
import { type NamedNetwork, type Source, type SourceChange, type Sources, toSource } from './sources.ts'
import { readPool, type Views } from './views.ts'

/** One NetworkAttachmentDefinition: its network, or why it has none that Mooring serves. */
export type AttachmentInView =
  | { readonly network: Network }
  /** Of another CNI, and none of our business. */
  | { readonly foreign: string }
  /** Ours by its looks, and wrong or not permitted: reported. */
  | { readonly refused: Refusal }

export interface NetworksChange {
  /** Keys, namespace/name, of the NetworkAttachmentDefinitions that may be judged otherwise now. */
  readonly attachments: readonly string[]
  /** Names of the networks, as `spec.network` of an IPAMClaim says them. */
  readonly names: readonly string[]
}

export interface NetworksView {
  /** By namespace/name; undefined if there is none in view. */
  attachment(key: string): AttachmentInView | undefined
  /** The NetworkAttachmentDefinition, as namespace/name, whose network takes the place of the pod network in a namespace. */
  primaryOf(namespace: string): string | undefined
  /** The network that a claim is for: by the attachment it names, else by the name of the network. */
  ofClaim(claim: Pick<IPAMClaim, 'network' | 'attachment' | 'metadata'>): Network | Refusal
  /** One pool per family, with the namespaces that may have addresses of it; a refusal where there is none for this namespace. */
  poolsFor(network: Network, namespace: string): readonly Pool[] | Refusal
  /** Another program gives out its addresses; Mooring only writes down what it sees. */
  isObserved(network: Network): boolean
  readonly defaultNetworkNamespace: string
  /** The same of a claim that is refused its network: what Mooring refuses, the other program may give. */
  isObservedThough(claim: Pick<IPAMClaim, 'network' | 'attachment' | 'metadata'>): boolean
  /** All NetworkAttachmentDefinitions have been listed once. */
  readonly hasSynced: boolean
  subscribe(onChange: (change: NetworksChange) => void): void
}

export const vmIPAMModes = ['auto', 'allocate', 'observe'] as const
/** Which program gives out the addresses of networks of OVN-Kubernetes. `auto`: OVN-Kubernetes, where it is or was seen to do so. */
export type VMIPAMMode = (typeof vmIPAMModes)[number]

export const udnModes = ['auto', 'render', 'observe'] as const
/** Which program makes NetworkAttachmentDefinitions of (Cluster)UserDefinedNetworks. `auto`: OVN-Kubernetes, where it is installed. */
export type UDNMode = (typeof udnModes)[number]

export interface NetworkRules {
  readonly vmIPAM: VMIPAMMode
  readonly udn: UDNMode
  /** As OVN-Kubernetes has it: every namespace that makes an attachment of a network is in it. */
  readonly openNetworks: boolean
  /** Where the NetworkAttachmentDefinition of the pod network is, by which pods ask for a MAC and addresses in its place. */
  readonly defaultNetworkNamespace: string
}

export const defaultNetworkRules: NetworkRules = {
  vmIPAM: 'auto',
  udn: 'auto',
  openNetworks: false,
  defaultNetworkNamespace: 'ovn-kubernetes',
}

/**
 * Whether OVN-Kubernetes is installed, by a kind that administrators install. It numbers a network some time after its attachment
 * was made, and an address given out by Mooring before that would be given out again.
 */
type OVNPresence = Pick<Presence, 'isThere' | 'onFound'>

type NetworkViews = Pick<Views, 'attachments' | 'clusterUDNs' | 'ipPools' | 'namespaces' | 'pools'>

/** What is known of a network of OVN-Kubernetes. */
interface Known {
  readonly first: OVNAttachment
  readonly network: Network
  /** Undefined for every namespace. */
  readonly allowedNamespaces: LabelSelector | undefined
}

export class Networks implements NetworksView {
  readonly #views: NetworkViews
  readonly #sources: Sources
  readonly #rules: NetworkRules
  readonly #ovn: OVNPresence
  /** Of OVN-Kubernetes, by name. */
  readonly #networks = new Map<string, Known>()
  /** Of attachments that are a network of their own, by their keys. */
  readonly #own = new Map<string, Network>()
  readonly #subscribers = new Set<(change: NetworksChange) => void>()

  constructor(views: NetworkViews, sources: Sources, rules: NetworkRules, ovn: OVNPresence) {
    this.#views = views
    this.#sources = sources
    this.#rules = rules
    this.#ovn = ovn
    views.attachments.subscribe(change => this.#followAttachment(change))
    views.clusterUDNs.subscribe(change => this.#followUDN(change))
    views.namespaces.subscribe(change => this.#followNamespace(change))
    views.ipPools.subscribe(change => this.#followIPPool(change))
    sources.subscribe(change => this.#followPool(change))
    sources.findNetworks((name, namespace) => this.#named(name, namespace))
    ovn.onFound(() => this.#publishAll())
    // While the first list comes in, one change would be published for each attachment.
    void views.attachments.synced().then(() => this.#publishAll())
  }

  get defaultNetworkNamespace(): string {
    return this.#rules.defaultNetworkNamespace
  }

  get hasSynced(): boolean {
    return this.#views.attachments.hasSynced
  }

  subscribe(onChange: (change: NetworksChange) => void): void {
    this.#subscribers.add(onChange)
  }

  /** How many NetworkAttachmentDefinitions there are of each family, and how many of ours are refused. */
  count(): { readonly ovn: number; readonly mooring: number; readonly foreign: number; readonly refused: number } {
    const counts = { ovn: 0, mooring: 0, foreign: 0, refused: 0 }
    for (const object of this.#views.attachments.values()) {
      const judged = this.#judgeObject(object)
      if ('network' in judged) counts[judged.network.ovn === undefined ? 'mooring' : 'ovn']++
      else counts['foreign' in judged ? 'foreign' : 'refused']++
    }
    return counts
  }

  /** Whether a network has its addresses from this pool. */
  isNamed(pool: Identity): boolean {
    const key = identityKey(pool)
    return [...this.#own.values()].some(({ source, pools }) => pools.length === 0 && identityKey(source) === key)
  }

  attachment(key: string): AttachmentInView | undefined {
    const object = this.#views.attachments.get(key)
    return object && this.#judgeObject(object)
  }

  primaryOf(namespace: string): string | undefined {
    const primary = this.#views.attachments.byIndex('namespace', namespace).filter(object => {
      const judged = this.#judgeObject(object)
      return 'network' in judged && judged.network.ovn?.isPrimary === true
    })
    return primary.map(keyOf).toSorted()[0]
  }

  ofClaim({
    network: name,
    attachment,
    metadata: { namespace },
  }: Pick<IPAMClaim, 'network' | 'attachment' | 'metadata'>): Network | Refusal {
    if (attachment !== undefined) return this.#ofNamed(attachment, name, namespace)
    let refused: Refusal | undefined
    for (const one of this.#oldestFirst(namespace, name)) {
      const judged = this.#judge(one)
      if ('network' in judged) return judged.network
      if ('refused' in judged) refused ??= judged.refused
    }
    const known = this.#networks.get(name)
    if (known !== undefined && refused === undefined) return known.network
    return refused ?? networkNotFound(name, namespace)
  }

  poolsFor(network: Network, namespace: string): readonly Pool[] | Refusal {
    const refusal = this.#whyNotOffered(network, namespace)
    if (refusal !== undefined) return refusal
    if (network.ovn !== undefined || network.pools.length > 0) return network.pools
    const { source } = network
    const pools = this.#sources.poolsOf(source)
    if (pools.length === 0) return this.#whyNoPool(source)
    for (const pool of pools) {
      const why = this.#sources.whySpaceRefused(pool)
      if (why !== undefined) return why
    }
    return pools
  }

  isObserved({ ovn }: Network): boolean {
    const { vmIPAM } = this.#rules
    if (ovn === undefined || vmIPAM === 'allocate') return false
    return vmIPAM === 'observe' || this.#ovn.isThere || ovn.isServedByOVN
  }

  isObservedThough({
    network: name,
    attachment,
    metadata: { namespace },
  }: Pick<IPAMClaim, 'network' | 'attachment' | 'metadata'>): boolean {
    const known = this.#networks.get(name)
    if (known !== undefined) return this.isObserved(known.network)
    const { vmIPAM } = this.#rules
    const isAnyObserved = vmIPAM === 'observe' || this.#ovn.isThere
    // Only the NetworkAttachmentDefinition of its own namespace counts: its user may know what that is.
    const own = this.#oldestFirst(namespace, name).filter(({ key }) => attachment === undefined || key === attachment)
    return vmIPAM !== 'allocate' && own.some(one => one.isServedByOVN || (isAnyObserved && isOVN(one)))
  }

  // --- questions ---

  #judgeObject(object: KubeObject): AttachmentInView {
    const attachment = attachmentOf(object)
    if (!isMalformed(attachment)) return this.#judge(attachment)
    return { refused: refuse('NetworkMalformed', `it cannot be read: ${attachment.malformed}`) }
  }

  #judge(attachment: Attachment): AttachmentInView {
    const { reading, key } = attachment
    if (reading.family === 'foreign') return { foreign: reading.why }
    if (reading.family === 'malformed') return { refused: malformed(key, reading.why) }
    if (reading.family === 'ovn') return this.#judgeOVN({ ...attachment, reading })
    return { network: this.#own.get(key) ?? mooringNetworkOf({ ...attachment, reading }) }
  }

  #judgeOVN(attachment: OVNAttachment): AttachmentInView {
    const { name } = attachment.reading
    const { namespace } = attachment.metadata
    const ineligible = this.#whyIneligible(attachment)
    if (ineligible !== undefined) return { refused: ineligible }
    const known = this.#networks.get(name)
    if (known === undefined) return { refused: networkNotFound(name, namespace) }
    if (known.first.key === attachment.key) return { network: known.network }
    const refusal = this.#whyNotOffered(known.network, namespace)
    if (refusal !== undefined) return { refused: refusal }
    const fields = differencesOf(attachment, known.first)
    return fields.length === 0 ? { network: known.network } : { refused: differs(name, fields) }
  }

  /** Why it cannot be the first attachment of its network, nor any other. */
  #whyIneligible(attachment: OVNAttachment): Refusal | undefined {
    const { name } = attachment.reading
    const { namespace } = attachment.metadata
    if (!this.#sources.isSpaceOffered(name, namespace)) return spaceNotOffered(name, namespace)
    const udn = this.#udnOf(name)
    if (udn === undefined) return undefined
    const isSelected =
      this.#rules.openNetworks || (!isMalformed(udn) && this.#selects(udn.namespaceSelector, namespace))
    if (!isSelected) return notSelected(name, namespace)
    const defined = this.#definedAs(name)
    const fields = defined === undefined ? [] : contradictionsOf(attachment, defined)
    return fields.length === 0 ? undefined : contradicts(name, fields)
  }

  #whyNotOffered({ name, ovn, pools, source }: Network, namespace: string): Refusal | undefined {
    if (ovn === undefined) {
      const [own] = pools
      // A pool of the cluster that it names says itself which namespaces it is offered to.
      const isOffered =
        own === undefined ? ['', namespace].includes(source.namespace) : this.#selects(own.allowedNamespaces, namespace)
      return isOffered ? undefined : notOffered(name, namespace)
    }
    if (!this.#sources.isSpaceOffered(name, namespace)) return spaceNotOffered(name, namespace)
    const known = this.#networks.get(name)
    if (known === undefined) return networkNotFound(name, namespace)
    if (this.#selects(known.allowedNamespaces, namespace)) return undefined
    return this.#udnOf(name) === undefined ? notOffered(name, namespace) : notSelected(name, namespace)
  }

  /** What the attachment of another namespace is, and whether there is one, is told only to those that it is offered to. */
  #ofNamed(key: string, name: string, namespace: string): Network | Refusal {
    const judged = this.attachment(key)
    const isOwn = key.startsWith(`${namespace}/`)
    if (judged !== undefined && 'network' in judged) {
      const { network } = judged
      const isOffered = isOwn || this.#whyNotOffered(network, namespace) === undefined
      if (isOffered && network.name === name) return network
      if (isOffered) return otherNetwork(key, name, network.name)
    }
    if (isOwn && judged !== undefined && 'refused' in judged) return judged.refused
    return attachmentNotFound(key, namespace)
  }

  #whyNoPool(source: Identity): Refusal {
    const pool = readPool(this.#views, source)
    return pool !== undefined && isMalformed(pool) ? poolMalformed(source, pool.malformed) : poolNotFound(source)
  }

  #oldestFirst(namespace: string, name: string): Attachment[] {
    const local = this.#views.attachments.byIndex('local', `${namespace}/${name}`)
    const found = local.flatMap(object => readable(object, attachmentOf) ?? [])
    return found.length < 2 ? found : found.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
  }

  #selects(selector: LabelSelector | undefined, namespace: string): boolean {
    if (selector === undefined) return true
    const labels = this.#views.namespaces.get(namespace)?.metadata.labels ?? {}
    return selects(selector, { ...labels, [namespaceNameLabel]: namespace })
  }

  #udnOf(network: string): ClusterUDN | Malformed | undefined {
    const name = clusterUDNOfNetwork(network)
    const object = name === undefined ? undefined : this.#views.clusterUDNs.get(name)
    return object && clusterUDNOf(object)
  }

  #definedAs(network: string): DefinedNetwork | undefined {
    const object = this.#views.clusterUDNs.get(clusterUDNOfNetwork(network) ?? '')
    return object && definedNetworkOf(object)
  }

  /** Mooring serves no network of this topology: it is in no space. */
  #isOfLayer3(network: string): boolean {
    const object = this.#views.clusterUDNs.get(clusterUDNOfNetwork(network) ?? '')
    const udn = object && parseUserDefinedNetwork(object)
    return udn !== undefined && !isMalformed(udn) && udn.topology === 'Layer3'
  }

  #readableUDN(network: string): ClusterUDN | undefined {
    const udn = this.#udnOf(network)
    return udn === undefined || isMalformed(udn) ? undefined : udn
  }

  // --- what changes ---

  #followAttachment({ key, old, new: next }: Change<KubeObject>): void {
    const [before, after] = [readable(old, attachmentOf), readable(next, attachmentOf)]
    const touched = new Set([key])
    this.#followOwn(key, after)
    const names = new Set([before, after].flatMap(one => (one && networkNameOf(one)) ?? []))
    for (const name of names) {
      const now = after !== undefined && isOVN(after) && after.reading.name === name ? after : undefined
      if (this.#consider(name, key, now)) for (const one of this.#keysOf(name)) touched.add(one)
      // Its namespace may take part in the network now, or no longer.
      this.#sources.judgeAgain(name, (next ?? old).metadata.namespace)
    }
    this.#publish([...touched], [...names])
  }

  /** A network of its own. */
  #followOwn(key: string, attachment: Attachment | undefined): void {
    const before = this.#own.get(key)
    const after = attachment !== undefined && isOfMooring(attachment) ? mooringNetworkOf(attachment) : undefined
    if (after === undefined) this.#own.delete(key)
    else if (before === undefined || !isSameNetwork(before, after)) this.#own.set(key, after)
    else return
    if (before !== undefined && before.pools.length > 0 && (after === undefined || after.pools.length === 0)) {
      this.#sources.remove(before.source)
    }
    this.#put(after)
  }

  #put(network: Network | undefined): void {
    const [first, ...others] = network?.pools ?? []
    if (network === undefined || first === undefined) return
    const source = toSource([first, ...others])
    if (network.ovn === undefined) return this.#sources.put(source)
    const offersSpaceTo: Source['offersSpaceTo'] = (namespace, labels) =>
      labels !== undefined && this.#offersSpace(network.name, namespace)
    this.#sources.put({ ...source, isNetwork: true, offersSpaceTo })
  }

  /**
   * Whether pools of a namespace may join the space of a network by its name. One that an administrator defines is offered. One of
   * tenants that offers itself may have the name by chance, or to catch the pools of others: the namespace has to take part in it.
   */
  #offersSpace(name: string, namespace: string): boolean {
    if (this.#udnOf(name) !== undefined) return this.#selects(this.#networks.get(name)?.allowedNamespaces, namespace)
    return this.#views.attachments.byIndex('local', `${namespace}/${name}`).some(object => {
      const judged = this.#judgeObject(object)
      return 'network' in judged && judged.network.ovn !== undefined
    })
  }

  /** As the name of a space. */
  #named(name: string, namespace: string): NamedNetwork | undefined {
    const known = this.#networks.get(name)
    if (known !== undefined && this.#offersSpace(name, namespace)) return { offers: true }
    const udn = this.#udnOf(name)
    if (udn !== undefined && known === undefined) {
      if (this.#isOfLayer3(name)) return undefined
      const isOffered =
        this.#rules.openNetworks || (!isMalformed(udn) && this.#selects(udn.namespaceSelector, namespace))
      return isOffered ? 'announced' : { offers: false }
    }
    // One that cannot be read says its name all the same, and may be corrected.
    const local = this.#views.attachments.byIndex('local', `${namespace}/${name}`)
    const isWrong = local.some(object => readable(object, attachmentOf)?.reading.family === 'malformed')
    return isWrong ? 'announced' : known && { offers: false }
  }

  /** One attachment of the network came, changed or went, or may now take part or no longer. True if the network is another now. */
  #consider(name: string, key: string, attachment: OVNAttachment | undefined): boolean {
    const first = this.#networks.get(name)?.first
    const isEligible = attachment !== undefined && this.#whyIneligible(attachment) === undefined
    if (first?.key === key) {
      if (!isEligible || this.#comesBefore(first, attachment)) return this.#settle(name, this.#firstOf(name))
      return this.#settle(name, attachment)
    }
    if (!isEligible || (first !== undefined && this.#comesBefore(first, attachment))) return false
    return this.#settle(name, attachment)
  }

  /** Of two attachments of one network. */
  #comesBefore(one: OVNAttachment, other: OVNAttachment): boolean {
    const { name } = one.reading
    const defined = this.#definedAs(name)
    const [isLess, isOtherLess] = [leavesOut(one, defined), leavesOut(other, defined)]
    return isLess === isOtherLess ? comesBefore(one, other, this.#readableUDN(name)) : isOtherLess
  }

  #firstOf(name: string): OVNAttachment | undefined {
    let first: OVNAttachment | undefined
    for (const object of this.#views.attachments.byIndex('network', name)) {
      const one = readable(object, attachmentOf)
      if (one === undefined || !isOVN(one) || (first !== undefined && this.#comesBefore(first, one))) continue
      if (this.#whyIneligible(one) === undefined) first = one
    }
    return first
  }

  /** The first attachment of the network is this one now. */
  #settle(name: string, first: OVNAttachment | undefined): boolean {
    const before = this.#networks.get(name)
    if (first === undefined) {
      this.#networks.delete(name)
      if (before === undefined) return false
      if (before.network.pools.length > 0) this.#sources.remove(networkNamed(name))
      else this.#sources.judgeAgain(name)
      return true
    }
    const allowedNamespaces = this.#rules.openNetworks ? undefined : offeredBy(first, this.#readableUDN(name))
    const defined = this.#definedAs(name)
    // OVN-Kubernetes writes its network id on what it serves. Where Mooring rendered the network, a user of the namespace wrote it.
    const isServedByOVN = first.isServedByOVN && defined?.isRenderedByMooring !== true
    const ipPool = ipPoolOfNetwork(this.#views, name)
    const reserved = ipPool && reservedOf(ipPool.entries)
    const isDefined = defined !== undefined
    const made = ovnNetworkOf({ ...first, isServedByOVN }, { allowedNamespaces, reserved, isDefined })
    const isSame = before !== undefined && isSameNetwork(before.network, made)
    const network = isSame ? before.network : made
    const isOffered = before !== undefined && isDeepStrictEqual(before.allowedNamespaces, allowedNamespaces)
    this.#networks.set(name, { first, network, allowedNamespaces })
    if (isSame && isOffered) return false
    if (before !== undefined && before.network.pools.length > 0 && network.pools.length === 0) {
      this.#sources.remove(networkNamed(name))
    }
    if (!isSame) this.#put(network)
    // It is no source, and offers its space all the same.
    if (network.pools.length === 0) this.#sources.judgeAgain(name)
    return true
  }

  #keysOf(name: string): string[] {
    return this.#views.attachments
      .byIndex('network', name)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  }

  #lookAgain(name: string): void {
    const keys = this.#keysOf(name)
    if (keys.length === 0) return
    this.#settle(name, this.#firstOf(name))
    this.#publish(keys, [name])
  }

  /** Its status changes more often than what is read of it. */
  #followUDN({ key, old, new: next }: Change<KubeObject>): void {
    const [before, after] = [readable(old, clusterUDNOf), readable(next, clusterUDNOf)]
    const isSame = before !== undefined && after !== undefined && before.metadata.uid === after.metadata.uid
    const isOffered = isSame && isDeepStrictEqual(before.namespaceSelector, after.namespaceSelector)
    const isDefined = isDeepStrictEqual(old && definedNetworkOf(old), next && definedNetworkOf(next))
    if (isOffered && isDefined) return
    const name = networkNameOfClusterUDN(key)
    this.#lookAgain(name)
    // From now on an administrator decides which namespaces may join its space, or no longer.
    this.#sources.judgeAgain(name)
  }

  #followIPPool({ old, new: next }: Change<KubeObject>): void {
    const [before, after] = [readable(old, ipPoolOf), readable(next, ipPoolOf)]
    const isSame = before !== undefined && after !== undefined && before.metadata.uid === after.metadata.uid
    if (isSame && before.metadata.generation === after.metadata.generation) return
    for (const name of new Set([before, after].flatMap(one => one?.networkName ?? []))) this.#lookAgain(name)
  }

  /** By its labels a space or a network may be offered to it, or no longer. */
  #followNamespace({ key: namespace, old, new: next }: Change<KubeObject>): void {
    if (isDeepStrictEqual(old?.metadata.labels, next?.metadata.labels)) return
    const [keys, names] = [new Set<string>(), new Set<string>()]
    for (const object of this.#views.attachments.byIndex('namespace', namespace)) {
      const one = readable(object, attachmentOf)
      if (one === undefined || !isOVN(one)) continue
      const { name } = one.reading
      keys.add(one.key)
      names.add(name)
      if (this.#consider(name, one.key, one)) for (const key of this.#keysOf(name)) keys.add(key)
    }
    if (keys.size > 0) this.#publish([...keys], [...names])
  }

  /** A pool of the cluster in a space that has the name of a network decides about it. */
  #followPool({ old, new: next, isChanged }: SourceChange): void {
    if (!isChanged) return
    for (const space of new Set([old, next].flatMap(pool => (pool && isPoolOfCluster(pool) ? [pool.space] : [])))) {
      this.#lookAgain(space)
    }
  }

  #publishAll(): void {
    const all = [...this.#views.attachments.values()].flatMap(object => readable(object, attachmentOf) ?? [])
    this.#publish(
      all.map(({ key }) => key),
      all.flatMap(one => networkNameOf(one) ?? []),
    )
  }

  #publish(attachments: readonly string[], names: readonly string[]): void {
    if (!this.hasSynced) return
    for (const onChange of this.#subscribers) onChange({ attachments, names })
  }
}

/** The IPPool that counts for a network: the one that was there first. */
export function ipPoolOfNetwork({ ipPools }: Pick<Views, 'ipPools'>, network: string): IPPool | undefined {
  const all = ipPools.byIndex('network', network).flatMap(object => readable(object, ipPoolOf) ?? [])
  const ageOfPool = ({ metadata: { creationTimestamp, name } }: IPPool) => `${creationTimestamp} ${name}`
  return all.toSorted((a, b) => (ageOfPool(a) < ageOfPool(b) ? -1 : 1))[0]
}

const isPoolOfCluster = ({ identity: { namespace, kind } }: Pool): boolean =>
  namespace === '' && kind !== networkKind && kind !== attachmentKind

const ageOf = ({ metadata, key }: Attachment): string => `${metadata.creationTimestamp} ${key}`

/** The same to all that read it: a change of its first attachment that no field of the network shows is none. */
function isSameNetwork(one: Network, other: Network): boolean {
  return isDeepStrictEqual(essenceOf(one), essenceOf(other))
}

function essenceOf({ pools, ...network }: Network): unknown {
  return [network, pools.map(({ metadata: { uid }, ...pool }) => ({ uid, ...pool }))]
}

// --- sentences ---

const attachmentText = (key: string): string => `NetworkAttachmentDefinition ${key.length > 320 ? quoteText(key) : key}`
const networkText = (name: string): string => `network ${quoteUnlessName(name)}`

function malformed(key: string, why: string): Refusal {
  return refuse('NetworkMalformed', `${attachmentText(key)} cannot be used until it is corrected: ${why}`)
}

function networkNotFound(name: string, namespace: string): Refusal {
  const why = `${networkText(name)} does not exist, or is not offered to namespace ${namespace}`
  return refuse('NetworkNotFound', `${why}: create a NetworkAttachmentDefinition whose config has this name`)
}

function attachmentNotFound(key: string, namespace: string): Refusal {
  const why = `${quoteText(key)} is no NetworkAttachmentDefinition with addresses of Mooring, or is not offered to namespace`
  return refuse('NetworkNotFound', `${why} ${namespace}: create it, or name another`)
}

function otherNetwork(key: string, name: string, its: string): Refusal {
  const why = `${attachmentText(key)} is of ${networkText(its)}, and the claim is for ${networkText(name)}`
  return refuse('NetworkNotFound', `${why}: make a claim whose spec.network says the same`)
}

function notOffered(name: string, namespace: string): Refusal {
  const why = `${networkText(name)} is not offered to namespace ${namespace}`
  const how = `the annotation ${allowedNamespacesAnnotation} of the oldest NetworkAttachmentDefinition of this name lists`
  return refuse('NetworkNotOffered', `${why}: ${how} the namespaces that it is offered to; or choose another name`)
}

function notSelected(name: string, namespace: string): Refusal {
  const why = `${networkText(name)} is not offered to namespace ${namespace}`
  const how = 'its ClusterUserDefinedNetwork decides by spec.namespaceSelector and the labels of the namespace'
  return refuse('NetworkNotOffered', `${why}: ${how}; or choose another name`)
}

function spaceNotOffered(name: string, namespace: string): Refusal {
  const why = `${networkText(name)} would take addresses of the space of that name, which is not offered to namespace ${namespace}`
  return refuse(
    'SpaceNotOffered',
    `${why}: its administrator decides by spec.allowedNamespaces; or choose another name`,
  )
}

/** The values are not told: not every user who writes an attachment may read what administrators define. */
function contradicts(name: string, fields: readonly string[]): Refusal {
  const why = `${networkText(name)} is defined by its ClusterUserDefinedNetwork, which says something else in ${fields.join(', ')}`
  return refuse('NetworkDiffers', `${why}: leave what was rendered of it as it is, or choose another name`)
}

/** The values of the other attachment are not told: its namespace may be another. */
function differs(name: string, fields: readonly string[]): Refusal {
  const why = `${networkText(name)} exists already and says something else in ${fields.join(', ')}`
  return refuse(
    'NetworkDiffers',
    `${why}: write what its other NetworkAttachmentDefinitions say, or choose another name`,
  )
}
