// What is kept for a claim: by its name, as in every pool, and by its MAC, where the network has an IPPool. Which virtual machine
// a claim is for goes by its owner, not by a label.

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { Owner } from '../../../api/lock.ts'
import type { Pool } from '../../../api/pool.ts'
import type { IP } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { keysOfKept } from '../../../ipam/choose.ts'
import { keysOfMAC, type MACApplicant } from '../../../networks/reserved.ts'

type Claim = Pick<IPAMClaim, 'metadata' | 'request'>

/** Undefined where it asks for no MAC. */
export function macApplicant({ metadata, request }: Claim, owner: Owner | undefined): MACApplicant | undefined {
  const mac = isMalformed(request) ? undefined : request.mac
  return mac && { mac, namespace: metadata.namespace, virtualMachine: owner?.name }
}

/** The keys of its reservations. A claim that has no right to its MAC is refused before it is asked what is kept for that. */
export function keptFor(pool: Pool, claim: Claim, owner: Owner | undefined, wanted: IP | undefined): string[] {
  const applicant = macApplicant(claim, owner)
  return [...(applicant === undefined ? [] : keysOfMAC(pool, applicant, wanted)), ...keysOfKept(pool, claim.metadata)]
}

export function keptIP({ reservations }: Pool, keys: readonly string[]): IP | undefined {
  const key = keys.find(one => reservations.has(one))
  return key === undefined ? undefined : reservations.get(key)
}
