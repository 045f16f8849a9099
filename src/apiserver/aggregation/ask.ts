// Asks the server behind an APIService what it serves. That it answers is what makes the APIService available; what it answers is
// shown to clients in discovery.

import { foreignCheckTimeoutMs, foreignDocumentBytesMax } from '../../limits.ts'
import { part, text } from '../builtin/fields.ts'
import { type Dialer, hostOf, type Place } from './dial.ts'
import type { ForeignVersion, Told } from './foreign.ts'
import { identityOf } from './headers.ts'
import { parseResources } from './resources.ts'

export type Ask = (version: ForeignVersion, place: Place) => Promise<Told>

/** As this name it may read what every server must show. */
const asker = { username: 'system:kube-aggregator', groups: ['system:masters'] }

/** Throws an error whose message is that of the condition. */
export function createAsk(dialer: Dialer): Ask {
  async function get(version: ForeignVersion, place: Place, path: string): Promise<string> {
    const url = `https://${hostOf(place)}${path}`
    const signal = AbortSignal.timeout(foreignCheckTimeoutMs)
    const headers = { accept: 'application/json', 'user-agent': 'kube-aggregator', ...identityOf(asker) }
    try {
      const { message, upgraded } = await dialer.send(version, place, {
        method: 'GET',
        path,
        headers,
        body: Buffer.alloc(0),
        signal,
      })
      upgraded?.socket.destroy()
      const code = message.statusCode ?? 0
      if (code < 200 || code > 299) {
        message.destroy()
        throw new BadStatus(`bad status from ${url}: ${code}`)
      }
      const chunks: Buffer[] = []
      let bytes = 0
      for await (const chunk of message as AsyncIterable<Buffer>) {
        bytes += chunk.length
        if (bytes > foreignDocumentBytesMax)
          throw new BadStatus(`${url} is larger than ${foreignDocumentBytesMax} bytes`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks).toString('utf8')
    } catch (error) {
      if (signal.aborted) throw new Error(`timed out waiting for ${url}`, { cause: error })
      const said = error instanceof Error ? error.message : String(error)
      const why = error instanceof BadStatus ? said : `Get ${JSON.stringify(url)}: ${said}`
      throw new Error(`failing or missing response from ${url}: ${why}`, { cause: error })
    }
  }

  return async (version, place) => {
    const path = `/apis/${version.group}/${version.version}`
    const content = await get(version, place, path)
    // A server that answers with something else is there, but shows no resources.
    const resources = attempt(() => parseResources(content)) ?? []
    const index = await get(version, place, '/openapi/v3').catch(() => '{}')
    return {
      resources,
      openAPI: openAPIOf(
        attempt(() => JSON.parse(index) as unknown),
        path.slice(1),
      ),
    }
  }
}

class BadStatus extends Error {}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Where clients of this server find it: the path is ours, the hash is theirs. */
function openAPIOf(index: unknown, path: string): string | undefined {
  const url = text(part(index, 'paths', path)?.serverRelativeURL)
  if (url === '') return undefined
  const [, hash] = /[?&]hash=([\w-]+)/.exec(url) ?? []
  return hash === undefined ? `/openapi/v3/${path}` : `/openapi/v3/${path}?hash=${hash}`
}
