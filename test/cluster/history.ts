// Everything that ever was stored of claims, IPAddresses and Holds during a run, revision by revision, and what must have been
// true at each of them. A look at the end would not see an address that two claims had for a second.

import { follow } from '../../scripts/real/follow.ts'
import { claims, reports } from '../../src/controllers/capi/kinds.ts'
import { holds } from '../../src/controllers/office/kinds.ts'
import type { Client } from '../../src/kube/client.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'

export interface Revision {
  readonly at: number
  readonly kind: 'claim' | 'report' | 'hold'
  readonly isDeleted: boolean
  readonly object: KubeObject
}

/** What is read of an object of any of the three kinds. */
interface Read extends KubeObject {
  readonly spec?: {
    readonly address?: string
    readonly space?: string
    readonly poolRef?: { readonly kind?: string; readonly name?: string; readonly namespace?: string }
    readonly claimRef?: { readonly uid?: string }
  }
  readonly status?: {
    readonly state?: string
    readonly addressRef?: { readonly name?: string }
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const kinds: Readonly<Record<Revision['kind'], Kind>> = { claim: claims, report: reports, hold: holds }

export class History {
  readonly #abort = new AbortController()
  readonly revisions: Revision[] = []
  /** Why it is not complete; undefined while it is. */
  gap: string | undefined
  /** When something was last stored; by the clock of this process. */
  lastMs = performance.now()
  readonly #live = new Map<string, Read>()

  /** From now on; resolves when every kind is followed. */
  static async follow(client: Client): Promise<History> {
    const history = new History()
    for (const name of ['claim', 'report', 'hold'] as const) await history.#follow(client, name)
    return history
  }

  #follow(client: Client, name: Revision['kind']): Promise<void> {
    const kind = kinds[name]
    return follow(client, kind, {
      signal: this.#abort.signal,
      onChange: (object, isDeleted, version) => this.#note({ at: Number(version), kind: name, isDeleted, object }),
      onBroken: error => {
        this.gap = `the watch of ${kind.plural} broke: ${error}`
      },
    })
  }

  #note(revision: Revision): void {
    this.revisions.push(revision)
    this.lastMs = performance.now()
    const key = `${revision.kind} ${keyIn(revision.object)}`
    if (revision.isDeleted) this.#live.delete(key)
    else this.#live.set(key, revision.object)
  }

