// A NetworkAttachmentDefinition, read. Any user of a namespace may write one, with any text in it: what cannot be read is told in
// sentences, and harms no other. It is of one of these families:
//
//   ovn        a layer2 or localnet network of OVN-Kubernetes: all of one name in the cluster are one network
//   mooring    of any CNI plugin, with `ipam` of type mooring: a network of its own
//   foreign    of other plugins, and none of our business
//   malformed  meant to be one of the first two, or no JSON

import { allowedNamespacesAnnotation, networkIDAnnotation } from '../api/names.ts'
import { isParsed, type Metadata, metadataOf, type Parsed } from '../api/object.ts'
import { shared } from '../api/repeated.ts'
import { childOf, malformedBy, ownText, shapeOf, textMapOf, textOf } from '../api/shape.ts'
import { isNetworkName, networkNameAdvice } from '../api/space.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { isSubdomain } from '../ip/object-name.ts'
import { configItemsMax } from '../limits.ts'
import { type Config, type Plugin, plainText, readConfig } from './config.ts'
import { type MooringConfig, mooringIPAMType, readMooringConfig } from './mooring-config.ts'
import { type OVNConfig, ovnPluginType, readOVNConfig } from './ovn-config.ts'

export interface Attachment<R extends Reading = Reading> {
  readonly metadata: Metadata
  /** namespace/name. */
  readonly key: string
  readonly reading: R
  /** The namespaces that its author lets in besides its own. */
  readonly offeredTo: readonly string[] | 'all'
  /** OVN-Kubernetes has numbered its network: it serves it. */
  readonly isServedByOVN: boolean
}

export type Reading = OVNReading | MooringReading | Foreign | Unreadable

export interface OVNReading {
  readonly family: 'ovn'
  readonly name: string
  readonly config: OVNConfig
}

export interface MooringReading {
  readonly family: 'mooring'
  readonly name: string
  readonly config: MooringConfig
  readonly allowsPersistentIPs: boolean
  /** What it attaches pods to on a node; undefined where the plugin is not known. */
  readonly wire: AttachedTo | undefined
}

/** 0 where no VLAN is said. */
export interface AttachedTo {
  readonly link: { readonly bridge: string } | { readonly parent: string }
  readonly vlan: number
}

export interface Foreign {
  readonly family: 'foreign'
  readonly why: string
}

export interface Unreadable {
  readonly family: 'malformed'
  /** Of the network, where that much can be read. */
  readonly name: string | undefined
  readonly why: string
}

export const isOVN = (attachment: Attachment): attachment is Attachment<OVNReading> =>
  attachment.reading.family === 'ovn'

export const isOfMooring = (attachment: Attachment): attachment is Attachment<MooringReading> =>
  attachment.reading.family === 'mooring'

/** Of the network, as an IPAMClaim names it; undefined where it has none that Mooring knows. */
export const networkNameOf = ({ reading }: Attachment): string | undefined =>
  reading.family === 'foreign' ? undefined : reading.name

export function parseAttachment(object: unknown, readMetadata = metadataOf): Parsed<Attachment> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const whole = childOf(root, 'metadata')
  const metadata = readMetadata(whole)
  const annotations = textMapOf(whole, 'annotations')
  const config = textOf(childOf(root, 'spec'), 'config')
  const apiVersion = shared(textOf(root, 'apiVersion') ?? '')
  const kind = shared(textOf(root, 'kind') ?? '')
  if (faults.length > 0) return malformedBy(faults)
  const key = `${metadata.namespace}/${metadata.name}`
  const offeredTo = namespacesIn(ownText(annotations, allowedNamespacesAnnotation) ?? '')
  const reading = readingOf(config ?? '', metadata, key)
  const isOurs = reading.family === 'ovn' || reading.family === 'mooring'
  return {
    [isParsed]: true,
    apiVersion,
    kind,
    metadata,
    key,
    reading:
      isOurs && isMalformed(offeredTo)
        ? { family: 'malformed', name: reading.name, why: offeredTo.malformed }
        : reading,
    offeredTo: isMalformed(offeredTo) ? [] : offeredTo,
    isServedByOVN: ownText(annotations, networkIDAnnotation) !== undefined,
  }
}

