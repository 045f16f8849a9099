// What is checked about the text of the repository beyond types and style: facts a reader can verify with one look.

import type { Import } from './sources.ts'

/** A file that only passes on what others export hides where things live. */
export function isBarrel(text: string): boolean {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const passedOn = /^export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\s*(['"]).*?\1;?$/gm
  return passedOn.test(code) && code.replace(passedOn, '').trim() === ''
}

export function importsOfTests(imports: readonly Import[]): string[] {
  return imports
    .filter(({ to }) => to !== undefined && (to.endsWith('.test.ts') || to.startsWith('test/')))
    .map(({ from, specifier }) => `${from} imports the test ${specifier}`)
}

/** Relative imports name the file, so that what is read is what is loaded. */
export function vagueImports(imports: readonly Import[]): string[] {
  return imports
    .filter(({ to }) => to !== undefined && !/\.(?:ts|json)$/.test(to))
    .map(({ from, specifier }) => `${from} imports ${specifier} without naming its file`)
}

export function packagesOf(imports: readonly Import[]): Set<string> {
  const names = imports
    .filter(({ to, specifier }) => to === undefined && !specifier.startsWith('node:'))
    .map(({ specifier }) => specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1))
  return new Set(names.map(parts => parts.join('/')))
}

interface Trace {
  readonly what: string
  readonly pattern: RegExp
}

/** Things that are true on one machine only, or that lead nowhere for a reader of this repository alone. */
const traces: readonly Trace[] = [
  { what: 'a path of one machine', pattern: /(?<![\w.~$}{@:/-])\/(?:work|tmp|root|home)\/[\w.-]+/ },
  { what: 'a number of an issue', pattern: /\b(?:issue|ticket|bug|PR|pull request)s? #\d+/i },
  { what: 'a note for later without a condition', pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/ },
]

export function tracesIn(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      traces
        .filter(({ pattern }) => pattern.test(line))
        .map(({ what }) => `${path}:${index + 1} holds ${what}: ${line.trim()}`),
    )
}

/** The lock file names packages and checksums; where they are downloaded from is up to the machine. */
export function hostsIn(lockfile: string): string[] {
  return [...lockfile.matchAll(/"resolved":\s*"([a-z+]+:\/\/[^"]+)"/g)].map(([, address = '']) => address)
}
