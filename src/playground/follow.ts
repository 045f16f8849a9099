// Caches of the playground: whole objects, because a stand-in writes them back whole.

import { Cache, type IndexFunction } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import type { Discovery } from '../kube/discovery.ts'
import type { Kind, KubeObject } from '../kube/object.ts'
import { Reflector } from '../kube/reflector.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Domain } from '../runtime/domain.ts'
import type { Random } from '../runtime/random.ts'
import type { Log } from '../telemetry/log.ts'

export interface PlaygroundParts {
  readonly client: Client
  readonly discovery: Pick<Discovery, 'forget'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Of each reconciler. With those of the desk it stays below the writes that the API server takes at once. */
export const concurrency = 16

export interface FollowOptions<T, I extends string> {
  readonly indexes?: Readonly<Record<I, IndexFunction<T>>>
  readonly labelSelector?: string
  /** Without the kind the stand-in waits. True by default. */
  readonly isNeeded?: boolean
}

export function follow<T extends KubeObject, I extends string = never>(
  { client, discovery, clock, random, log }: PlaygroundParts,
  domain: Domain,
  kind: Kind<T>,
  { indexes, labelSelector, isNeeded = true }: FollowOptions<T, I> = {},
): Cache<T, I> {
  const onError = (error: unknown) => log.error('an object of the playground cannot be read', { error })
  const cache = new Cache<T, I>({ onError, ...(indexes && { indexes }) })
  const onNotInstalled = () => discovery.forget(kind)
  const selection = labelSelector === undefined ? {} : { labelSelector }
  domain.addFeed(new Reflector({ kind, cache, client, clock, random, log, onNotInstalled, ...selection }), {
    isNeeded,
  })
  return cache
}
