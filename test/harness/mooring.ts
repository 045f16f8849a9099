// `mooring` as users run it: built once, started as a process of its own, reached over TLS with its own kubeconfig.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Pool } from 'undici'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { parse } from 'yaml'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Build {
  readonly main: string
  remove(): Promise<void>
}

/** Into a directory of its own, so that a build by hand is neither used nor changed. Types are not checked here. */
export async function buildMooring(): Promise<Build> {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-build-'))
  const out = join(directory, 'dist')
  const compiler = join(root, 'node_modules', '.bin', 'tsc')
  const info = ['--tsBuildInfoFile', join(directory, 'info')]
  const options = ['-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', out, ...info]
  await promisify(execFile)(compiler, options, { cwd: root })
  const types = join('apiserver', 'builtin', 'types.json')
  copyFileSync(join(root, 'src', types), join(out, types))
  copyFileSync(join(root, 'package.json'), join(directory, 'package.json'))
  for (const folder of ['node_modules', 'config']) symlinkSync(join(root, folder), join(directory, folder))
  const main = join(out, 'main.js')
  if (!existsSync(main)) throw new Error(`the build left no ${main}`)
  return { main, remove: () => rm(directory, { recursive: true }) }
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Process {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  output(): string
  complaints(): string
}

/** Through another program, where `before` names one with its arguments: it is given the command to run. */
export function run(build: Build, args: readonly string[], before: readonly string[] = []): Process {
  const [program = process.execPath, ...rest] = [...before, process.execPath, build.main, ...args]
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, complaints] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    complaints += chunk.toString()
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }) as Ended)
  return { child, ended, output: () => output, complaints: () => complaints }
}

export interface Runs {
  /** A directory for what the tests write. */
  readonly home: string
  /** As `run`; killed after the test that started it, if it is not over by then. */
  start(args: readonly string[], before?: readonly string[]): Process
}

/** For the tests of one file: a build, and processes of it. `name` begins the name of the directory. */
export function mooringRuns(name: string): Runs {
  const home = mkdtempSync(join(tmpdir(), name))
  const started: Process[] = []
  let build: Build | undefined
  beforeAll(async () => {
    build = await buildMooring()
  })
  afterEach(async () => {
    for (const { child, ended } of started.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    }
  })
  afterAll(async () => {
    await rm(home, { recursive: true })
    await build?.remove()
  })
  return {
    home,
    start(args, before) {
      if (build === undefined) throw new Error('there is a build only while tests run')
      const process = run(build, args, before)
      started.push(process)
      return process
    },
  }
}

/** Also for root: modes of files count. */
export const withoutPrivileges: readonly string[] =
  process.getuid?.() === 0
    ? ['setpriv', '--inh-caps=-dac_override,-dac_read_search', '--bounding-set=-dac_override,-dac_read_search']
    : []

/** Resolves when it is ready; throws with its output when it does not become so. */
export async function untilReady(process: Process): Promise<{ api: string; kubeconfig: string }> {
  const stdout = process.child.stdout
  while (!process.output().includes('mooring is ready')) {
    const step = stdout === null ? process.ended : Promise.race([once(stdout, 'data'), process.ended])
    await step
    if (process.child.exitCode !== null) throw new Error(`mooring ended: ${process.complaints()}`)
  }
  const value = (name: string) => new RegExp(`^${name} +(.+)$`, 'm').exec(process.output())?.[1] ?? ''
  return { api: value('API server'), kubeconfig: value('kubeconfig') }
}

export interface Answer {
  readonly code: number
  readonly body: Record<string, unknown>
}

export interface Remote {
  send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Answer>
  /** Lines of a stream as they come; ends or throws when the connection does. */
  lines(path: string): AsyncGenerator<string, void, undefined>
  close(): Promise<void>
}

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[]
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[]
}

export function connectWith(kubeconfig: string, connections = 32): Remote {
  const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig
  const cluster = clusters[0]?.cluster
  const user = users[0]?.user
  if (cluster === undefined || user === undefined) throw new Error(`${kubeconfig} names no server`)
  const decode = (text: string) => Buffer.from(text, 'base64').toString()
  const connect = {
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  }
  const pool = new Pool(cluster.server, { connections, connect })
  return {
    async send(method, path, body) {
      const answer = await pool.request({
        method,
        path,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
      // A kind that is not served yet is refused in plain text.
      const isJSON = String(answer.headers['content-type']).startsWith('application/json')
      const text = await answer.body.text()
      return { code: answer.statusCode, body: isJSON ? (JSON.parse(text) as Record<string, unknown>) : {} }
    },
    async *lines(path) {
      const answer = await pool.request({ method: 'GET', path, bodyTimeout: 0 })
      let rest = ''
      for await (const chunk of answer.body) {
        const parts = (rest + String(chunk)).split('\n')
        rest = parts.pop() ?? ''
        yield* parts
      }
    },
    close: () => pool.destroy(),
  }
}
