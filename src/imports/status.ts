// How far an import is: of each card of each imported machine, whether it has what the source had, and otherwise what is in the way.
// Pure: what is in the cluster comes as a value.

import { clusterUDNOfNetwork } from '../api/cluster-user-defined-network.ts'
import type { Condition } from '../api/condition.ts'
import type { IPAMClaim } from '../api/ipam-claim.ts'
import { importSourceAnnotation, ipAllocatedCondition, ipsAllocatedCondition } from '../api/names.ts'
import { requestsOf } from '../api/requests.ts'
import { ownText } from '../api/shape.ts'
import type { VirtualMachine } from '../api/virtual-machine.ts'
import { claimName, plainClaimName } from '../controllers/vm/claims/names.ts'
import { type IP, isSameIP, parseIP, toIPText } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed } from '../ip/malformed.ts'
import { type ImportTarget, infrastructureIn } from './target.ts'

/** `kept`: it runs with its MAC and its addresses. `ready`: they are held for it, and it does not run. `failed`: it needs a hand. */
export type CardState = 'kept' | 'ready' | 'waiting' | 'warning' | 'failed'

export interface CardStatus {
  /** namespace/name. */
  readonly machine: string
  /** Empty where it is about the machine. */
  readonly interface: string
  readonly state: CardState
  /** What it is to have. */
  readonly wanted: string
  readonly message: string
}

export interface ImportedObjects {
  readonly machines: readonly VirtualMachine[]
  readonly instances: readonly ShownInstance[]
  readonly claims: readonly IPAMClaim[]
  readonly events: readonly ShownEvent[]
}

/** What a VirtualMachineInstance shows. */
export interface ShownInstance {
  /** namespace/name: that of its VirtualMachine. */
  readonly key: string
  readonly phase: string
  readonly interfaces: readonly { readonly name: string; readonly mac: string; readonly ips: readonly string[] }[]
}

export interface ShownEvent {
  /** `VirtualMachineInstance shop/web`. */
  readonly about: string
  readonly type: string
  readonly reason: string
  readonly note: string
  /** RFC 3339. */
  readonly at: string
}

type Target = Pick<ImportTarget, 'cards' | 'addresses' | 'networks'>

export function statusOfImport(objects: ImportedObjects, target: Target): CardStatus[] {
  const imported = objects.machines.filter(
    ({ metadata }) => ownText(metadata.annotations, importSourceAnnotation) !== undefined,
  )
  const keyOf = ({ metadata }: VirtualMachine) => `${metadata.namespace}/${metadata.name}`
  return imported
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    .flatMap(machine => statusOfMachine(machine, keyOf(machine), objects, target))
}

function statusOfMachine(machine: VirtualMachine, key: string, objects: ImportedObjects, target: Target): CardStatus[] {
  const requests = requestsOf(machine, machine.interfaces)
  const about = eventsOf(key, objects.events)
  const denial = about.find(({ type, note }) => type === 'Warning' && note.includes('denied the request'))
  const collisions = about.filter(({ reason }) => reason === 'MACCollision')
  const cards = [...requests].map(([name, request]): CardStatus => {
    const common = { machine: key, interface: name }
    if (isMalformed(request)) return { ...common, state: 'failed', wanted: '', message: request.malformed }
    const ips = request.ips.map(({ ip }) => ip)
    const wanted = [...(request.mac === undefined ? [] : [request.mac]), ...ips.map(toIPText)].join(' ')
    const claim = claimOf(machine, name, objects.claims)
    const instance = objects.instances.find(one => one.key === key)
    const card: Wanted = { mac: request.mac, ips, vm: key, claim }
    return { ...common, wanted, ...verdictOn(card, instance, name, denial?.note, target) }
  })
  const told = collisions.map(({ note }): CardStatus => {
    return { machine: key, interface: '', state: 'warning', wanted: '', message: collisionText(note) }
  })
  return [...cards, ...told]
}

/** Of the machine, its instance and its pods, the latest first. */
function eventsOf(key: string, events: readonly ShownEvent[]): ShownEvent[] {
  const [namespace = '', name = ''] = key.split('/')
  const own = new Set([`VirtualMachine ${key}`, `VirtualMachineInstance ${key}`])
  const isOfPod = (about: string) => about.startsWith(`Pod ${namespace}/virt-launcher-${name}-`)
  return events
    .filter(({ about }) => own.has(about) || isOfPod(about))
    .toSorted((one, other) => (one.at > other.at ? -1 : 1))
}

function claimOf({ metadata }: VirtualMachine, name: string, claims: readonly IPAMClaim[]): IPAMClaim | undefined {
  const names = [claimName(metadata.name, name), plainClaimName(metadata.name, name)]
  return claims.find(one => one.metadata.namespace === metadata.namespace && names.includes(one.metadata.name))
}

// --- one card ---

interface Wanted {
  readonly mac: MACText | undefined
  readonly ips: readonly IP[]
  /** namespace/name. */
  readonly vm: string
  readonly claim: IPAMClaim | undefined
}

type Verdict = Pick<CardStatus, 'state' | 'message'>

