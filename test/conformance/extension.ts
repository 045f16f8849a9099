// An extension API server inside of the test, over HTTPS on loopback. It shows what the API server sends it: the headers, and
// whether the client certificate is one that the ConfigMap `extension-apiserver-authentication` vouches for.

import { X509Certificate } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { createAuthority, issue } from '../../scripts/real/certificate.ts'

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  readonly body: string
  /** PEM; empty where no certificate was shown. */
  readonly certificate: string
}

export interface Extension {
  readonly port: number
  /** Base64, as an APIService has it. */
  readonly caBundle: string
  /** What came in below `/apis/GROUP/VERSION/`. */
  readonly seen: Seen[]
  /** From now on the discovery document is answered with this code. */
  answerDiscoveryWith(code: number): void
  stop(): Promise<void>
  restart(): Promise<void>
}

export interface ExtensionOptions {
  /** Names that the certificate is good for: `SERVICE.NAMESPACE.svc`. */
  readonly hosts: readonly string[]
  readonly group: string
}

/** One resource with an object, and subresources by their ways of answering. */
export const things = (group: string) => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${group}/v1`,
  resources: [
    {
      name: 'things',
      singularName: 'thing',
      namespaced: true,
      kind: 'Thing',
      verbs: ['create', 'get', 'list', 'watch'],
      shortNames: ['th'],
      categories: ['all'],
    },
    { name: 'things/console', singularName: '', namespaced: true, kind: 'Thing', verbs: ['get'] },
    { name: 'orphans/start', singularName: '', namespaced: true, kind: 'Orphan', verbs: ['update'] },
  ],
})

export async function serveExtension({ hosts, group }: ExtensionOptions): Promise<Extension> {
  const authority = createAuthority('extension tests')
  const certificate = issue(authority, { commonName: hosts[0] ?? '', hosts })
  const seen: Seen[] = []
  const state = { discoveryCode: 200 }
  const root = `/apis/${group}/v1`

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const json = (code: number, value: object) => {
      const body = Buffer.from(JSON.stringify(value))
      response.writeHead(code, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    }
    if (path === root) {
      if (state.discoveryCode === 200) json(200, things(group))
      else json(state.discoveryCode, {})
      return
    }
    if (path === '/openapi/v3') {
      json(200, { paths: { [root.slice(1)]: { serverRelativeURL: `/openapi/v3${root}?hash=AB12` } } })
      return
    }
    if (path === `/openapi/v3${root}`) {
      json(200, openAPIOf(root))
      return
    }
    if (path === '/openapi/v2') {
      json(200, swaggerOf(root))
      return
    }
    if (!path.startsWith(`${root}/`)) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n')
      return
    }
    seen.push(toSeen(request, body))
    if (path.endsWith('/never')) return
    if (path.endsWith('/broken')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"half":', () => request.socket.destroy())
    } else if (path.endsWith('/moved')) {
      response.writeHead(302, { location: 'https://127.0.0.1:1/elsewhere' }).end()
    } else if (path.endsWith('/hung-up')) {
      request.socket.destroy()
    } else if ((request.url ?? '').includes('watch=')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      for (const type of ['ADDED', 'MODIFIED'])
        response.write(`${JSON.stringify({ type, object: { kind: 'Thing' } })}\n`)
    } else if (path.endsWith('/refused')) {
      json(409, {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'Conflict',
        message: 'not now',
        code: 409,
      })
    } else {
      response.setHeader('x-extension', 'yes')
      json(request.method === 'POST' ? 201 : 200, { kind: 'Thing', apiVersion: `${group}/v1`, body })
    }
  }

  const server = createServer(
    { cert: certificate.cert, key: certificate.key, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()))
    },
  )
  // What comes through the console is said back.
  server.on('upgrade', (request, socket, head: Buffer) => {
    seen.push(toSeen(request, ''))
    if ((request.url ?? '').includes('refused')) {
      socket.end(
        'HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 7\r\nconnection: close\r\n\r\nnot you',
      )
      return
    }
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nx-extension: yes\r\n\r\n',
    )
    if (head.length > 0) socket.write(head)
    socket.on('error', () => socket.destroy())
    socket.pipe(socket)
  })
  const listen = (port: number) => new Promise<void>(done => server.listen(port, '127.0.0.1', done))
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    caBundle: Buffer.from(authority.cert).toString('base64'),
    seen,
    answerDiscoveryWith: code => {
      state.discoveryCode = code
    },
    stop: () =>
      new Promise(done => {
        server.close(() => done())
        server.closeAllConnections()
      }),
    restart: () => listen(port),
  }
}

function toSeen(request: IncomingMessage, body: string): Seen {
  const raw = (request.socket as TLSSocket).getPeerCertificate?.()?.raw
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    headers: request.headersDistinct,
    body,
    certificate: raw === undefined ? '' : new X509Certificate(raw).toString(),
  }
}

const described = (root: string) => ({
  [`${root}/namespaces/{namespace}/things/{name}`]: {
    get: { operationId: 'readThing', responses: { 200: { description: 'OK' } } },
  },
})

const openAPIOf = (root: string) => ({
  openapi: '3.0.0',
  info: { title: 'Things', version: 'v1' },
  paths: described(root),
  components: { schemas: {} },
})

const swaggerOf = (root: string) => ({
  swagger: '2.0',
  info: { title: 'Things', version: 'v1' },
  paths: described(root),
  definitions: {},
})
