// What becomes of the claims of one virtual machine: one pure function from what was seen to what is to be done.
//
//   an interface without a claim, on a network that allows persistent addresses   one is made
//   a claim of a lone instance that a virtual machine has adopted                 the virtual machine becomes its owner
//   a claim whose owner left it behind                                            the instance, or virtual machine, becomes its owner
//   a claim that was made before the virtual machine, with what it is to have     the same
//   an interface that asks for a MAC, or for addresses                            its claim says so, until it has addresses
//   a claim for which there is no interface any more, and no pod that may use it  it is deleted
//   a claim that was left behind, of a virtual machine that is gone               it is deleted
//   a claim of that name that belongs to another                                  the interface waits, and says so
//
// An interface that is moved to another network gets a second claim; the first one goes when no pod uses it. A claim is kept
// whatever becomes of its network, and whatever is not known of it.

import { hasRequest, type IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { persistentIPFinalizer } from '../../../api/names.ts'
import { type AddressRequest, noRequest, strayRequests } from '../../../api/requests.ts'
import type { VirtualMachine, VirtualMachineInstance } from '../../../api/virtual-machine.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import {
  best,
  isFor,
  isLeftFor,
  isMadeFor,
  isOfVM,
  isOwnedBy,
  mayUse,
  type NameHolder,
  nameToMake,
  type Wanted,
} from './belonging.ts'
import { claimName, plainClaimName } from './names.ts'
import { lostRequest, type NewRequest, type RequestNotice, requestsFor, unmetRequests } from './requests.ts'

export interface ClaimsSeen {
  readonly name: string
  readonly vm: VirtualMachine | undefined
  readonly vmi: VirtualMachineInstance | undefined
  /** Launcher pods of that name. */
  readonly pods: readonly LauncherPod[]
  /** Those that name the virtual machine, and those that have one of the names that its claims would have. */
  readonly claims: readonly IPAMClaim[]
  /** Names of claims that are there and cannot be read. */
  readonly unreadable: readonly string[]
  /** Of the template of the virtual machine, and of the spec of the instance. */
  readonly wantedByVM: readonly Wanted[]
  readonly wantedByVMI: readonly Wanted[]
}

export type Owner = VirtualMachine | VirtualMachineInstance

export interface ClaimsPlan {
  /** What a claim that is made or adopted belongs to; undefined while none is. */
  readonly owner: Owner | undefined
  readonly make: readonly NewClaim[]
  readonly adopt: readonly Adoption[]
  readonly ask: readonly NewRequest[]
  readonly remove: readonly IPAMClaim[]
  /** What the owner's user has to know. */
  readonly notices: readonly Notice[]
  /** Names that are to become free first. */
  readonly waitsFor: readonly string[]
  /** What the annotation of the virtual machine is to say; undefined for none. */
  readonly shown: string | undefined
}

export interface NewClaim {
  readonly name: string
  readonly network: string
  readonly interface: string
  readonly attachment: string
  readonly request: AddressRequest
}

export interface Adoption {
  readonly claim: IPAMClaim
  /** Written where the claim does not say it. */
  readonly attachment: string | undefined
  /** What it asks for is its own, and no virtual machine's. */
  readonly isMadeBeforehand: boolean
}

export type Notice = { readonly reason: 'ClaimNameTaken' | 'NetworkRefused'; readonly message: string } | RequestNotice

const nothing: ClaimsPlan = {
  owner: undefined,
  make: [],
  adopt: [],
  ask: [],
  remove: [],
  notices: [],
  waitsFor: [],
  shown: undefined,
}

