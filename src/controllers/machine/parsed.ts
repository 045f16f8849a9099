// Objects of the caches in the shapes that decisions are made on. Machines are kept whole: what they say beside what is read here is
// written back as it was.

import { type IPAddress, parseIPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import { type Machine, parseMachine } from '../../api/machine.ts'
import type { Malformed } from '../../ip/malformed.ts'
import { once, reader } from '../office/kept.ts'

export const { of: claimOf, keep: keepClaim } = reader<IPAddressClaim>(parseIPAddressClaim)
export const { of: reportOf, keep: keepReport } = reader<IPAddress>(parseIPAddress)
export const machineOf: (object: object) => Machine | Malformed = once(object => parseMachine(object))
