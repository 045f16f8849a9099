// Sessions with vCenters, one for each Secret and server, shared by all Machines that use them. A login that was refused is not
// tried again for a while, for none of the Machines: a vCenter locks a user out after a few wrong passwords, and other programs may use
// the same user. A session that no Machine used for long is ended.

import type { Clock } from '../../../runtime/clock.ts'
import type { VSphereClient } from '../../../vsphere/client.ts'
import { isVimFault } from '../../../vsphere/fault.ts'
import type { Credentials } from './credentials.ts'

type Connect = (credentials: Credentials) => Promise<VSphereClient>

const refusedMs = 60_000

const unreachableMs = 5_000

/** A vCenter ends one by itself after half an hour. */
const unusedMs = 15 * 60_000

interface Session {
  readonly version: string
  readonly client: Promise<VSphereClient>
  usedAtMs: number
  /** While it lies ahead, the same error is answered. */
  failedUntilMs: number
}

export class Sessions {
  readonly #connect: Connect
  readonly #clock: Clock
  readonly #sessions = new Map<string, Session>()

  constructor(connect: Connect, clock: Clock) {
    this.#connect = connect
    this.#clock = clock
  }

  /** Throws as `connectVSphere` does. */
  of(credentials: Credentials): Promise<VSphereClient> {
    const { key, version } = credentials
    const nowMs = this.#clock.monotonicMs()
    this.#endUnused(nowMs)
    const known = this.#sessions.get(key)
    const hasFailed = known !== undefined && known.failedUntilMs > 0
    if (known?.version === version && (!hasFailed || known.failedUntilMs > nowMs)) {
      known.usedAtMs = nowMs
      return known.client
    }
    if (known !== undefined) this.#end(key, known)
    const session: Session = { version, client: this.#connect(credentials), usedAtMs: nowMs, failedUntilMs: 0 }
    this.#sessions.set(key, session)
    session.client.catch(error => {
      const waitMs = isVimFault(error) ? refusedMs : unreachableMs
      session.failedUntilMs = this.#clock.monotonicMs() + waitMs
    })
    return session.client
  }

  /** Begins anew with the next use: the one that is there no longer answers. */
  drop({ key }: Pick<Credentials, 'key'>): void {
    const known = this.#sessions.get(key)
    if (known !== undefined && known.failedUntilMs === 0) this.#end(key, known)
  }

  async close(): Promise<void> {
    const all = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(all.map(({ client }) => client.then(one => one.close()).catch(() => {})))
  }

  #endUnused(nowMs: number): void {
    for (const [key, session] of this.#sessions) if (nowMs - session.usedAtMs > unusedMs) this.#end(key, session)
  }

  #end(key: string, { client }: Session): void {
    this.#sessions.delete(key)
    void client.then(one => one.close()).catch(() => {})
  }
}
