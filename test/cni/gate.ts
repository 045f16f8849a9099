// The way from a node to the API server, which can be cut and mended: a port on loopback that passes bytes on. What goes through is TLS, so
// nothing here reads it.

import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { parse } from 'yaml'

export class Gate {
  readonly port: number
  readonly #open = new Set<Socket>()
  #isCut = false

  private constructor(server: Server, target: URL) {
    const address = server.address()
    this.port = typeof address === 'object' && address !== null ? address.port : 0
    server.on('connection', socket => this.#pass(socket, target))
  }

  static async open(target: string): Promise<Gate> {
    const server = createServer()
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    server.unref()
    return new Gate(server, new URL(target))
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#open) socket.destroy()
  }

  mend(): void {
    this.#isCut = false
  }

  #pass(socket: Socket, { hostname, port }: URL): void {
    if (this.#isCut) return void socket.destroy()
    const other = connect(Number(port), hostname)
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.#open.add(one)
      one
        .on('error', () => {})
        .on('close', () => {
          this.#open.delete(one)
          two.destroy()
        })
      one.pipe(two)
    }
  }
}

/** The same kubeconfig, by way of the gate. */
export function throughGate(kubeconfig: string, gate: Gate, into: string): string {
  const config = parse(readFileSync(kubeconfig, 'utf8')) as { clusters: { cluster: { server: string } }[] }
  for (const { cluster } of config.clusters) cluster.server = `https://127.0.0.1:${gate.port}`
  writeFileSync(into, JSON.stringify(config), { mode: 0o600 })
  return into
}