export function decide(seen: ClaimsSeen): ClaimsPlan {
  const { name, vm, claims, pods } = seen
  if (vm === undefined && seen.vmi === undefined) {
    const isRunning = pods.some(({ isCompleted }) => !isCompleted)
    return { ...nothing, remove: isRunning ? [] : claims.filter(claim => isLeftFor(claim, name) && isMadeByUs(claim)) }
  }
  const { owner, vmi } = ownerOf(seen)
  const shown = vm?.shown
  if (owner === undefined || owner.isDeleting) return { ...nothing, shown }
  const wanted = together(vmi === undefined ? [] : seen.wantedByVMI, owner === vm ? seen.wantedByVM : [])
  const isBeforehand = (claim: IPAMClaim) =>
    claim.metadata.ownerReferences.length === 0 && wanted.some(one => isMadeFor(claim, name, one))
  const own = claims.filter(claim => isOwn(claim, name, owner, vmi) || isBeforehand(claim))
  const served = serve(wanted, own, name, pods)
  const wantedOf = new Map([...served].map(([one, claim]) => [claim, one]))
  const unserved = wanted.filter(one => !served.has(one))
  const made = makeFor(unserved, seen, own)
  const adopt = own.flatMap(claim => adoptionOf(claim, owner, wantedOf.get(claim)))
  const adopted = new Set(adopt.map(({ claim }) => claim))
  const asked = requestsFor([...served].filter(([, claim]) => !adopted.has(claim)))
  const machine = vmi ?? vm
  const notices = [
    ...made.notices,
    ...refusalsOf(unserved),
    ...asked.notices,
    ...unmetRequests(unserved),
    ...(machine === undefined ? [] : strayRequests(machine, machine.interfaces)).map(lostRequest),
  ]
  return {
    owner,
    ...made,
    adopt,
    ask: asked.requests,
    remove: own.filter(claim => !wantedOf.has(claim) && isMadeByUs(claim) && !pods.some(pod => mayUse(pod, claim))),
    notices: notices.slice(0, noticesMax),
    shown: owner === vm ? showing(wanted, served) : shown,
  }
}

/** A virtual machine may have thousands of interfaces, each of them wrong. */
const noticesMax = 20

/**
 * A virtual machine owns the claims of its instance; an instance without one owns them itself. While an instance names a virtual
 * machine that is not in view, none is known: its owner is yet to be seen, or is gone and takes it along.
 */
function ownerOf({ vm, vmi }: Pick<ClaimsSeen, 'vm' | 'vmi'>): {
  readonly owner: Owner | undefined
  readonly vmi?: VirtualMachineInstance
} {
  if (vmi !== undefined && !isOfVM(vmi)) return { owner: vmi, vmi }
  if (vm === undefined) return { owner: undefined }
  return vmi !== undefined && isOwnedBy(vmi, vm) ? { owner: vm, vmi } : { owner: vm }
}

const isOwn = (claim: IPAMClaim, name: string, owner: Owner, vmi: VirtualMachineInstance | undefined): boolean =>
  isOwnedBy(claim, owner) || (vmi !== undefined && isOwnedBy(claim, vmi)) || isLeftFor(claim, name)

/** Made by Mooring, or by ipam-extensions; a claim that a user made is never deleted. */
function isMadeByUs({ metadata, vm, attachment, isDeleting }: IPAMClaim): boolean {
  if (isDeleting || vm === undefined || !metadata.finalizers.includes(persistentIPFinalizer)) return false
  return attachment !== undefined || metadata.ownerReferences.length > 0
}

/** Each interface on each of its networks once: what runs and what is to run may differ until the next start. */
function together(first: readonly Wanted[], second: readonly Wanted[]): readonly Wanted[] {
  const found = new Map<string, Wanted>()
  for (const one of [...first, ...second]) {
    const key = JSON.stringify([one.name, one.attachment])
    const before = found.get(key)
    found.set(key, before === undefined ? one : { ...before, isAbsent: before.isAbsent || one.isAbsent })
  }
  return [...found.values()]
}

/** Which claim each interface has. Where names fold to one, that of ipam-extensions is the interface's that has just this name. */
function serve(
  wanted: readonly Wanted[],
  own: readonly IPAMClaim[],
  vm: string,
  pods: readonly LauncherPod[],
): ReadonlyMap<Wanted, IPAMClaim> {
  const served = new Map<Wanted, IPAMClaim>()
  const isPlain = ({ name }: Wanted): boolean => claimName(vm, name) === plainClaimName(vm, name)
  const inOrder = [...wanted.filter(isPlain), ...wanted.filter(one => !isPlain(one))]
  const taken = new Set<IPAMClaim>()
  const byInterface = new Map<string, IPAMClaim[]>()
  for (const claim of own) {
    const known = byInterface.get(claim.interface)
    if (known === undefined) byInterface.set(claim.interface, [claim])
    else known.push(claim)
  }
  for (const one of inOrder) {
    const candidates = [one.podInterface, one.name, ''].flatMap(name => byInterface.get(name) ?? [])
    const claim = best(
      candidates.filter(candidate => !taken.has(candidate) && isFor(candidate, vm, one)),
      pods,
    )
    if (claim === undefined) continue
    served.set(one, claim)
    taken.add(claim)
  }
  return served
}

