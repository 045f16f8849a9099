// What the webhooks of the import desk are decided on.

import type { Views } from '../office/views.ts'

export interface ImportFacts {
  /** Name of an IPPool of the network that is not the one of this name. */
  otherIPPool(network: string, name: string): string | undefined
}

/** Undefined until IPPools have been listed once. */
export function importFacts({ ipPools }: Pick<Views, 'ipPools'>): ImportFacts | undefined {
  if (!ipPools.hasSynced) return undefined
  return {
    otherIPPool: (network, name) =>
      ipPools
        .byIndex('network', network)
        .map(({ metadata }) => metadata.name ?? '')
        .find(one => one !== name),
  }
}
