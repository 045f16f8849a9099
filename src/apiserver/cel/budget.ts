// The cost limits of CEL. Every step costs one, and work that grows with its operands costs by their size, so no rule
// can block the server however its loops are nested.

/** One evaluation of one expression: about a tenth of a second. */
export const callCostMax = 1_000_000
/** All rules of one object together. */
export const objectCostMax = 10_000_000
/** All match conditions of one webhook for one object. */
export const matchConditionsCostMax = 2_500_000

export class CostExceeded extends Error {
  override readonly name = 'CostExceeded'

  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

/** One shared error: a loop that swallows it may throw it half a million times, and a stack trace is expensive. */
const exceeded = new CostExceeded()

/** The budget of one evaluation. */
export class Meter {
  #left: number
  readonly #limit: number
  readonly #sizes = new WeakMap<object, number>()

  constructor(limit: number) {
    this.#left = limit
    this.#limit = limit
  }

  get spent(): number {
    return this.#limit - this.#left
  }

  get isEmpty(): boolean {
    return this.#left < 0
  }

  spend(cost: number): void {
    this.#left -= cost
    if (this.#left < 0) throw exceeded
  }

  /** Charges for reading a value through: a tenth per character, one per element. */
  spendOn(value: unknown): void {
    if (typeof value === 'string') this.spend(value.length / 10)
    else if (typeof value === 'object' && value !== null) this.spend(this.#sizeOf(value))
  }

  #sizeOf(value: object): number {
    const known = this.#sizes.get(value)
    if (known !== undefined) return known
    let size = 1
    for (const part of partsOf(value)) {
      if (typeof part === 'string') size += 1 + part.length / 10
      else size += typeof part === 'object' && part !== null ? this.#sizeOf(part) : 1
    }
    this.#sizes.set(value, size)
    return size
  }
}

function partsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return value.values()
  if (Array.isArray(value) || value instanceof Set) return value
  if (value instanceof Uint8Array) return []
  return Object.getPrototypeOf(value) === Object.prototype ? Object.values(value) : []
}