  /** What exists now of a kind. */
  live(kind: Revision['kind']): Read[] {
    return [...this.#live].flatMap(([key, object]) => (key.startsWith(`${kind} `) ? [object] : []))
  }

  stop(): void {
    this.#abort.abort()
  }
}

export const isReady = ({ status }: Read): boolean =>
  Boolean(status?.addressRef?.name) &&
  (status?.conditions ?? []).some(condition => condition.type === 'Ready' && condition.status === 'True')

const keyIn = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`

export interface Judgement {
  /** Every promise that was broken, with the revision at which it was. */
  readonly faults: readonly string[]
  /**
   * IPAddresses that were written for a claim that was gone by then. A process that sleeps between two writes cannot be kept
   * from that; no claim leads to one, and none may stay.
   */
  readonly strays: number
}

export function judge(revisions: readonly Revision[]): Judgement {
  const world = new WorldAt()
  for (const revision of revisions.toSorted((a, b) => a.at - b.at)) world.go(revision)
  return { faults: world.faults, strays: world.strays }
}

/** What was stored at one revision, and then at the next. */
class WorldAt {
  readonly faults: string[] = []
  strays = 0
  readonly #claims = new Map<string, Read>()
  readonly #uids = new Set<string | undefined>()
  readonly #reports = new Map<string, Read>()
  /** Keys of the IPAddresses that show an address. */
  readonly #shownBy = new Map<string, Set<string>>()
  readonly #holds = new Map<string, Read>()
  readonly #addressOfClaim = new Map<string, string>()

  go({ at, kind, isDeleted, object }: Revision): void {
    if (kind === 'claim') this.#claim(at, object, isDeleted)
    else if (kind === 'report') this.#report(at, object, isDeleted)
    else this.#hold(at, object, isDeleted)
  }

  #claim(at: number, claim: Read, isDeleted: boolean): void {
    const key = keyIn(claim)
    if (isDeleted) {
      this.#claims.delete(key)
      this.#uids.delete(claim.metadata.uid)
      return
    }
    this.#claims.set(key, claim)
    this.#uids.add(claim.metadata.uid)
    this.#mustBeTrue(at, claim)
  }

  #report(at: number, report: Read, isDeleted: boolean): void {
    const key = keyIn(report)
    const place = placeOf(report)
    const shownBy = this.#shownBy.get(place) ?? new Set<string>()
    this.#shownBy.set(place, shownBy)
    const isNew = !this.#reports.has(key)
    if (isDeleted) {
      shownBy.delete(key)
      this.#reports.delete(key)
      const claim = this.#claims.get(key)
      if (claim !== undefined) this.#mustBeTrue(at, claim)
      return
    }
    this.#reports.set(key, report)
    shownBy.add(key)
    if (!this.#isOfLivingClaim(report)) {
      if (isNew) this.strays++
      return
    }
    for (const other of shownBy) {
      const rival = this.#reports.get(other)
      if (other === key || rival === undefined || !this.#isOfLivingClaim(rival)) continue
      this.faults.push(`${at}: ${place} is shown by ${other} and by ${key}`)
    }
    this.#mustBeHeldFor(at, report)
  }

  #hold(at: number, hold: Read, isDeleted: boolean): void {
    const place = placeOf(hold)
    const before = this.#holds.get(place)
    if (isDeleted) this.#holds.delete(place)
    else this.#holds.set(place, hold)
    const isSame = before?.spec?.claimRef?.uid === hold.spec?.claimRef?.uid
    if (!isDeleted && before?.status?.state === 'held' && !isSame) {
      this.faults.push(`${at}: ${place} went from one claim to another without a rest`)
    }
    for (const key of this.#shownBy.get(place) ?? []) {
      const report = this.#reports.get(key)
      if (report !== undefined && this.#isOfLivingClaim(report)) this.#mustBeHeldFor(at, report)
    }
  }

  /** Of a claim that exists. */
  #isOfLivingClaim(report: Read): boolean {
    return this.#uids.has(ownerUidOf(report))
  }

  #mustBeHeldFor(at: number, report: Read): void {
    const hold = this.#holds.get(placeOf(report))
    if (hold?.spec?.claimRef?.uid === ownerUidOf(report) && hold?.status?.state === 'held') return
    const leaves = this.#claims.get(keyIn(report))?.metadata.deletionTimestamp ? ', which is on its way out' : ''
    this.faults.push(`${at}: ${keyIn(report)} shows ${placeOf(report)}, which is not held for its claim${leaves}`)
  }

  /** I11 and I12: a reader that follows a ready claim finds an address that is held in its name, and always the same. */
  #mustBeTrue(at: number, claim: Read): void {
    const { uid = '', deletionTimestamp } = claim.metadata
    if (!isReady(claim) || deletionTimestamp) return
    const key = keyIn(claim)
    const report = this.#reports.get(key)
    const address = report?.spec?.address
    if (report === undefined || address === undefined) {
      this.faults.push(`${at}: ${key} is ready and has no IPAddress`)
      return
    }
    if (ownerUidOf(report) !== uid) {
      this.faults.push(`${at}: ${key} is ready by the IPAddress of another claim`)
      return
    }
    const before = this.#addressOfClaim.get(uid)
    if (before !== undefined && before !== address) this.faults.push(`${at}: ${key} had ${before} and has ${address}`)
    this.#addressOfClaim.set(uid, address)
    this.#mustBeHeldFor(at, report)
  }
}

/** The pool and the address: every pool of a run has a space of its own. */
function placeOf({ metadata, spec }: Read): string {
  const { kind, name, namespace = kind?.startsWith('Global') ? '' : metadata.namespace } = spec?.poolRef ?? {}
  return `${spec?.address} of ${kind} ${[namespace, name].filter(Boolean).join('/')}`
}

function ownerUidOf({ metadata }: Read): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === 'IPAddressClaim')?.uid
}
