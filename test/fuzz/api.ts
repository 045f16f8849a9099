// The API server as a function, on a store in memory, with some objects in it.

import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepCertificates } from '../../src/apiserver/certificates/keep.ts'
import type { WireResponse } from '../../src/apiserver/edge/wire.ts'
import { createAPIServer } from '../../src/apiserver/server.ts'
import { memoryStore } from '../harness/memory-store.ts'

export interface API {
  /** As an administrator, unless `isAnonymous`. */
  send(method: string, target: string, options?: SendOptions): Promise<WireResponse & { readonly text: string }>
  /** What the server thought was a fault of its own. */
  readonly faults: unknown[]
  stop(): void
}

interface SendOptions {
  readonly body?: string
  readonly headers?: Readonly<Record<string, readonly string[]>>
  readonly isAnonymous?: boolean
}

const json = { 'content-type': ['application/json'] }

export async function startAPI(): Promise<API> {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-fuzz-'))
  const certificates = keepCertificates({
    directory,
    names: { dns: ['localhost'], ips: ['127.0.0.1'] },
    clock: () => new Date(),
  })
  rmSync(directory, { recursive: true })
  const faults: unknown[] = []
  const server = createAPIServer({
    store: memoryStore(),
    certificates,
    address: () => '127.0.0.1:6443',
    now: () => new Date(),
    random: Math.random,
    randomUUID,
    onError: error => faults.push(error),
  })
  await server.start()
  const pem = certificates.admin().certificate
  const peerCertificate = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
  const api: API = {
    faults,
    async send(method, target, { body = '', headers = {}, isAnonymous = false } = {}) {
      const answer = await server.handler({
        method,
        target,
        headers: { ...json, ...headers },
        body: Buffer.from(body),
        peerCertificate: isAnonymous ? undefined : peerCertificate,
        signal: new AbortController().signal,
      })
      return { ...answer, text: Buffer.isBuffer(answer.body) ? answer.body.toString('utf8') : '' }
    },
    stop: () => server.stop(),
  }
  for (const namespace of ['one', 'two']) {
    await api.send('POST', '/api/v1/namespaces', { body: `{"metadata":{"name":"${namespace}"}}` })
    for (let i = 0; i < 6; i++) {
      const body = `{"metadata":{"name":"${namespace}-${i}"}}`
      await api.send('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body })
      await api.send('POST', `/api/v1/namespaces/${namespace}/secrets`, { body })
    }
  }
  return api
}
