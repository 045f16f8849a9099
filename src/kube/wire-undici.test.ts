// Real sockets on the loopback interface, real TLS: what the wire promises about them.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTLSServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { keepCertificates } from '../apiserver/certificates/keep.ts'
import type { Connection } from './kubeconfig.ts'
import { WireError, type WireRequest } from './wire.ts'
import { createUndiciWire, type UndiciWireOptions } from './wire-undici.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

function aWire(server: string, more: Partial<Connection> = {}, options: Partial<UndiciWireOptions> = {}) {
  const clock = new VirtualClock()
  const connection: Connection = { server, trustsAnyServer: false, namespace: 'default', ...more }
  const { wire, close } = createUndiciWire({ connection, clock, readFile: () => undefined, ...options })
  ends.push(close)
  const send = (request: Partial<WireRequest> = {}) =>
    wire({ method: 'GET', path: '/version', headers: {}, signal: new AbortController().signal, ...request })
  return { clock, send }
}

const echo = (request: IncomingMessage, response: ServerResponse) => {
  const parts: Buffer[] = []
  request.on('data', part => parts.push(part))
  request.on('end', () => {
    const { method, url, headers } = request
    response.setHeader('Retry-After', '5')
    response.statusCode = 201
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }))
  })
}

function freshCertificates() {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-wire-'))
  const kept = keepCertificates({
    directory,
    names: { dns: ['localhost'], ips: ['127.0.0.1'] },
    clock: () => new Date(),
  })
  rmSync(directory, { recursive: true })
  return kept
}

const lost = async (attempt: Promise<unknown>) => {
  try {
    await attempt
  } catch (error) {
    return error instanceof WireError ? error.mayHaveArrived : error
  }
  return 'answered'
}

test('a request goes out as it is, and the answer comes back as it is', async () => {
  const port = await listen(createServer(echo))
  const { send } = aWire(`http://127.0.0.1:${port}/behind/a/path`)
  const { status, headers, body } = await send({
    method: 'POST',
    path: '/x?y=z',
    headers: { 'x-a': 'b' },
    body: '{"a":"\u00e4"}',
  })
  expect([status, headers['retry-after']]).toEqual([201, '5'])
  expect(JSON.parse(body as string)).toMatchObject({
    method: 'POST',
    url: '/behind/a/path/x?y=z',
    headers: { 'x-a': 'b' },
    body: '{"a":"\u00e4"}',
  })
})

test('a token from a file is read again after a while, and survives the moment of its replacement', async () => {
  const port = await listen(createServer(echo))
  let content: string | undefined = 'first\n'
  const token = { kind: 'file', path: '/token' } as const
  const { send, clock } = aWire(`http://127.0.0.1:${port}`, { token }, { readFile: () => content })
  const shown = async () => JSON.parse((await send()).body as string).headers.authorization
  expect(await shown()).toBe('Bearer first')
  content = 'second\n'
  expect(await shown()).toBe('Bearer first')
  await clock.advance(60_000)
  expect(await shown()).toBe('Bearer second')
  content = undefined
  await clock.advance(60_000)
  expect(await shown()).toBe('Bearer second')
})

test('a stream is read as it comes, and ends soon after its signal', async () => {
  const port = await listen(
    createServer((_, response) => {
      response.write('one\n')
    }),
  )
  const { send } = aWire(`http://127.0.0.1:${port}`)
  const abort = new AbortController()
  const { body } = await send({ isStream: true, signal: abort.signal })
  const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe('one\n')
  const next = lost(chunks.next())
  abort.abort()
  expect(await next).toBe(true)
})

/** Compresses for those who ask for it, as an API server does with what is long. */
const compressing = (text: string) => (request: IncomingMessage, response: ServerResponse) => {
  if (request.headers['accept-encoding'] !== 'gzip') return response.end(text)
  response.setHeader('Content-Encoding', 'gzip')
  return response.end(gzipSync(text))
}

