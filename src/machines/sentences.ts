// What a preflight says of one order and one pool, in one sentence that begins with what is ordered and ends with what comes of it; and
// how a pool is called that need not exist.

import type { PoolReference } from '../api/ip-address-claim.ts'
import { quoteUnlessName } from '../ip/object-name.ts'
import { poolText } from '../ipam/refusal.ts'
import type { PoolNeed } from './preflight.ts'

export interface OrderWords {
  /** `MachineSet workers-0` */
  readonly set: string
  readonly isControlPlane: boolean
  readonly from: number
  readonly to: number
  /** New Machines. */
  readonly total: number
}

export function scaleSentence({ set, from, to, total }: OrderWords, need: PoolNeed): string {
  const what = `scaling ${set} from ${from} to ${to} needs ${addresses(need.needs)} of ${need.pool}`
  const { stallsAt } = need
  if (stallsAt === undefined) return `${what}; ${freeText(need)}: enough`
  const name = quoteUnlessName(set.slice(set.indexOf(' ') + 1))
  const where = `it stalls at machine ${stallsAt} of ${total} (${name} #${from + stallsAt})`
  return `${what}; ${freeText(need)}: ${where}${whyText(need)}${restText(need)}`
}

export function rollOutSentence({ set, isControlPlane, total }: OrderWords, need: PoolNeed): string {
  const how = isControlPlane
    ? 'each new one is there before its old one goes'
    : 'each is deleted, and made anew at once'
  const what = `rolling out ${set}, ${count(total, 'Machine')} one after the other (${how}), needs ${rangeText(need)} of ${need.pool}`
  const rests = need.restSeconds > 0 ? `, since what is released rests for ${need.restSeconds} s` : ''
  const begin = `${what}${rests}; ${freeText(need)}`
  if (need.stallsAt !== undefined)
    return `${begin}: it stalls at machine ${need.stallsAt} of ${total}${whyText(need)}${restText(need)}`
  if (need.waitsAt === undefined) return `${begin}: enough`
  const unless = `unless a replacement takes longer than that`
  return `${begin}: machine ${need.waitsAt} of ${total} waits until an address has rested, ${unless}; then it goes on by itself`
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`

const addresses = (number: number): string => (number === 1 ? '1 address' : `${number} addresses`)

const rangeText = ({ needs, needsAtLeast }: PoolNeed): string =>
  needs === needsAtLeast ? addresses(needs) : `${needsAtLeast} to ${addresses(needs)}`

function freeText({ free, rivals }: PoolNeed): string {
  if (free === undefined) return 'what is free there is not known'
  const text = free === 1 ? '1 is free' : `${free} are free`
  return rivals.length === 0
    ? text
    : `${text}, which ${rivals.join(' and ')} ${rivals.length === 1 ? 'takes' : 'take'} from too`
}

/** That nothing is free has been said. */
const whyText = ({ reason, message }: PoolNeed): string => (reason === 'PoolExhausted' ? '' : `: ${message}`)

function restText({ restsEnd, reason }: PoolNeed): string {
  const [first] = restsEnd
  const last = restsEnd.at(-1)
  if (reason !== 'PoolExhausted' || first === undefined || last === undefined) return ''
  if (restsEnd.length === 1) return `; 1 more comes free when its quarantine ends at ${first}`
  const when =
    first === last ? `when their quarantine ends at ${first}` : `as their quarantines end, from ${first} to ${last}`
  return `; ${restsEnd.length} more come free ${when}`
}

/** A pool as a Machine or a claim names it: there may be none of that kind. */
export const referenceText = ({ apiGroup, kind, name }: PoolReference): string =>
  `${poolText({ apiGroup, kind, namespace: '', name })} of ${quoteUnlessName(apiGroup)}`
