// From whereabouts: each address that a running pod has becomes an IPAMClaim with a hold of exactly that address. The claim of a
// virtual machine has the name under which its desk looks for one that was made beforehand; the claim of any other pod is that
// pod's, as a node would have made it, and goes with it.
//
// What counts is what whereabouts wrote, which is root's. Pods only say on which network an interface is, and that one runs with
// another address: a tenant that lies there loses its own address, and no other tenant's.

import { type Hold, holdName } from '../api/hold.ts'
import { type IPAMClaim, ipamClaimKind } from '../api/ipam-claim.ts'
import type { LauncherPod } from '../api/launcher-pod.ts'
import { attachmentAnnotation, networksAnnotation, requestedIPsAnnotation } from '../api/names.ts'
import { apiVersionOf } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import type { VirtualMachineInstance } from '../api/virtual-machine.ts'
import { claimName, podInterfaceName } from '../controllers/vm/claims/names.ts'
import { attachedOf } from '../controllers/vm/pods/annotation.ts'
import { type IP, isSameIP, parseIP, toIPText } from '../ip/address.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { whyNotOffered } from '../ipam/pool-set.ts'
import type { KubeObject } from '../kube/object.ts'
import { ownClaimName, toOwnClaim } from '../node/own-claim.ts'
import { type Selected, selectedBy } from '../node/selected.ts'
import type { Outcome, Verdict } from './verdict.ts'
import type { Allocation } from './whereabouts.ts'
import { type Target, type Targets, targetsOf } from './whereabouts-networks.ts'

export interface WhereaboutsObjects {
  readonly allocations: readonly Allocation[]
  /** Of what cannot be read: the object, and why. */
  readonly unreadable: readonly { readonly name: string; readonly malformed: string }[]
  readonly attachments: readonly KubeObject[]
  readonly pools: readonly KubeObject[]
  readonly pods: readonly LauncherPod[]
  readonly instances: readonly VirtualMachineInstance[]
  readonly claims: readonly IPAMClaim[]
  readonly holds: readonly Hold[]
}

/** An interface that keeps what it has. */
export interface KeptInterface {
  readonly claim: KubeObject
  readonly addresses: readonly KeptAddress[]
}

export interface KeptAddress {
  readonly ip: IP
  readonly pool: Pool
}

export interface WhereaboutsTranslation {
  readonly kept: readonly KeptInterface[]
  readonly targets: Targets
  readonly verdicts: readonly Verdict[]
}

export function translateWhereabouts(objects: WhereaboutsObjects): WhereaboutsTranslation {
  const pods = new Map(objects.pods.map(pod => [keyOf(pod), pod]))
  const placed = objects.allocations.map(one => place(one, pods.get(one.pod)))
  const usersOf = (attachment: string) =>
    new Set(
      placed.flatMap(one => ('selected' in one && one.selected.key === attachment ? [one.pod.metadata.namespace] : [])),
    )
  const targets = targetsOf({ attachments: objects.attachments, pools: objects.pools, usersOf })
  const bench: Bench = { objects, targets, users: usersOfAddresses(placed, targets) }
  const judged = dropRepeated(placed).map(one => judge(one, bench))
  const verdicts = [
    ...objects.unreadable.map(({ name, malformed }) => ({
      outcome: 'refused' as const,
      address: '',
      pool: '',
      claim: '',
      shownBy: name,
      reason: 'Unreadable',
      message: `it cannot be read: ${malformed}`,
    })),
    ...judged.map(({ verdict }) => verdict),
  ]
  return { kept: joined(judged.flatMap(({ kept }) => kept ?? [])), targets, verdicts }
}

// --- which interface an address is on ---

interface Placed {
  readonly allocation: Allocation
  readonly pod: LauncherPod
  readonly selected: Selected
}

interface NotPlaced {
  readonly allocation: Allocation
  readonly outcome: Outcome
  readonly reason: string
  readonly message: string
}

