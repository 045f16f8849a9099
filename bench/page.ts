// docs/benchmarks.md, section by section: a benchmark replaces what it measured and leaves the rest as it was.

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

const path = join(import.meta.dirname, '..', 'docs', 'benchmarks.md')

/** The machine, for a reader who compares. */
export function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  return `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory} of memory, Node ${process.version}`
}

/** `sections` by their heading, in the order in which new ones are added. */
export function writeSections(sections: ReadonlyMap<string, string>): void {
  const [introduction = '', ...parts] = readFileSync(path, 'utf8').split(/^(?=## )/m)
  const known = new Map(parts.map(part => [headingOf(part), part]))
  for (const [heading, text] of sections) known.set(heading, `## ${heading}\n\n${text.trim()}\n`)
  const page = [introduction, ...known.values()].map(part => part.trimEnd()).join('\n\n')
  writeFileSync(path, `${page}\n`)
}

const headingOf = (part: string): string => part.slice(3, part.indexOf('\n')).trim()
