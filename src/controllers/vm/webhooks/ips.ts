// What an IPAMClaim says that it has does not change: pods run with it, and the ledger is kept by it. That binds every user that writes,
// Mooring included: a claim that is to have other addresses is made anew.

import type { Policy } from '../../../admission/policy.ts'
import { ipamClaimKind } from '../../../api/ipam-claim.ts'

const ipsOf = (object: string): string =>
  `(has(${object}.status) && has(${object}.status.ips) ? ${object}.status.ips : [])`

export const keepIPs: Policy = {
  name: 'ipamclaim-ips',
  kind: ipamClaimKind,
  operations: ['UPDATE'],
  subresources: ['status'],
  matchConditions: [{ name: 'has-ips', expression: `size(${ipsOf('oldObject')}) > 0` }],
  allowedIf: `${ipsOf('object')} == oldObject.status.ips`,
  message:
    'status.ips of an IPAMClaim does not change once it is set: pods run with these addresses. For others delete the claim',
}
