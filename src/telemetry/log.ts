// A log line is a constant sentence plus fields: the sentence can be searched for, the fields can be counted by. Where
// lines go and what time it is are passed in. A field that cannot be printed never fails the caller.

import { showHidden } from '../json.ts'

export type Level = 'debug' | 'info' | 'error'

export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  /** For a developer that looks closely. */
  debug(sentence: string, fields?: LogFields): void
  /** For what an operator would mention to a colleague. */
  info(sentence: string, fields?: LogFields): void
  /** For what needs a person. */
  error(sentence: string, fields?: LogFields): void
  /** The same log, with these fields on every line. */
  with(fields: LogFields): Log
}

export interface LogOptions {
  readonly write: (line: string) => void
  readonly now: () => number
  readonly level?: Level
  /** `json` for machines, `text` for a terminal. */
  readonly form?: 'json' | 'text'
}

const rank: Readonly<Record<Level, number>> = { debug: 0, info: 1, error: 2 }

export function createLog({ write, now, level = 'info', form = 'json' }: LogOptions): Log {
  const print = form === 'json' ? toJSONLine : toTextLine
  const say = (at: Level, sentence: string, fields: LogFields) => {
    if (rank[at] >= rank[level]) write(showHidden(print(new Date(now()).toISOString(), at, sentence, fields)))
  }
  return logWith(say, {})
}

type Say = (level: Level, sentence: string, fields: LogFields) => void

function logWith(say: Say, own: LogFields): Log {
  return {
    debug: (sentence, fields) => say('debug', sentence, { ...own, ...fields }),
    info: (sentence, fields) => say('info', sentence, { ...own, ...fields }),
    error: (sentence, fields) => say('error', sentence, { ...own, ...fields }),
    with: fields => logWith(say, { ...own, ...fields }),
  }
}

function toJSONLine(time: string, level: Level, sentence: string, fields: LogFields): string {
  const entries = Object.entries(fields).map(([name, value]) => [name, toPrintable(value)])
  return `${JSON.stringify({ time, level, msg: sentence, ...Object.fromEntries(entries) })}\n`
}

function toTextLine(time: string, level: Level, sentence: string, fields: LogFields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${toWord(toPrintable(value))}`)
  return `${time} ${level.padEnd(5)} ${sentence}${parts.join('')}\n`
}

function toWord(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text)
}

function toPrintable(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return describeError(value)
  if (typeof value !== 'object' || value === null) return value
  try {
    return JSON.parse(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? item.toString() : item)))
  } catch {
    return '(unprintable)'
  }
}

const causesMax = 5

/** The message with the messages of what caused it, outermost first. */
export function describeError(error: unknown): string {
  const messages: string[] = []
  let at = error
  while (at instanceof Error && messages.length < causesMax) {
    messages.push(at.message)
    at = at.cause
  }
  return messages.length > 0 ? messages.join(': ') : String(error)
}