function verdictOn(
  card: Wanted,
  instance: ShownInstance | undefined,
  name: string,
  denial: string | undefined,
  target: Target,
): Verdict {
  const refusal = card.claim && refusalOf(card.claim)
  if (refusal !== undefined) return refused(card, refusal, target)
  const isRunning = instance?.phase === 'Running'
  if (denial !== undefined && !isRunning) return { state: 'failed', message: denial }
  const held = card.claim?.ips ?? []
  const missing = card.ips.filter(ip => !held.some(text => isOf(text, ip)))
  if (card.claim === undefined && card.ips.length === 0) {
    // On a network that gives out no addresses there is a MAC to keep, and no claim.
    return isRunning ? shownBy(instance, name, card, []) : { state: 'ready', message: 'it does not run' }
  }
  if (card.claim === undefined) return { state: 'waiting', message: 'it has no IPAMClaim yet' }
  if (held.length === 0)
    return { state: 'waiting', message: `IPAMClaim ${keyOfClaim(card.claim)} has no addresses yet` }
  if (missing.length > 0) {
    const message = `IPAMClaim ${keyOfClaim(card.claim)} has ${held.join(', ')}, and not ${missing.map(toIPText).join(', ')}`
    return { state: 'failed', message }
  }
  if (!isRunning) {
    const message = `${held.join(', ')} is held for it; ${instance === undefined ? 'it does not run' : `it is ${instance.phase || 'starting'}`}`
    return { state: 'ready', message }
  }
  return shownBy(instance, name, card, held)
}

/** What it has is compared with what the source had. */
function shownBy(instance: ShownInstance, name: string, card: Wanted, held: readonly string[]): Verdict {
  const shown = instance.interfaces.find(one => one.name === name)
  if (shown === undefined) return { state: 'waiting', message: 'it runs, and does not show the card yet' }
  const mac = parseMAC(shown.mac)
  if (card.mac !== undefined && mac !== card.mac) {
    return { state: 'failed', message: `it runs with the MAC ${shown.mac || 'none'}, and not with ${card.mac}` }
  }
  const heldText = held.length > 0 ? `; ${held.join(', ')} is held for it` : ''
  const missing = card.ips.filter(ip => !shown.ips.some(text => isSame(text, ip)))
  if (missing.length > 0) {
    const has = shown.ips.length === 0 ? 'no address' : shown.ips.join(', ')
    return { state: 'waiting', message: `it runs and shows ${has}, and not ${missing.map(toIPText).join(', ')}` }
  }
  return { state: 'kept', message: `it runs with what it had${heldText}` }
}

const keyOfClaim = ({ metadata: { namespace, name } }: IPAMClaim): string => `${namespace}/${name}`

function isOf(text: string, ip: IP): boolean {
  const cidr = parseCIDR(text)
  return !isMalformed(cidr) && isSameIP(cidr.ip, ip)
}

function isSame(text: string, ip: IP): boolean {
  const other = parseIP(text)
  return !isMalformed(other) && isSameIP(other, ip)
}

// --- refusals ---

function refusalOf({ conditions }: IPAMClaim): Condition | undefined {
  const of = (wanted: string) => conditions.find(({ type, status }) => type === wanted && status === 'False')
  return of(ipsAllocatedCondition) ?? of(ipAllocatedCondition)
}

const ipConflicts = ['IPAddressConflict', 'IPAlreadyExists']

function refused(card: Wanted, { reason, message }: Condition, target: Target): Verdict {
  if (ipConflicts.includes(reason)) {
    const ips = card.ips.map(ip => holderText(ip, card, target))
    const [held, unclear] = [ips.filter(({ isHeld }) => isHeld), ips]
    return { state: 'failed', message: (held.length > 0 ? held : unclear).map(({ text }) => text).join('; ') }
  }
  if (reason === 'MACAddressConflict' && card.mac !== undefined) {
    const others = target.cards.filter(({ mac, vm }) => mac === card.mac && vm !== card.vm).map(({ owner }) => owner)
    const text = others.length > 0 ? `is that of ${others.toSorted().join(' and ')}` : `is in use: ${message}`
    return { state: 'failed', message: `the MAC ${card.mac} ${text}` }
  }
  return { state: 'failed', message: `${reason}: ${message}` }
}

function holderText(ip: IP, { claim, vm }: Wanted, { addresses, networks }: Target): { isHeld: boolean; text: string } {
  const text = toIPText(ip)
  const network = claim?.network ?? ''
  const holders = addresses.filter(one => one.ip === text && one.networkName === network && one.vm !== vm)
  if (holders.length > 0) {
    const owners = [...new Set(holders.map(({ owner }) => owner))].toSorted().join(' and ')
    return { isHeld: true, text: `${text} is asked for, and ${owners} holds it` }
  }
  const udn = networks.find(({ name }) => name === clusterUDNOfNetwork(network))
  for (const { gateway, management } of udn === undefined ? [] : infrastructureIn(udn)) {
    if (isSameIP(ip, gateway)) return { isHeld: true, text: `${text} is asked for, and is the gateway of the network` }
    if (isSameIP(ip, management)) {
      return { isHeld: true, text: `${text} is asked for, and is the management address of the network` }
    }
  }
  return { isHeld: false, text: `${text} is asked for, and is in use; no claim or pod shows it` }
}

/** `MAC 02:...: Collision between vmi/shop/a, vmi/lab/b`. */
function collisionText(note: string): string {
  const owners = /Collision between (.+)$/.exec(note)?.[1]?.split(', ')
  const mac = /([0-9a-f]{2}:){5}[0-9a-f]{2}/i.exec(note)?.[0]
  return owners === undefined || mac === undefined
    ? note
    : `the MAC ${mac} is that of ${owners.join(' and ')} at the same time`
}
