// docs/benchmarks.md, section by section: a benchmark replaces what it measured and leaves the rest as it was.

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

const path = join(import.meta.dirname, '..', 'docs', 'benchmarks.md')

/** The machine, for a reader that compares. */
export function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory} of memory, Node ${process.version}`
}

/** Puts sections, each under a heading of the second rank, in the place of those of the same heading, or at the end. */
export function writeSections(text: string, introduction?: string): void {
  const [before = '', ...parts] = partsOf(readFileSync(path, 'utf8'))
  const known = new Map(parts.map(part => [headingOf(part), part]))
  for (const part of partsOf(text)) if (part.startsWith('## ')) known.set(headingOf(part), part)
  const page = [introduction ?? before, ...known.values()].map(part => part.trim()).join('\n\n')
  writeFileSync(path, `${page}\n`)
}

const partsOf = (text: string): string[] => text.split(/^(?=## )/m)

const headingOf = (part: string): string => part.slice(3, part.indexOf('\n')).trim()
