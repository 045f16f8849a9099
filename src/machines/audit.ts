// What does not fit together among Machines, claims, IPAddresses and holds of one namespace: what leaks an address, and what could give
// one to two machines. Each finding is about one object and says what to do; a thing that is wrong is told once. Nothing is changed.

import type { Hold } from '../api/hold.ts'
import { type IPAddress, parseIPAddress } from '../api/ip-address.ts'
import { type IPAddressClaim, type PoolReference, parseIPAddressClaim } from '../api/ip-address-claim.ts'
import { controllingMachine, hasInstance, type Machine } from '../api/machine.ts'
import { claimProtectionFinalizers, ipamGroup } from '../api/names.ts'
import { type ListedWorld, worldOf } from '../controllers/capi/listed.ts'
import { poolOfReport } from '../controllers/capi/ownership.ts'
import { wantedBy, wishFaults } from '../controllers/machine/claims/wanted.ts'
import { holdOf } from '../controllers/office/parsed.ts'
import { findPool } from '../controllers/office/views.ts'
import { parseIP, toIPText } from '../ip/address.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { quoteUnlessName } from '../ip/object-name.ts'
import { type KubeObject, keyOf } from '../kube/object.ts'
import type { Fleet } from './fleet.ts'
import { referenceText } from './sentences.ts'

export const findingIds = [
  'AddressBoundTwice',
  'AddressWithoutClaim',
  'ClaimProtectedWithoutMachine',
  'ClaimWithoutMachine',
  'FixedAddressHeld',
  'GuestLacksAddress',
  'HoldWithoutClaim',
  'MachineWithoutClaim',
  'PoolDiffers',
  'Unreadable',
] as const

export interface Finding {
  readonly id: (typeof findingIds)[number]
  /** `error`: two machines may have one address, or one has none. `warn`: an address is kept from use. */
  readonly severity: 'error' | 'warn'
  /** `IPAddressClaim openshift-machine-api/m-1-claim-0-0` */
  readonly object: string
  /** What is so, in one sentence. */
  readonly message: string
  /** What to do about it. */
  readonly fix: string
}

/** What is looked at, by name. Claims and IPAddresses of all namespaces are here, findings are about those of one. */
interface Seen {
  readonly fleet: Fleet
  readonly world: ListedWorld
  readonly claims: readonly IPAddressClaim[]
  readonly reports: readonly IPAddress[]
  readonly holds: readonly Hold[]
  /** What is held, by address. */
  readonly heldAt: ReadonlyMap<string, readonly Hold[]>
  /** By uid; undefined for one that cannot be read. */
  readonly claimOfUID: ReadonlyMap<string, IPAddressClaim | undefined>
  /** By namespace/name. */
  readonly claimAt: ReadonlyMap<string, IPAddressClaim>
  readonly reportAt: ReadonlyMap<string, IPAddress>
  readonly machineAt: ReadonlyMap<string, Machine>
}

export function audit(fleet: Fleet): Finding[] {
  const unreadable: Finding[] = fleet.unreadable.map(({ object, why }) => cannotBeRead(object, why))
  const read = <T>(kind: string, objects: readonly KubeObject[], parse: (object: KubeObject) => T | Malformed): T[] =>
    objects.flatMap(object => {
      const parsed = parse(object)
      if (!isMalformed(parsed)) return [parsed]
      if ((object.metadata.namespace ?? fleet.namespace) === fleet.namespace)
        unreadable.push(cannotBeRead(`${kind} ${keyOf(object)}`, parsed.malformed))
      return []
    })
  const claims = read('IPAddressClaim', fleet.listed.claims, object => parseIPAddressClaim(object))
  const reports = read('IPAddress', fleet.listed.reports, object => parseIPAddress(object))
  const holds = read('Hold', fleet.listed.holds, object => holdOf(object))
  const readableOfUID = new Map(claims.map(claim => [claim.metadata.uid, claim]))
  const seen: Seen = {
    fleet,
    world: worldOf(fleet.listed),
    claims,
    reports,
    holds,
    heldAt: grouped(
      holds.filter(({ state }) => state === 'held'),
      ({ address }) => address,
    ),
    claimOfUID: new Map(fleet.listed.claims.map(({ metadata: { uid = '' } }) => [uid, readableOfUID.get(uid)])),
    claimAt: new Map(claims.map(claim => [keyOfNamed(claim), claim])),
    reportAt: new Map(reports.map(report => [keyOfNamed(report), report])),
    machineAt: new Map(fleet.machines.map(machine => [machine.metadata.name, machine])),
  }
  const own = (one: Named) => one.metadata.namespace === fleet.namespace
  return sorted([
    ...unreadable,
    ...reports.filter(own).flatMap(report => judgeReport(report, seen)),
    ...claims.filter(own).flatMap(claim => judgeClaim(claim, seen)),
    ...fleet.machines.flatMap(machine => judgeMachine(machine, seen)),
    ...seen.holds.flatMap(hold => judgeHold(hold, seen)),
    ...boundTwice(seen),
  ])
}

