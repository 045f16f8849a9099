import { once } from 'node:events'
import { connect as connectHTTP2 } from 'node:http2'
import { connect as connectPlain } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aConfigMap, configMaps } from '../harness/objects.ts'
import { certificates } from '../harness/world.ts'
import { aTarget, http2, type Target } from './target.ts'

const limits = { reads: 400, writes: 200, watches: 6_000 }
const N = configMaps()

let target: Target
beforeAll(async () => {
  target = await aTarget({ inFlight: limits, timeouts: { bodyMs: 300, streamEndMs: 300 } })
})
afterEach(() => target.expectUnharmed())
afterAll(() => target.close())

const head = (method: string, path: string, ...lines: string[]) =>
  `${[`${method} ${path} HTTP/1.1`, 'Host: x', ...lines].join('\r\n')}\r\n\r\n`

describe('connections', () => {
  test.each([
    ['plain HTTP on the TLS port', 'GET / HTTP/1.1\r\n\r\n'],
    ['random bytes', Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 73) % 256))],
    ['a TLS record that promises more than it holds', Buffer.from([0x16, 3, 1, 0xff, 0xff, 1, 2, 3])],
    ['nothing at all', ''],
  ])('%s is hung up on', async (_, bytes) => {
    const socket = connectPlain(target.port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    if (bytes.length > 0) socket.write(bytes)
    socket.end()
    // A paused socket learns that it is closed when it writes.
    await until(() => {
      if (!socket.destroyed) socket.write('x')
      return socket.destroyed
    })
  })

  test('a hundred half-open ones do not keep others out', async () => {
    const sockets = Array.from({ length: 100 }, () => connectPlain(target.port, '127.0.0.1'))
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    await target.expectUnharmed()
    for (const socket of sockets) socket.destroy()
  })

  test('HTTP/1.0 is understood', async () => {
    expect(await target.raw('GET /version HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each([
    ['a thousand headers', head('GET', '/version', ...Array.from({ length: 3_000 }, (_, i) => `X-${i}: ${i}`))],
    ['a header of a megabyte', head('GET', '/version', `X: ${'x'.repeat(1_000_000)}`)],
    ['a path of a megabyte', head('GET', `/${'x'.repeat(1_000_000)}`)],
    ['an unknown method', head('BREW', '/version')],
    ['a header without a name', head('GET', '/version', ': x')],
    ['two lengths', head('POST', N, 'Content-Length: 1', 'Content-Length: 2')],
    ['a length and chunks', head('POST', N, 'Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['a negative length', head('POST', N, 'Content-Length: -1')],
  ])('%s is refused', async (_, text) => {
    const answer = await target.raw(text)
    expect(answer === '' || /^HTTP\/1\.1 4\d\d /.test(answer), answer.slice(0, 80)).toBe(true)
  })

  test('HTTP/2 streams that are reset at once leave nothing behind', async () => {
    const { certificate: cert, key } = certificates().admin()
    const session = connectHTTP2(`https://127.0.0.1:${target.port}`, { cert, key, rejectUnauthorized: false })
    session.on('error', () => {})
    for (let i = 0; i < 500; i++) {
      const stream = session.request({ ':path': `${N}?watch=true` })
      stream.on('error', () => {})
      stream.close(8)
    }
    session.destroy()
    await everyWatchIsOver()
  })
})

describe('bodies that come slowly or not at all', () => {
  test('a trickle is cut off with 504', async () => {
    const answer = await target.raw(`${head('POST', N, 'Content-Type: application/json', 'Content-Length: 100')}{`)
    expect(answer).toMatch(/^HTTP\/1\.1 504 /)
  })

  test('a trickle on HTTP/2 as well', async () => {
    const { certificate: cert, key } = certificates().admin()
    const session = connectHTTP2(`https://127.0.0.1:${target.port}`, { cert, key, rejectUnauthorized: false })
    const stream = session.request({ ':method': 'POST', ':path': N, 'content-type': 'application/json' })
    stream.write('{')
    stream.resume()
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect(answer[':status']).toBe(504)
    await once(stream, 'close')
    session.destroy()
  })

  test('an upload that is given up writes nothing', async () => {
    const before = target.server.world.store.revision
    const whole = JSON.stringify(aConfigMap('half'))
    for (let i = 0; i < 20; i++) {
      const socket = await target.socket()
      socket.write(head('POST', N, 'Content-Type: application/json', `Content-Length: ${whole.length}`))
      socket.write(whole.slice(0, -1))
      socket.destroy()
    }
    await target.expectUnharmed()
    expect(target.server.world.store.revision).toBe(before)
  })
})

describe('watches', () => {
  test('five thousand that are opened and dropped leave nothing behind', async () => {
    const { certificate: cert, key } = certificates().admin()
    const perSession = 200
    for (let round = 0; round < 25; round++) {
      const session = connectHTTP2(`https://127.0.0.1:${target.port}`, { cert, key, rejectUnauthorized: false })
      session.on('error', () => {})
      const streams = Array.from({ length: perSession }, () => session.request({ ':path': `${N}?watch=true` }))
      // Some are dropped once they run, some before they are answered.
      if (round % 2 === 0) await Promise.all(streams.map(stream => once(stream, 'response')))
      for (const stream of streams) stream.on('error', () => {})
      session.destroy()
    }
    await everyWatchIsOver()
  })

  test('a client that does not read is cut off, and its socket is closed', async () => {
    const socket = await target.socket()
    socket.write(head('GET', `${N}?watch=true`))
    await once(socket, 'data')
    socket.pause()
    const large = 'x'.repeat(1_000_000)
    for (let i = 0; i < 16; i++) {
      const made = await target.send('POST', N, JSON.stringify(aConfigMap(`large-${i}`, { large })))
      expect(made.code).toBe(201)
    }
    await everyWatchIsOver()
    // A paused socket learns that it is closed when it writes.
    await until(() => {
      if (!socket.destroyed) socket.write('x')
      return socket.destroyed
    })
    for (let i = 0; i < 16; i++) await target.send('DELETE', `${N}/large-${i}`)
  })
})

describe('more connections than the server has places for', () => {
  test('are told so and closed, in HTTP/1 and HTTP/2, and served when there is room again', async () => {
    const small = await aTarget({ connectionsMax: 3 })
    try {
      const held = await Promise.all([small.socket(), small.socket(), small.socket()])
      const refusal = await small.raw(head('GET', '/version'))
      expect(refusal).toMatch(/^HTTP\/1\.1 429 /)
      expect(refusal).toContain('too many connections, please try again later')
      expect(await http2(small, { ':method': 'GET', ':path': '/version' })).toMatchObject({ code: 429 })
      for (const socket of held) socket.destroy()
      for (;;) if ((await small.send('GET', '/version')).code === 200) break
    } finally {
      await small.close()
    }
  })
})

/** Every watch that a client had is over: its subscription and its place. */
async function everyWatchIsOver(): Promise<void> {
  await until(() => target.openWatches() === 0)
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve))
}
