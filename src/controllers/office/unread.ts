// Kinds that can show an address in use and cannot be read, though they are installed. What one shows that was never read is not known,
// so nothing new is given out of a space in which it may show something: another provider, or an administrator, may have given it.
// Other spaces do not notice. What was read before still counts, and closes nothing: a desk that loses a permission while it works
// holds up no other. A kind that is not installed shows nothing.

import { type Identity, parseIdentityKey } from '../../api/object.ts'
import type { Feed } from '../../runtime/domain.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { pools } from './kinds.ts'
import type { Networks } from './networks.ts'
import type { Sources } from './sources.ts'

/**
 * Where pools are; or where networks are, or may come to be: in every space but the own ones of pools, and in those of pools that a
 * network names.
 */
export type Where = 'pools' | 'networks'

interface UnreadParts {
  readonly sources: Pick<Sources, 'poolsIn'>
  readonly networks: Pick<Networks, 'isNamed'>
  readonly log: Log
  readonly metrics: Metrics | undefined
}

type Seen = Required<Pick<Feed, 'name' | 'problem' | 'isInstalled' | 'onProblemChange'>> & {
  readonly hasListed: boolean
}

interface SeenKind {
  readonly source: Seen
  readonly where: Where | undefined
  /** Something was refused because of it since it was last read. */
  hasRefused: boolean
}

export class Unread {
  readonly #parts: UnreadParts
  readonly #seen: SeenKind[] = []
  readonly #onRead: (() => void)[] = []

  constructor(parts: UnreadParts) {
    this.#parts = parts
    parts.metrics?.gauge(
      'mooring_kind_unread',
      '1 for a kind that can show an address in use and cannot be read, though it is installed.',
      () => ({
        labels: ['resource'],
        samples: this.#seen.map(({ source }) => [[source.name], Number(isUnread(source))]),
      }),
    )
  }

  follow(source: Seen, where: Where | undefined): void {
    const { log } = this.#parts
    const seen = { source, where, hasRefused: false }
    let wasUnread = false
    this.#seen.push(seen)
    source.onProblemChange(() => {
      const isNow = isUnread(source)
      if (isNow && !wasUnread)
        log.error('a kind that can show an address in use cannot be read', { problem: source.problem() })
      if (wasUnread && !isNow) log.info('a kind that can show an address in use is read again', { kind: source.name })
      wasUnread = isNow
      // A failure becomes a problem by its length alone, and may be over before that is told.
      if (isUnknown(source) || !seen.hasRefused) return
      seen.hasRefused = false
      for (const call of this.#onRead) call()
    })
  }

  /** Calls back when more may be known to be free, because a kind is read again or is not installed any more. */
  onRead(call: () => void): void {
    this.#onRead.push(call)
  }

  /** Such a kind that was never read, and may show an address of this space. */
  in(space: string): string | undefined {
    const unread = this.#seen.find(({ source, where }) => isUnknown(source) && this.#mayShow(where, space))
    if (unread !== undefined) unread.hasRefused = true
    return unread?.source.name
  }

  problems(): string[] {
    const unread = this.#seen.filter(({ source }) => isUnread(source))
    return unread.map(({ source }) =>
      isUnknown(source)
        ? `${source.problem()}: nothing new is given out where it may show an address in use`
        : `${source.problem()}: an address that it shows since then may be given out`,
    )
  }

  #mayShow(where: Where | undefined, space: string): boolean {
    if (where === undefined) return true
    const { sources, networks } = this.#parts
    if (where === 'pools') return [...sources.poolsIn(space)].some(({ identity }) => isPool(identity))
    const own = parseIdentityKey(space)
    return own === undefined || !isPool(own) || networks.isNamed(own)
  }
}

const isUnread = (source: Seen): boolean => source.isInstalled && source.problem() !== undefined

/** A kind that has just come shows nothing either until it is listed, problem or not. */
const isUnknown = (source: Seen): boolean => source.isInstalled && !source.hasListed

const isPool = ({ apiGroup, kind }: Identity): boolean =>
  pools.some(pool => pool.group === apiGroup && pool.kind === kind)
