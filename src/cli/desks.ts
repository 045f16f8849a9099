// Desks put together over any Kubernetes API: the embedded server of `mooring up`, the cluster of `mooring controller`.
// What differs between the two (how the server is reached, who answers reviews, who leads) is passed in or stays outside.

import { hostname } from 'node:os'
import type { Facts } from '../admission/webhooks.ts'
import { addCapiDesk } from '../controllers/capi/desk.ts'
import { factsWhenSynced } from '../controllers/pool/facts.ts'
import type { Client } from '../kube/client.ts'
import type { Discovery } from '../kube/discovery.ts'
import { createRecorder } from '../kube/events.ts'
import { realClock } from '../runtime/clock.ts'
import { Manager, type ManagerState } from '../runtime/manager.ts'
import type { CancelReason } from '../runtime/verdict.ts'
import type { Log } from '../telemetry/log.ts'
import { exitCodes, Failure } from './failure.ts'

export interface DesksOptions {
  readonly client: Client
  readonly discovery: Discovery
  readonly log: Log
  /** What passes wait for besides a complete view of the world: to be the leader. */
  readonly admitted?: (signal: AbortSignal) => Promise<void>
}

export interface Desks {
  readonly state: ManagerState
  /** Whether the world is known: reviews can be answered, also by a process that does not lead. */
  readonly isSynced: boolean
  /** What reviews are decided on; undefined while the world is not known. */
  facts(): Facts | undefined
  /** Resolves when passes have begun. */
  start(): Promise<void>
  stop(reason: CancelReason): Promise<void>
}

export function createDesks({ client, discovery, log, admitted }: DesksOptions): Desks {
  const clock = realClock
  const random = Math.random
  const recorder = createRecorder({ client, clock, random, log, controller: 'mooring.dev/capi', instance: hostname() })
  const manager = new Manager({ clock, random, log, ...(admitted && { admitted }) })
  const { caches } = addCapiDesk({ client, discovery, clock, random, log, recorder, manager })
  return {
    get state() {
      return manager.state
    },
    get isSynced() {
      return factsWhenSynced(caches) !== undefined
    },
    facts: () => factsWhenSynced(caches),
    start: () => manager.start(),
    async stop(reason) {
      await manager.stop(reason)
      await recorder.stop()
    },
  }
}

/** The desks that exist; the others of the design are refused by name until they do. */
const knownDesks = ['capi', 'none']

export function refuseUnknownDesks(list: string): void {
  const unknown = list.split(',').filter(desk => !knownDesks.includes(desk))
  if (unknown.length === 0) return
  throw new Failure(
    exitCodes.usage,
    `--desks does not know ${unknown.map(desk => JSON.stringify(desk)).join(', ')}`,
    `It takes a list of: ${knownDesks.join(', ')}.`,
  )
}
