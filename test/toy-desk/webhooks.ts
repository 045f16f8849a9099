// What the API server asks about berths. The mutating webhook fills in what the author left out, the validating one refuses
// what could never be served. Both answer from the cache, and ask the API server about a network that the cache does not
// know: it may have been made a moment ago.

import { invalid } from '../../src/admission/fault.ts'
import { allowed, type JSONPatchOperation, patched, type Ruling } from '../../src/admission/ruling.ts'
import { fieldOf, specOf } from '../../src/admission/spec.ts'
import { mutatingWebhook, type Operation, validatingWebhook, type Webhook } from '../../src/admission/webhook.ts'
import { parseMAC } from '../../src/ip/mac.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { toyGroup } from './kinds.ts'

export interface ToyFacts {
  /** Name of the network for berths that name none. */
  defaultNetwork(): string | undefined
  hasNetwork(name: string): Promise<boolean>
}

const berthKind = { group: toyGroup, version: 'v1', kind: 'Berth', plural: 'berths', isNamespaced: true }
/** The definition lets no spec change. */
const operations: readonly Operation[] = ['CREATE']

export const toyWebhooks: readonly Webhook<ToyFacts>[] = [
  { ...mutatingWebhook<ToyFacts>(berthKind, ({ next }, facts) => fillIn(next, facts)), operations },
  { ...validatingWebhook<ToyFacts>(berthKind, ({ next }, facts) => admit(next, facts)), operations },
]

async function fillIn(berth: unknown, facts: ToyFacts): Promise<Ruling> {
  const spec = specOf(berth)
  const patch: JSONPatchOperation[] = []
  const network = facts.defaultNetwork()
  if (fieldOf(spec, 'network') === undefined && network !== undefined)
    patch.push({ op: 'add', path: '/spec/network', value: network })
  const mac = fieldOf(spec, 'mac')
  const canonical = typeof mac === 'string' ? parseMAC(mac) : undefined
  if (canonical !== undefined && !isMalformed(canonical) && canonical !== mac)
    patch.push({ op: 'replace', path: '/spec/mac', value: canonical })
  return patched(patch)
}

async function admit(berth: unknown, facts: ToyFacts): Promise<Ruling> {
  const { network, mac } = specOf(berth)
  const faults = []
  if (typeof network === 'string' && !(await facts.hasNetwork(network)))
    faults.push(invalid('spec.network', network, 'there is no ToyNetwork of this name'))
  const card = typeof mac === 'string' && mac !== '' ? parseMAC(mac) : undefined
  if (isMalformed(card)) faults.push(invalid('spec.mac', mac, card.malformed))
  return faults.length > 0 ? { kind: 'invalid', faults, warnings: [] } : allowed()
}
