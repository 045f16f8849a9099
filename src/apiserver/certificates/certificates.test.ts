import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import * as der from './der.ts'
import { isForClients, issueCA, issueClientCertificate, issueServerCertificate, readSubject } from './issue.ts'
import { keepCertificates } from './keep.ts'
import { adminKubeconfig } from './kubeconfig.ts'

const day = 24 * 60 * 60 * 1000
const start = new Date('2026-03-01T12:00:00Z')
const year = { notBefore: start, notAfter: new Date(start.getTime() + 365 * day) }
const names = { dns: ['localhost', 'kubernetes.default.svc'], ips: ['127.0.0.1', '::1'] }

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'mooring-pki-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('DER', () => {
  it('reads back every length it writes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 5 }), parts => {
        const nodes = der.readAll(Buffer.concat(parts.map(part => der.octetString(part))))
        expect(nodes.map(node => [...node.content])).toEqual(parts.map(part => [...part]))
      }),
    )
  })

  it('never reads past the end of what it is given', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
        try {
          der.readAll(Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(der.MalformedDER)
        }
      }),
    )
  })

  it.each(['2.5.4.3', '1.2.840.10045.4.3.2', '1.3.6.1.5.5.7.3.1', '2.999.1'])('keeps the identifier %s', dotted => {
    const [node] = der.readAll(der.objectIdentifier(dotted))
    expect(der.readObjectIdentifier(node?.content ?? Buffer.alloc(0))).toBe(dotted)
  })

  it('writes years from 2050 on with four digits', () => {
    expect(der.time(new Date('2049-12-31T23:59:59Z')).subarray(2).toString()).toBe('491231235959Z')
    expect(der.time(new Date('2050-01-01T00:00:00Z')).subarray(2).toString()).toBe('20500101000000Z')
  })
})

describe('certificates', () => {
  const ca = issueCA('test-ca', year)

  it('carry the user as common name and its groups as organizations', () => {
    const { certificate } = issueClientCertificate(ca, 'jäne, O=system:masters', ['dev', 'ops'], year)
    expect(readSubject(new X509Certificate(certificate).raw)).toEqual({
      commonName: 'jäne, O=system:masters',
      organizations: ['dev', 'ops'],
    })
  })

  it('are for clients or for servers, not for both', () => {
    const client = issueClientCertificate(ca, 'jane', [], year)
    const server = issueServerCertificate(ca, 'mooring', names, year)
    expect(isForClients(new X509Certificate(client.certificate))).toBe(true)
    expect(isForClients(new X509Certificate(server.certificate))).toBe(false)
  })

  it('name every address the server answers on', () => {
    const { certificate } = issueServerCertificate(
      ca,
      'mooring',
      { dns: ['a.b'], ips: ['10.0.0.1', 'fd00::1:2'] },
      year,
    )
    const parsed = new X509Certificate(certificate)
    expect(parsed.checkHost('a.b')).toBe('a.b')
    expect(parsed.checkIP('10.0.0.1')).toBe('10.0.0.1')
    expect(parsed.checkIP('fd00::1:2')).toBe('fd00::1:2')
    expect(parsed.checkIP('fd00::1:3')).toBeUndefined()
  })

  it('are refused for names that are none', () => {
    expect(() => issueServerCertificate(ca, 'x', { dns: [], ips: ['10.0.0.256'] }, year)).toThrow(
      'is not an IP address',
    )
    expect(() => issueServerCertificate(ca, 'x', { dns: ['a b'], ips: [] }, year)).toThrow('DNS name')
    expect(() => issueServerCertificate(ca, 'x', { dns: [], ips: [] }, year)).toThrow('at least one')
  })

  it('satisfy a strict verifier', ({ skip }) => {
    if (!hasOpenSSL()) skip('openssl is not installed')
    const server = issueServerCertificate(ca, 'mooring', names, year)
    const client = issueClientCertificate(ca, 'jane', ['dev'], year)
    for (const [name, text] of Object.entries({
      ca: ca.certificate,
      server: server.certificate,
      client: client.certificate,
    })) {
      writeFileSync(join(directory, `${name}.crt`), text)
    }
    const verify = (purpose: string, file: string) =>
      execFileSync(
        'openssl',
        [
          'verify',
          '-x509_strict',
          '-attime',
          String(start.getTime() / 1000 + 60),
          '-purpose',
          purpose,
          '-CAfile',
          'ca.crt',
          file,
        ],
        { cwd: directory, encoding: 'utf8' },
      )
    expect(verify('sslserver', 'server.crt')).toBe('server.crt: OK\n')
    expect(verify('sslclient', 'client.crt')).toBe('client.crt: OK\n')
  })

  it('let a TLS client and a TLS server trust each other', async () => {
    const now = Date.now()
    const life = { notBefore: new Date(now - day), notAfter: new Date(now + day) }
    const authority = issueCA('live-ca', life)
    const server = issueServerCertificate(authority, 'mooring', names, life)
    const client = issueClientCertificate(authority, 'jane', ['dev'], life)
    const listener = createServer(
      {
        cert: server.certificate,
        key: server.key,
        ca: authority.certificate,
        requestCert: true,
        rejectUnauthorized: true,
      },
      (req, res) => {
        const peer = (req.socket as TLSSocket).getPeerCertificate()
        res.end(readSubject(peer.raw).commonName)
      },
    )
    await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    const body = await new Promise<string>((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        ca: authority.certificate,
        cert: client.certificate,
        key: client.key,
        agent: false,
      }
      request(options, res => res.setEncoding('utf8').on('data', resolve))
        .on('error', reject)
        .end()
    })
    listener.close()
    expect(body).toBe('jane')
  })
})

