// Opening a port that a person chose: what can go wrong with it is said in terms of the flag they wrote.

import { createServer, type Server } from 'node:http'
import { exitCodes, Failure, isErrno } from './failure.ts'
import type { HostPort } from './host-port.ts'

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
  readonly body: string
}

export interface Pages {
  readonly port: number
  stop(): Promise<void>
}

/** Small documents over plain HTTP: health and metrics. Undefined is a path where nothing is. */
export async function servePages(
  flag: string,
  address: HostPort,
  find: (path: string) => Page | undefined,
): Promise<Pages> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/'
    const { status = 200, type = 'text/plain; charset=utf-8', body } = find(path) ?? noPage
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  const port = await bind(flag, address, () => listenPlain(server, address))
  return { port, stop: () => closeServer(server) }
}

const noPage: Page = { status: 404, body: 'there is no such page\n' }

function listenPlain(server: Server, { host, port }: HostPort): Promise<number> {
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
