// What is wrong with a source, gathered while it is read: a person mends a file once, not once for each mistake in it. Of very many
// the first are told.

import type { IPText } from '../ip/address.ts'
import type { MACText } from '../ip/mac.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { showHidden } from '../json.ts'
import { faultsNamedMax } from '../limits.ts'
import { readIP, readMAC, type SourceFault, type SourceFile } from './machine.ts'

/** A place in the file. One that costs something to name is named only where it is needed. */
export type Place = string | (() => string)

/** Places are made of names in the file, which may be as long as the file. */
const whereCharsMax = 300

export class Faults {
  readonly #from: string
  readonly #faults: SourceFault[] = []

  constructor(from: string) {
    this.#from = from
  }

  get list(): readonly SourceFault[] {
    return this.#faults
  }

  /** `where` is inside of the file; without it, the fault is of the whole. */
  add(where: string, problem: string): void {
    if (this.#faults.length >= faultsNamedMax) return
    const place = where === '' ? this.#from : `${this.#from}, ${where}`
    const shown = place.length > whereCharsMax ? `${place.slice(0, whereCharsMax)}...` : place
    this.#faults.push({ where: showHidden(shown), problem: showHidden(problem) })
  }

  /** Undefined where there is none, and where it is not one, which is noted. */
  mac(text: string | undefined, where: Place): MACText | undefined {
    return this.unless(readMAC(text), where)
  }

  /** Undefined where it is of no use elsewhere, and where it is not one, which is noted. */
  ip(text: string, where: Place): IPText | undefined {
    return this.unless(readIP(text), where)
  }

  /** What a parser answered; undefined where that is a refusal, which is noted. */
  unless<T>(result: T | Malformed, where: Place): T | undefined {
    if (!isMalformed(result)) return result
    this.add(typeof where === 'string' ? where : where(), result.malformed)
    return undefined
  }
}

export const faultsOf = ({ name }: SourceFile): Faults => new Faults(name)
