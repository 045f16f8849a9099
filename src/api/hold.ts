// Hold: the lock on one address, or one prefix, of one space. It says that the address belongs to one claim, or did until a
// moment ago. It is named after space and address.

import { bitsOf, type IP, type IPText, parseIP, toIPText } from '../ip/address.ts'
import { firstIP } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { toObjectName } from '../ip/object-name.ts'
import { type Holder, type Lock, lockKindOf, lockOf, toLockObject, toRetakeLockPatch } from './lock.ts'
import { isParsed, metadataOf, type Parsed } from './object.ts'
import { shared } from './repeated.ts'
import { childOf, integerOf, malformedBy, requiredText, shapeOf, textOf } from './shape.ts'
import { isSpace, scopeOfSpace } from './space.ts'

const holdKind = lockKindOf('Hold', 'holds')

export interface HoldSpec extends Holder {
  readonly space: string
  readonly ip: IP
  /** How many bits of the address are held: all of them, or those of a prefix. */
  readonly bits: number
  /** The card that uses the address, where it is known. For readers: it locks nothing, for that there is MACHold. */
  readonly mac?: MACText | undefined
}

export interface Hold extends HoldSpec, Lock {
  readonly address: IPText
}

/** The lock itself: one name per (space, address). For a prefix the address is its first. */
export const holdName = (space: string, ip: IP): string => `${toObjectName(ip)}.${scopeOfSpace(space)}`

export function parseHold(object: unknown, readMetadata = metadataOf): Parsed<Hold> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const lock = lockOf(root, readMetadata)
  const spec = childOf(root, 'spec')
  const text = requiredText(spec, 'address')
  const macText = textOf(spec, 'mac') || undefined
  const ip = parseIP(text)
  const bits = integerOf(spec, 'prefixLength', 0, isMalformed(ip) ? 128 : bitsOf(ip.family))
  if (faults.length > 0) return malformedBy(faults)
  if (isMalformed(ip)) return { malformed: `spec.address ${ip.malformed}` }
  const address = toIPText(ip)
  if (address !== text) return { malformed: `spec.address ${quoteText(text)} is not canonical: write ${address}` }
  const length = bits ?? bitsOf(ip.family)
  const base = bits === undefined ? address : toIPText(firstIP({ ip, bits: length }))
  if (base !== address)
    return { malformed: `spec.address ${address} is not the first of its /${length}: write ${base}` }
  const mac = macText === undefined ? undefined : parseMAC(macText)
  if (isMalformed(mac)) return { malformed: `spec.mac ${mac.malformed}` }
  if (mac !== macText) return { malformed: `spec.mac ${quoteText(macText ?? '')} is not canonical: write ${mac}` }
  const { space, metadata } = lock
  if (!isSpace(space)) return { malformed: `spec.space ${quoteText(space)} is no space` }
  if (metadata.name !== holdName(space, ip)) {
    return { malformed: `metadata.name is ${quoteText(metadata.name)}; this hold is called ${holdName(space, ip)}` }
  }
  const { pool, claim, owner, state, since, until, heldSince } = lock
  return {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    space,
    ip,
    bits: length,
    pool,
    claim,
    owner,
    address,
    mac,
    state,
    since,
    until,
    heldSince,
  }
}

/** The object to create. `now` is RFC 3339. */
export function toHoldObject({ space, ip, bits, mac, ...holder }: HoldSpec, now: string) {
  const what = {
    space,
    address: toIPText(ip),
    ...(bits === bitsOf(ip.family) ? {} : { prefixLength: bits }),
    ...(mac === undefined ? {} : { mac }),
  }
  return toLockObject(holdKind, holdName(space, ip), what, holder, now)
}

/** A merge patch: out of quarantine and held again, by this claim. Send it with the version it was decided on. */
export function toRetakePatch(
  next: Holder & Pick<HoldSpec, 'mac'>,
  former: Parameters<typeof toRetakeLockPatch>[1],
  now: string,
) {
  const { spec, status } = toRetakeLockPatch(next, former, now)
  return { spec: { ...spec, mac: next.mac ?? null }, status }
}

/**
 * Of holds in the name of one claim that stores no choice, those that stay: of each part the one that was made first. Two processes may
 * each have taken one; all that read them agree on which it is (I2).
 */
export function firstOfEachPart<H extends Pick<Hold, 'metadata' | 'claim'>>(holds: readonly H[]): H[] {
  const order = ({ metadata }: H) => `${metadata.creationTimestamp} ${metadata.name}`
  const first = new Map<string | undefined, H>()
  for (const hold of holds.toSorted((one, other) => (order(one) < order(other) ? -1 : 1))) {
    if (!first.has(hold.claim.part)) first.set(hold.claim.part, hold)
  }
  return [...first.values()]
}
