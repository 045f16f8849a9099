// Lists of addresses as people type them, checked entry by entry. The error messages begin with the words that users of these
// kinds already know, because they search for them; what to write instead follows.

import { type Fault, invalid } from '../../../admission/fault.ts'
import type { Family } from '../../../ip/address.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { parseEntry, type Range } from '../../../ip/range.ts'

export interface Entry {
  /** Where it stands in the list. */
  readonly at: number
  readonly text: string
  readonly range: Range
}

export interface Entries {
  /** Those that could be read, in the order in which they stand. */
  readonly entries: readonly Entry[]
  readonly families: ReadonlySet<Family>
  readonly faults: readonly Fault[]
}

const notAnEntry = 'provided address is not a valid IP, range, nor CIDR'
export const mixedFamilies = 'provided addresses are of mixed IP families'

export function readEntries(texts: readonly string[], field: string, problem = notAnEntry): Entries {
  const entries: Entry[] = []
  const faults: Fault[] = []
  for (const [at, text] of texts.entries()) {
    const range = parseEntry(text)
    if (isMalformed(range)) faults.push(invalid(`${field}[${at}]`, text, `${problem}: ${range.malformed}`))
    else entries.push({ at, text, range })
  }
  return { entries, families: new Set(entries.map(({ range }) => range.family)), faults }
}

export const isMixed = ({ families }: Entries): boolean => families.size > 1

/** The family that all of them have; undefined if there is none, or more than one. */
export function familyOf({ families }: Entries): Family | undefined {
  const [family] = families
  return families.size === 1 ? family : undefined
}
