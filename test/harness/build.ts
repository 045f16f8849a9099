// One build of `mooring` for all files of a run, made when the first of them asks.

import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { buildProgram } from '../../scripts/build/program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Build {
  readonly main: string
}

/** Never a stale one: its directory is named after what it was made from, and a run ends with all its builds. */
export async function theBuild(): Promise<Build> {
  const builds = inject('builds')
  const directory = join(builds, stampOfSources())
  if (!existsSync(directory)) await buildInto(directory, builds)
  return { main: join(directory, 'dist', 'main.js') }
}

/** Two workers may build at once: the first to be done is used by both. */
async function buildInto(directory: string, builds: string): Promise<void> {
  const draft = mkdtempSync(join(builds, 'draft-'))
  const out = join(draft, 'dist')
  await buildProgram(out)
  copyFileSync(join(root, 'package.json'), join(draft, 'package.json'))
  for (const folder of ['node_modules', 'config']) symlinkSync(join(root, folder), join(draft, folder))
  if (!existsSync(join(out, 'main.js'))) throw new Error(`the build left no main.js in ${out}`)
  try {
    renameSync(draft, directory)
  } catch (error) {
    rmSync(draft, { recursive: true })
    if (!existsSync(directory)) throw error
  }
}

function stampOfSources(): string {
  const hash = createHash('sha256')
  const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('.test.ts'))
    .map(entry => join(entry.parentPath, entry.name))
  const settings = ['package.json', 'tsconfig.json', 'scripts/build/program.ts'].map(name => join(root, name))
  for (const file of [...sources.toSorted(), ...settings]) hash.update(`\0${file}\0`).update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}
