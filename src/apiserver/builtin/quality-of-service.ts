// The class by which a node decides which pods it ends first when it runs short.

import { toQuantity } from '../wire/quantity.ts'
import { type Fields, items, part } from './fields.ts'
import { containersOf } from './pod-defaults.ts'

const counted = ['cpu', 'memory']

/**
 * Guaranteed: every container limits cpu and memory and asks for exactly that. BestEffort: no container asks for
 * anything. Burstable: the rest.
 */
export function qualityOfService(spec: Fields | undefined): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const ephemeral = new Set(items(spec?.ephemeralContainers))
  const containers = containersOf(spec).filter(container => !ephemeral.has(container))
  const amounts = containers.map(container => ({
    requests: positiveAmounts(part(container, 'resources', 'requests')),
    limits: positiveAmounts(part(container, 'resources', 'limits')),
  }))
  if (amounts.every(({ requests, limits }) => requests.size === 0 && limits.size === 0)) return 'BestEffort'
  const isGuaranteed = amounts.every(({ requests, limits }) =>
    counted.every(name => limits.has(name) && (requests.get(name) ?? limits.get(name)) === limits.get(name)),
  )
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

function positiveAmounts(list: Fields | undefined): Map<string, bigint> {
  const amounts = new Map<string, bigint>()
  for (const name of counted) {
    const quantity = toQuantity(list?.[name])
    if (quantity !== undefined && quantity.nanos > 0n) amounts.set(name, quantity.nanos)
  }
  return amounts
}
