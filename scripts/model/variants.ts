// What the model must refuse. Each variant breaks one rule of docs/model/README.md and is checked against the one promise
// that the rule keeps: a model that still holds without the rule proves nothing about it.

export interface Variant {
  readonly says: string
  /** The definition of the model that becomes false. */
  readonly rule: string
  readonly configuration: string
  readonly promise: string
}

export const variants: readonly Variant[] = [
  {
    says: 'the choice is stored without taking the hold',
    rule: 'TakesHold',
    configuration: 'racing',
    promise: 'NoTwin',
  },
  {
    says: 'a hold is overwritten instead of created',
    rule: 'CreatesHold',
    configuration: 'racing',
    promise: 'NoTwin',
  },
  {
    says: "the choice is stored without the claim's uid and version",
    rule: 'ChecksClaim',
    configuration: 'racing',
    promise: 'HonestBound',
  },
  {
    says: 'a quarantine ends without its version being checked',
    rule: 'ChecksExpired',
    configuration: 'racing',
    promise: 'NoTwin',
  },
  {
    says: 'a stranger takes a hold out of quarantine',
    rule: 'StrangersWait',
    configuration: 'racing',
    promise: 'NoEarlyReuse',
  },
  {
    says: 'a hold is taken out of quarantine although another claim shows its address',
    rule: 'LooksRegained',
    configuration: 'rested',
    promise: 'NoTwin',
  },
  {
    says: 'a hold whose claim has another name than it says is a stray',
    rule: 'LooksByUid',
    configuration: 'renamed',
    promise: 'HonestBound',
  },
  {
    says: 'the hold of a living claim without a choice is a stray',
    rule: 'LeavesUndecided',
    configuration: 'racing',
    promise: 'HonestBound',
  },
  {
    says: 'a claim that a view lacks is taken for gone',
    rule: 'ReadsGone',
    configuration: 'racing',
    promise: 'HonestBound',
  },
  {
    says: 'a held hold has no finalizer, and an administrator deletes it',
    rule: 'GuardsHold',
    configuration: 'hands',
    promise: 'NoTwin',
  },
  {
    says: 'a hold and its finalizer are removed by hand, and the worker that takes the address does not look which claims show it',
    rule: 'ChecksShown',
    configuration: 'forced',
    promise: 'NoTwin',
  },
  {
    says: 'a bound claim whose choice was stripped chooses anew',
    rule: 'RereadsWitnesses',
    configuration: 'one-claim',
    promise: 'HonestBound',
  },
  {
    says: 'a choice is stored on a hold that was found, while another worker still takes it for a stray',
    rule: 'RenewsFound',
    configuration: 'stripped',
    promise: 'ChoiceHeld',
  },
  {
    says: 'an address that another provider has bound is offered',
    rule: 'KnowsReports',
    configuration: 'arrivals',
    promise: 'HonestPast',
  },
  {
    says: 'a claim is bound to a report that shows another address',
    rule: 'LeavesOthers',
    configuration: 'one-claim-arrivals',
    promise: 'HonestBound',
  },
  {
    says: 'an address goes to rest with its claim although another bound claim shows it',
    rule: 'ParksOwn',
    configuration: 'arrivals',
    promise: 'HonestPast',
  },
  {
    says: 'a claim on its way out takes any report of its name that names no owner with it',
    rule: 'SparesUnnamed',
    configuration: 'one-claim-arrivals',
    promise: 'OthersKept',
  },
  {
    says: 'a choice without proof is believed',
    rule: 'AsksProof',
    configuration: 'unproven',
    promise: 'NothingNew',
  },
  {
    says: 'a report whose owner the garbage collector took off is left lying',
    rule: 'KnowsCollected',
    configuration: 'liveness',
    promise: 'EventuallyTidy',
  },
  {
    says: 'no worker looks for strays',
    rule: 'TidiesUp',
    configuration: 'liveness',
    promise: 'EventuallyTidy',
  },
]

/** The configuration of a variant: the rule is off, and only its promise is asked for. */
export function toBroken(configuration: string, { rule, promise }: Variant): string {
  const lines = configuration.split('\n')
  // A promise about moments is asked for differently from one about steps or about what comes about in the end.
  const isInvariant = lines.some(line => line.startsWith('INVARIANTS ') && line.split(' ').includes(promise))
  const isReplaced = (line: string) => /^(INVARIANTS|PROPERTIES)\b/.test(line) || line.trim().startsWith(`${rule} <-`)
  const kept = lines.filter(line => !isReplaced(line))
  return [...kept, `CONSTANTS ${rule} <- No`, `${isInvariant ? 'INVARIANTS' : 'PROPERTIES'} ${promise}`, ''].join('\n')
}
