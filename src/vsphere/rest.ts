// The REST API of a vCenter, beside SOAP and on the same connections, so to the same server that is trusted: its session begins with the
// first call, and is begun again once for a call that finds it ended, which was not carried out then. Nothing else is sent twice.

import { isRecord } from '../api/shape.ts'
import { JSONSyntaxError, parseJSON } from '../json.ts'
import { restCharsMax } from '../limits.ts'
import { loginRefused, shown, VimFault, VSphereConnectionError } from './fault.ts'
import type { Reply, Send } from './request.ts'

export interface RESTRequest {
  readonly method: 'GET' | 'POST'
  /** Below `/rest/com/vmware/cis`, which every vCenter since 6.5 has. */
  readonly path: string
  readonly body?: object
}

interface RESTOptions {
  readonly ask: Send
  readonly host: string
  readonly userName: string
  readonly password: string
}

const base = '/rest/com/vmware/cis'
const sessionHeader = 'vmware-api-session-id'

export function createREST({ ask, host, userName, password }: RESTOptions) {
  let session: Promise<string> | undefined

  const logIn = async (): Promise<string> => {
    const what = `the session of its REST API at ${host}`
    const authorization = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`
    const request = { path: `${base}/session`, headers: { authorization }, what, answerBytesMax: restCharsMax }
    const reply = await ask({ method: 'POST', ...request })
    if (reply.status === 401) throw loginRefused(host, userName)
    const id = reply.status === 200 ? valueIn(reply, what) : undefined
    // It becomes a header.
    if (typeof id === 'string' && /^[\x21-\x7e]{1,1000}$/.test(id)) return id
    throw new VSphereConnectionError(
      `${what}: no answer of a vCenter, but HTTP ${reply.status}: only a vCenter has tags`,
    )
  }
  /** Calls that come together begin it together. One that could not begin is tried again by the next call. */
  const begin = (): Promise<string> => {
    if (session !== undefined) return session
    const begun = logIn()
    session = begun
    begun.catch(() => end(begun))
    return begun
  }
  /** Unless another has begun meanwhile. */
  const end = (ended: Promise<string>): void => {
    if (session === ended) session = undefined
  }
  const send = (request: RESTRequest, id: string, what: string, signal?: AbortSignal): Promise<Reply> => {
    const { method, path, body } = request
    const headers = { [sessionHeader]: id, 'content-type': 'application/json', accept: 'application/json' }
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    return ask({ method, path: `${base}${path}`, headers, ...text, what, answerBytesMax: restCharsMax }, signal)
  }

  return {
    /** The `value` of the answer; undefined where it has none. */
    async call(request: RESTRequest, signal?: AbortSignal): Promise<unknown> {
      const what = `${request.method} ${request.path} at ${host}`
      const used = begin()
      const reply = await send(request, await used, what, signal)
      if (reply.status !== 401) return read(reply, what)
      end(used)
      return read(await send(request, await begin(), what, signal), what)
    },
    /** Does not throw: the server ends it by itself after a while. */
    async close(): Promise<void> {
      const id = await session?.catch(() => undefined)
      if (id === undefined) return
      const request = {
        path: `${base}/session`,
        headers: { [sessionHeader]: id },
        what: '',
        answerBytesMax: restCharsMax,
      }
      await ask({ method: 'DELETE', ...request }).catch(() => {})
    },
  }
}

function read(reply: Reply, what: string): unknown {
  if (reply.status >= 200 && reply.status < 300) return valueIn(reply, what)
  throw faultOf(reply, what)
}

function valueIn({ text }: Reply, what: string): unknown {
  if (text.trim() === '') return undefined
  const answer = parsed(text)
  if (isRecord(answer)) return answer.value
  throw new VSphereConnectionError(`${what}: the answer is not JSON as a vCenter writes it`)
}

/** The type of such a fault is that of its class: `not_found`, `unauthorized`. */
function faultOf({ status, text }: Reply, what: string): VimFault {
  const answer = parsed(text)
  const type = isRecord(answer) && typeof answer.type === 'string' ? (answer.type.split('.').at(-1) ?? '') : ''
  const fault = type || (status === 404 ? 'not_found' : `HTTP ${status}`)
  const messages = isRecord(answer) && isRecord(answer.value) ? messagesOf(answer.value.messages) : []
  return new VimFault(
    `${what}: ${messages.length > 0 ? messages.join('; ') : `HTTP ${status}`} (${shown(fault)})`,
    fault,
  )
}

const messagesMax = 10

/** As a vCenter writes what it has to say to people. */
export function messagesOf(list: unknown): string[] {
  if (!Array.isArray(list)) return []
  return list.slice(0, messagesMax).flatMap((one: unknown) => {
    const said = isRecord(one) ? one.default_message : undefined
    return typeof said === 'string' && said !== '' ? [shown(said)] : []
  })
}

function parsed(text: string): unknown {
  try {
    return parseJSON(text).value
  } catch (error) {
    if (error instanceof JSONSyntaxError) return undefined
    throw error
  }
}
