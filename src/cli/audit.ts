// Where `mooring up --audit` writes: one JSON line for each request, to a private file, or to stdout. A request does not wait for
// its line. Lines wait in memory while the disk is slow, up to a bound; what does not fit, or cannot be written, is counted, and
// the trail says so itself in a line of its own.

import { constants, type FileHandle, open } from 'node:fs/promises'
import { auditBytesMax } from '../limits.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'

export interface AuditTrail {
  readonly record: (event: object) => void
  /** Writes what waits, then closes. */
  stop(): Promise<void>
}

/** Takes whole lines. */
export interface AuditTarget {
  append(lines: Buffer): Promise<void>
  close(): Promise<void>
}

export interface AuditTrailOptions {
  readonly target: AuditTarget
  readonly log: Pick<Log, 'error'>
  readonly metrics?: Metrics | undefined
  readonly now: () => Date
  readonly bytesMax?: number
}

export function keepAuditTrail(options: AuditTrailOptions): AuditTrail {
  const { target, log, now, bytesMax = auditBytesMax } = options
  const lostLines = options.metrics?.counter(
    'mooring_audit_lost_lines_total',
    'Lines of the audit trail that could not be written.',
    [],
    { startAt: [[]] },
  )
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let lost = 0
  let isBroken = false
  let writing: Promise<void> | undefined

  const lose = (count: number) => {
    lost += count
    for (let i = 0; i < count; i++) lostLines?.add()
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting
      const told = lost
      waiting = []
      waitingBytes = 0
      const gap = told > 0 ? [toLine({ kind: 'EventsLost', count: told, stageTimestamp: now().toISOString() })] : []
      // Half a line may have been left by a write that failed.
      const begin = isBroken ? [newline] : []
      try {
        await target.append(Buffer.concat([...begin, ...gap, ...lines]))
        lost -= told
        isBroken = false
      } catch (error) {
        lose(lines.length)
        if (!isBroken) log.error('the audit trail cannot be written', { error: describeError(error) })
        isBroken = true
      }
    }
    writing = undefined
  }

  return {
    record(event) {
      const line = toLine(event)
      if (waitingBytes + line.length > bytesMax) return lose(1)
      waiting.push(line)
      waitingBytes += line.length
      writing ??= writeAll()
    },
    async stop() {
      await writing
      await target.close()
    },
  }
}

const newline = Buffer.from('\n')

const toLine = (event: object): Buffer => Buffer.from(`${JSON.stringify(event)}\n`)

/** `-` is stdout. */
export function openAuditTarget(path: string): Promise<AuditTarget> {
  return path === '-' ? Promise.resolve(stdout) : openFile(path)
}

const stdout: AuditTarget = {
  append: lines =>
    new Promise((resolve, reject) => {
      process.stdout.write(lines, error => (error ? reject(error) : resolve()))
    }),
  close: () => Promise.resolve(),
}

/** Appended to if it is there; never through a link, and never where another user could read it, or waits at the other end. */
async function openFile(path: string): Promise<AuditTarget> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  let file: FileHandle
  try {
    file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    if (!isErrno(error)) throw error
    throw refusal(path, error.code === 'ELOOP' ? 'is a symbolic link' : `cannot be opened (${error.code})`, error)
  }
  const found = await file.stat()
  const isOurs = process.getuid === undefined || found.uid === process.getuid()
  const why = !found.isFile()
    ? 'is not a file'
    : !isOurs
      ? 'belongs to another user'
      : (found.mode & 0o077) !== 0
        ? 'can be read or written by other users'
        : undefined
  if (why !== undefined) {
    await file.close()
    throw refusal(path, why)
  }
  return {
    append: lines => file.appendFile(lines),
    async close() {
      await file.sync()
      await file.close()
    },
  }
}

function refusal(path: string, why: string, cause?: unknown): Failure {
  return new Failure(
    exitCodes.environment,
    `the audit file ${path} ${why}`,
    'Choose another one with --audit, or make it a file of yours with mode 0600.',
    { cause },
  )
}
