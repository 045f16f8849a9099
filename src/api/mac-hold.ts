// MACHold: the lock on one MAC address of one space, as Hold is on an IP address. Two cards of one MAC address on one wire
// disturb each other as two hosts of one IP address do.

import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { toMACObjectName } from '../ip/object-name.ts'
import { type Holder, type Lock, lockKindOf, lockOf, toLockObject } from './lock.ts'
import { isParsed, metadataOf, type Parsed } from './object.ts'
import { shared } from './repeated.ts'
import { childOf, malformedBy, requiredText, shapeOf, textOf } from './shape.ts'
import { isSpace, scopeOfSpace } from './space.ts'

const macHoldKind = lockKindOf('MACHold', 'macholds')

export interface MACHoldSpec extends Holder {
  readonly space: string
  readonly mac: MACText
}

export interface MACHold extends MACHoldSpec, Lock {}

/** The lock itself: one name per (space, MAC address). */
export const macHoldName = (space: string, mac: MACText): string => `${toMACObjectName(mac)}.${scopeOfSpace(space)}`

export function parseMACHold(object: unknown, readMetadata = metadataOf): Parsed<MACHold> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const lock = lockOf(root, readMetadata)
  const text = requiredText(childOf(root, 'spec'), 'mac')
  if (faults.length > 0) return malformedBy(faults)
  const mac = parseMAC(text)
  if (isMalformed(mac)) return { malformed: `spec.mac ${mac.malformed}` }
  if (mac !== text) return { malformed: `spec.mac ${quoteText(text)} is not canonical: write ${mac}` }
  const { space, metadata } = lock
  if (!isSpace(space)) return { malformed: `spec.space ${quoteText(space)} is no space` }
  if (metadata.name !== macHoldName(space, mac)) {
    return { malformed: `metadata.name is ${quoteText(metadata.name)}; this lock is called ${macHoldName(space, mac)}` }
  }
  const { pool, claim, owner, state, since, until, heldSince } = lock
  return {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    space,
    mac,
    pool,
    claim,
    owner,
    state,
    since,
    until,
    heldSince,
  }
}

/** The object to create. `now` is RFC 3339. Released and taken back it is by the patches of `lock.ts`. */
export function toMACHoldObject({ space, mac, ...holder }: MACHoldSpec, now: string) {
  return toLockObject(macHoldKind, macHoldName(space, mac), { space, mac }, holder, now)
}
