import { isMalformed, type Malformed } from '../../src/ip/malformed.ts'

/** For texts of a test's own: there a malformed text is a bug. */
export function orThrow<T>(result: T | Malformed): T {
  if (isMalformed(result)) throw new TypeError(result.malformed)
  return result
}
