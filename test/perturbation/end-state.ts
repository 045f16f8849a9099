// What is left at the end, in a form in which two runs can be compared: every claim, IPAddress, hold, pool and namespace, whole,
// as JSON with its fields in order. Left out or called by another name is only what two right runs may differ in:
//
//   uids, versions, times                  never the same twice; that they name the right object is asked by `leftovers`
//   which claim has which address          chance, where no claim asked for one: an address is called after its holder
//   claims that may swap roles             the scenario says which; they are all called any
//   generation of a hold                   its status has no door of its own, so every rest and renewal counts
//   generation of a migration network      one process, with an old view, may put back what another has changed, until it sees more
//   virtual machines and their orders      named by the uid of the Machine, and by times; `leftovers` asks that each is the right one
//   when a hold was last renewed           written by the process that found it instead of making it

import { fleetHome } from './fleet-observer.ts'
import { addressesOf, canRun, macAskedBy, macsToldTo } from './machine-observer.ts'
import { choiceOf, isLeaving, keyOf, type Observer, partsOf, type Stored } from './observer.ts'

const timesAndVersions = new Set([
  'uid',
  'namespaceUID',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'lastTransitionTime',
  'lastUpdateTime',
  'managedFields',
  'since',
  'heldSince',
  'until',
  'mooring.dev/claim-uid',
  'mooring.dev/renewed',
  'gaveBackAt',
  'mooring.dev/gave-back',
  'lastUpdated',
  'instanceId',
  'providerID',
  'cloneOrderedAt',
])

export function endStateOf(observer: Observer, interchangeable: readonly string[] = []): string[] {
  const called = callAs(observer, interchangeable)
  const lines: string[] = []
  const { claims, reports, holds, macHolds, berths, orders } = observer
  for (const kept of [claims, reports, holds, macHolds, berths, orders.machines]) {
    for (const object of kept.values()) lines.push(called(tell(object)))
  }
  for (const object of observer.machines.claims.values()) lines.push(called(tell(object)))
  for (const object of observer.machines.ipPools.values()) lines.push(called(tell(object)))
  const { attachments, definedNetworks } = observer.machines
  for (const object of definedNetworks.values()) lines.push(tell(object))
  for (const [key, object] of attachments)
    lines.push(tell(key.startsWith(`${fleetHome}/`) ? withoutGeneration(object) : object))
  for (const { metadata, kind } of observer.machines.vms.values()) {
    lines.push(called(`${kind} ${metadata.name} shows ${metadata.annotations?.['mooring.dev/network-interfaces']}`))
  }
  for (const object of observer.pools.values()) lines.push(tell(object))
  const { fleet } = observer
  for (const object of fleet.settings.values()) lines.push(tell(withoutGeneration(object)))
  if (fleet.kubeVirts.size > 0) lines.push(`KubeVirt migrates over ${fleet.network || 'the management network'}`)
  for (const object of observer.namespaces.values()) lines.push(`Namespace ${keyOf(object)}`)
  return lines.toSorted()
}

function tell(object: Stored): string {
  const state = isLeaving(object) ? ' on its way out' : ''
  return `${object.kind} ${keyOf(object)}${state} ${JSON.stringify(plain(object, object.kind.endsWith('Hold')))}`
}

const withoutGeneration = (object: Stored): Stored => ({
  ...object,
  metadata: { ...object.metadata, generation: 0 } as Stored['metadata'],
})

/** Fields in order, without what differs by nature. */
function plain(value: unknown, isHold: boolean): unknown {
  if (Array.isArray(value)) return value.map(item => plain(item, isHold))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value)
    .filter(([field]) => !timesAndVersions.has(field) && !(isHold && field === 'generation'))
    .map(([field, part]): [string, unknown] => [field, plain(part, isHold)])
    .filter(([, part]) => !isEmpty(part))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(kept)
}

/** An annotation that was left out leaves an empty place. */
const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0

function callAs(observer: Observer, interchangeable: readonly string[]): (text: string) => string {
  const names = new Map<string, string>()
  const holders = new Map<string, string[]>()
  for (const [name, { spec }] of [...observer.holds, ...observer.macHolds]) {
    const { namespace, name: claim = '' } = spec?.claimRef ?? {}
    const holder = interchangeable.includes(claim) ? 'any' : `${namespace}/${claim}`
    names.set(name, `{hold of ${holder}}`)
    // In different spaces an address may have several.
    const address = spec?.address ?? ''
    if (address !== '') holders.set(address, [...(holders.get(address) ?? []), holder])
  }
  for (const [address, all] of holders) names.set(address, `{address of ${all.toSorted().join(' and ')}}`)
  for (const name of interchangeable) {
    names.set(`default/${name}`, 'default/any')
    names.set(`"name":"${name}"`, '"name":"any"')
  }
  const longest = [...names.keys()].toSorted((one, other) => other.length - one.length)
  if (longest.length === 0) return text => text
  const pattern = new RegExp(`(?<![\\w.:-])(?:${longest.map(literally).join('|')})(?![\\w:-]|\\.\\w)`, 'g')
  return text => text.replace(pattern, found => names.get(found) ?? found)
}

