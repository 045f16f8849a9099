// How a command runs, whichever it is: until a signal ends it, and failures become sentences and exit codes.

import { Command, CommanderError } from 'commander'
import { mooringVersion } from '../apiserver/version.ts'
import { createLog, type Level, type Log } from '../telemetry/log.ts'
import { exitCodes, Failure } from './failure.ts'

export const createProgram = (): Command =>
  new Command('mooring')
    .description('IP addresses for machines and virtual machines on Kubernetes.')
    .version(mooringVersion)
    .showHelpAfterError()
    // Commander would end the process with its own codes; ours are documented.
    .exitOverride()

export function logOf(form: 'json' | 'text', level: Level): Log {
  return createLog({ write: line => process.stderr.write(line), now: Date.now, level, form })
}

/** Thrown by a start that a signal ended. */
const stopped = new Error('stopped by a signal')

/** A signal that comes while something starts ends the start; what it has begun is undone. */
export function untilSignal<T extends { stop(): Promise<void> }>(
  start: (signal: AbortSignal) => Promise<T>,
  log: Log,
): Promise<T> {
  const stopping = new AbortController()
  const starting = start(stopping.signal)
  const stop = (signal: string) => {
    log.info('mooring stops', { signal })
    stopping.abort(stopped)
    starting.then(running => running.stop()).then(() => process.exit(0), report)
  }
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.once(signal, stop)
  // What did not start has nothing to stop.
  starting.catch(() => {
    for (const signal of signals) process.off(signal, stop)
  })
  return starting
}

function report(error: unknown): never {
  if (error === stopped) process.exit(0)
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage)
  if (error instanceof Failure) {
    console.error(`mooring: ${error.message}\n${error.advice}`)
    process.exit(error.exitCode)
  }
  console.error('mooring: this is a fault of ours:', error)
  process.exit(exitCodes.internal)
}

/** `args` are those after the name of the program. */
export async function runWith(program: Command, args: readonly string[]): Promise<void> {
  await program.parseAsync(args, { from: 'user' }).catch(report)
}
