// An Ethernet address (EUI-48). People and tools write it in four ways; all of them become one text, lower-case with
// colons, so that two spellings of one card can never pass for two cards. A text with mixed separators or with dropped
// zeros (`0:1:2:3:4:5`) is refused, for it is more often a mistake than a style.

import { type Malformed, malformed } from './malformed.ts'

declare const canonical: unique symbol

/** Canonical: `02:00:5e:10:00:01`. */
export type MACText = string & { readonly [canonical]: 'MACText' }

/** @example parseMAC('0200.5E10.0001') // '02:00:5e:10:00:01' */
export function parseMAC(text: string): MACText | Malformed {
  const digits = hexDigitsOf(text)
  if (digits === undefined) {
    return malformed(text, 'is not a MAC address: write six pairs of hexadecimal digits, such as 02:00:5e:10:00:01')
  }
  const lower = digits.toLowerCase()
  return [0, 2, 4, 6, 8, 10].map(start => lower.slice(start, start + 2)).join(':') as MACText
}

const forms = [
  /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i,
  /^[0-9a-f]{2}(-[0-9a-f]{2}){5}$/i,
  /^[0-9a-f]{4}(\.[0-9a-f]{4}){2}$/i,
  /^[0-9a-f]{12}$/i,
]

/** Six pairs with separators are the longest form. */
const textCharsMax = 17

function hexDigitsOf(text: string): string | undefined {
  if (text.length > textCharsMax || !forms.some(form => form.test(text))) return undefined
  return text.replaceAll(/[:.-]/g, '')
}
