// Everything that ever was stored of claims, IPAddresses and Holds during a run, revision by revision, and what must have been
// true at each of them. A look at the end would not see an address that two claims had for a second.

import { claims, holds, reports } from '../../src/controllers/kinds.ts'
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

  async #follow(client: Client, name: Revision['kind']): Promise<void> {
    const kind = kinds[name]
    const { signal } = this.#abort
    let { resourceVersion } = await client.listPage(kind, { limit: 1 })
    const watch = () => client.watch(kind, { resourceVersion, timeoutSeconds: 3_600, signal })
    let events = await watch()
    const read = async (): Promise<void> => {
      for (;;) {
        for await (const event of events) {
          if (event.type === 'ERROR') throw event.refusal
          if (event.type === 'BOOKMARK') {
            resourceVersion = event.resourceVersion
            continue
          }
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion
          this.#note({
            at: Number(resourceVersion),
            kind: name,
            isDeleted: event.type === 'DELETED',
            object: event.object,
          })
        }
        events = await watch()
      }
    }
    void read().catch(error => {
      if (!signal.aborted) this.gap = `the watch of ${kind.plural} broke: ${error}`
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

/** Every promise that was broken, with the revision at which it was. */
export function faultsIn(revisions: readonly Revision[]): string[] {
  const faults: string[] = []
  const reportByKey = new Map<string, Read>()
  const reportByAddress = new Map<string, string>()
  const holdByAddress = new Map<string, Read>()
  const claimByKey = new Map<string, Read>()
  const addressOfClaim = new Map<string, string>()

  const holds = (at: number, claim: Read): void => {
    if (!isReady(claim) || claim.metadata.deletionTimestamp) return
    const key = keyIn(claim)
    const { uid = '' } = claim.metadata
    const report = reportByKey.get(key)
    const address = report?.spec?.address
    if (report === undefined || address === undefined)
      return void faults.push(`${at}: ${key} is ready and has no IPAddress`)
    if (ownerUidOf(report) !== uid) return void faults.push(`${at}: ${key} is ready by the IPAddress of another claim`)
    const before = addressOfClaim.get(uid)
    if (before !== undefined && before !== address) faults.push(`${at}: ${key} had ${before} and now has ${address}`)
    addressOfClaim.set(uid, address)
    const hold = holdByAddress.get(placeOf(report))
    if (hold?.spec?.claimRef?.uid !== uid || hold.status?.state !== 'held') {
      faults.push(`${at}: ${key} is ready with ${address}, which is not held in its name`)
    }
  }

  for (const { at, kind, isDeleted, object } of revisions.toSorted((a, b) => a.at - b.at)) {
    const read: Read = object
    const key = keyIn(read)
    if (kind === 'hold') {
      const place = placeOf(read)
      const before = holdByAddress.get(place)
      if (isDeleted) holdByAddress.delete(place)
      else holdByAddress.set(place, read)
      const was = before?.spec?.claimRef?.uid
      const is = read.spec?.claimRef?.uid
      if (!isDeleted && before?.status?.state === 'held' && was !== is) {
        faults.push(`${at}: ${place} went from one claim to another without a rest`)
      }
      const shown = reportByAddress.get(place)
      const owner = shown === undefined ? undefined : reportByKey.get(shown)
      if (owner !== undefined && (isDeleted || read.status?.state !== 'held' || ownerUidOf(owner) !== is)) {
        faults.push(`${at}: ${place} is no longer held for ${shown}, which still shows it`)
      }
    }
    if (kind === 'report') {
      const place = placeOf(read)
      if (isDeleted) {
        reportByKey.delete(key)
        if (reportByAddress.get(place) === key) reportByAddress.delete(place)
        const claim = claimByKey.get(key)
        if (claim !== undefined) holds(at, claim)
        continue
      }
      const other = reportByAddress.get(place)
      if (other !== undefined && other !== key) faults.push(`${at}: ${place} is shown by ${other} and by ${key}`)
      reportByKey.set(key, read)
      reportByAddress.set(place, key)
      if (holdByAddress.get(place)?.spec?.claimRef?.uid !== ownerUidOf(read)) {
        faults.push(`${at}: ${key} shows ${place}, which is not held in the name of its claim`)
      }
    }
    if (kind === 'claim') {
      if (isDeleted) claimByKey.delete(key)
      else claimByKey.set(key, read)
      if (!isDeleted) holds(at, read)
    }
  }
  return faults
}

/** The pool and the address: every pool of a run has a space of its own. */
function placeOf({ metadata, spec }: Read): string {
  const { kind, name, namespace = kind?.startsWith('Global') ? '' : metadata.namespace } = spec?.poolRef ?? {}
  return `${spec?.address} of ${kind} ${[namespace, name].filter(Boolean).join('/')}`
}

function ownerUidOf({ metadata }: Read): string | undefined {
  return metadata.ownerReferences?.find(({ kind }) => kind === 'IPAddressClaim')?.uid
}
