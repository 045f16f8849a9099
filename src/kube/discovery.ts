// Which version of a kind does this server serve? The answer is kept: a kind that is there is asked about again only after a
// request for it was answered "not installed", or after a long while (another version may be preferred by then); one that
// is not there at most every few seconds, however many requests need it.
//
//   unknown --found--> served --forget, or old--> unknown
//      |  ^
//      |  `--after a while-- absent
//      `-------not found------^

import { type Clock, pause } from '../runtime/clock.ts'
import { Cancelled } from '../runtime/retry-policy.ts'
import { ApiError, toApiError } from './api-error.ts'
import { parseBody } from './body.ts'
import { type Kind, nameOfKind } from './object.ts'
import { type Wire, WireError } from './wire.ts'

export interface Discovery {
  /** The preferred version that is served; undefined when the kind is not installed. */
  readonly find: (kind: Kind, signal?: AbortSignal) => Promise<string | undefined>
  /** The same, as a client needs it: rejects with `NotInstalled`. */
  readonly versionOf: (kind: Kind, signal?: AbortSignal) => Promise<string>
  /** Begins a look at what the server has now: each document is read once in it, however many kinds are asked about. */
  readonly look: () => ServedVersions
  /** What is known about the kind turned out to be wrong. */
  readonly forget: (kind: Kind) => void
}

/** Every version in which the server has the kind, known here or not, the preferred one first. */
export type ServedVersions = (kind: Kind) => Promise<readonly string[]>

export interface DiscoveryOptions {
  readonly wire: Wire
  readonly clock: Clock
  readonly name: string
  /** How long the answer "not installed" is kept. */
  readonly absentMs?: number
  /** How long a version is kept when no request contradicts it. */
  readonly servedMs?: number
  readonly timeoutMs?: number
}

interface Known {
  readonly version: string | undefined
  readonly untilMs: number
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { clock, absentMs = 2_000, servedMs = 10 * 60_000 } = options
  const known = new Map<string, Known>()
  const asking = new Map<string, Promise<string | undefined>>()
  const readDocument = readOnce(path => read(options, path))

  async function ask(kind: Kind): Promise<string | undefined> {
    for (const version of kind.versions) {
      const plurals = await resourcesOf(readDocument, kind.group, version)
      if (plurals?.has(kind.plural)) return version
    }
    return undefined
  }

  async function find(kind: Kind): Promise<string | undefined> {
    const key = nameOfKind(kind)
    const before = known.get(key)
    if (before !== undefined && clock.monotonicMs() < before.untilMs) return before.version
    const underWay = asking.get(key)
    if (underWay !== undefined) return underWay
    const answer = ask(kind).finally(() => asking.delete(key))
    asking.set(key, answer)
    const version = await answer
    known.set(key, { version, untilMs: clock.monotonicMs() + (version === undefined ? absentMs : servedMs) })
    return version
  }

  return {
    find,
    async versionOf(kind) {
      const version = await find(kind)
      if (version !== undefined) return version
      throw new ApiError(`${nameOfKind(kind)} is not installed`, { reason: 'NotInstalled', code: 404 })
    },
    look() {
      const documents = new Map<string, Promise<unknown>>()
      const readOfLook: ReadDocument = path => {
        const answer = documents.get(path) ?? readDocument(path)
        documents.set(path, answer)
        return answer
      }
      return kind => servedOf(readOfLook, kind)
    },
    forget(kind) {
      if (known.get(nameOfKind(kind))?.version !== undefined) known.delete(nameOfKind(kind))
    },
  }
}

/** Undefined where the server has no such document. */
type ReadDocument = (path: string) => Promise<unknown>

/** Many kinds are in one document, and at a start all are asked about at once. */
function readOnce(read: ReadDocument): ReadDocument {
  const underWay = new Map<string, Promise<unknown>>()
  return path => {
    const answer = underWay.get(path) ?? read(path).finally(() => underWay.delete(path))
    underWay.set(path, answer)
    return answer
  }
}

/** The plurals of a group in one version; undefined when there is no such version. */
async function resourcesOf(
  readDocument: ReadDocument,
  group: string,
  version: string,
): Promise<ReadonlySet<string> | undefined> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const list = (await readDocument(path)) as { resources?: { name?: string }[] | null } | undefined
  return list && new Set((list.resources ?? []).map(resource => resource.name ?? ''))
}

async function versionsOf(readDocument: ReadDocument, group: string): Promise<string[]> {
  const found = (await readDocument(`/apis/${group}`)) as { versions?: { version?: string }[] | null } | undefined
  return (found?.versions ?? []).flatMap(({ version }) => version ?? [])
}

async function servedOf(readDocument: ReadDocument, { group, plural }: Kind): Promise<string[]> {
  const versions = group === '' ? ['v1'] : await versionsOf(readDocument, group)
  const served: string[] = []
  for (const version of versions) {
    if ((await resourcesOf(readDocument, group, version))?.has(plural)) served.push(version)
  }
  return served
}

async function read(options: DiscoveryOptions, path: string): Promise<unknown> {
  const what = `discover ${path}`
  const abort = new AbortController()
  const done = new AbortController()
  const { clock, wire, name, timeoutMs = 15_000 } = options
  void pause(clock, timeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) abort.abort(new Cancelled('deadline'))
  })
  try {
    const headers = { accept: 'application/json', 'user-agent': name }
    const { status, headers: answered, body } = await wire({ method: 'GET', path, headers, signal: abort.signal })
    if (status === 404) return undefined
    const parsed = typeof body === 'string' ? tryParse(body) : undefined
    if (status !== 200) {
      throw toApiError({ what, isWrite: false, code: status, status: parsed, retryAfter: answered['retry-after'] })
    }
    if (parsed === undefined)
      throw new ApiError(`${what}: the answer is no JSON`, { reason: 'Unreadable', code: status })
    return parsed
  } catch (error) {
    if (!(error instanceof WireError) && !abort.signal.aborted) throw error
    throw new ApiError(`${what}: no answer`, { reason: 'Unreachable', code: 0 }, { cause: error })
  } finally {
    done.abort()
  }
}

function tryParse(text: string): unknown {
  try {
    return parseBody(text)
  } catch {
    return undefined
  }
}
