// The repository as text: what git keeps, and what a source file imports.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** Paths of the files that exist and that git knows or would take, relative to the repository. */
export function trackedFiles(): string[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'],
    {
      cwd: repository,
      encoding: 'utf8',
    },
  )
  const gone = execFileSync('git', ['ls-files', '-z', '--deleted'], { cwd: repository, encoding: 'utf8' }).split('\0')
  return listed.split('\0').filter(path => path !== '' && !gone.includes(path))
}

export function read(path: string): string {
  return readFileSync(join(repository, path), 'utf8')
}

export interface Import {
  readonly from: string
  /** As written. */
  readonly specifier: string
  /** A path in the repository when it is relative, undefined when it is a package. */
  readonly to: string | undefined
}

const importForms = [
  // import ... from 'x', export ... from 'x'
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])([^'"\n]+)\1/gm,
  // import 'x'
  /^\s*import\s*(['"])([^'"\n]+)\1/gm,
  // import('x')
  /\bimport\(\s*(['"])([^'"\n]+)\1/g,
  // new URL('./x.ts', import.meta.url)
  /\bnew URL\(\s*(['"])(\.[^'"\n]+)\1\s*,\s*import\.meta\.url/g,
]

export function importsOf(path: string, text: string): Import[] {
  return importForms.flatMap(form =>
    [...text.matchAll(form)].map(([, , specifier = '']) => ({
      from: path,
      specifier,
      to: specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined,
    })),
  )
}
