// What the claims of a virtual machine are to ask for, and what its user has to know about that. Pure.
//
//   the claim                                   then
//   has no addresses                            it asks for what the interface asks for
//   has addresses                               they stay: a request for others is not applied, and the user is told
//   has addresses, and another MAC is wanted    it asks for that
//   came with a request of its own              that counts; where the interface asks for something else, the user is told

import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import { type AddressRequest, noRequest, type RequestedIP, toRequestedText } from '../../../api/requests.ts'
import { isSameIP, toIPText } from '../../../ip/address.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { Wanted } from './belonging.ts'

/** What a claim is to ask for from now on. */
export interface NewRequest {
  readonly claim: IPAMClaim
  readonly request: AddressRequest
}

export interface RequestNotice {
  readonly reason: 'InvalidRequest' | 'RequestIgnored' | 'RequestNotApplied'
  readonly message: string
}

interface Requests {
  readonly requests: readonly NewRequest[]
  readonly notices: readonly RequestNotice[]
}

export function requestsFor(served: readonly (readonly [Wanted, IPAMClaim])[]): Requests {
  const requests: NewRequest[] = []
  const notices: RequestNotice[] = []
  for (const [wanted, claim] of served) {
    const { request = noRequest } = wanted
    if (claim.isDeleting) continue
    if (isMalformed(request)) notices.push(invalid(wanted, request.malformed))
    else {
      const next = nextRequest(claim, request)
      if (next !== undefined) requests.push({ claim, request: next })
      notices.push(...notApplied(wanted, claim, request))
    }
  }
  return { requests, notices }
}

/** Undefined where the claim asks for that already. */
function nextRequest(claim: IPAMClaim, wanted: AddressRequest): AddressRequest | undefined {
  const { ownRequest } = claim
  const isReadable = !isMalformed(claim.request)
  const now = isMalformed(claim.request) ? noRequest : claim.request
  const mac = ownRequest.mac ? now.mac : wanted.mac
  const ips = ownRequest.ips || claim.ips.length > 0 ? now.ips : wanted.ips
  const isSame = mac === now.mac && textOf(ips) === textOf(now.ips)
  // What cannot be read and came with the claim is for its author to correct.
  return isSame && (isReadable || ownRequest.mac || ownRequest.ips) ? undefined : { mac, ips }
}

const textOf = (ips: readonly RequestedIP[]): string => ips.map(toRequestedText).join(', ')

function notApplied({ name }: Wanted, claim: IPAMClaim, wanted: AddressRequest): RequestNotice[] {
  const { request, ownRequest, ips, metadata } = claim
  const now = isMalformed(request) ? noRequest : request
  const said: string[] = []
  const asks = `the interface ${name} asks for`
  const how = 'remove the interface and add it again, or take the request back'
  if (ips.length > 0 && !wanted.ips.every(one => isAmong(one, ips)))
    said.push(`${asks} ${textOf(wanted.ips)}, and its IPAMClaim ${metadata.name} has ${ips.join(', ')}: ${how}`)
  else if (ownRequest.ips && !wanted.ips.every(({ ip }) => now.ips.some(other => isSameIP(ip, other.ip))))
    said.push(`${asks} ${textOf(wanted.ips)}, and its IPAMClaim ${metadata.name} for ${textOf(now.ips)}: ${how}`)
  if (ownRequest.mac && wanted.mac !== undefined && wanted.mac !== now.mac)
    said.push(`${asks} ${wanted.mac}, and its IPAMClaim ${metadata.name} for ${now.mac ?? 'another MAC'}: ${how}`)
  return said.map(message => ({ reason: 'RequestNotApplied', message }))
}

const isAmong = ({ ip }: RequestedIP, texts: readonly string[]): boolean =>
  texts.some(text => {
    const cidr = parseCIDR(text)
    return !isMalformed(cidr) && isSameIP(cidr.ip, ip)
  })

/** Of interfaces that have no claim: what is wrong with their requests, and those for addresses that nothing can give. */
export function unmetRequests(unserved: readonly Wanted[]): readonly RequestNotice[] {
  return unserved.flatMap((wanted): RequestNotice[] => {
    const { name, request, network, isAbsent, isInView, attachment, refusal } = wanted
    if (request === undefined || isAbsent) return []
    if (network?.isPersistent === true) return isMalformed(request) ? [invalid(wanted, request.malformed)] : []
    const isDecided = isInView || attachment === undefined
    if (isMalformed(request) || request.ips.length === 0 || !isDecided || refusal !== '') return []
    const ips = request.ips.map(({ ip }) => toIPText(ip)).join(', ')
    const on = attachment === undefined ? 'the pod network' : attachment
    const message = `the interface ${name} asks for ${ips}, and ${on} has no persistent addresses: nothing is given`
    return [{ reason: 'RequestIgnored', message }]
  })
}

export const lostRequest = (message: string): RequestNotice => ({ reason: 'RequestIgnored', message })

const invalid = ({ name }: Wanted, why: string): RequestNotice => ({
  reason: 'InvalidRequest',
  message: `what the interface ${name} asks for cannot be read, and nothing is given before it can: ${why}`,
})