test('what may be large is asked for compressed, and read as it was', async () => {
  const text = JSON.stringify({ items: Array.from({ length: 10_000 }, (_, i) => `r\u00f6hre-${i}-\u{1f409}`) })
  const encodings: unknown[] = []
  const port = await listen(
    createServer((request, response) => {
      encodings.push(request.headers['accept-encoding'])
      compressing(text)(request, response)
    }),
  )
  const { send } = aWire(`http://127.0.0.1:${port}`)
  expect((await send({ isLarge: true })).body).toBe(text)
  expect((await send()).body).toBe(text)
  expect(encodings).toEqual(['gzip', undefined])
})

test('a server that does not compress is read as well', async () => {
  const port = await listen(createServer((_, response) => response.end('{"items":[]}')))
  expect((await aWire(`http://127.0.0.1:${port}`).send({ isLarge: true })).body).toBe('{"items":[]}')
})

test('a compressed answer that is cut short or is none is a lost answer', async () => {
  const packed = gzipSync(JSON.stringify(Array.from({ length: 1_000 }, (_, i) => i)))
  for (const bytes of [packed.subarray(0, packed.length / 2), Buffer.from('{"items":[]}')]) {
    const port = await listen(
      createServer((_, response) => {
        response.setHeader('Content-Encoding', 'gzip')
        response.end(bytes)
      }),
    )
    expect(await lost(aWire(`http://127.0.0.1:${port}`).send({ isLarge: true }))).toBe(true)
  }
})

test('a request under way ends with its signal, whether the server is silent or in the middle of its answer', async () => {
  let reached = () => {}
  const silent = await listen(createServer(() => reached()))
  const halfway = await listen(
    createServer((_, response) => {
      response.write('{"metadata":')
      reached()
    }),
  )
  for (const port of [silent, halfway]) {
    const isReached = new Promise<void>(resolve => {
      reached = resolve
    })
    const abort = new AbortController()
    const answer = lost(aWire(`http://127.0.0.1:${port}`).send({ method: 'PATCH', body: '{}', signal: abort.signal }))
    await isReached
    abort.abort()
    expect(await answer).toBe(true)
  }
})

test('a refused stream is answered whole', async () => {
  const port = await listen(
    createServer((_, response) => {
      response.statusCode = 410
      response.end('{"code":410}')
    }),
  )
  const { send } = aWire(`http://127.0.0.1:${port}`)
  expect(await send({ isStream: true })).toMatchObject({ status: 410, body: '{"code":410}' })
})

test('a request that no server took did certainly not arrive; one that was cut off may have', async () => {
  const server = createServer()
  const port = await listen(server)
  await new Promise(resolve => server.close(resolve))
  expect(await lost(aWire(`http://127.0.0.1:${port}`).send({ method: 'POST' }))).toBe(false)
  const rude = await listen(createServer(request => request.socket.destroy()))
  expect(await lost(aWire(`http://127.0.0.1:${rude}`).send({ method: 'POST', body: '{}' }))).toBe(true)
})

test('a server is trusted only with a certificate of the authority that was named', async () => {
  const kept = freshCertificates()
  const { certificate, key } = kept.server()
  const port = await listen(createTLSServer({ cert: certificate, key }, echo))
  const server = `https://127.0.0.1:${port}`
  expect(await lost(aWire(server, { ca: kept.ca().certificate }).send())).toBe('answered')
  expect(await lost(aWire(server).send({ method: 'POST' }))).toBe(false)
})

test('no environment variable makes us trust a server', async () => {
  const { certificate, key } = freshCertificates().server()
  const port = await listen(createTLSServer({ cert: certificate, key }, echo))
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    expect(await lost(aWire(`https://127.0.0.1:${port}`).send())).toBe(false)
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  }
})

test('a kubeconfig that trusts any server is refused, unless that is what was asked for', () => {
  expect(() => aWire('https://127.0.0.1:1', { trustsAnyServer: true })).toThrow('insecure-skip-tls-verify')
  expect(() => aWire('https://127.0.0.1:1', { trustsAnyServer: true }, { mayTrustAnyServer: true })).not.toThrow()
})

test('a key that cannot be read is refused with a sentence, before anything is sent', () => {
  const clientCertificate = { certificate: 'no certificate', key: 'no key' }
  expect(() => aWire('https://127.0.0.1:1', { clientCertificate })).toThrow(/cannot be read/)
})
