// What becomes of one address that another provider gave out, in one form for every way of printing it.

export type Outcome =
  /** Mooring takes it over as it is, or has done so. */
  | 'adopted'
  /** Nothing happens to it until an administrator lets it go on: its claim, pool or Cluster is paused or absent. */
  | 'waits'
  /** Its claim is on its way out, or no pod has it any more: Mooring releases it, or never holds it. */
  | 'leaves'
  /** No claim has it: Mooring leaves it alone, and gives its address to no claim. */
  | 'left alone'
  /** The translated pool keeps it for a claim of the same name; of whereabouts: its claim is made, and holds it. */
  | 'kept'
  /** As above, and the claim has to be made anew to have it from Mooring. */
  | 'recreate'
  /** The administrator has to look at it; `message` says why. */
  | 'refused'

export interface Verdict {
  readonly outcome: Outcome
  /** As it is written there; empty where nothing shows one. */
  readonly address: string
  readonly pool: string
  /** `namespace/name`; empty where there is none. */
  readonly claim: string
  /** The object that shows the address: `IPAddress default/web-0`; empty where there is none. */
  readonly shownBy: string
  /** One word for programs. */
  readonly reason: string
  /** A sentence for people. */
  readonly message: string
}

export const isRefused = ({ outcome }: Verdict): boolean => outcome === 'refused'

/** How many there are of each, in the order of the list above; outcomes without any are left out. */
export function countOutcomes(verdicts: readonly Verdict[]): Partial<Record<Outcome, number>> {
  const order: readonly Outcome[] = ['adopted', 'kept', 'recreate', 'waits', 'leaves', 'left alone', 'refused']
  const counts: Partial<Record<Outcome, number>> = {}
  for (const outcome of order) {
    const count = verdicts.filter(verdict => verdict.outcome === outcome).length
    if (count > 0) counts[outcome] = count
  }
  return counts
}
