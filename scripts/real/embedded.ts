// The embedded server as its users run it: a child process of the built program, on ports the kernel chose, with its
// data in a given directory. Started again on the same directory and ports it carries on where it was.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Unavailable } from './binaries.ts'
import { readKubeconfig } from './kubeconfig.ts'

export interface EmbeddedOptions {
  readonly dir: string
  /** `127.0.0.1:0` unless the server must come back where it was. */
  readonly listen?: string
  readonly args?: readonly string[]
  /** For the node that runs it. */
  readonly nodeArgs?: readonly string[]
}

export interface Embedded {
  readonly kubeconfig: string
  readonly url: string
  readonly pid: number
  /** Milliseconds from spawn to the line that says it is ready. */
  readonly readyAfterMs: number
  stop(): Promise<void>
  /** SIGKILL: no goodbye, as a power cut would. */
  kill(): Promise<void>
}

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const readyWithinMs = 120_000

export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const main = process.env.MOORING_MAIN ?? join(repository, 'dist', 'main.js')
  if (!existsSync(main)) throw new Unavailable(`${main} does not exist; run npm run build`)
  const dir = resolve(options.dir)
  mkdirSync(dir, { recursive: true })
  const kubeconfig = join(dir, 'kubeconfig')
  const log = join(dir, 'mooring.log')
  const started = performance.now()
  const child = spawn(
    process.execPath,
    [
      ...(options.nodeArgs ?? []),
      main,
      'up',
      `--data=${join(dir, 'data')}`,
      `--listen=${options.listen ?? '127.0.0.1:0'}`,
      `--kubeconfig=${kubeconfig}`,
      '--dashboard=127.0.0.1:0',
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', 'pipe', openSync(log, 'a')] },
  )
  await ready(child, log)
  const readyAfterMs = performance.now() - started
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise<void>(done => child.once('exit', () => done()))
    child.kill(signal)
    const force = setTimeout(() => child.kill('SIGKILL'), 15_000)
    await exited
    clearTimeout(force)
  }
  return {
    kubeconfig,
    url: readKubeconfig(kubeconfig).server,
    pid: child.pid ?? 0,
    readyAfterMs,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

function ready(child: ChildProcess, log: string): Promise<void> {
  return new Promise((done, fail) => {
    const complain = (what: string): void => {
      child.kill('SIGKILL')
      fail(new Error(`mooring ${what}:\n${lastLines(log)}`))
    }
    const timer = setTimeout(() => complain(`was not ready within ${readyWithinMs / 1000} s`), readyWithinMs)
    child.once('exit', code => {
      clearTimeout(timer)
      complain(`ended with ${code}`)
    })
    if (!child.stdout) return complain('has no standard output')
    // The stream stays flowing after that line, or a full pipe would block the server one day.
    createInterface({ input: child.stdout }).on('line', line => {
      if (!line.includes('mooring is ready')) return
      clearTimeout(timer)
      child.removeAllListeners('exit')
      done()
    })
  })
}

function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-15).join('\n')
}
