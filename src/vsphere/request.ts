// One request to a vCenter and its answer, over SOAP or REST: bounded in time and in bytes, and what goes wrong on the way is a
// sentence that names the server and nothing of what was sent.

import type { Agent } from 'undici'
import sendRequest from 'undici/lib/api/api-request.js'
import { vsphereCallMsMax } from '../limits.ts'
import type { Clock } from '../runtime/clock.ts'
import { VSphereConnectionError } from './fault.ts'

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** For messages: the call, and the server. */
  readonly what: string
  readonly answerBytesMax: number
}

export interface Reply {
  readonly status: number
  readonly text: string
  /** Lines of `set-cookie`. */
  readonly cookies: readonly string[]
}

export type Send = (request: Request, signal?: AbortSignal) => Promise<Reply>

export function createSend(agent: Agent, origin: string, clock: Clock): Send {
  return async (request, signal) => {
    const late = new AbortController()
    const cancel = clock.setTimer(vsphereCallMsMax, () => late.abort())
    const signals = signal ? [signal, late.signal] : [late.signal]
    return send(agent, { ...request, origin, signal: AbortSignal.any(signals) }, late.signal).finally(cancel)
  }
}

interface Sent extends Request {
  readonly origin: string
  readonly signal: AbortSignal
}

async function send(agent: Agent, sent: Sent, late: AbortSignal): Promise<Reply> {
  const { origin, path, method, headers, body, signal, what, answerBytesMax } = sent
  try {
    const answer = await sendRequest.call(agent, {
      origin,
      path,
      method,
      headers,
      signal,
      ...(body !== undefined && { body }),
    })
    return {
      status: answer.statusCode,
      text: await readBounded(answer.body, what, answerBytesMax),
      cookies: [answer.headers['set-cookie'] ?? []].flat(),
    }
  } catch (error) {
    if (error instanceof VSphereConnectionError) throw error
    if (signal.aborted && !late.aborted) throw error
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    const why = late.aborted ? `no answer within ${vsphereCallMsMax / 1000} s` : `the connection failed${code}`
    throw new VSphereConnectionError(`${what}: ${why}`, { cause: error })
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>, what: string, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new VSphereConnectionError(`${what}: the answer is longer than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
