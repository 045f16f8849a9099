// The webhook of IPPools. What cannot be read is refused, all of it at once; so is a second pool of a network. What is listed twice
// is let in with a warning, and told in the conditions: the tool that reads the map elsewhere may find it so.

import { type Fault, invalid } from '../../../admission/fault.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { isSameSpec, specOf, textAt } from '../../../admission/spec.ts'
import type { WebhookRequest } from '../../../admission/webhook.ts'
import { readEntries } from '../../../api/ip-pool.ts'
import { duplicatesOf } from '../../../networks/reserved.ts'
import type { ImportFacts } from '../facts.ts'

type Request = Pick<WebhookRequest, 'old' | 'next' | 'name' | 'isCallerProven'>

export function admitIPPool({ old, next, name, isCallerProven }: Request, facts: ImportFacts): Ruling {
  if (next === undefined || (old !== undefined && isSameSpec(old, next))) return allowed()
  const spec = specOf(next)
  const faults: Fault[] = []
  const network = textAt(spec, 'network-name', faults)
  if (network === '' && faults.length === 0) {
    faults.push(invalid('spec.network-name', network, 'write the name of the network, as its config has it'))
  }
  const other = network === textAt(specOf(old), 'network-name', []) ? undefined : facts.otherIPPool(network, name)
  if (other !== undefined) {
    const which = isCallerProven ? `IPPool ${other}` : 'another IPPool'
    faults.push(invalid('spec.network-name', network, `${which} is for this network already: add the entries there`))
  }
  const { entries, problems } = readEntries(spec)
  faults.push(...problems.map(({ field, value, problem }) => invalid(field, value, problem)))
  if (faults.length > 0) return { kind: 'invalid', faults, warnings: [] }
  const { macs, ips } = duplicatesOf(entries)
  return allowed([
    ...[...macs].slice(0, warningsMax).map(([mac, count]) => twice(`MAC address ${mac}`, count)),
    ...[...ips].slice(0, warningsMax).map(([ip, count]) => twice(`IP address ${ip}`, count)),
  ])
}

const warningsMax = 10

const twice = (what: string, count: number): string =>
  `spec.entries: ${what} appears ${count} times: neither is given out until it is listed once`
