import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../test/harness/silent-log.ts'
import { cniRequestBytesMax } from '../limits.ts'
import { type Serving, serveCalls } from './serve.ts'

let path: string
let serving: Serving
const asked: string[] = []

beforeEach(async () => {
  path = join(mkdtempSync(join(tmpdir(), 'mooring-socket-')), 'run', 'cni.sock')
  asked.length = 0
  const answer = async (text: string) => {
    asked.push(text)
    return { exit: 0, stdout: text.toUpperCase() } as const
  }
  serving = await serveCalls({ path, answer, log: silentLog })
})

afterEach(async () => {
  await serving.stop()
  rmSync(join(dirname(path), '..'), { recursive: true, force: true })
})

function call(...chunks: readonly (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ path, allowHalfOpen: true })
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', chunk => {
      text += String(chunk)
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
    for (const chunk of chunks) socket.write(chunk)
    socket.end()
  })
}

test('a call is answered when it is whole, however it arrives', async () => {
  const euro = Buffer.from('a€b')
  expect(await call(euro.subarray(0, 2), euro.subarray(2))).toBe('{"exit":0,"stdout":"A€B"}')
  expect(asked).toEqual(['a€b'])
})

test('only root may open the socket, and see that it is there', () => {
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
})

test('a call of any length is told that it is too long, and others are answered', async () => {
  const answer = JSON.parse(await call(Buffer.alloc(cniRequestBytesMax + 1, 'x')))
  expect(answer.exit).toBe(1)
  expect(JSON.parse(answer.stdout)).toMatchObject({ code: 5, details: expect.stringContaining('longer than') })
  expect(asked).toEqual([])
  expect(await call('x')).toBe('{"exit":0,"stdout":"X"}')
})

test('what a killed process left in its place does not keep the next one from starting', async () => {
  await serving.stop()
  writeFileSync(path, '')
  serving = await serveCalls({ path, answer: async () => ({ exit: 0, stdout: '' }), log: silentLog })
  expect(await call('x')).toBe('{"exit":0,"stdout":""}')
})
