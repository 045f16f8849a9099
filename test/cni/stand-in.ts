// A stand-in for `mooring node`: a unix socket that answers every call as it is told to, and keeps what it was asked.

import { createServer, type Socket } from 'node:net'

export interface Asked {
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string
}

export interface StandIn {
  readonly asked: readonly Asked[]
  close(): Promise<void>
}

/** `answer` is given the whole question; what it answers is sent as it is, and the connection ends. */
export async function startStandIn(path: string, answer: (asked: Asked) => string): Promise<StandIn> {
  const asked: Asked[] = []
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => {})
    let text = ''
    socket.setEncoding('utf8').on('data', chunk => {
      text += String(chunk)
    })
    socket.on('end', () => {
      const question = JSON.parse(text) as Asked
      asked.push(question)
      socket.end(answer(question))
    })
  })
  await new Promise<void>((done, fail) => {
    server.once('error', fail).listen(path, done)
  })
  return {
    asked,
    close: () =>
      new Promise(done => {
        for (const socket of open) socket.destroy()
        server.close(() => done())
      }),
  }
}