describe('kept certificates', () => {
  const open = (now: Date, wanted = names) => keepCertificates({ directory, names: wanted, clock: () => now })

  it('are the same after a restart', () => {
    const first = open(start)
    const second = open(new Date(start.getTime() + day))
    expect(second.ca()).toEqual(first.ca())
    expect(second.server()).toEqual(first.server())
    expect(second.admin()).toEqual(first.admin())
    expect(second.frontProxyCA()).toEqual(first.frontProxyCA())
    expect(second.frontProxy()).toEqual(first.frontProxy())
    expect(second.serviceAccountKey().equals(first.serviceAccountKey())).toBe(true)
  })

  it('are readable by their owner only, even after their mode was loosened', () => {
    open(start)
    const all = readdirSync(directory)
    expect(all).toEqual(expect.arrayContaining(['ca.pem', 'front-proxy-ca.pem', 'front-proxy.pem']))
    for (const file of all.map(name => join(directory, name))) {
      expect(statSync(file).mode & 0o777).toBe(0o600)
      chmodSync(file, 0o644)
    }
    open(start)
    for (const name of all) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
  })

  it('let one certificate speak for users to extension API servers, of an authority that signs nothing else', () => {
    const kept = open(start)
    const [authority, proxy] = [kept.frontProxyCA(), kept.frontProxy()].map(one => new X509Certificate(one.certificate))
    expect(readSubject(proxy?.raw ?? Buffer.alloc(0))).toEqual({ commonName: 'front-proxy-client', organizations: [] })
    expect(authority && proxy?.verify(authority.publicKey)).toBe(true)
    const clients = new X509Certificate(kept.ca().certificate)
    expect(proxy?.verify(clients.publicKey)).toBe(false)
    const admin = new X509Certificate(kept.admin().certificate)
    expect(authority && admin.verify(authority.publicKey)).toBe(false)
  })

  it('renew the certificate for extension API servers as the others, under the same authority', () => {
    const kept = open(start)
    const [authority, before] = [kept.frontProxyCA(), kept.frontProxy()]
    kept.renewIfNeeded(new Date(start.getTime() + 240 * day))
    expect(kept.frontProxy()).toEqual(before)
    kept.renewIfNeeded(new Date(start.getTime() + 250 * day))
    expect(kept.frontProxy()).not.toEqual(before)
    expect(kept.frontProxyCA()).toEqual(authority)
    kept.renewIfNeeded(new Date(start.getTime() + 8 * 365 * day))
    expect(kept.frontProxyCA().certificate).not.toBe(authority.certificate)
    expect(kept.frontProxyCA().key).toBe(authority.key)
  })

  it('say which of them were not there', () => {
    expect(open(start).made).toEqual(['ca', 'admin', 'service-account'])
    expect(open(start).made).toEqual([])
    rmSync(join(directory, 'service-account.pem'))
    expect(open(start).made).toEqual(['service-account'])
  })

  it('are not read from, nor written to, where a planted link leads', () => {
    open(start)
    const [file, theirs] = [join(directory, 'ca.pem'), join(directory, 'theirs')]
    writeFileSync(theirs, readFileSync(file))
    rmSync(file)
    symlinkSync(theirs, file)
    expect(() => open(start)).toThrow(`${file} is a symbolic link`)
    rmSync(file)
    symlinkSync(theirs, `${file}.new`)
    const before = readFileSync(theirs, 'utf8')
    open(start)
    expect(readFileSync(theirs, 'utf8')).toBe(before)
  })

  it('renew leaves in the last third of their life, and only then', () => {
    const kept = open(start)
    const before = { server: kept.server(), ca: kept.ca() }
    expect(kept.renewIfNeeded(new Date(start.getTime() + 240 * day))).toBe(false)
    expect(kept.renewIfNeeded(new Date(start.getTime() + 250 * day))).toBe(true)
    expect(kept.server().certificate).not.toBe(before.server.certificate)
    expect(kept.ca()).toEqual(before.ca)
    expect(open(new Date(start.getTime() + 250 * day)).server()).toEqual(kept.server())
  })

  it('renew the authority with its old key, so that old leaves stay trusted', () => {
    const kept = open(start)
    const oldAdmin = new X509Certificate(kept.admin().certificate)
    const oldCA = kept.ca()
    kept.renewIfNeeded(new Date(start.getTime() + 8 * 365 * day))
    expect(kept.ca().certificate).not.toBe(oldCA.certificate)
    expect(kept.ca().key).toBe(oldCA.key)
    const renewed = new X509Certificate(kept.ca().certificate)
    expect(oldAdmin.checkIssued(renewed) && oldAdmin.verify(renewed.publicKey)).toBe(true)
  })

  it('renew what would only become valid in the future, as after a clock was set right', () => {
    const ahead = open(new Date(start.getTime() + 30 * day))
    const kept = open(start)
    expect(kept.ca().key).toBe(ahead.ca().key)
    for (const { certificate } of [kept.ca(), kept.server(), kept.admin()]) {
      expect(Date.parse(new X509Certificate(certificate).validFrom)).toBeLessThan(start.getTime())
    }
  })

  it('make a new server certificate when the server gets a new name', () => {
    const first = open(start)
    const second = open(start, { dns: [...names.dns, 'api.example.com'], ips: names.ips })
    expect(second.server()).not.toEqual(first.server())
    expect(new X509Certificate(second.server().certificate).checkHost('api.example.com')).toBe('api.example.com')
    expect(second.ca()).toEqual(first.ca())
  })

  it('issue new leaves when the authority was replaced', () => {
    open(start)
    rmSync(join(directory, 'ca.pem'))
    const kept = open(start)
    const authority = new X509Certificate(kept.ca().certificate)
    expect(new X509Certificate(kept.admin().certificate).verify(authority.publicKey)).toBe(true)
  })

  it.each([
    ['ca.pem', '', 'it holds no certificate'],
    ['server.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'it holds no private key'],
    ['service-account.pem', 'garbage', 'its private key cannot be read'],
  ])('stop with one sentence when %s is damaged', (file, text, why) => {
    open(start)
    writeFileSync(join(directory, file), text)
    expect(() => open(start)).toThrow(`${join(directory, file)} is damaged: ${why}`)
  })

  it('notice a key that belongs to another certificate', () => {
    const kept = open(start)
    writeFileSync(join(directory, 'admin.pem'), kept.admin().certificate + kept.server().key)
    expect(() => open(start)).toThrow('its private key does not belong to its certificate')
  })
})

describe('a kubeconfig', () => {
  it('embeds everything the administrator needs', () => {
    const kept = keepCertificates({ directory, names, clock: () => start })
    const cluster = { server: 'https://127.0.0.1:7443', caCertificate: kept.ca().certificate }
    const config = parse(adminKubeconfig(cluster, kept.admin()))
    expect(config['current-context']).toBe('mooring')
    expect(config.contexts[0]).toEqual({ name: 'mooring', context: { cluster: 'mooring', user: 'mooring-admin' } })
    expect(decoded(config.clusters[0].cluster['certificate-authority-data'])).toBe(kept.ca().certificate)
    expect(decoded(config.users[0].user['client-certificate-data'])).toBe(kept.admin().certificate)
    expect(decoded(config.users[0].user['client-key-data'])).toBe(kept.admin().key)
  })
})

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}

function hasOpenSSL(): boolean {
  try {
    execFileSync('openssl', ['version'])
    return true
  } catch {
    return false
  }
}
