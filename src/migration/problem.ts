// What is wrong with the value of a migration network: where, in the words that Harvester's users know, and what to do instead.

import { showHidden } from '../json.ts'

/** Keys and positions from the value inwards: `['exclude', 2]`. Empty for the whole. */
export type Place = readonly (string | number)[]

export interface Problem {
  readonly place: Place
  /** What stands there; undefined where it is not about a value. */
  readonly value?: unknown
  /** What is wrong. */
  readonly message: string
  /** What to do, as an order. */
  readonly fix: string
}

export const problem = (place: Place, value: unknown, message: string, fix: string): Problem => ({
  place,
  value,
  message,
  fix,
})

/** RFC 6901: `/exclude/2`. Empty for the whole. */
export const pointerTo = (place: Place): string =>
  place.map(step => `/${`${step}`.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** `spec.exclude[2]`. */
export const fieldAt = (root: string, place: Place): string =>
  place.reduce<string>((path, step) => (typeof step === 'number' ? `${path}[${step}]` : `${path}.${step}`), root)

/** `/exclude/2: exclude range ...: remove it`. It repeats what the author wrote, and is read in a terminal by another user. */
export function describeProblem({ place, message, fix }: Problem): string {
  const pointer = pointerTo(place)
  return showHidden(`${pointer === '' ? '' : `${pointer}: `}${message}: ${fix}`)
}
