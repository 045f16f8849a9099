// A server that speaks as much of vCenter's SOAP as a test writes down: real TLS on the loopback interface, answers by hand. For
// what the simulator does not do: faults, odd prefixes, damaged and hostile answers.

import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { issueCA, issueServerCertificate } from '../../src/apiserver/certificates/issue.ts'

export interface Asked {
  /** Of SOAP; of REST that of HTTP with its path: `GET /rest/com/vmware/cis/session`. */
  readonly method: string
  readonly body: string
  readonly cookie: string | undefined
  readonly headers: IncomingHttpHeaders
}

export interface Said {
  readonly status?: number
  readonly body: string
  readonly cookie?: string
}

/** Undefined leaves the client without an answer. */
export type Script = (asked: Asked, past: readonly Asked[]) => Said | undefined | Promise<Said | undefined>

export interface ScriptedVCenter {
  readonly url: string
  readonly ca: string
  /** Every call, in its order. */
  readonly asked: readonly Asked[]
  methods(): string[]
  close(): Promise<void>
}

const soap = 'http://schemas.xmlsoap.org/soap/envelope/'

const envelope = (inside: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><S:Envelope xmlns:S="${soap}"><S:Body>${inside}</S:Body></S:Envelope>`

export const answered = (method: string, inside = ''): Said => ({
  body: envelope(`<${method}Response xmlns="urn:vim25">${inside}</${method}Response>`),
})

/** The prefix of the type is not the usual one, as with real servers. */
export const faulted = (type: string, sentence: string = type): Said => ({
  status: 500,
  body: envelope(
    `<S:Fault><faultcode>ServerFaultCode</faultcode><faultstring>${sentence}</faultstring><detail>` +
      `<${type}Fault xmlns="urn:vim25" xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="${type}"/>` +
      '</detail></S:Fault>',
  ),
})

const managers = ['propertyCollector', 'viewManager', 'sessionManager', 'searchIndex']
  .map(name => `<${name} type="T">ha-${name}</${name}>`)
  .join('')

/** What begins and ends every session; anything else is for the script. */
export const usual = ({ method }: Asked, past: readonly Asked[]): Said => {
  if (method === 'RetrieveServiceContent') {
    const about = '<about><fullName>a host</fullName><apiVersion>8.0</apiVersion><apiType>HostAgent</apiType></about>'
    return answered(
      method,
      `<returnval><rootFolder type="Folder">ha-folder-root</rootFolder>${managers}${about}</returnval>`,
    )
  }
  if (method === 'Login') return { ...answered(method), cookie: `"session-${past.length}"` }
  if (method === 'CreateContainerView') return answered(method, '<returnval type="ContainerView">view-1</returnval>')
  return answered(method)
}

const hourMs = 3_600_000

export async function startScriptedVCenter(script: Script): Promise<ScriptedVCenter> {
  const lifetime = { notBefore: new Date(Date.now() - hourMs), notAfter: new Date(Date.now() + hourMs) }
  const ca = issueCA('an authority', lifetime)
  const { certificate, key } = issueServerCertificate(ca, 'vcenter', { dns: [], ips: ['127.0.0.1'] }, lifetime)
  const asked: Asked[] = []
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part))
    request.on('end', async () => {
      const body = Buffer.concat(parts).toString()
      const [, called = ''] = /<soapenv:Body><(\w+) /.exec(body) ?? []
      const method = request.url === '/sdk' ? called : `${request.method} ${request.url}`
      const call = { method, body, cookie: request.headers.cookie, headers: request.headers }
      const answer = script(call, [...asked])
      asked.push(call)
      const said = await answer
      if (said === undefined) return
      if (said.cookie !== undefined)
        response.setHeader('set-cookie', `vmware_soap_session=${said.cookie}; Path=/; Secure`)
      response.statusCode = said.status ?? 200
      response.end(said.body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: ca.certificate,
    asked,
    methods: () => asked.map(({ method }) => method),
    close: async () => {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}
