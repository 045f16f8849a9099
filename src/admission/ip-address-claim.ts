// IPAddressClaim under review, by the rules of Cluster API: it names the group of its pool and never changes what it asks
// for. Beyond those: the choice of a claim that is bound is not changed by hand, because its hold would follow while the
// IPAddress and the machine stay where they are. What is merely taken off is put back, and what its annotations wish for in
// vain is warned about, because a claim with a wish that cannot be read waits.

import {
  choiceAnnotation,
  deleteForMoveAnnotation,
  metal3RequestedAddressAnnotation,
  requestedAddressAnnotation,
} from '../api/names.ts'
import { globalPrefixPoolKind, prefixPoolKind } from '../api/prefix-pool.ts'
import { isRecord } from '../api/shape.ts'
import { isSameIP, parseIP } from '../ip/address.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseWish } from '../ipam/wish.ts'
import { type Fault, forbidden } from './fault.ts'
import { changeFaults } from './immutable.ts'
import { type ClaimFacts, groupFaults } from './ip-address.ts'
import { allowed, type Ruling } from './ruling.ts'
import { type Fields, fieldOf, specOf } from './spec.ts'

/** `old` is undefined on create, `next` on delete. */
export function admitIPAddressClaim(old: unknown, next: unknown, facts: ClaimFacts): Ruling {
  if (next === undefined) return allowed()
  const faults =
    old === undefined
      ? groupFaults(specOf(next))
      : [...changeFaults('IPAddressClaim', old, next), ...choiceFaults(old, next, facts)]
  if (faults.length > 0) return { kind: 'forbidden', faults, warnings: [] }
  return allowed([...wishWarnings(next), ...choiceWarnings(old, next)])
}

function wishWarnings(object: unknown): string[] {
  const kind = fieldOf(recordAt(specOf(object), 'poolRef'), 'kind')
  const isOfPrefixes = kind === prefixPoolKind.kind || kind === globalPrefixPoolKind.kind
  return [requestedAddressAnnotation, metal3RequestedAddressAnnotation].flatMap(key => {
    const text = annotationOf(object, key)
    const wish = text === undefined ? undefined : parseWish(text, isOfPrefixes)
    return isMalformed(wish) ? [`metadata.annotations[${key}]: ${wish.malformed}`] : []
  })
}

const choiceField = `metadata.annotations[${choiceAnnotation}]`

/** A claim on its way out, or to another cluster, may say what it likes. To undo what went wrong is always allowed. */
function choiceFaults(old: unknown, next: unknown, facts: ClaimFacts): Fault[] {
  const [before, after] = [annotationOf(old, choiceAnnotation), annotationOf(next, choiceAnnotation)]
  if (before === undefined || after === undefined || isSameAddress(before, after)) return []
  const metadata = recordAt(old, 'metadata')
  const isLeaving = fieldOf(metadata, 'deletionTimestamp') !== undefined
  if (isLeaving || hasAnnotation(next, deleteForMoveAnnotation)) return []
  const report = textIn(recordAt(recordAt(old, 'status'), 'addressRef'), 'name')
  if (report === '') return []
  const shown = facts.addressOfReport(textIn(metadata, 'namespace'), report)
  if (shown !== undefined && isSameAddress(shown, after)) return []
  const advice = `leave it, or make another claim with the annotation ${requestedAddressAnnotation}`
  return [forbidden(choiceField, `this claim is bound to ${before} and does not move to ${after}: ${advice}`)]
}

/** Taken off, or changed where nothing is reported yet: who does so is told. */
function choiceWarnings(old: unknown, next: unknown): string[] {
  const [before, after] = [annotationOf(old, choiceAnnotation), annotationOf(next, choiceAnnotation)]
  if (before === undefined || before === after) return []
  if (after === undefined) return [`${choiceField}: this claim holds ${before}; the annotation is put back`]
  return [`${choiceField}: this claim holds ${before}; an edit does not change that`]
}

function isSameAddress(a: string, b: string): boolean {
  if (a === b) return true
  const [left, right] = [parseIP(a), parseIP(b)]
  return !isMalformed(left) && !isMalformed(right) && isSameIP(left, right)
}

function recordAt(object: unknown, key: string): Fields {
  const value = isRecord(object) ? fieldOf(object, key) : undefined
  return isRecord(value) ? value : {}
}

function textIn(fields: Fields, key: string): string {
  const value = fieldOf(fields, key)
  return typeof value === 'string' ? value : ''
}

const annotationsOf = (object: unknown): Fields => recordAt(recordAt(object, 'metadata'), 'annotations')
const annotationOf = (object: unknown, key: string): string | undefined =>
  textIn(annotationsOf(object), key) || undefined
const hasAnnotation = (object: unknown, key: string): boolean => fieldOf(annotationsOf(object), key) !== undefined
