// A session with a vCenter or an ESXi host, over SOAP. It begins with what the server says of itself, because the names of its
// managers differ, and logs in with them. A session that has expired is renewed once for each call that finds out: such a call was
// not carried out, so it may be sent again. Nothing else is sent twice.

import type { Agent } from 'undici'
import { xmlCharsMax } from '../limits.ts'
import { backoffMs } from '../runtime/backoff.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import { childOf, textOf, type XMLElement, XMLSyntaxError } from '../xml.ts'
import { printCall, readAnswer, type VimCall } from './envelope.ts'
import { faultOfAnswer, isVimFault, loginRefused, VSphereConnectionError } from './fault.ts'
import { createSend, type Reply } from './request.ts'
import { createREST, type RESTRequest } from './rest.ts'
import { readTask } from './task.ts'
import { createTrustingAgent, type VSphereTrust } from './trust.ts'
import { type ManagedRef, readRef, toRef, type VimFields } from './value.ts'

export interface VSphereOptions extends VSphereTrust {
  /** `https://vcenter.example`; the path is always `/sdk`. */
  readonly url: string
  readonly userName: string
  readonly password: string
  readonly clock: Clock
  readonly random: Random
}

export interface VSphereClient {
  /** Host and port, for messages. */
  readonly host: string
  readonly about: About
  readonly content: ServiceContent
  /** Grows when the session was renewed: views and tokens of the one before are gone. */
  readonly sessions: number
  /** The elements `returnval`. Throws `VimFault` or `VSphereConnectionError`. */
  call(method: string, target: ManagedRef, args?: VimFields, signal?: AbortSignal): Promise<readonly XMLElement[]>
  /**
   * What its REST API answers, where a vCenter keeps what SOAP does not know: tags. It has a session of its own, of the same user, begun
   * when it is first used. Throws as `call` does.
   */
  rest(request: RESTRequest, signal?: AbortSignal): Promise<unknown>
  /** Waits until a task has ended; its result, if it has one. Throws `VimFault` if it failed. */
  waitForTask(task: ManagedRef, signal?: AbortSignal): Promise<XMLElement | undefined>
  /** Ends the session. Does not throw: there is nothing left to do about it. */
  close(): Promise<void>
}

export interface About {
  readonly fullName: string
  readonly apiVersion: string
  /** `VirtualCenter`, or `HostAgent` of a host by itself. */
  readonly apiType: string
  readonly instanceUuid?: string
}

export interface ServiceContent {
  readonly rootFolder: ManagedRef
  readonly propertyCollector: ManagedRef
  readonly viewManager: ManagedRef
  readonly sessionManager: ManagedRef
  readonly searchIndex: ManagedRef
}

/** Every server since then knows it. */
const soapAction = 'urn:vim25/6.5'

/** The calls whose answers name a session. */
const beginnings = new Set(['RetrieveServiceContent', 'Login'])

const sessionCookie = 'vmware_soap_session'

const taskPolls = { firstMs: 200, maxMs: 5_000, factor: 1.5, jitter: 0.2 }

export async function connectVSphere(options: VSphereOptions): Promise<VSphereClient> {
  const url = parseURL(options.url)
  const { host } = url
  const agent = createTrustingAgent(host, options)
  try {
    return await beginSession(options, url, agent)
  } catch (error) {
    await agent.destroy()
    throw error
  }
}

