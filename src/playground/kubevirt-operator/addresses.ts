// The address of a pod of virt-handler on the network of migrations: from a range, as whereabouts gives them out, the lowest that no
// other such pod has; or, where the addresses come from Mooring, what is held for its node.

import { networkStatusAnnotation, networksAnnotation } from '../../api/names.ts'
import { isRecord, jsonOf } from '../../api/shape.ts'
import { fromValue, parseIP, toIPText } from '../../ip/address.ts'
import { parseCIDR, toNetwork } from '../../ip/cidr.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { migrationInterface } from '../../migration/names.ts'
import { usableOf } from '../../migration/range.ts'
import type { Pod } from '../shapes.ts'
import type { OperatorWorld } from './world.ts'

type Given = { readonly networkStatus: string } | { readonly waits: string }

export function addressesFor(pod: Pod, world: OperatorWorld): Given {
  const asked = pod.metadata.annotations?.[networksAnnotation]
  const eth0 = { name: 'playground', interface: 'eth0', ips: [], default: true, dns: {} }
  if (asked === undefined) return { networkStatus: JSON.stringify([eth0]) }
  const name = asked.split('@')[0] ?? ''
  const key = `${pod.metadata.namespace}/${name}`
  const attachment = world.caches.attachments.get(key)
  if (attachment === undefined) return { waits: `the NetworkAttachmentDefinition ${key} does not exist` }
  const config = jsonOf(attachment.spec?.config ?? '')
  const ipam = isRecord(config) && isRecord(config.ipam) ? config.ipam : {}
  const ips = ipam.type === 'mooring' ? heldFor(pod, name, world) : lowestFree(ipam, pod, key, world)
  if (typeof ips === 'string') return { waits: ips }
  const own = { name: key, interface: migrationInterface, ips, dns: {} }
  return { networkStatus: JSON.stringify([eth0, own]) }
}

function heldFor(pod: Pod, attachment: string, { caches }: OperatorWorld): readonly string[] | string {
  const node = pod.spec?.nodeName ?? ''
  const held = [...caches.holds.values()].filter(
    ({ spec, status }) =>
      spec?.claimRef?.kind === 'Node' &&
      spec.claimRef.name === node &&
      spec.poolRef?.name === attachment &&
      status?.state === 'held',
  )
  const ips = held.flatMap(({ spec }) => spec?.address ?? [])
  return ips.length > 0 ? ips : `no address is held for node ${node}`
}

function lowestFree(
  ipam: Readonly<Record<string, unknown>>,
  pod: Pod,
  key: string,
  { caches }: OperatorWorld,
): readonly string[] | string {
  const lists = Array.isArray(ipam.ipRanges) ? ipam.ipRanges.filter(isRecord) : [ipam]
  const taken = new Set([...caches.handlers.values()].flatMap(one => (one === pod ? [] : addressesOn(one, key))))
  const ips: string[] = []
  for (const { range, range_start: start, range_end: end, exclude } of lists) {
    const subnet = parseCIDR(String(range))
    if (isMalformed(subnet)) return `could not parse range ${String(range)}`
    const [first, last] = [parseIP(String(start)), parseIP(String(end))]
    const window = isMalformed(first) || isMalformed(last) ? undefined : { start: first, end: last }
    const excluded = (Array.isArray(exclude) ? exclude : []).flatMap(text => {
      const cidr = parseCIDR(String(text))
      return isMalformed(cidr) ? [] : [toNetwork(cidr)]
    })
    const usable = usableOf({ subnet, window, exclude: excluded })
    const free = firstFree(usable, taken)
    if (free === undefined) return `Could not allocate IP in range: range: ${String(range)}`
    ips.push(free)
  }
  return ips
}

function firstFree({ family, ranges }: ReturnType<typeof usableOf>, taken: ReadonlySet<string>): string | undefined {
  for (const { first, last } of ranges) {
    for (let value = first; value <= last; value++) {
      const text = toIPText(fromValue(family, value))
      if (!taken.has(text)) return text
    }
  }
  return undefined
}

function addressesOn(pod: Pod, key: string): readonly string[] {
  const list = jsonOf(pod.metadata.annotations?.[networkStatusAnnotation] ?? '')
  const own = (Array.isArray(list) ? list : []).find(one => isRecord(one) && one.name === key)
  return isRecord(own) && Array.isArray(own.ips) ? own.ips.filter(ip => typeof ip === 'string') : []
}