function grouped<T>(all: readonly T[], keyOfOne: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const key = keyOfOne(one)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [one])
    else group.push(one)
  }
  return groups
}

interface Named {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

const keyOfNamed = ({ metadata: { namespace, name } }: Named): string => `${namespace}/${name}`

const claimText = (claim: Named): string => `IPAddressClaim ${keyOfNamed(claim)}`
const machineText = (machine: Named): string => `Machine ${keyOfNamed(machine)}`

const cannotBeRead = (object: string, why: string): Finding => ({
  id: 'Unreadable',
  severity: 'warn',
  object,
  message: `it cannot be read, and was not looked at: ${why}`,
  fix: 'correct it, or delete it',
})

// --- IPAddresses and holds ---

function judgeReport(report: IPAddress, { claimAt }: Seen): Finding[] {
  const { namespace, name } = report.metadata
  if (claimAt.has(`${namespace}/${report.claimName}`)) return []
  const of = report.claimName === '' ? 'it names no claim' : `its claim ${quoteUnlessName(report.claimName)} is gone`
  return [
    {
      id: 'AddressWithoutClaim',
      severity: 'warn',
      object: `IPAddress ${namespace}/${name}`,
      message: `${of}, and it keeps ${report.address} from use`,
      fix: `if no machine uses ${report.address}, delete it; else make its claim anew`,
    },
  ]
}

/** Holds of virtual machines are not looked at: their claims are of another kind. */
function judgeHold({ metadata, claim, address, space, state }: Hold, { fleet, claimOfUID }: Seen): Finding[] {
  if (state !== 'held' || claim.kind !== 'IPAddressClaim' || claim.apiGroup !== ipamGroup) return []
  if (claim.namespace !== fleet.namespace || claimOfUID.has(claim.uid)) return []
  return [
    {
      id: 'HoldWithoutClaim',
      severity: 'warn',
      object: `Hold ${metadata.name}`,
      message: `it holds ${address} of space ${space} for IPAddressClaim ${claim.namespace}/${claim.name}, which is gone`,
      fix: 'Mooring puts it to rest by itself: if it stays, see whether the controller runs',
    },
  ]
}

// --- claims ---

/** `<machine>-claim-<device>-<pool>` */
const claimNamePattern = /^(?<machine>.+)-claim-(?:0|[1-9]\d*)-(?:0|[1-9]\d*)$/

/** A claim that belongs to another object is that one's, whatever it is called. */
function machineNameOf(claim: IPAddressClaim): string | undefined {
  const owner = controllingMachine(claim.metadata)
  if (owner !== undefined) return owner.name
  if (claim.metadata.ownerReferences.length > 0) return undefined
  return claimNamePattern.exec(claim.metadata.name)?.groups?.machine
}

function judgeClaim(claim: IPAddressClaim, seen: Seen): Finding[] {
  const name = machineNameOf(claim)
  if (name === undefined) return []
  const machine = seen.machineAt.get(name)
  const owner = controllingMachine(claim.metadata)
  const isEarlier = machine !== undefined && owner !== undefined && owner.uid !== machine.metadata.uid
  if (machine !== undefined && !isEarlier) return []
  const gone = isEarlier ? `an earlier Machine ${name}, which is gone` : `Machine ${name}, which does not exist`
  const object = claimText(claim)
  const finalizer = claimProtectionFinalizers.find(one => claim.metadata.finalizers.includes(one))
  if (finalizer === undefined || (owner === undefined && !claim.isDeleting)) {
    const address = addressOf(claim, seen)
    const what = address === undefined ? '' : `, and keeps ${address} from use`
    const fix = 'if the virtual machine is gone, delete the claim'
    return [{ id: 'ClaimWithoutMachine', severity: 'warn', object, message: `it is of ${gone}${what}`, fix }]
  }
  const message = `it is of ${gone}, and the finalizer ${finalizer} keeps it and its address`
  const fix = 'if the virtual machine is gone, remove the finalizer: the claim then goes by itself, or can be deleted'
  return [{ id: 'ClaimProtectedWithoutMachine', severity: 'warn', object, message, fix }]
}

/** What a claim is bound to, canonical; undefined while it is not, or where that cannot be read. */
function addressOf(claim: IPAddressClaim, { reportAt }: Pick<Seen, 'reportAt'>): string | undefined {
  const report = reportAt.get(`${claim.metadata.namespace}/${claim.addressName}`)
  const ip = report && parseIP(report.address)
  return ip === undefined || isMalformed(ip) ? undefined : toIPText(ip)
}

// --- Machines ---

function judgeMachine(machine: Machine, seen: Seen): Finding[] {
  const { providerSpec, metadata } = machine
  if (machine.isDeleting || providerSpec === undefined) return []
  const object = machineText(machine)
  if (isMalformed(providerSpec)) return [cannotBeRead(object, providerSpec.malformed)]
  const [fault] = wishFaults(providerSpec)
  if (fault !== undefined) return [cannotBeRead(object, `${fault.field} ${fault.detail}`)]
  const fixed = providerSpec.devices
    .flatMap(({ ipAddrs }) => ipAddrs)
    .flatMap(text => heldElsewhere(text, machine, seen))
  const claims = wantedBy(metadata.name, providerSpec).flatMap(({ name, poolRef }): Finding[] => {
    const claim = seen.claimAt.get(`${metadata.namespace}/${name}`)
    return claim === undefined ? [withoutClaim(machine, name)] : judgeClaimOf(machine, claim, poolRef, seen)
  })
  return [...fixed, ...claims]
}

function withoutClaim(machine: Machine, name: string): Finding {
  const about = { id: 'MachineWithoutClaim', object: machineText(machine) } as const
  if (!hasInstance(machine))
    return {
      ...about,
      severity: 'warn',
      message: `its claim ${name} is not there yet`,
      fix: 'the machine desk, or the machine controller of OpenShift, makes it: if it does not, see whether that runs',
    }
  return {
    ...about,
    severity: 'error',
    message: `its virtual machine was ordered, and its claim ${name} is gone: its address may be given to another machine`,
    fix: `make the claim anew, with the address that the virtual machine has in the annotation mooring.dev/requested-address`,
  }
}

function judgeClaimOf(machine: Machine, claim: IPAddressClaim, wanted: PoolReference, { reportAt }: Seen): Finding[] {
  const { poolRef } = claim
  if (poolRef.apiGroup !== wanted.apiGroup || poolRef.kind !== wanted.kind || poolRef.name !== wanted.name) {
    const message = `it names ${referenceText(poolRef)}, and ${machineText(machine)} asks for ${referenceText(wanted)}`
    const fix = 'a claim does not change its pool: correct the Machine, or replace it'
    return [{ id: 'PoolDiffers', severity: 'error', object: claimText(claim), message, fix }]
  }
  const address = addressOf(claim, { reportAt })
  const ips = machine.addresses.filter(({ type, address: ip }) => type === 'InternalIP' && ip !== '')
  // While a guest has not reported any, nothing is known of it.
  if (address === undefined || ips.length === 0) return []
  const reported = ips.map(({ address: ip }) => canonical(ip))
  if (reported.includes(address)) return []
  return [
    {
      id: 'GuestLacksAddress',
      severity: 'error',
      object: machineText(machine),
      message: `its claim ${claim.metadata.name} has ${address}, and its guest reports ${reported.join(', ')}`,
      fix: 'see whether the guest took its kernel arguments at the first boot; replace the Machine',
    },
  ]
}

function canonical(text: string): string {
  const ip = parseIP(text)
  return isMalformed(ip) ? JSON.stringify(text) : toIPText(ip)
}

/** An address that stands in the spec itself has no claim: the ledger does not know of it, and may give it to another. */
function heldElsewhere(text: string, machine: Machine, { fleet, heldAt, claimOfUID }: Seen): Finding[] {
  const [address = ''] = text.split('/')
  const ip = parseIP(address)
  if (isMalformed(ip))
    return [cannotBeRead(machineText(machine), `ipAddrs has ${JSON.stringify(text)}: ${ip.malformed}`)]
  const isOwn = ({ claim }: Hold) => {
    const found = claimOfUID.get(claim.uid)
    return claim.namespace === fleet.namespace && found !== undefined && machineNameOf(found) === machine.metadata.name
  }
  const others = (heldAt.get(toIPText(ip)) ?? []).filter(hold => !isOwn(hold))
  return others.map(({ claim, space }) => ({
    id: 'FixedAddressHeld',
    severity: 'error',
    object: machineText(machine),
    message: `its ipAddrs has ${text}, which ${claim.kind} ${claim.namespace}/${claim.name} holds in space ${space}`,
    fix: `if both are on one network, give one of them another address, and exclude ${toIPText(ip)} from the pool`,
  }))
}

// --- addresses that two claims have ---

/** A thousand claims that name one IPAddress are a thousand findings, each of one line. */
const othersTold = 3

function boundTwice(seen: Seen): Finding[] {
  const bound = seen.claims.flatMap(claim => {
    const report = seen.reportAt.get(`${claim.metadata.namespace}/${claim.addressName}`)
    const address = addressOf(claim, seen)
    return report === undefined || address === undefined
      ? []
      : [{ claim, place: `${spaceOf(report, seen)} ${address}` }]
  })
  return [...grouped(bound, ({ place }) => place)].flatMap(([key, claims]) =>
    claims.flatMap(({ claim }, i): Finding[] => {
      if (claims.length < 2 || claim.metadata.namespace !== seen.fleet.namespace) return []
      const others = claims.filter((_, at) => at !== i).slice(0, othersTold)
      const more = claims.length - 1 - others.length
      const named = [...others.map(other => claimText(other.claim)), ...(more > 0 ? [`${more} more`] : [])].join(
        ' and ',
      )
      return [
        {
          id: 'AddressBoundTwice',
          severity: 'error',
          object: claimText(claim),
          message: `it is bound to ${key.slice(key.indexOf(' ') + 1)}, and so is ${named}`,
          fix: 'replace the Machine of one of them: its claim is then made anew, and gets an address of its own',
        },
      ]
    }),
  )
}

/** Two pools of one space never have two machines with one address; those of another provider are told apart by their names. */
function spaceOf(report: IPAddress, { world }: Seen): string {
  const identity = poolOfReport(report)
  const space = findPool(world.caches, identity)?.space ?? ''
  const { apiGroup, kind, name } = report.poolRef
  return space === '' ? `${kind}.${apiGroup}/${report.metadata.namespace}/${name}` : space
}

/** Errors first, then by object: the same findings are always told in the same order. */
function sorted(findings: readonly Finding[]): Finding[] {
  const keyOfFinding = ({ severity, object, id, message }: Finding) => [severity, object, id, message].join('\n')
  return findings.toSorted((one, other) => (keyOfFinding(one) < keyOfFinding(other) ? -1 : 1))
}
