// Programs that run beside the lane: each with a log of its own, all of them ended with it, however it ends.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface Running {
  readonly pid: number
  readonly log: string
  stop(): Promise<void>
}

export interface Program {
  readonly name: string
  readonly path: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Answers whether it works by now; it is given a minute. */
  readonly isReady: (log: string) => Promise<boolean>
}

const readyWithinMs = 90_000

/** Ends everything that was started here, the latest first. */
export class Processes {
  readonly #dir: string
  readonly #ends: (() => Promise<void>)[] = []

  constructor(dir: string) {
    this.#dir = dir
    mkdirSync(dir, { recursive: true })
  }

  /** Something that is ended in its turn with the others. */
  keep(end: () => Promise<void>): void {
    this.#ends.push(end)
  }

  async start(program: Program): Promise<Running> {
    const log = join(this.#dir, `${program.name}.log`)
    const out = openSync(log, 'a')
    const child = spawn(program.path, program.args, {
      env: { ...process.env, ...program.env },
      stdio: ['ignore', out, out],
    })
    const stop = () => end(child)
    this.keep(stop)
    const deadline = Date.now() + readyWithinMs
    while (!(await program.isReady(log))) {
      if (child.exitCode !== null) throw new Error(`${program.name} ended with ${child.exitCode}:\n${lastLines(log)}`)
      if (Date.now() > deadline) throw new Error(`${program.name} is not ready:\n${lastLines(log)}`)
      await delay(100)
    }
    return { pid: child.pid ?? 0, log, stop }
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }
}

/** Whether an HTTP address on this machine answers with success. */
export async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    answer => answer.ok,
    () => false,
  )
}

export function lastLines(log: string, count = 12): string {
  return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : ''
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise<void>(done => child.once('exit', () => done()))
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exited
  clearTimeout(force)
}