function place(allocation: Allocation, pod: LauncherPod | undefined): Placed | NotPlaced {
  const leaves = (reason: string, message: string): NotPlaced => ({ allocation, outcome: 'leaves', reason, message })
  if (pod === undefined || pod.isCompleted)
    return leaves('PodGone', `pod ${allocation.pod || '(none)'} does not run: the address is free in Mooring`)
  const onPod = attachedOf(pod).filter(one => allocation.interface === '' || one.interface === allocation.interface)
  const shown = onPod.find(({ ips }) => ips.some(ip => isSameIP(ip, allocation.ip)))
  const other = onPod.flatMap(({ ips }) => ips).find(ip => ip.family === allocation.ip.family)
  if (shown === undefined && other !== undefined)
    return leaves('NotOnPod', `the pod runs with ${toIPText(other)}: this one is free in Mooring`)
  // A reservation that no range knows of, of a pod that does not show the address, is left over.
  if (shown === undefined && allocation.shownBy.startsWith('Overlapping'))
    return leaves('NotOnPod', 'no range has it, nor does the pod show it: it is free in Mooring')
  const own = allocation.interface || shown?.interface || ''
  const selected = selectedBy(pod).find(({ ifname }) => ifname === own)
  if (selected !== undefined) return { allocation, pod, selected }
  return {
    allocation,
    outcome: 'refused',
    reason: 'NetworkUnknown',
    message: `pod ${allocation.pod} names no network for its interface ${own || '(none)'}: correct the annotation ${networksAnnotation}`,
  }
}

/** The range and the reservation of one address are one. */
function dropRepeated(placed: readonly (Placed | NotPlaced)[]): readonly (Placed | NotPlaced)[] {
  const seen = new Set<string>()
  return placed.filter(({ allocation }) => {
    const key = `${allocation.pod} ${allocation.interface} ${toIPText(allocation.ip)}`
    return seen.has(key) ? false : seen.add(key)
  })
}

// --- what becomes of it ---

interface Bench {
  readonly objects: WhereaboutsObjects
  readonly targets: Targets
  /** Interfaces by the name of the hold that they would have. */
  readonly users: ReadonlyMap<string, ReadonlySet<string>>
}

interface Judged {
  readonly verdict: Verdict
  readonly kept?: KeptInterface
}

const interfaceOf = ({ pod, selected }: Placed): string => `pod ${keyOf(pod)}, interface ${selected.ifname}`

function usersOfAddresses(placed: readonly (Placed | NotPlaced)[], { networks }: Targets): Map<string, Set<string>> {
  const users = new Map<string, Set<string>>()
  for (const one of placed) {
    const found = 'selected' in one ? poolFor(one, networks.get(one.selected.key)) : undefined
    if (found === undefined || isMalformed(found) || !('selected' in one)) continue
    const name = holdName(found.pool.space, one.allocation.ip)
    users.set(name, (users.get(name) ?? new Set()).add(interfaceOf(one)))
  }
  return users
}

function poolFor(
  { allocation, selected }: Placed,
  target: Target | Malformed | undefined,
): { readonly target: Target; readonly pool: Pool } | Malformed {
  const about = `NetworkAttachmentDefinition ${selected.key}`
  if (target === undefined) return { malformed: `${about} does not exist: make it again, and say this again` }
  if (isMalformed(target)) return { malformed: `${about}: ${target.malformed}` }
  const pool = target.pools.find(({ family }) => family === allocation.ip.family)
  return pool === undefined ? { malformed: `${about} has no addresses of this family` } : { target, pool }
}

function judge(one: Placed | NotPlaced, bench: Bench): Judged {
  const { allocation } = one
  const about = { address: toIPText(allocation.ip), shownBy: allocation.shownBy }
  if (!('selected' in one)) {
    const { outcome, reason, message } = one
    return { verdict: { ...about, pool: '', claim: '', outcome, reason, message } }
  }
  const pool = `NetworkAttachmentDefinition ${one.selected.key}`
  const refused = (reason: string, message: string, claim = ''): Judged => ({
    verdict: { ...about, pool, claim, outcome: 'refused', reason, message },
  })
  const found = poolFor(one, bench.targets.networks.get(one.selected.key))
  if (isMalformed(found)) return refused('NetworkRefused', found.malformed)
  const name = nameOfClaim(one, bench.objects)
  if (isMalformed(name)) return refused('MachineUnknown', name.malformed)
  const claim = `${one.pod.metadata.namespace}/${name}`
  if (one.pod.isMigrationTarget) {
    const message = 'it is of the target of a live migration: the virtual machine keeps that of its source'
    return { verdict: { ...about, pool, claim, outcome: 'leaves', reason: 'MigrationTarget', message } }
  }
  const why = whyNot(one, claim, found.pool, bench)
  if (why !== undefined) return refused(why.reason, why.message, claim)
  const isHeld = holderAt(found.pool, allocation.ip, bench)?.state === 'held'
  const message = isHeld ? 'Mooring holds it already' : `kept for ${interfaceOf(one)}`
  const kept = { claim: toClaim(one, name, found.target), addresses: [{ ip: allocation.ip, pool: found.pool }] }
  const outcome = isHeld ? ('adopted' as const) : ('kept' as const)
  return { verdict: { ...about, pool, claim, outcome, reason: isHeld ? 'Held' : 'Kept', message }, kept }
}

