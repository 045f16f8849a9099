// How many requests may be under way at once, in all and of one user. Requests beyond that get 429 at little cost, so that
// those under way are served at full speed. Watches last long and have a bound of their own.

import { readsInFlightMax, retryAfterSeconds, shareOfOneUser, watchesMax, writesInFlightMax } from '../../limits.ts'
import { mastersGroup, type UserInfo } from '../authn/user.ts'
import { tooManyRequests } from '../status.ts'
import type { WireResponse } from './wire.ts'

export interface InFlight {
  /** How many there are right now. */
  readonly running: Readonly<InFlightLimits>
  run(request: Counted, user: UserInfo, serve: () => Promise<WireResponse>): Promise<WireResponse>
}

export interface Counted {
  /** As rules name it. */
  readonly verb: string
  /** It becomes a connection of its own, and lasts like a watch. */
  readonly isUpgrade?: boolean | undefined
}

export interface InFlightLimits {
  readonly reads: number
  readonly writes: number
  readonly watches: number
}

const defaults: InFlightLimits = { reads: readsInFlightMax, writes: writesInFlightMax, watches: watchesMax }

export function createInFlight(limits: InFlightLimits = defaults): InFlight {
  const running = { reads: 0, writes: 0, watches: 0 }
  /** By lane and user; a user without any is not in it. */
  const ofUsers = new Map<string, number>()

  return {
    running,
    async run(request, user, serve) {
      const lane = laneOf(request)
      const key = `${lane} ${user.username}`
      // An administrator has to get through whatever the others do, and Mooring's own desks are one.
      const share = user.groups.includes(mastersGroup) ? limits[lane] : Math.ceil(limits[lane] * shareOfOneUser)
      if (running[lane] >= limits[lane] || (ofUsers.get(key) ?? 0) >= share) {
        throw tooManyRequests('too many requests, please try again later', retryAfterSeconds)
      }
      const enter = () => {
        running[lane]++
        ofUsers.set(key, (ofUsers.get(key) ?? 0) + 1)
        return once(() => {
          running[lane]--
          const left = (ofUsers.get(key) ?? 0) - 1
          if (left > 0) ofUsers.set(key, left)
          else ofUsers.delete(key)
        })
      }
      const leave = enter()
      try {
        return whileOpen(await serve(), enter)
      } finally {
        leave()
      }
    },
  }
}

function laneOf({ verb, isUpgrade }: Counted): keyof InFlightLimits {
  if (verb === 'watch' || isUpgrade) return 'watches'
  return verb === 'get' || verb === 'list' || verb === 'head' ? 'reads' : 'writes'
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}

/** A stream counts from when the client opens it, if it ever does, until either side ends it. */
function whileOpen(response: WireResponse, enter: () => () => void): WireResponse {
  const { body, tunnel } = response
  if (tunnel !== undefined) {
    return {
      ...response,
      tunnel: client => {
        client.once('close', enter())
        tunnel(client)
      },
    }
  }
  if (Buffer.isBuffer(body)) return response
  const open: typeof body.open = sink => {
    const leave = enter()
    const close = body.open({
      write: bytes => sink.write(bytes),
      get pendingBytes() {
        return sink.pendingBytes
      },
      end: () => {
        leave()
        sink.end()
      },
      ...(sink.onDrained && { onDrained: resume => sink.onDrained?.(resume) }),
      ...(sink.cut && {
        cut: () => {
          leave()
          sink.cut?.()
        },
      }),
    })
    return () => {
      leave()
      close()
    }
  }
  return { ...response, body: { open } }
}
