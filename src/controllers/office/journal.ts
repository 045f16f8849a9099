// What was decided, each decision once: a line in the log, so that a person can follow a claim from its creation to its end,
// and a count. Both name the desk and the kind of claim. The sentence is constant and the fields have the same names
// everywhere. A pass that finds everything as it should be decides nothing and logs nothing.
//
// Besides, every write to a hold is a line, with the field `ledger` and the revision of the hold: read in their order, these lines
// are the ledger (docs/reference/audit.md).

import { holdName } from '../../api/hold.ts'
import type { Identity } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { type IP, toIPText } from '../../ip/address.ts'
import type { MACText } from '../../ip/mac.ts'
import { poolText, type RefusalReason } from '../../ipam/refusal.ts'
import type { Log } from '../../telemetry/log.ts'
import type { DeskMetrics } from './metrics.ts'

/** What a write to a hold made of it. */
const ledgerSentences = {
  taken: 'an address is taken',
  found: 'an address that was held before is found again',
  regained: 'an address is taken back out of quarantine',
  rests: 'an address rests',
  freed: 'an address is free',
  'given back': 'an address that was just taken is given back',
} as const

export type LedgerWrite = keyof typeof ledgerSentences

const sentences = {
  ...ledgerSentences,
  bound: 'a claim is bound',
  adopted: 'an IPAddress that was there is adopted',
  restored: 'an IPAddress that was lost is restored',
  waiting: 'a claim waits',
  refused: 'a claim is refused',
  'left alone': 'a claim is left alone',
  'lost race': 'another process was quicker to take an address',
  released: 'a claim gives its address back',
  parked: 'an address without a hold is parked',
  'stray hold': 'a hold that no claim stands by is released',
  'stray report': 'an IPAddress that no claim stands by is removed',
  'report let go': 'an IPAddress that clusterctl deleted, and left with our finalizer, is let go',
  rested: 'an address has rested and is free',
  exhausted: 'a pool is exhausted',
  recovered: 'a pool has addresses again',
  'mark off': 'a pool that nothing deletes loses the mark of a move',
  made: 'an object is made',
  changed: 'an object is changed',
  removed: 'an object is removed',
  told: 'an object says how it stands',
  ordered: 'a vCenter is told what to do',
} as const

export type Decision = keyof typeof sentences

export interface Entry extends Fields {
  readonly what: Exclude<Decision, Saying>
  /** Why a claim gets no address. */
  readonly reason?: RefusalReason
}

/** These have their reason from the desk: it is that of a condition, or of an event. */
type Saying = 'told' | 'left alone'

export interface Said extends Fields {
  readonly what: Saying
  readonly reason: string
}

interface Fields {
  readonly claim?: {
    readonly namespace: string
    readonly name: string
    readonly uid: string
    readonly kind?: string
    readonly part?: string | undefined
  }
  /** What is made, changed, removed or told, where that is no hold and no pool; with `order`, what the vCenter does for it. */
  readonly about?: Pick<Identity, 'kind' | 'namespace' | 'name'>
  readonly order?: string
  readonly pool?: Identity | undefined
  readonly strategy?: Pool['strategy']
  readonly space?: string
  readonly ip?: IP
  readonly mac?: MACText
  /** The hold that was written, and the revision of that write, where it is known. */
  readonly hold?: { readonly name: string; readonly revision?: string | undefined }
  /** When a quarantine ends. */
  readonly until?: string
  /** How a bound claim came to its address. */
  readonly by?: string
  readonly message?: string
}

/** Notes one decision. */
export type Note = (entry: Entry | Said) => void

/** The desk that decided, and the kind of claim it was about. */
export interface Decider {
  readonly desk: string
  /** Empty for what concerns no claim. */
  readonly claimKind: string
}

export const theOffice: Decider = { desk: 'office', claimKind: '' }

/** In the log of the pass, which is made when there is something to note. */
export function noteIn(pass: { readonly log: Log }, metrics: DeskMetrics | undefined, decider = theOffice): Note {
  return entry => {
    const { desk } = decider
    // The office decides about holds of claims of every kind.
    const claimKind = decider.claimKind || (entry.claim?.kind ?? '')
    metrics?.decided(entry, { desk, claimKind })
    pass.log.info(sentences[entry.what], { desk, ...(claimKind !== '' && { claimKind }), ...fieldsOf(entry) })
  }
}

function fieldsOf({ what, claim, about, order, pool, space, ip, mac, hold, until, by, reason, message }: Entry | Said) {
  return {
    ...(Object.hasOwn(ledgerSentences, what) && { ledger: what }),
    ...(claim && { claim: claim.name, namespace: claim.namespace, uid: claim.uid }),
    ...(claim?.part !== undefined && { part: claim.part }),
    ...(about && { object: poolText({ ...about, apiGroup: '' }) }),
    ...(order !== undefined && { order }),
    ...(pool && { pool: poolText(pool) }),
    ...(space !== undefined && { space }),
    ...(ip && { address: toIPText(ip) }),
    ...(mac && { mac }),
    ...(ip && space !== undefined && { hold: holdName(space, ip) }),
    ...(hold && { hold: hold.name, ...(hold.revision !== undefined && { revision: hold.revision }) }),
    ...(until !== undefined && { until }),
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  }
}