const holderAt = ({ space }: Pool, ip: IP, { objects }: Bench): Hold | undefined =>
  objects.holds.find(({ metadata }) => metadata.name === holdName(space, ip))

function whyNot(
  one: Placed,
  claim: string,
  pool: Pool,
  bench: Bench,
): { readonly reason: string; readonly message: string } | undefined {
  const { ip } = one.allocation
  const rivals = [...(bench.users.get(holdName(pool.space, ip)) ?? [])].filter(other => other !== interfaceOf(one))
  if (rivals.length > 0)
    return { reason: 'Duplicate', message: `${rivals.join('; ')} has it too: stop all but one of these pods` }
  const hold = holderAt(pool, ip, bench)
  const holder = hold && `${hold.claim.namespace}/${hold.claim.name}`
  if (holder !== undefined && holder !== claim)
    return { reason: 'AddressInUse', message: `claim ${holder} holds it in Mooring already` }
  const known = bench.objects.claims.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === claim)
  const others = (known?.ips ?? []).filter(text =>
    parsesTo(text, other => other.family === ip.family && !isSameIP(other, ip)),
  )
  if (others.length > 0) return { reason: 'SeveralAddresses', message: `its claim has ${others.join(', ')} already` }
  switch (whyNotOffered(pool, ip)) {
    case undefined:
      return undefined
    case 'excluded':
      return {
        reason: 'NotOffered',
        message: 'its network excludes it: take it out of what is excluded, or stop the pod',
      }
    case 'gateway':
      return { reason: 'NotOffered', message: 'it is the gateway of its network: stop the pod' }
    default:
      return {
        reason: 'NotOffered',
        message: 'it is outside of the range of its network: widen the range, or stop the pod',
      }
  }
}

function parsesTo(text: string, is: (ip: IP) => boolean): boolean {
  const ip = parseIP(text.split('/')[0] ?? '')
  return !isMalformed(ip) && is(ip)
}

// --- claims ---

/** Of a launcher pod: the name under which the desk of virtual machines finds a claim that was made beforehand. */
function nameOfClaim({ pod, selected }: Placed, { instances }: WhereaboutsObjects): string | Malformed {
  if (pod.domain === '') return ownClaimName(pod, selected)
  const vmi = instances.find(({ metadata }) => metadata.uid === pod.instance)
  const named = vmi?.interfaces.find(({ name }) => podInterfaceName(name) === selected.ifname)
  if (vmi === undefined || named === undefined)
    return {
      malformed: `its VirtualMachineInstance ${pod.domain} has no interface that is ${selected.ifname} in the pod`,
    }
  return claimName(vmi.metadata.name, named.name)
}

function toClaim({ pod, selected, allocation }: Placed, name: string, { name: network }: Target): KubeObject {
  const asked = { ...selected, ips: [toIPText(allocation.ip)] }
  // As the node would make it: when the sandbox of the pod is made anew, the node finds it.
  if (pod.domain === '') return toOwnClaim(pod, asked, network, pod.nodeName)
  const object = {
    apiVersion: apiVersionOf(ipamClaimKind),
    kind: ipamClaimKind.kind,
    metadata: {
      name,
      namespace: pod.metadata.namespace,
      annotations: { [attachmentAnnotation]: selected.key, [requestedIPsAnnotation]: toIPText(allocation.ip) },
    },
    spec: { network, interface: selected.ifname },
  }
  return object
}

/** The families of one interface are one claim. */
function joined(all: readonly KeptInterface[]): KeptInterface[] {
  const byClaim = new Map<string, KeptInterface>()
  for (const one of all) {
    const key = `${one.claim.metadata.namespace}/${one.claim.metadata.name}`
    const before = byClaim.get(key)
    const addresses = [...(before?.addresses ?? []), ...one.addresses]
    const annotations = {
      ...one.claim.metadata.annotations,
      [requestedIPsAnnotation]: addresses.map(({ ip }) => toIPText(ip)).join(','),
    }
    byClaim.set(key, { claim: { ...one.claim, metadata: { ...one.claim.metadata, annotations } }, addresses })
  }
  return [...byClaim.values()]
}

const keyOf = ({ metadata }: Pick<LauncherPod, 'metadata'>): string => `${metadata.namespace}/${metadata.name}`
