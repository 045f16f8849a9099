// `mooring controller` as its users run it: a child process of the built program, pointed at a cluster by its kubeconfig.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Unavailable } from './binaries.ts'
import { freePort } from './free-port.ts'

export interface ControllerOptions {
  readonly kubeconfig: string
  /** Holds its log. */
  readonly dir: string
  /** Names its log, where there are several. */
  readonly name?: string
  /** The built program; by default MOORING_MAIN, else `dist/main.js`. */
  readonly main?: string
  readonly args?: readonly string[]
  /** For node itself: `--cpu-prof`. */
  readonly nodeArgs?: readonly string[]
  /** Called as soon as there is a process, long before it works. */
  readonly onSpawn?: ((pid: number) => void) | undefined
}

export interface Provider {
  readonly pid: number
  /** Milliseconds from spawn until it works. */
  readonly readyAfterMs: number
  readonly log: string
  /** Undefined while it runs. */
  readonly exitCode: number | undefined
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const readyWithinMs = 300_000

export async function startController(options: ControllerOptions): Promise<Provider> {
  const main = options.main ?? process.env.MOORING_MAIN ?? join(repository, 'dist', 'main.js')
  if (!existsSync(main)) throw new Unavailable(`${main} does not exist; run npm run build`)
  const port = await freePort()
  return startProvider({
    program: process.execPath,
    args: [
      ...(options.nodeArgs ?? []),
      main,
      'controller',
      `--kubeconfig=${options.kubeconfig}`,
      `--health-probe-bind-address=127.0.0.1:${port}`,
      '--diagnostics-address=127.0.0.1:0',
      '--webhook-port=0',
      ...(options.args ?? []),
    ],
    log: join(options.dir, `${options.name ?? 'controller'}.log`),
    readyURL: `http://127.0.0.1:${port}/readyz`,
    onSpawn: options.onSpawn,
  })
}

export interface ProviderOptions {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly log: string
  /** Answers well when it works. */
  readonly readyURL: string
  readonly onSpawn?: ((pid: number) => void) | undefined
}

export async function startProvider({
  program,
  args,
  env,
  log,
  readyURL,
  onSpawn,
}: ProviderOptions): Promise<Provider> {
  const out = openSync(log, 'a')
  const from = readFileSync(log).length
  const said = (): string => readFileSync(log).subarray(from).toString('utf8')
  const started = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', out, out], ...(env && { env }) })
  if (child.pid !== undefined) onSpawn?.(child.pid)
  const deadline = Date.now() + readyWithinMs
  while (!(await answersWell(readyURL))) {
    if (hasEnded(child)) throw new Error(`${program} ended with ${child.exitCode}:\n${lastLines(said())}`)
    if (Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`${program} was not ready within ${readyWithinMs / 1000} s:\n${lastLines(said())}`)
    }
    await delay(200)
  }
  return {
    pid: child.pid ?? 0,
    readyAfterMs: performance.now() - started,
    log,
    get exitCode() {
      return hasEnded(child) ? (child.exitCode ?? -1) : undefined
    },
    signal: name => void child.kill(name),
    async stop() {
      if (hasEnded(child)) return
      const exited = new Promise<void>(done => child.once('exit', () => done()))
      // A frozen process does not handle the signal.
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      const force = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await exited
      clearTimeout(force)
    },
  }
}

function answersWell(url: string): Promise<boolean> {
  return fetch(url).then(
    answer => answer.ok,
    () => false,
  )
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const lastLines = (text: string): string => text.trimEnd().split('\n').slice(-15).join('\n')
