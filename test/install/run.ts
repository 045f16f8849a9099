// Programs as people run them: their output is kept, and shown when they fail.

import { spawn } from 'node:child_process'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
}

export function run(program: string, args: readonly string[], { input, env }: RunOptions = {}): Promise<Said> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      out += chunk
    })
    child.stderr.setEncoding('utf8').on('data', chunk => {
      err += chunk
    })
    child.once('error', fail)
    child.once('close', code => done({ code: code ?? -1, out, err }))
    // A program that ends before it has read everything says so by its exit code.
    child.stdin.on('error', () => {})
    child.stdin.end(input ?? '')
  })
}

/** Succeeds, and answers with what it printed. */
export async function mustRun(program: string, args: readonly string[], options?: RunOptions): Promise<string> {
  const { code, out, err } = await run(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${err || out}`)
  return out
}

/** Succeeds, and warns of nothing. */
export async function mustRunQuietly(program: string, args: readonly string[], options?: RunOptions): Promise<string> {
  const { code, out, err } = await run(program, args, options)
  if (code !== 0 || /warning/i.test(err)) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${err}`)
  return out
}
