// The socket that the plugin writes to: one call for each connection, written whole before it is answered. Only root may open it.
// Sizes, times and the number of callers are bounded, and no caller can hold up another.

import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { cniCallsMax, cniRequestBytesMax, cniRequestMsMax } from '../limits.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Answer } from './answer.ts'
import { CNIError, codes, toErrorText, versions } from './spec.ts'

export interface ServeOptions {
  readonly path: string
  readonly answer: (text: string) => Promise<Answer>
  readonly log: Log
}

export interface Serving {
  stop(): Promise<void>
}

export async function serveCalls({ path, answer, log }: ServeOptions): Promise<Serving> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  chmodSync(dirname(path), 0o700)
  // What a process left behind that was killed; a second one that runs would be taken over from.
  rmSync(path, { force: true })
  const server = createServer({ allowHalfOpen: true }, socket => receive(socket, answer, log))
  server.maxConnections = cniCallsMax
  await listen(server, path)
  chmodSync(path, 0o600)
  server.on('error', error => log.error('the socket of the plugin failed', { error: describeError(error) }))
  return {
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
      }),
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function receive(socket: Socket, answer: ServeOptions['answer'], log: Log): void {
  const chunks: Buffer[] = []
  let bytes = 0
  const refuse = (why: string) => {
    socket.removeAllListeners('data')
    const error = new CNIError(codes.io, 'the call could not be read', why)
    socket.end(JSON.stringify({ exit: 1, stdout: toErrorText(versions.at(-1) ?? '', error) }), () => socket.destroy())
  }
  const late = setTimeout(() => refuse(`it did not arrive within ${cniRequestMsMax} ms`), cniRequestMsMax)
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > cniRequestBytesMax) {
      clearTimeout(late)
      refuse(`it is longer than ${cniRequestBytesMax} bytes`)
    } else chunks.push(chunk)
  })
  socket.on('close', () => clearTimeout(late))
  // A caller that has gone away is not told; what it asked for is kept, and found by its next call.
  socket.on('error', error => log.debug('a caller of the plugin went away', { error: describeError(error) }))
  socket.on('end', () => {
    clearTimeout(late)
    if (bytes > cniRequestBytesMax) return
    answer(Buffer.concat(chunks).toString('utf8')).then(
      ({ exit, stdout }) => socket.end(JSON.stringify({ exit, stdout })),
      error => {
        log.error('a call was not answered', { error })
        socket.destroy()
      },
    )
  })
}
