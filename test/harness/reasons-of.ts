import { describeFault } from '../../src/admission/fault.ts'
import type { Ruling } from '../../src/admission/ruling.ts'

/** Every reason for the no, one line each. */
export function reasonsOf(ruling: Ruling): readonly string[] {
  switch (ruling.kind) {
    case 'allowed':
      return []
    case 'refused':
    case 'denied':
      return [ruling.message]
    case 'invalid':
    case 'forbidden':
      return ruling.faults.map(describeFault)
  }
}
