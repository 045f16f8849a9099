// IPAddressClaim under review, by the rules of Cluster API: it names the group of its pool and never changes what it asks
// for. What its annotations wish for in vain is warned about, because a claim with a wish that cannot be read waits.

import { choiceAnnotation, metal3RequestedAddressAnnotation, requestedAddressAnnotation } from '../api/names.ts'
import { isRecord } from '../api/shape.ts'
import { parseIP } from '../ip/address.ts'
import { isMalformed } from '../ip/malformed.ts'
import { changeFaults } from './immutable.ts'
import { groupFaults } from './ip-address.ts'
import { allowed, type Ruling } from './ruling.ts'
import { fieldOf, specOf } from './spec.ts'

/** `old` is undefined on create, `next` on delete. */
export function admitIPAddressClaim(old: unknown, next: unknown): Ruling {
  if (next === undefined) return allowed()
  const faults = old === undefined ? groupFaults(specOf(next)) : changeFaults('IPAddressClaim', old, next)
  if (faults.length > 0) return { kind: 'forbidden', faults, warnings: [] }
  return allowed([...wishWarnings(next), ...choiceWarnings(old, next)])
}

function wishWarnings(object: unknown): string[] {
  return [requestedAddressAnnotation, metal3RequestedAddressAnnotation].flatMap(key => {
    const text = annotationOf(object, key)
    const ip = text === undefined ? undefined : parseIP(text)
    return isMalformed(ip) ? [`metadata.annotations[${key}]: ${ip.malformed}`] : []
  })
}

/** A choice never changes. Who edits it is told; it is put back, or the claim says what is wrong. */
function choiceWarnings(old: unknown, next: unknown): string[] {
  const before = annotationOf(old, choiceAnnotation)
  if (before === undefined || before === annotationOf(next, choiceAnnotation)) return []
  return [`metadata.annotations[${choiceAnnotation}]: this claim holds ${before}; an edit does not change that`]
}

function annotationOf(object: unknown, key: string): string | undefined {
  const metadata = isRecord(object) ? fieldOf(object, 'metadata') : undefined
  const annotations = isRecord(metadata) ? fieldOf(metadata, 'annotations') : undefined
  const value = isRecord(annotations) ? fieldOf(annotations, key) : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
