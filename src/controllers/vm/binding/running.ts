// What the pods of a claim's machine are configured with on its interface, before the claim has any address: they started when
// another program gave out the addresses, or the claim is new. Pure.
//
// Only pods count that are the machine's by uid, on the claim's own network. What they show is no proof: any user who may write
// a pod can write it. It is taken for a request, and judged as one (plan.ts).

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { type IP, isSameIP } from '../../../ip/address.ts'
import { podNetworkInterface } from '../claims/names.ts'
import { attachedOf, type KeyedSelection, selectionsOf, shownNetworksOf } from '../pods/annotation.ts'
import type { Holder } from './holder.ts'

/**
 * `pods`: those that may use the claim. The one that runs the machine comes first. `isOnNetwork`: whether a
 * NetworkAttachmentDefinition, by its namespace/name, is one of the claim's network.
 */
export function runningIPs(
  claim: Pick<IPAMClaim, 'metadata' | 'interface'>,
  pods: readonly LauncherPod[],
  holder: Holder,
  isOnNetwork: (attachment: string) => boolean,
): readonly IP[] {
  const isRunner = ({ metadata }: LauncherPod) => Number(metadata.name === holder.pod)
  const living = pods.filter(({ isCompleted, nodeName }) => !isCompleted && nodeName !== '')
  const ips: IP[] = []
  for (const pod of living.toSorted((one, other) => isRunner(other) - isRunner(one))) {
    for (const ip of ipsOn(pod, claim, isOnNetwork)) if (!ips.some(known => isSameIP(known, ip))) ips.push(ip)
  }
  return ips
}

function ipsOn(
  pod: LauncherPod,
  { metadata, interface: podInterface }: Pick<IPAMClaim, 'metadata' | 'interface'>,
  isOnNetwork: (attachment: string) => boolean,
): readonly IP[] {
  const selections = selectionsOf(pod)
  const isOfClaim = ({ claim, interface: own }: KeyedSelection) =>
    claim === metadata.name || (claim === '' && own !== '' && own === podInterface)
  const selection = selections.find(one => isOfClaim(one) && isOnNetwork(`${one.namespace}/${one.name}`))
  if (selection !== undefined) return ipsOfSelection(pod, selection, podInterface)
  if (podInterface !== podNetworkInterface) return []
  // In the place of the pod network there is no element.
  const isSelected = (key: string) => selections.some(one => one.key === key)
  const primary = shownNetworksOf(pod).find(({ key, attachment }) => !isSelected(key) && isOnNetwork(attachment))
  return primary?.ips ?? []
}

/** OVN-Kubernetes is told before it configures a pod, Multus tells afterwards. */
function ipsOfSelection(pod: LauncherPod, selection: KeyedSelection, podInterface: string): readonly IP[] {
  const { key, namespace, name, interface: own } = selection
  const told = shownNetworksOf(pod).find(one => one.key === key)
  if (told !== undefined) return told.ips
  const wanted = own === '' ? podInterface : own
  const attached = attachedOf(pod).find(
    one => one.attachment === `${namespace}/${name}` && one.interface !== '' && one.interface === wanted,
  )
  return attached?.ips ?? []
}
