// What admission answers: yes or no, with warnings either way. Clients tell the codes for a no apart, so they are kept:
// 422 for a spec that is wrong in itself, 400 for a change that does not fit what is held, 403 for kinds of Cluster API, which
// answers their faults so, 409 for a change that would be right later, 405 for a deletion that never is.

import { quoteText } from '../ip/malformed.ts'
import { showHidden } from '../json.ts'
import { describeFaults, type Fault, faultsNamedMax } from './fault.ts'

/** RFC 6902. */
export type JSONPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string }

const refusalCodes = { BadRequest: 400, MethodNotAllowed: 405, Conflict: 409 } as const
type RefusalReason = keyof typeof refusalCodes

export type Ruling =
  | {
      readonly kind: 'allowed'
      readonly warnings: readonly string[]
      /** What a mutating webhook changes. */
      readonly patch?: readonly JSONPatchOperation[]
    }
  /** The object is wrong in itself. */
  | { readonly kind: 'invalid'; readonly faults: readonly Fault[]; readonly warnings: readonly string[] }
  /** The same, where the owner of the kind answers faults with 403. */
  | { readonly kind: 'forbidden'; readonly faults: readonly Fault[]; readonly warnings: readonly string[] }
  /** The user may not. */
  | { readonly kind: 'denied'; readonly message: string; readonly warnings: readonly string[] }
  /** The object is right, the change is not. */
  | {
      readonly kind: 'refused'
      readonly message: string
      readonly warnings: readonly string[]
      /** BadRequest, unless said. */
      readonly reason?: RefusalReason
    }

export const allowed = (warnings: readonly string[] = []): Ruling => ({ kind: 'allowed', warnings })

export const patched = (patch: readonly JSONPatchOperation[], warnings: readonly string[] = []): Ruling => ({
  kind: 'allowed',
  warnings,
  patch,
})

export const refused = (message: string, warnings: readonly string[] = []): Ruling => ({
  kind: 'refused',
  message,
  warnings,
})

/** The change is right, and it is not the time for it. */
export const notNow = (message: string): Ruling => ({ kind: 'refused', message, warnings: [], reason: 'Conflict' })

/** Refused for every user, always. */
export const notAllowed = (message: string): Ruling => ({
  kind: 'refused',
  message,
  warnings: [],
  reason: 'MethodNotAllowed',
})

export const denied = (message: string): Ruling => ({ kind: 'denied', message, warnings: [] })

export interface Subject {
  readonly group: string
  readonly kind: string
  readonly name: string
}

/** metav1.Status as it stands in an AdmissionReview; undefined for a yes. */
export function toStatus(ruling: Ruling, { group, kind, name }: Subject): object | undefined {
  switch (ruling.kind) {
    case 'allowed':
      return undefined
    case 'refused': {
      const { reason = 'BadRequest' } = ruling
      return failure(refusalCodes[reason], reason, ruling.message)
    }
    case 'denied':
      return failure(403, 'Forbidden', ruling.message)
    case 'forbidden':
      return failure(403, 'Forbidden', describeFaults(ruling.faults))
    case 'invalid':
      return {
        ...failure(422, 'Invalid', `${kind}.${group} ${quoteText(name)} is invalid: ${describeFaults(ruling.faults)}`),
        details: { name, group, kind, causes: ruling.faults.slice(0, faultsNamedMax).map(toCause) },
      }
  }
}

export const failure = (code: number, reason: string, message: string) => ({
  status: 'Failure',
  message: showHidden(message),
  reason,
  code,
})

const toCause = ({ type, field, message }: Fault) => ({ reason: type, message, field })
