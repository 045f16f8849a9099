// `npm run test:differential [-- --focus=TEXT]`: the same requests, in the same order, to the embedded server and to a
// real kube-apiserver; every answer that differs in more than identity, version and time is printed, unless the list of
// differences has a reason for it. It finds differences for which there is no test yet; each becomes a test in the
// suite. A listed difference that is gone fails too, so that the list stays true.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { startCluster } from '../../scripts/real/cluster.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import { type Answer, type Client, connect } from './client.ts'
import { type Difference, differences } from './differences.ts'
import { type Step, stories } from './stories.ts'

const { values } = parseArgs({ options: { focus: { type: 'string', default: '' } } })

async function main(): Promise<number> {
  const root = mkdtempSync(join(tmpdir(), 'mooring-differential-'))
  const cluster = await startCluster({ dir: join(root, 'real'), say: line => console.error(line) })
  const embedded = await startEmbedded({ dir: join(root, 'embedded'), args: ['--desks=none'] })
  try {
    return await compareAll(connect(cluster.kubeconfig), connect(embedded.kubeconfig))
  } finally {
    await embedded.stop()
    await cluster.stop()
    rmSync(root, { recursive: true, force: true })
  }
}

async function compareAll(real: Client, embedded: Client): Promise<number> {
  let passed = 0
  let failed = 0
  const pending = new Set(differences.filter(({ story }) => story.includes(values.focus)))
  for (const [name, steps] of Object.entries(stories)) {
    if (!name.includes(values.focus)) continue
    const namespace = `story-${name.replaceAll(/[^a-z0-9]+/g, '-')}`
    for (const client of [real, embedded]) await prepare(client, namespace)
    for (const step of steps) {
      const placed = inNamespace(step, namespace)
      const answers = { real: await send(real, placed), embedded: await send(embedded, placed) }
      const views = {
        real: viewOf(answers.real, step),
        embedded: viewOf(answers.embedded, step),
      }
      const told = tellApart(views.real, views.embedded, '')
      const known = told.length === 0 ? undefined : knownDifference(pending, name, step)
      if (told.length === 0 || known !== undefined) {
        passed++
        continue
      }
      failed++
      console.log(`${name}: ${step.verb} ${step.path} ${step.body === undefined ? '' : short(step.body)}`)
      for (const line of told) console.log(`    ${line}`)
    }
  }
  for (const { story, request } of pending) {
    failed++
    console.log(`${story}: ${request} is in the list of differences, and does not differ`)
  }
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

/** The listed difference that a request met, which is thereby taken from those still to be met. */
function knownDifference(pending: Set<Difference>, story: string, step: Step): Difference | undefined {
  const request = `${step.verb} ${step.path}`
  for (const one of pending) {
    if (one.story !== story || one.request !== request) continue
    if (one.body !== undefined && !isDeepStrictEqual(one.body, step.body)) continue
    pending.delete(one)
    return one
  }
  return undefined
}

async function prepare(client: Client, name: string): Promise<void> {
  await client.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  // Pods need the account, and lists show the certificate: both come a moment later.
  for (const path of [`serviceaccounts/default`, `configmaps/kube-root-ca.crt`]) {
    while ((await client.get(`/api/v1/namespaces/${name}/${path}`)).code !== 200) await delay(20)
  }
}

function inNamespace(step: Step, namespace: string): Step {
  return JSON.parse(JSON.stringify(step).replaceAll('$NS', namespace)) as Step
}

async function send(client: Client, step: Step): Promise<Answer> {
  const as = step.as ? client.impersonating(step.as) : client
  const answer = await as.request(step.verb, step.path, {
    ...(step.body !== undefined && { body: step.body }),
    ...(step.type && { contentType: step.type }),
    ...(step.accept && { accept: step.accept }),
  })
  if (step.until === undefined || answer.code === step.until) return answer
  // Something that is only promised for later: both servers get the time they need.
  const deadline = Date.now() + 20_000
  let later = answer
  while (later.code !== step.until && Date.now() < deadline) {
    await delay(100)
    later = await as.request(step.verb, step.path)
  }
  return later
}

/** What must differ is replaced by what it is. Descriptions are left out: they are ours to write. */
function masked(value: unknown, key: string, ignored: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const items = value.map(item => masked(item, key, ignored))
    // A patch is tried several times, and a real server collects the same causes each time.
    return key === 'causes'
      ? items.filter((item, i) => items.findIndex(one => isDeepStrictEqual(one, item)) === i)
      : items
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .filter(([name]) => name !== 'description' && !ignored.includes(name))
      .map(([name, item]) => [name, masked(item, name, ignored)] as const)
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }
  if (typeof value !== 'string') return value
  if (key === 'resourceVersion') return value === '' || value === '0' ? value : '<version>'
  if (key === 'continue' && value !== '') return '<continue>'
  return value
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replaceAll(/(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?=$|["\s])/g, '<random>')
    .replaceAll(/current: \d+/g, 'current: <version>')
    .replaceAll(/\\"resourceVersion\\":\\"\d+\\"/g, '<version>')
    .replaceAll(/Key: \/[^/]+\//g, 'Key: /<root>/')
    .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
}

function viewOf(answer: Answer, step: Step): unknown {
  const isJSON = String(answer.headers['content-type']).includes('json')
  return {
    code: answer.code,
    type: answer.headers['content-type'],
    warnings: answer.warnings,
    body: masked(isJSON ? answer.body : answer.text, '', step.ignore ?? []),
  }
}

function tellApart(real: unknown, embedded: unknown, path: string): string[] {
  if (isDeepStrictEqual(real, embedded)) return []
  const isPair = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  if (isPair(real) && isPair(embedded) && Array.isArray(real) === Array.isArray(embedded)) {
    const keys = [...new Set([...Object.keys(real), ...Object.keys(embedded)])]
    return keys.flatMap(key => tellApart(real[key], embedded[key], `${path}.${key}`)).slice(0, 12)
  }
  return [`${path}: real ${short(real)}, embedded ${short(embedded)}`]
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 400 ? `${text.slice(0, 400)}...` : text
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}
