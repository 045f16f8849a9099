// Facts for tests: a world that holds these addresses and has these pools.

import { toPool } from '../../src/api/to-pool.ts'
import type { PoolFacts } from '../../src/controllers/office/pool-facts.ts'
import { bitsOf, parseIP } from '../../src/ip/address.ts'
import { parseCIDR } from '../../src/ip/cidr.ts'
import type { Block } from '../../src/ipam/space-index.ts'
import { orThrow } from './or-throw.ts'

/** Every pool that a request speaks of is stored. */
export const nothing: PoolFacts = {
  isStored: () => true,
  heldOf: () => [],
  claimsOf: () => [],
  isHeld: () => false,
  holderAt: () => undefined,
  toldOf: () => [],
  pools: () => [],
  whySpaceRefused: () => undefined,
}

/** Addresses, or prefixes with their length. */
export function held(...texts: readonly string[]): PoolFacts {
  const blocks = texts.map(blockOf)
  return { ...nothing, heldOf: () => blocks, isHeld: () => blocks.length > 0 }
}

export function pools(...objects: readonly unknown[]): PoolFacts {
  const all = objects.map(object => orThrow(toPool(object)))
  return { ...nothing, pools: () => all }
}

function blockOf(text: string): Block {
  if (text.includes('/')) return orThrow(parseCIDR(text))
  const ip = orThrow(parseIP(text))
  return { ip, bits: bitsOf(ip.family) }
}
