import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { issueCA, issueClientCertificate, issueServerCertificate } from '../certificates/issue.ts'
import { createWebhookWire } from './wire.ts'

const now = Date.now()
const life = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) }
const ca = issueCA('webhook-ca', life)
const ours = issueCA('our-ca', life)
const client = issueClientCertificate(ours, 'api-server', [], life)
const serving = issueServerCertificate(ca, 'hook', { dns: [], ips: ['127.0.0.1'] }, life)

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** Asks for a client certificate, and hangs up on clients that show one of another authority than `trusted`. */
async function aWebhook(
  trusted: string,
): Promise<{ url: string; shown: (string | undefined)[]; hangUps: () => number }> {
  const shown: (string | undefined)[] = []
  let hangUps = 0
  const options = {
    cert: serving.certificate,
    key: serving.key,
    ca: trusted,
    requestCert: true,
    rejectUnauthorized: false,
  }
  server = createServer(options, (request, response) => {
    const socket = request.socket as TLSSocket
    if (!mayStay(socket)) return
    shown.push(nameOf(socket))
    request.resume().on('end', () => response.end('{"kind":"AdmissionReview"}'))
  })
  server.on('secureConnection', socket => {
    if (mayStay(socket)) return
    hangUps++
    socket.destroy()
  })
  await new Promise<void>(resolve => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}/`, shown, hangUps: () => hangUps }
}

/** Of the certificate that the client shows; a connection that was ended has none any more. */
function nameOf(socket: TLSSocket): string | undefined {
  const certificate = socket.getPeerCertificate() as ReturnType<TLSSocket['getPeerCertificate']> | null
  return certificate?.subject === undefined ? undefined : String(certificate.subject.CN)
}

const mayStay = (socket: TLSSocket) => !socket.destroyed && (nameOf(socket) === undefined || socket.authorized)

const aWire = () =>
  createWebhookWire({
    resolveService: () => undefined,
    timeout: seconds => AbortSignal.timeout(seconds * 1000),
    clientCertificate: () => client,
  })

describe('a webhook that asks for a client certificate', () => {
  test('is shown ours', async () => {
    const { url, shown } = await aWebhook(ours.certificate)
    const wire = aWire()
    await wire.post({ url, ca: ca.certificate }, {}, { timeoutSeconds: 5 })
    expect(shown).toEqual(['api-server'])
    await wire.close()
  })

  test('and hangs up on ours, because another authority vouches for its clients, is asked without it from then on', async () => {
    const { url, shown, hangUps } = await aWebhook(ca.certificate)
    const wire = aWire()
    await wire.post({ url, ca: ca.certificate }, {}, { timeoutSeconds: 5 })
    const before = hangUps()
    await wire.post({ url, ca: ca.certificate }, {}, { timeoutSeconds: 5 })
    expect(shown).toEqual([undefined, undefined])
    expect(hangUps()).toBe(before)
    await wire.close()
  })
})
