// A way to a vCenter on which some answers are lost: requests are passed on, and of those that the test names the answer never comes
// back, as where a connection breaks at the wrong moment.

import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { issueCA, issueServerCertificate } from '../../src/apiserver/certificates/issue.ts'

export interface LossyProxy {
  /** Host and port. */
  readonly host: string
  readonly ca: string
  /** Whether the answer to this call is lost: by its method, or by the action of REST. */
  loses: (method: string) => boolean
  readonly lost: string[]
  close(): Promise<void>
}

const passedOn = ['content-type', 'soapaction', 'cookie', 'authorization', 'vmware-api-session-id']

const hourMs = 3_600_000

export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const lifetime = { notBefore: new Date(Date.now() - hourMs), notAfter: new Date(Date.now() + hourMs) }
  const ca = issueCA('an authority', lifetime)
  const { certificate, key } = issueServerCertificate(ca, 'vcenter', { dns: [], ips: ['127.0.0.1'] }, lifetime)
  // The simulator signs itself.
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  const proxy: LossyProxy = {
    host: '',
    ca: ca.certificate,
    loses: () => false,
    lost: [],
    async close() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
      await agent.destroy()
    },
  }
  const server = createServer({ cert: certificate, key }, async (incoming, response) => {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const body = Buffer.concat(parts)
    const [, called] = /<soapenv:Body><(\w+) /.exec(body.toString()) ?? []
    const [, action] = /~action=([\w-]+)/.exec(incoming.url ?? '') ?? []
    const method = called ?? action ?? `${incoming.method} ${incoming.url}`
    const headers = Object.fromEntries(
      passedOn.flatMap(name => {
        const value = incoming.headers[name]
        return typeof value === 'string' ? [[name, value]] : []
      }),
    )
    const to = { method: incoming.method as 'POST', headers, dispatcher: agent }
    const answer = await request(`${target}${incoming.url}`, body.length > 0 ? { ...to, body } : to)
    const text = await answer.body.text()
    if (proxy.loses(method)) {
      proxy.lost.push(method)
      incoming.socket.destroy()
      return
    }
    const setCookie = answer.headers['set-cookie']
    if (setCookie !== undefined) response.setHeader('set-cookie', setCookie)
    response.statusCode = answer.statusCode
    response.end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(proxy, { host: `127.0.0.1:${(server.address() as AddressInfo).port}` })
}
