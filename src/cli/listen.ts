// Opening a port that a person chose: what can go wrong with it is said in terms of the flag they wrote.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import type { ServingCertificate } from '../admission/server.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { type HostPort, isLoopback } from './host-port.ts'

export async function bind<T>(flag: string, { host, port }: HostPort, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    if (isErrno(error, 'EADDRINUSE')) {
      throw new Failure(
        exitCodes.environment,
        `${host}:${port} is in use by another program`,
        `Stop it, or choose another port with ${flag}.`,
        { cause: error },
      )
    }
    if (isErrno(error, 'EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN')) {
      throw new Failure(
        exitCodes.environment,
        `${host}:${port} cannot be listened on: ${error.message}`,
        `Choose another address with ${flag}.`,
        { cause: error },
      )
    }
    throw error
  }
}

export interface Page {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

export interface Pages {
  readonly port: number
  /** New connections are served with this certificate; nothing changes over plain HTTP. */
  renew(certificate: ServingCertificate): void
  stop(): Promise<void>
}

/** What is asked for. The path has no query. */
export interface PageRequest {
  readonly path: string
  readonly query: URLSearchParams
  readonly authorization: string | undefined
  /** Aborted when the reader has gone. */
  readonly signal: AbortSignal
}

export type FindPage = (request: PageRequest) => Page | undefined | Promise<Page | undefined>

export interface PagesOptions {
  readonly flag: string
  readonly address: HostPort
  /** Undefined is a path where nothing is. */
  readonly find: FindPage
  /** HTTPS with this; plain HTTP without. */
  readonly tls?: ServerOptions
  readonly onError?: (error: unknown) => void
}

/** Small documents over HTTP: health and metrics. */
export async function servePages({ flag, address, find, tls, onError = () => {} }: PagesOptions): Promise<Pages> {
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (isMisled(address, request.headers.host ?? '')) {
      response
        .writeHead(421, { 'content-type': plainText })
        .end('this is served under the names of this machine only\n')
      return
    }
    void servePage(request, response, find).catch(error => {
      onError(error)
      if (!response.headersSent) response.writeHead(500, { 'content-type': plainText })
      response.end('this page could not be made\n')
    })
  }
  const secure = tls && createSecureServer(tls, answer)
  const server = secure ?? createServer(answer)
  const port = await bind(flag, address, () => listenOn(server, address))
  return {
    port,
    renew: ({ certificate, key }) => secure?.setSecureContext({ ...tls, cert: certificate, key }),
    stop: () => closeServer(server),
  }
}

const plainText = 'text/plain; charset=utf-8'
const noPage: Page = { status: 404, body: 'there is no such page\n' }
const onlyRead: Page = { status: 405, body: 'this can only be read\n' }

/**
 * What listens on a loopback address is meant for programs of this machine. A page of another site, open in a browser here,
 * reaches it too once its name leads to 127.0.0.1; but the browser then says that name.
 */
function isMisled({ host }: HostPort, asked: string): boolean {
  if (!isLoopback(host)) return false
  const name = asked.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return name !== host && !isLoopback(name)
}

async function servePage(request: IncomingMessage, response: ServerResponse, find: FindPage): Promise<void> {
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const { authorization } = request.headers
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const page = isRead ? ((await find({ path, query, authorization, signal: gone.signal })) ?? noPage) : onlyRead
  const { status = 200, type = plainText, headers = {}, body } = page
  response.writeHead(status, { 'content-type': type, ...headers }).end(request.method === 'HEAD' ? undefined : body)
}

function listenOn(server: Server, { host, port }: HostPort): Promise<number> {
  return new Promise((resolvePort, reject) => {
    server.once('error', reject)
    server.listen(port, host || undefined, () => {
      const bound = server.address()
      resolvePort(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise(done => {
    server.close(() => done())
    server.closeAllConnections()
  })
}
