import { request } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { isLoopback, isSamePort, parseHostPort } from './host-port.ts'
import { type Pages, servePages } from './listen.ts'

let pages: Pages | undefined
afterEach(async () => {
  await pages?.stop()
  pages = undefined
})

async function askAs(host: string, served: string): Promise<number | undefined> {
  const address = { ...parseHostPort('--dashboard', `${served}:0`) }
  pages = await servePages({ flag: '--dashboard', address, find: () => ({ body: 'figures' }) })
  const { port } = pages
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/metrics', headers: { host } }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    })
    asked.once('error', reject)
    asked.end()
  })
}

test.each(['localhost', 'localhost:7080', '127.0.0.1', '127.0.0.1:1', '[::1]:7080'])(
  'a page on a loopback address is served as %s',
  async host => {
    expect(await askAs(host, '127.0.0.1')).toBe(200)
  },
)

test.each(['evil.example', 'evil.example:7080', '10.0.0.1', 'localhost.evil.example'])(
  'a page on a loopback address is not served as %j, which a site in a browser could be called',
  async host => {
    expect(await askAs(host, '127.0.0.1')).toBe(421)
  },
)

test('a page on every address is served under any name', async () => {
  expect(await askAs('mooring.example', '0.0.0.0')).toBe(200)
})

test.each([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example.com', false],
])('only this machine reaches %s: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})

test.each([
  ['127.0.0.1:7443', '127.0.0.1:7443', true],
  ['0.0.0.0:7443', '127.0.0.1:7443', true],
  ['127.0.0.1:7443', '127.0.0.1:7080', false],
  ['127.0.0.1:0', '127.0.0.1:0', false],
  ['127.0.0.1:7443', '127.0.0.2:7443', false],
])('%s and %s are one port: %s', (one, other, expected) => {
  expect(isSamePort(parseHostPort('--listen', one), parseHostPort('--dashboard', other))).toBe(expected)
})
