import { describe, expect, test } from 'vitest'
import { silentLog } from '../../test/harness/silent-log.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import type { ServingCertificate } from '../admission/server.ts'
import { issueCA, issueServerCertificate } from '../apiserver/certificates/issue.ts'
import { createCertificateFiles } from './serving-certificate.ts'

const day = 24 * 60 * 60 * 1000
const clock = new VirtualClock()
const authority = issueCA('ca', { notBefore: new Date(clock.now() - day), notAfter: new Date(clock.now() + 90 * day) })
const issue = (days: number) => {
  const life = { notBefore: new Date(clock.now() - day), notAfter: new Date(clock.now() + days * day) }
  return issueServerCertificate(authority, 'webhook', { dns: ['webhook'], ips: [] }, life)
}
const [first, second, ended] = [issue(30), issue(60), issue(-0.5)]

function aStory(clientCAFile?: string) {
  const clock = new VirtualClock()
  const files = new Map<string, string>()
  const served: ServingCertificate[] = []
  const followed = createCertificateFiles({
    directory: '/certs',
    certificateName: 'tls.crt',
    keyName: 'tls.key',
    clientCAFile,
    readFile: path => files.get(path),
    clock,
    log: silentLog,
    onChange: certificate => served.push(certificate),
  })
  const stop = new AbortController()
  void followed.follow(stop.signal)
  return { clock, files, served, followed, stop }
}

describe('the certificate for webhooks', () => {
  test('may come later than the process, and its parts one by one', async () => {
    const { clock, files, served, followed } = aStory()
    expect(followed.problem).toBe('there is no certificate at /certs/tls.crt')
    files.set('/certs/tls.crt', first.certificate)
    await clock.advance(1_000)
    expect(followed.problem).toBe('there is no key at /certs/tls.key')
    files.set('/certs/tls.key', first.key)
    await clock.advance(1_000)
    expect(followed.problem).toBeUndefined()
    expect(served).toEqual([{ certificate: first.certificate, key: first.key }])
  })

  test('is renewed when both files are, and kept while they do not belong together', async () => {
    const { clock, files, served, followed } = aStory()
    files.set('/certs/tls.crt', first.certificate).set('/certs/tls.key', first.key)
    await clock.advance(5_000)
    files.set('/certs/tls.crt', second.certificate)
    await clock.advance(5_000)
    expect(followed.problem).toBe('/certs/tls.key is not the key of /certs/tls.crt')
    expect(served).toHaveLength(1)
    files.set('/certs/tls.key', second.key)
    await clock.advance(5_000)
    expect(followed.problem).toBeUndefined()
    expect(served.map(({ certificate }) => certificate)).toEqual([first.certificate, second.certificate])
  })

  test('that has ended is a problem, and so is one that is no certificate', async () => {
    const { clock, files, followed, stop } = aStory()
    files.set('/certs/tls.crt', ended.certificate).set('/certs/tls.key', ended.key)
    await clock.advance(1_000)
    expect(followed.problem).toContain('/certs/tls.crt ended on')
    files.set('/certs/tls.crt', 'garbage')
    await clock.advance(1_000)
    expect(followed.problem).toContain('/certs/tls.crt or its key cannot be read')
    stop.abort()
    await clock.advance(1)
    expect(clock.timers).toBe(0)
  })

  test('is not served without the authority of those that may ask, and is served anew with another one', async () => {
    const { clock, files, served, followed } = aStory('/certs/client-ca.crt')
    files.set('/certs/tls.crt', first.certificate).set('/certs/tls.key', first.key)
    await clock.advance(1_000)
    expect(followed.problem).toBe('there is no authority of API servers at /certs/client-ca.crt')
    files.set('/certs/client-ca.crt', 'garbage')
    await clock.advance(1_000)
    expect(followed.problem).toContain('/certs/client-ca.crt, the authority of API servers, cannot be read')
    expect(served).toEqual([])
    files.set('/certs/client-ca.crt', authority.certificate)
    await clock.advance(1_000)
    expect(followed.problem).toBeUndefined()
    const other = issueCA('other', { notBefore: new Date(clock.now() - day), notAfter: new Date(clock.now() + day) })
    files.set('/certs/client-ca.crt', other.certificate)
    await clock.advance(5_000)
    expect(served.map(({ clientCA }) => clientCA)).toEqual([authority.certificate, other.certificate])
  })
})