function makeFor(
  unserved: readonly Wanted[],
  seen: ClaimsSeen,
  own: readonly IPAMClaim[],
): Pick<ClaimsPlan, 'make' | 'notices' | 'waitsFor'> {
  const { name: vm, claims, unreadable } = seen
  const holders = new Map<string, NameHolder>(unreadable.map(name => [name, 'other']))
  for (const claim of claims) holders.set(claim.metadata.name, own.includes(claim) ? 'own' : 'other')
  const make: NewClaim[] = []
  const waitsFor: string[] = []
  for (const wanted of unserved) {
    const { network, attachment, podInterface, isAbsent } = wanted
    if (isAbsent || attachment === undefined || network?.isPersistent !== true) continue
    const { request = noRequest } = wanted
    // It would be given something else than is asked for.
    if (isMalformed(request)) continue
    const name = nameToMake(vm, wanted, one => holders.get(one) ?? 'none')
    if (name === undefined) {
      waitsFor.push(claimName(vm, wanted.name))
      continue
    }
    holders.set(name, 'own')
    make.push({ name, network: network.name, interface: podInterface, attachment, request })
  }
  const names = new Set(waitsFor)
  const inTheWay = claims.filter(({ metadata }) => names.has(metadata.name))
  return { make, waitsFor, notices: inTheWay.flatMap(claim => taken(claim, seen)) }
}

function taken(claim: IPAMClaim, { vm, name }: ClaimsSeen): Notice[] {
  // While a virtual machine is deleted and leaves its instance behind, the claims are about to be left too.
  if (vm?.isDeleting === true && isOwnedBy(claim, vm)) return []
  const [owner] = claim.metadata.ownerReferences
  const whose = owner === undefined ? 'was not made for it' : `belongs to ${owner.kind} ${owner.name}`
  const what = owner?.name === name ? 'belongs to an earlier one of this name' : whose
  const then = claim.isDeleting ? 'goes, and is waited for' : 'is in the way: delete it, or rename the interface'
  return [{ reason: 'ClaimNameTaken', message: `the IPAMClaim ${claim.metadata.name} ${what}, and ${then}` }]
}

function refusalsOf(unserved: readonly Wanted[]): readonly Notice[] {
  return unserved.flatMap(({ name, attachment, refusal }): Notice[] => {
    if (refusal === '') return []
    const message = `the interface ${name} gets no persistent addresses from ${attachment ?? 'its network'}: ${refusal}`
    return [{ reason: 'NetworkRefused', message }]
  })
}

function adoptionOf(claim: IPAMClaim, owner: Owner, wanted: Wanted | undefined): Adoption[] {
  if (claim.isDeleting) return []
  if (wanted === undefined) {
    // Without an interface it has no business here; its owner is merely replaced.
    const isHeirless = claim.metadata.ownerReferences.length === 0
    return isHeirless || isOwnedBy(claim, owner) ? [] : [{ claim, attachment: undefined, isMadeBeforehand: false }]
  }
  const attachment = wanted.network === undefined ? undefined : wanted.attachment
  const saysAttachment = claim.attachment !== undefined || attachment === undefined
  const isGuarded = claim.metadata.finalizers.includes(persistentIPFinalizer)
  if (isOwnedBy(claim, owner) && saysAttachment && isGuarded) return []
  return [{ claim, attachment, isMadeBeforehand: hasRequest(claim) && !isMadeByUs(claim) }]
}

/** What runs comes first. */
function showing(wanted: readonly Wanted[], served: ReadonlyMap<Wanted, IPAMClaim>): string | undefined {
  const ips = new Map<string, readonly string[]>()
  for (const one of wanted) {
    const claim = served.get(one)
    if (claim !== undefined && claim.ips.length > 0 && !ips.has(one.name)) ips.set(one.name, claim.ips)
  }
  if (ips.size === 0) return undefined
  return JSON.stringify([...ips].map(([interfaceName, ips]) => ({ interfaceName, ips })))
}
