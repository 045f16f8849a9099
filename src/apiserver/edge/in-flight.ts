// How many requests may be under way at once. Requests beyond that get 429 at little cost, so that those
// under way are served at full speed. Watches last long and have a bound of their own.

import { readsInFlightMax, retryAfterSeconds, watchesMax, writesInFlightMax } from '../../limits.ts'
import type { ResourceRequest } from '../request.ts'
import { tooManyRequests } from '../status.ts'
import type { WireResponse } from './wire.ts'

export interface InFlight {
  /** How many there are right now. */
  readonly running: Readonly<InFlightLimits>
  run(request: ResourceRequest, serve: () => Promise<WireResponse>): Promise<WireResponse>
}

export interface InFlightLimits {
  readonly reads: number
  readonly writes: number
  readonly watches: number
}

const defaults: InFlightLimits = { reads: readsInFlightMax, writes: writesInFlightMax, watches: watchesMax }

export function createInFlight(limits: InFlightLimits = defaults): InFlight {
  const running = { reads: 0, writes: 0, watches: 0 }

  return {
    running,
    async run(request, serve) {
      const lane = laneOf(request)
      if (running[lane] >= limits[lane]) {
        throw tooManyRequests('too many requests, please try again later', retryAfterSeconds)
      }
      const enter = () => {
        running[lane]++
        return once(() => running[lane]--)
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

function laneOf({ verb }: ResourceRequest): keyof InFlightLimits {
  if (verb === 'watch') return 'watches'
  return verb === 'get' || verb === 'list' ? 'reads' : 'writes'
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
  const { body } = response
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
    })
    return () => {
      leave()
      close()
    }
  }
  return { ...response, body: { open } }
}
