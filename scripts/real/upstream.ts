// `npm run test:upstream [-- --server=embedded|cluster] [--focus=REGEXP]`: Kubernetes' own specs of the API, against the
// embedded server or a real one, compared spec by spec with what a real kube-apiserver without nodes passes
// (test/upstream/expected.json). `--record` writes that list down from a run on the real server; `--all` runs the specs
// that the embedded server is known not to pass as well.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { binary, cacheRoot, skippedExitCode, Unavailable } from './binaries.ts'
import { startCluster } from './cluster.ts'
import { startEmbedded } from './embedded.ts'

interface Expected {
  /** Full names of the specs that pass on a real kube-apiserver without nodes. */
  passing: string[]
  /** Of these, the ones the embedded server does not pass, with the reason. */
  notEmbedded: Record<string, string>
}

interface SpecReport {
  ContainerHierarchyTexts: string[] | null
  LeafNodeText: string
  LeafNodeType: string
  State: string
  RunTime: number
  Failure?: { Message: string }
}

const topics = [
  'Servers with support for API chunking',
  'Watchers',
  'CustomResourceDefinition (resources|Watch)',
  'Discovery',
  'AggregatedDiscovery',
  'ServerSideApply',
  'FieldValidation',
  'CustomResourcePublishOpenAPI',
  'OpenAPIV3',
  'Servers with support for Table transformation',
  'Garbage collector',
  'client-go should negotiate',
  'CustomResourceValidationRules',
  'CRDValidationRatcheting',
  'health handlers',
  'server version',
  'API Streaming',
  'Server request timeout',
]
const defaultFocus = `\\[sig-api-machinery\\] (${topics.join('|')})|\\[sig-node\\] Lease`
const skip = 'OffByDefault|Disruptive|Alpha|Slow|Aggregated APIServer'

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const expectedPath = join(repository, 'test', 'upstream', 'expected.json')

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'embedded' },
    focus: { type: 'string', default: defaultFocus },
    kubeconfig: { type: 'string' },
    report: { type: 'string' },
    record: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
  },
})

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}

async function main(): Promise<number> {
  const runner = await binary('upstream.test', line => console.error(line))
  const report = values.report ?? join(cacheRoot(), 'reports', `upstream-${values.server}.json`)
  mkdirSync(dirname(report), { recursive: true })
  const dir = mkdtempSync(join(tmpdir(), 'mooring-upstream-'))
  const server = values.kubeconfig
    ? { kubeconfig: values.kubeconfig, stop: async () => {} }
    : values.server === 'cluster'
      ? await startCluster({ dir, say: line => console.error(line) })
      : await startEmbedded({ dir, args: ['--desks=none'] })
  try {
    await run(runner, [
      `--kubeconfig=${server.kubeconfig}`,
      '--provider=skeleton',
      '--kube-api-content-type=application/json',
      `--ginkgo.json-report=${report}`,
      `--ginkgo.focus=${values.focus}`,
      `--ginkgo.skip=${[skip, ...notWorthRunning().map(escaped)].join('|')}`,
      '--ginkgo.no-color',
      '--ginkgo.silence-skips',
      '--ginkgo.timeout=1h',
      '--test.timeout=0',
    ])
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  return compare(report)
}

/** Specs that would wait minutes for what never comes. */
function notWorthRunning(): string[] {
  return values.server === 'cluster' || values.all ? [] : Object.keys(readExpected().notEmbedded)
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

function compare(report: string): number {
  const [suite] = JSON.parse(readFileSync(report, 'utf8')) as { SpecReports: SpecReport[] }[]
  const specs = (suite?.SpecReports ?? []).filter(spec => spec.LeafNodeType === 'It' && spec.State !== 'skipped')
  const passed = specs.filter(spec => spec.State === 'passed').map(nameOf)
  if (values.record && values.server === 'cluster') {
    const before = readExpected()
    const expected: Expected = { passing: passed.toSorted(), notEmbedded: before.notEmbedded }
    writeFileSync(expectedPath, `${JSON.stringify(expected, null, 2)}\n`)
  }
  const { passing, notEmbedded } = readExpected()
  const isEmbedded = values.server !== 'cluster'
  let surprises = 0
  for (const spec of specs) {
    const name = nameOf(spec)
    const seconds = `${(spec.RunTime / 1e9).toFixed(1)} s`
    const excuse = isEmbedded ? notEmbedded[name] : undefined
    const mayFail = !passing.includes(name) || excuse !== undefined
    if (spec.State === 'passed') console.log(`pass  ${name} (${seconds})${excuse ? ' - although not expected to' : ''}`)
    else if (mayFail) console.log(`fail  ${name} (${seconds}), because ${excuse ?? 'it needs nodes'}`)
    else {
      surprises++
      console.log(`FAIL  ${name} (${seconds})\n${indented(spec.Failure?.Message ?? '')}`)
    }
  }
  for (const name of notWorthRunning()) console.log(`skip  ${name}, because ${notEmbedded[name]}`)
  console.log(`${passed.length} passed, ${specs.length - passed.length} failed`)
  return surprises === 0 ? 0 : 1
}

function readExpected(): Expected {
  return JSON.parse(readFileSync(expectedPath, 'utf8')) as Expected
}

function nameOf(spec: SpecReport): string {
  return [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ')
}

function indented(text: string): string {
  return text
    .split('\n')
    .slice(0, 8)
    .map(line => `        ${line.slice(0, 300)}`)
    .join('\n')
}

function run(program: string, args: string[]): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    child.on('error', fail)
    // Failed specs make it exit with 1; the report says which.
    child.on('exit', () => done())
  })
}
