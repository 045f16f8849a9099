// What the toy desk knows and may touch. Its reconciler takes all of it from here and nothing from anywhere else.

import { identityKey } from '../../src/api/object.ts'
import type { Note } from '../../src/controllers/office/journal.ts'
import type { Ledger } from '../../src/controllers/office/ledger.ts'
import type { RecentRefusals } from '../../src/controllers/office/recent-refusals.ts'
import type { Sources } from '../../src/controllers/office/sources.ts'
import type { Views } from '../../src/controllers/office/views.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { Cache } from '../../src/kube/cache.ts'
import type { Client } from '../../src/kube/client.ts'
import type { Recorder } from '../../src/kube/events.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Random } from '../../src/runtime/random.ts'
import { type Berth, berthOf } from './parsed.ts'

export interface Caches extends Views {
  readonly berths: Cache<KubeObject, 'network'>
  readonly networks: Cache<KubeObject>
}

export interface ToyWorld {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly recorder: Pick<Recorder, 'event'>
  readonly caches: Caches
  readonly ledger: Ledger
  readonly sources: Pick<Sources, 'poolsOf' | 'poolsIn' | 'whySpaceRefused'>
  /** Refusals written of late. */
  readonly recentRefusals: RecentRefusals
  /** Of the pass that runs. */
  readonly note: Note
}

export function createCaches(isFrozen: boolean, views: Views): Caches {
  return {
    ...views,
    berths: new Cache<KubeObject, 'network'>({ isFrozen, indexes: { network: object => networkKeysOf(object) } }),
    networks: new Cache<KubeObject>({ isFrozen }),
  }
}

export const keyOfBerth = ({ metadata }: Pick<Berth, 'metadata'>): string => `${metadata.namespace}/${metadata.name}`

function networkKeysOf(object: KubeObject): string[] {
  const berth = berthOf(object)
  return isMalformed(berth) ? [] : [identityKey(berth.network)]
}
