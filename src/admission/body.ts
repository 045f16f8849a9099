// Bodies of requests to the webhook port. Each is bounded, and so are all that are under way: a byte of a body costs about
// twenty while it is read and answered, and the memory of the process is needed for the caches. What a client announces is
// not counted, only what it sent: an announcement costs nothing, and would keep the others out.

import type { IncomingMessage } from 'node:http'

export interface Bodies {
  /** What one request may have. The bytes count as under way until `done` is called, once or more often. */
  read(request: IncomingMessage, bytesMax: number): Promise<Body | 'too large' | 'too many'>
}

export interface Body {
  readonly text: string
  done(): void
}

export interface BodyLimits {
  /** Of all bodies under way. */
  readonly underWayMax: number
  /** So much of each body is not counted. */
  readonly uncounted: number
}

export function createBodies({ underWayMax, uncounted }: BodyLimits): Bodies {
  let underWay = 0
  return {
    async read(request, bytesMax) {
      if (Number(request.headers['content-length'] ?? 0) > bytesMax) return 'too large'
      const chunks: Buffer[] = []
      let bytes = 0
      let counted = 0
      const done = () => {
        underWay -= counted
        counted = 0
      }
      try {
        // The connection stays: the client is told why the rest is not read.
        for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          bytes += chunk.length
          if (bytes > bytesMax) return giveUp(done, 'too large')
          const more = Math.max(0, bytes - uncounted) - counted
          if (underWay + more > underWayMax) return giveUp(done, 'too many')
          underWay += more
          counted += more
          chunks.push(chunk)
        }
      } catch (error) {
        done()
        throw error
      }
      return { text: Buffer.concat(chunks).toString('utf8'), done }
    },
  }
}

function giveUp<T>(done: () => void, why: T): T {
  done()
  return why
}
