// Which nodes need an address: all that run virt-handler, ready or not, because those that are down come back. A witness of Harvester
// runs no virtual machines. One question for coverage and for counting.

import { witnessLabel } from '../api/harvester.ts'
import { ownText } from '../api/shape.ts'
import type { Wanted } from './wanted.ts'

export interface NodeFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

export const isWitness = ({ labels }: NodeFacts): boolean => ownText(labels, witnessLabel) === 'true'

/** In the order of their names. */
export function nodesToServe<N extends NodeFacts>(
  nodes: readonly N[],
  { nodeSelector }: Pick<Wanted, 'nodeSelector'>,
): N[] {
  const selected = nodes.filter(node =>
    Object.entries(nodeSelector).every(([key, value]) => ownText(node.labels, key) === value),
  )
  return selected.filter(node => !isWitness(node)).sort((a, b) => (a.name < b.name ? -1 : 1))
}
