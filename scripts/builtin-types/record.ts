// Asks a real kube-apiserver what it makes of the objects in `src/apiserver/builtin/real.samples.jsonl` and writes its
// answers beside them; the tests hold ours against these. Wants a fresh server of the version the tables were made from,
// with the ServiceAccount admission plugin off and no controllers:
//   SERVER=https://127.0.0.1:PORT TOKEN=... npx tsx scripts/builtin-types/record.ts

import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { builtinKinds } from '../../src/apiserver/builtin/kinds.ts'
import type { KubeObject } from '../../src/apiserver/object.ts'
import { toAPIVersion } from '../../src/apiserver/object.ts'
import { type RealSample, setPath, toComparable } from '../../test/harness/real-samples.ts'

const file = new URL('../../src/apiserver/builtin/real.samples.jsonl', import.meta.url)
const server = process.env.SERVER ?? ''
const token = process.env.TOKEN ?? ''

function call(method: string, path: string, body?: unknown): Promise<KubeObject> {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body))
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': bytes.length,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, server), { method, rejectUnauthorized: false, headers }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve(JSON.parse(text) as KubeObject))
    })
    outgoing.on('error', reject)
    outgoing.end(bytes)
  })
}

async function answer({ object, change }: RealSample): Promise<Pick<RealSample, 'stored' | 'answer'>> {
  const kind = builtinKinds.find(k => toAPIVersion(k.group, k.version) === object.apiVersion && k.kind === object.kind)
  if (kind === undefined) throw new Error(`no kind ${object.kind}`)
  const root = kind.group === '' ? '/api/v1' : `/apis/${kind.group}/${kind.version}`
  const path = `${root}${kind.namespaced ? '/namespaces/default' : ''}/${kind.plural}`
  if (change === undefined) return { answer: toComparable(await call('POST', `${path}?dryRun=All`, object)) }
  const stored = await call('POST', path, object)
  if (stored.kind === 'Status') throw new Error(String(stored.message))
  const next = structuredClone(stored)
  for (const [field, value] of Object.entries(change)) setPath(next, field, value)
  const changed = await call('PUT', `${path}/${object.metadata.name}?dryRun=All`, next)
  await call('DELETE', `${path}/${object.metadata.name}`, { gracePeriodSeconds: 0 })
  return { stored: toComparable(stored) as KubeObject, answer: toComparable(changed) }
}

const lines: string[] = []
for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
  const { name, object, change } = JSON.parse(line) as RealSample
  const sample = { name, object, ...(change && { change }) }
  lines.push(JSON.stringify({ ...sample, ...(await answer(sample)) }))
}
writeFileSync(file, `${lines.join('\n')}\n`)
