// What a Machine remembers of the addresses its virtual machine was ordered with. It is an annotation, so its users may write anything
// into it; it is only ever a wish, which the pool judges, and a text to compare with.

import { claimedAddressesAnnotation } from '../../../api/names.ts'
import { ownText } from '../../../api/shape.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'

export interface ClaimedAddress {
  readonly claim: string
  /** With the length of its subnet. */
  readonly address: string
}

export const toRememberedText = (addresses: readonly ClaimedAddress[]): string =>
  addresses.map(({ claim, address }) => `${claim}=${address}`).join(', ')

/** By the name of the claim. What cannot be read is not remembered. */
export function rememberedIn(annotations: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const pairs = (ownText(annotations, claimedAddressesAnnotation) ?? '').split(', ')
  return new Map(
    pairs.flatMap((pair): [string, string][] => {
      const [claim = '', address = '', ...rest] = pair.split('=')
      return rest.length > 0 || isMalformed(parseCIDR(address)) ? [] : [[claim, address]]
    }),
  )
}