const literally = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Of a claim that has not chosen, or not for this part, nothing may be held. */
function chosenFor(claim: Stored, part: string | undefined): string | undefined {
  if (claim.kind !== 'IPAMClaim') return part === undefined ? choiceOf(claim) : partsOf(claim)?.[part]
  const ips = addressesOf(claim)
  if (part === 'mac') return ips.length === 0 ? undefined : macAskedBy(claim)
  return ips.find(ip => ip.includes(':') === (part === 'v6'))?.split('/')[0]
}

/** A pod runs with the MAC that its claim had before. */
const isTold = (mac: string | undefined, { machines }: Observer): boolean =>
  mac !== undefined &&
  [...machines.pods.values()].some(pod => canRun(pod) && [...macsToldTo(pod).values()].includes(mac))

/** What may not be left when everything has come to rest. */
export function leftovers(observer: Observer): string[] {
  const found: string[] = []
  const { claims, reports, holds, macHolds, berths, pools, namespaces, machines, orders } = observer
  const ofMachines = [machines.claims, machines.vms, machines.attachments, machines.definedNetworks, machines.ipPools]
  for (const kept of [claims, reports, holds, macHolds, berths, pools, namespaces, orders.machines, ...ofMachines]) {
    for (const object of kept.values()) if (isLeaving(object)) found.push(`${object.kind} ${keyOf(object)} never goes`)
  }
  for (const [name, { metadata, spec, status }] of [...holds, ...macHolds]) {
    const ofKind = { Berth: berths, IPAMClaim: machines.claims }[spec?.claimRef?.kind ?? ''] ?? claims
    const ofNode = spec?.claimRef?.kind === 'Node' ? observer.fleet.nodes.get(spec.claimRef.name ?? '') : undefined
    const claim = ofNode ?? ofKind.get(`${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`)
    const isOf = claim !== undefined && claim.metadata.uid === spec?.claimRef?.uid
    if (status?.state === 'quarantined') found.push(`hold ${name} is quarantined for ever`)
    else if (!isOf) found.push(`hold ${name} has no claim`)
    // The hold itself is the choice of a node.
    else if (ofNode !== undefined) continue
    else if (chosenFor(claim, spec?.claimRef?.part) !== (spec?.address ?? spec?.mac) && !isTold(spec?.mac, observer))
      found.push(`hold ${name} is not what its claim chose`)
    if (metadata.labels?.['mooring.dev/claim-uid'] !== spec?.claimRef?.uid)
      found.push(`hold ${name} is labelled wrongly`)
  }
  const uids = new Set([...observer.claims.values(), ...observer.pools.values()].map(({ metadata }) => metadata.uid))
  for (const [key, report] of observer.reports) {
    const claim = observer.claims.get(key)
    const owners = report.metadata.ownerReferences ?? []
    if (claim === undefined || !owners.some(({ uid }) => uid === claim.metadata.uid)) {
      found.push(`IPAddress ${key} has no claim`)
    }
    for (const { kind, name, uid } of owners)
      if (!uids.has(uid)) found.push(`IPAddress ${key} is of no ${kind} ${name}`)
  }
  return [...found, ...halves(observer), ...(orders.vcenter?.leftovers() ?? [])]
}

/** Nodes that have an address of one family of a network, and none of the other. */
function halves({ holds, machines }: Observer): string[] {
  const held = [...holds.values()].filter(({ spec, status }) => {
    return spec?.claimRef?.kind === 'Node' && status?.state === 'held'
  })
  const counts = new Map<string, number>()
  for (const { spec } of held) {
    const place = `${spec?.poolRef?.namespace}/${spec?.poolRef?.name} ${spec?.claimRef?.name}`
    counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  return [...counts].flatMap(([place, count]) => {
    const [network = '', node] = place.split(' ')
    const config = JSON.parse(machines.attachments.get(network)?.spec?.config ?? '{}')
    const families = config.ipam?.ranges?.length ?? 1
    return count === families ? [] : [`${node} holds ${count} addresses of ${network}, which has ${families} families`]
  })
}
