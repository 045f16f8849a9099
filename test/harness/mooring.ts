// `mooring` as users run it: built, started as a process of its own, reached over TLS with its own kubeconfig.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { parse } from 'yaml'
import { type Build, theBuild } from './build.ts'

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
  readonly start: (args: readonly string[], before?: readonly string[]) => Process
  /** A data directory on which a server worked, and stopped: one start of it is enough for all. */
  readonly usedData: (name: string) => Promise<string>
}

/** Options of `mooring up` for a server that is alone with its data. */
export const anywhere = ['--listen', '127.0.0.1:0', '--dashboard', '127.0.0.1:0', '--desks', 'none'] as const

/** For the tests of one file: processes of the build. `name` begins the name of the directory. */
export function mooringRuns(name: string): Runs {
  const home = mkdtempSync(join(tmpdir(), name))
  const started: Process[] = []
  let build: Build | undefined
  beforeAll(async () => {
    build = await theBuild()
  })
  afterEach(async () => {
    for (const { child, ended } of started.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    }
  })
  afterAll(async () => {
    await rm(home, { recursive: true })
  })
  const start: Runs['start'] = (args, before) => {
    if (build === undefined) throw new Error('there is a build only while tests run')
    const process = run(build, args, before)
    started.push(process)
    return process
  }
  const original = join(home, 'original')
  let isMade = false
  return {
    home,
    start,
    async usedData(name) {
      if (!isMade) await workAndStop(start(['up', '--data', original, ...anywhere]))
      isMade = true
      const copy = join(home, name)
      cpSync(original, copy, { recursive: true })
      return copy
    },
  }
}

async function workAndStop(process: Process): Promise<void> {
  await untilReady(process)
  process.child.kill('SIGTERM')
  const { code } = await process.ended
  if (code !== 0) throw new Error(`mooring ended with ${code}: ${process.complaints()}`)
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
