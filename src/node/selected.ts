// Which network an interface of a pod is on: by the annotations of the pod, as Multus reads them. An element that names no interface
// has `net1`, `net2` and so on, by its place in the list. The configuration that the plugin was called with does not say of which
// NetworkAttachmentDefinition it is, and is what any user may write.

import type { LauncherPod } from '../api/launcher-pod.ts'
import { defaultNetworkAnnotation, networksAnnotation } from '../api/names.ts'
import { type NetworkSelection, parseNetworkSelections } from '../api/network-selection.ts'
import { isMalformed, quoteText } from '../ip/malformed.ts'
import { CNIError, codes } from './spec.ts'

type Pod = Pick<LauncherPod, 'metadata' | 'networks' | 'defaultNetwork'>

export interface Selected extends NetworkSelection {
  /** Of the pod. */
  readonly ifname: string
  /** Of its NetworkAttachmentDefinition, as namespace/name. */
  readonly key: string
}

/** Where Multus looks for a default network that names no namespace. */
const multusNamespace = 'kube-system'
/** Of the network that every pod has. */
const defaultInterface = 'eth0'

/** Those that cannot be read are none. */
export function selectedBy(pod: Pod): readonly Selected[] {
  const found = parseNetworkSelections(pod.networks, pod.metadata.namespace)
  const inPlace = parseNetworkSelections(pod.defaultNetwork, multusNamespace)
  const named = isMalformed(found) ? [] : found.map((one, i) => selectedAs(one, one.interface || `net${i + 1}`))
  const [first] = isMalformed(inPlace) ? [] : inPlace
  return first === undefined ? named : [selectedAs(first, defaultInterface), ...named]
}

const selectedAs = (one: NetworkSelection, ifname: string): Selected => ({
  ...one,
  ifname,
  key: `${one.namespace}/${one.name}`,
})

export function selectedAt(pod: Pod, ifname: string): Selected {
  const { namespace, name } = pod.metadata
  const texts = { [networksAnnotation]: pod.networks, [defaultNetworkAnnotation]: pod.defaultNetwork }
  for (const [annotation, text] of Object.entries(texts)) {
    const read = parseNetworkSelections(text, namespace)
    if (!isMalformed(read)) continue
    throw new CNIError(
      codes.network,
      `the annotation ${annotation} of pod ${namespace}/${name} cannot be read`,
      read.malformed,
    )
  }
  const [found, second] = selectedBy(pod).filter(one => one.ifname === ifname)
  if (found !== undefined && second === undefined) return found
  const what = found === undefined ? 'no element has' : 'two elements have'
  throw new CNIError(
    codes.network,
    `${what} the interface ${quoteText(ifname)} in the annotation ${networksAnnotation} of pod ${namespace}/${name}`,
    'addresses of Mooring are for networks that a pod names there',
  )
}