async function beginSession(options: VSphereOptions, { host, origin }: URL, agent: Agent): Promise<VSphereClient> {
  const { userName, password, clock, random } = options
  let cookie: string | undefined
  let sessions = 0
  let renewal: Promise<void> | undefined

  const ask = createSend(agent, origin, clock)
  const send = async (call: VimCall, signal?: AbortSignal): Promise<readonly XMLElement[]> => {
    const what = `${call.method} at ${host}`
    const headers = {
      'content-type': 'text/xml; charset=utf-8',
      soapaction: soapAction,
      ...(cookie !== undefined && { cookie: `${sessionCookie}=${cookie}` }),
    }
    const request = { path: '/sdk', headers, body: printCall(call), what, answerBytesMax: xmlCharsMax }
    const reply = await ask({ method: 'POST', ...request }, signal)
    // Others are answered late, it may be after a new session has begun.
    if (beginnings.has(call.method)) cookie = sessionOf(reply) ?? cookie
    const answer = readReply(reply, { what, method: call.method })
    if ('fault' in answer) throw faultOfAnswer(answer.fault, what)
    return answer.values
  }

  const service = toRef('ServiceInstance', 'ServiceInstance')
  const [described] = await send({ method: 'RetrieveServiceContent', this: service, args: {} })
  const content = readContent(described, host)

  const logIn = async (): Promise<void> => {
    // What an expired session leaves behind is of no use to a new one.
    if (sessions > 0) cookie = undefined
    try {
      await send({ method: 'Login', this: content.sessionManager, args: { userName, password } })
    } catch (error) {
      throw isVimFault(error, 'InvalidLogin') ? loginRefused(host, userName) : error
    }
    sessions++
  }
  /** Calls that find out together renew it together. */
  const renew = (seen: number): Promise<void> => {
    if (sessions !== seen) return Promise.resolve()
    renewal ??= logIn().finally(() => {
      renewal = undefined
    })
    return renewal
  }
  await logIn()
  const rest = createREST({ ask, host, userName, password })

  const client: VSphereClient = {
    host,
    about: readAbout(childOf(described, 'about')),
    content,
    get sessions() {
      return sessions
    },
    async call(method, target, args = {}, signal) {
      const call = { method, this: target, args }
      const seen = sessions
      try {
        return await send(call, signal)
      } catch (error) {
        if (!isVimFault(error, 'NotAuthenticated')) throw error
      }
      await renew(seen)
      return send(call, signal)
    },
    rest: (request, signal) => rest.call(request, signal),
    async waitForTask(task, signal) {
      for (let polls = 1; ; polls++) {
        const { state, result, error } = await readTask(client, task, signal)
        if (state === 'success') return result
        if (state === 'error') throw error
        await pause(clock, backoffMs(polls, taskPolls, random), signal)
        signal?.throwIfAborted()
      }
    },
    async close() {
      try {
        await send({ method: 'Logout', this: content.sessionManager, args: {} })
      } catch {
        // The server ends it by itself after a while.
      }
      await rest.close()
      await agent.destroy()
    },
  }
  return client
}

function parseURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url
  // It may have a password in it, so it is not repeated.
  throw new VSphereConnectionError(
    'the address of the vCenter is not one of https without a user: write it such as https://vcenter.example',
  )
}

function sessionOf({ cookies }: Reply): string | undefined {
  for (const line of cookies) {
    const [, value] = /^vmware_soap_session=([^;]*)/.exec(line) ?? []
    if (value !== undefined && value !== '') return value
  }
  return undefined
}

function readReply({ status, text }: Reply, { what, method }: { what: string; method: string }) {
  const isSOAP = status === 200 || status === 500
  try {
    const answer = isSOAP ? readAnswer(text, method) : undefined
    if (answer !== undefined) return answer
  } catch (error) {
    if (!(error instanceof XMLSyntaxError)) throw error
    if (status === 200) {
      const { line, column, message } = error
      throw new VSphereConnectionError(`${what}: the answer is not XML: line ${line}, column ${column}: ${message}`)
    }
  }
  throw new VSphereConnectionError(`${what}: no answer of a vCenter, but HTTP ${status}: is this its address?`)
}

function readContent(described: XMLElement | undefined, host: string): ServiceContent {
  const read = (name: string): ManagedRef => {
    const ref = readRef(childOf(described, name))
    if (ref !== undefined) return ref
    throw new VSphereConnectionError(`${host} does not answer as a vCenter does: it names no ${name}`)
  }
  return {
    rootFolder: read('rootFolder'),
    propertyCollector: read('propertyCollector'),
    viewManager: read('viewManager'),
    sessionManager: read('sessionManager'),
    searchIndex: read('searchIndex'),
  }
}

function readAbout(about: XMLElement | undefined): About {
  const instanceUuid = textOf(about, 'instanceUuid')
  return {
    fullName: textOf(about, 'fullName') ?? '',
    apiVersion: textOf(about, 'apiVersion') ?? '',
    apiType: textOf(about, 'apiType') ?? '',
    ...(instanceUuid && { instanceUuid }),
  }
}