function readingOf(text: string, metadata: Metadata, key: string): Reading {
  if (text.trim() === '') return { family: 'foreign', why: 'spec.config is empty: its configuration lies on the nodes' }
  const config = readConfig(text)
  if (isMalformed(config)) return { family: 'malformed', name: undefined, why: config.malformed }
  const ours = config.plugins.filter(isOurs)
  const [plugin, second] = ours
  if (plugin === undefined)
    return { family: 'foreign', why: 'it is of a CNI plugin that takes no addresses from Mooring' }
  const faults: string[] = []
  if (second !== undefined) faults.push(`${second.place} is the second plugin with addresses: one network has one`)
  const name = nameOf(config, plugin, metadata, faults)
  const reading = isOVNPlugin(plugin)
    ? readOVN(plugin, name, key, faults)
    : readMooring(config, plugin, name, metadata.namespace, faults)
  if (faults.length === 0 || reading.family === 'foreign') return reading
  return { family: 'malformed', name: isNetworkName(name) ? name : undefined, why: malformedBy(faults).malformed }
}

const isOVNPlugin = ({ value }: Plugin): boolean => plainText(value, 'type') === ovnPluginType
const isOurs = (plugin: Plugin): boolean =>
  isOVNPlugin(plugin) || plainText(plugin.value.ipam, 'type') === mooringIPAMType

/** Of the plugin, else of its list. A network of OVN-Kubernetes must say it: it is its name in the whole cluster. */
function nameOf({ list }: Config, plugin: Plugin, metadata: Metadata, faults: string[]): string {
  const name = plainText(plugin.value, 'name') || plainText(list, 'name') || ''
  if (name === '' && !isOVNPlugin(plugin)) return metadata.name
  if (name === '') faults.push('spec.config.name is missing: write the name of the network')
  else if (!isNetworkName(name)) {
    faults.push(`spec.config.name ${quoteText(name)} is no name for a network: ${networkNameAdvice}`)
  }
  return name
}

function readOVN({ value, place }: Plugin, name: string, key: string, faults: string[]): OVNReading | Foreign {
  const shape = shapeOf(value, place, faults)
  const topology = textOf(shape, 'topology') ?? ''
  if (topology === '')
    return { family: 'foreign', why: 'it is the default network of OVN-Kubernetes: it has no topology' }
  if (topology === 'layer3') {
    return {
      family: 'foreign',
      why: 'layer3 networks of OVN-Kubernetes have a subnet per node: no address outlives a pod',
    }
  }
  if (topology !== 'layer2' && topology !== 'localnet') {
    faults.push(`${place}.topology ${quoteText(topology)} is not known: write layer2 or localnet`)
  }
  const known = topology === 'localnet' ? 'localnet' : 'layer2'
  return { family: 'ovn', name, config: readOVNConfig(shape, known, key) }
}

function readMooring(
  { list }: Config,
  { value, place }: Plugin,
  name: string,
  namespace: string,
  faults: string[],
): MooringReading {
  const ipam = childOf(shapeOf(value, place, faults), 'ipam')
  const { allowPersistentIPs: said = list.allowPersistentIPs } = value
  if (said !== undefined && typeof said !== 'boolean') {
    faults.push(`${place}.allowPersistentIPs is neither true nor false`)
  }
  const config = readMooringConfig(ipam, namespace, value.subnets !== undefined)
  return { family: 'mooring', name, config, allowsPersistentIPs: said !== false, wire: wireOf(value) }
}

/** Of the plugins of the CNI project. What they say besides is theirs to judge. */
function wireOf(plugin: Plugin['value']): AttachedTo | undefined {
  const { bridge, master, vlan, vlanId } = plugin
  const number = (one: unknown): number => (typeof one === 'number' ? one : 0)
  switch (plugin.type) {
    case 'bridge':
      return { link: { bridge: typeof bridge === 'string' ? bridge : 'cni0' }, vlan: number(vlan) }
    case 'macvlan':
    case 'ipvlan':
    case 'vlan':
      return typeof master === 'string' ? { link: { parent: master }, vlan: number(vlanId) } : undefined
    default:
      return undefined
  }
}

/** `team-a, team-b`, or `*` for all. */
function namespacesIn(text: string): readonly string[] | 'all' | Malformed {
  if (text.trim() === '') return []
  const names = text.split(',', configItemsMax + 1).map(name => name.trim())
  const at = `the annotation ${allowedNamespacesAnnotation}`
  if (names.length > configItemsMax)
    return { malformed: `${at} has more than ${configItemsMax} names: write * for all` }
  const wrong = names.find(name => name !== '*' && (name.includes('.') || !isSubdomain(name)))
  if (wrong !== undefined) {
    return {
      malformed: `${at} has ${quoteText(wrong)}, which is no name of a namespace: write names with commas between`,
    }
  }
  return names.includes('*') ? 'all' : names.map(name => shared(name))
}
