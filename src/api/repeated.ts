// One copy of what comes again and again. A parser makes a new text for every namespace, kind and time that it reads: twenty
// thousand objects of one namespace bring its name twenty thousand times.

/** So many are remembered; then it begins anew, and what is in use already stays shared. */
const rememberedMax = 4_096

/** What came last is found by its length, without a look at every letter of a text that is new. A power of two. */
const nearMax = 32

export class Repeated<T> {
  #known = new Map<string, T>()
  readonly #near: ({ readonly key: string; readonly value: T } | undefined)[] = Array(nearMax).fill(undefined)

  /** The first that came under this key of late. All under one key must be equal, and must not be changed. */
  of(key: string, value: T): T {
    const at = key.length & (nearMax - 1)
    const near = this.#near[at]
    if (near !== undefined && near.key === key) return near.value
    const known = this.#known.get(key)
    if (known === undefined) this.#remember(key, value)
    const kept = known ?? value
    this.#near[at] = { key, value: kept }
    return kept
  }

  #remember(key: string, value: T): void {
    if (this.#known.size >= rememberedMax) this.#known = new Map()
    this.#known.set(key, value)
  }
}

const texts = new Repeated<string>()
const lists = new Repeated<readonly string[]>()

export const shared = (text: string): string => texts.of(text, text)

export const sharedList = (list: readonly string[]): readonly string[] => {
  if (list.length === 0) return none
  const [first = ''] = list
  // No text of such a list (finalizers) has a blank.
  return lists.of(list.length === 1 ? first : list.join(' '), list)
}

const none: readonly never[] = []
