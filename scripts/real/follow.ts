// Every change of a kind on a real server, from now on, for tests that judge or measure what other processes write.

import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'

export interface Follower {
  readonly signal: AbortSignal
  readonly onChange: (object: KubeObject, isDeleted: boolean, resourceVersion: string) => void
  /** Something may have been missed. */
  readonly onBroken: (error: unknown) => void
}

/** Resolves when nothing that is written from now on can be missed. */
export async function follow(client: Client, kind: Kind, { signal, onChange, onBroken }: Follower): Promise<void> {
  let { resourceVersion } = await whenAsked(() => client.listPage(kind, { limit: 1 }))
  const watch = () => whenAsked(() => client.watch(kind, { resourceVersion, timeoutSeconds: 3_600, signal }))
  let events = await watch()
  const read = async (): Promise<void> => {
    // A server also ends watches when it has just begun to serve a kind; the next goes on where this one stopped.
    for (;;) {
      for await (const event of events) {
        if (event.type === 'ERROR') throw event.refusal
        if (event.type === 'BOOKMARK') {
          resourceVersion = event.resourceVersion
          continue
        }
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion
        onChange(event.object, event.type === 'DELETED', resourceVersion)
      }
      events = await watch()
    }
  }
  void read().catch(error => {
    if (!signal.aborted) onBroken(error)
  })
}

/** A server that has just begun to serve a kind asks to come again in a second. */
async function whenAsked<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ApiError) || error.retryAfterMs === undefined) throw error
      await delay(error.retryAfterMs)
    }
  }
}
