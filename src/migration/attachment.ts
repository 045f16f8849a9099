// The NetworkAttachmentDefinition of a migration network, as Harvester makes it: labels, annotation and configuration. Its name follows
// from what a pod cannot take on while it runs (link, VLAN, MTU, subnets, plugin). So
//
//   same name, same configuration    nothing to do
//   same name                        the object is changed where it is: pods that run keep their addresses
//   another name                     another network: it is made, KubeVirt is told, its pods are rolled, then the old one goes
//
// and a controller that was interrupted makes no second one.

import { cniGroup } from '../api/names.ts'
import { isRecord, jsonOf } from '../api/shape.ts'
import { toIPText } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import { mooringIPAMType } from '../networks/mooring-config.ts'
import { attachmentPrefix, hashKey, markerAnnotation } from './names.ts'
import { endsOf, type MigrationRange } from './range.ts'
import { hashOf } from './setting.ts'
import type { Wanted, Wire } from './wanted.ts'

const cniVersion = '0.3.1'
/** Of the hash, in names. */
const digitsMax = 10

export function attachmentName({ wire, ipam, ranges }: Wanted): string {
  const { link, vlan, mtu } = wire
  const subnets = ranges.map(({ subnet }) => toCIDRText(subnet))
  return `${attachmentPrefix}${hashOf(JSON.stringify({ ...link, vlan, mtu, ipam, subnets })).slice(0, digitsMax)}`
}

/** The object to create. */
export function toAttachment(wanted: Wanted) {
  return {
    apiVersion: `${cniGroup}/v1`,
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      name: attachmentName(wanted),
      namespace: wanted.kubevirt.namespace,
      labels: { [hashKey]: wanted.hash },
      annotations: { [markerAnnotation]: 'true' },
    },
    spec: { config: JSON.stringify(configOf(wanted)) },
  }
}

/** `spec.config`, before it is a text. The keys are in Harvester's order. */
export function configOf({ wire, ipam, ranges }: Wanted): Readonly<Record<string, unknown>> {
  return {
    cniVersion,
    ...pluginOf(wire),
    ipam: ipam === 'whereabouts' ? whereaboutsOf(ranges) : mooringOf(ranges),
    ...(wire.mtu > 0 && { mtu: wire.mtu }),
  }
}

function pluginOf({ link, vlan }: Wire): Readonly<Record<string, unknown>> {
  if ('bridge' in link) {
    return { type: 'bridge', bridge: link.bridge, promiscMode: true, ...(vlan > 0 && { vlan }) }
  }
  // The plugin vlan makes an interface of the VLAN for the pod; untagged, the pod shares the parent.
  if (vlan > 0) return { type: 'vlan', master: link.parent, vlanId: vlan }
  return { type: 'macvlan', master: link.parent, mode: 'bridge' }
}

/** Of one family flat, of two as a list: as Harvester has it. */
function whereaboutsOf(ranges: readonly MigrationRange[]): Readonly<Record<string, unknown>> {
  const [only, ...more] = ranges.map(range => {
    const { subnet, window, exclude } = range
    const ends = window && endsOf(range)
    return {
      range: toCIDRText(subnet),
      ...(ends && { range_start: toIPText(ends.start), range_end: toIPText(ends.end) }),
      ...(exclude.length > 0 && { exclude: exclude.map(toCIDRText) }),
    }
  })
  if (more.length === 0) return { type: 'whereabouts', ...only }
  return { type: 'whereabouts', ipRanges: [only, ...more] }
}

/** Start and end are always said: the ledger would give out the last address of IPv6 too, and both of a subnet of two. */
function mooringOf(ranges: readonly MigrationRange[]): Readonly<Record<string, unknown>> {
  const exclude = ranges.flatMap(range => range.exclude.map(toCIDRText))
  return {
    type: mooringIPAMType,
    holder: 'node',
    ranges: ranges.map(range => {
      const ends = endsOf(range)
      const subnet = toCIDRText(range.subnet)
      return ends === undefined
        ? { subnet }
        : { subnet, rangeStart: toIPText(ends.start), rangeEnd: toIPText(ends.end) }
    }),
    ...(exclude.length > 0 && { excludeRanges: exclude }),
  }
}

export interface ConfigDifference {
  /** `ipam.exclude`. */
  readonly field: string
  /** Undefined where it is not there. */
  readonly stored: unknown
  readonly wanted: unknown
}

/**
 * In what a stored configuration differs. The order of keys says nothing, and an `mtu` that no order asks for is Harvester's, which adds
 * that of the cluster network.
 */
export function differencesFrom(storedConfig: string, wanted: Wanted): ConfigDifference[] {
  const stored = jsonOf(storedConfig)
  if (!isRecord(stored)) return [{ field: '', stored: storedConfig, wanted: configOf(wanted) }]
  const differences = differencesIn('', stored, configOf(wanted))
  return wanted.wire.mtu > 0 ? differences : differences.filter(({ field }) => field !== 'mtu')
}

function differencesIn(path: string, stored: unknown, wanted: unknown): ConfigDifference[] {
  if (!isRecord(stored) || !isRecord(wanted)) {
    return JSON.stringify(stored) === JSON.stringify(wanted) ? [] : [{ field: path, stored, wanted }]
  }
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(stored)])]
  return keys.flatMap(key => differencesIn(path === '' ? key : `${path}.${key}`, stored[key], wanted[key]))
}
