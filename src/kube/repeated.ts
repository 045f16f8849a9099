// One copy of what comes again and again. A parser makes a new text for every namespace, kind and time that it reads: twenty
// thousand objects of one namespace bring its name twenty thousand times.

/** So many are remembered; then it begins anew, and what is in use already stays shared. */
const rememberedMax = 4_096

export class Repeated<T> {
  #known = new Map<string, T>()

  /** The first that came under this key of late. All under one key must be equal, and must not be changed. */
  of(key: string, value: T): T {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= rememberedMax) this.#known = new Map()
    this.#known.set(key, value)
    return value
  }
}
