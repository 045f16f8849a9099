// The program that is shipped: all that `src/main.ts` reaches, in as few files as its lazy imports allow (ADR 0025). Types are
// not checked here; `npm run typecheck` does.

import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const repository = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Every file but the first lies in one folder, as deep below `dist` as its source lies below `src`: so a path from
 * `import.meta.url` to a file of the repository is right in both.
 */
const folder = 'parts'

/** What is read at run time from beside a source file. */
const readBeside = ['src/apiserver/builtin/types.json']

export async function buildProgram(dist: string, input = join(repository, 'src', 'main.ts')): Promise<void> {
  const bundle = await rolldown({
    input,
    platform: 'node',
    // Packages stay packages: they are what the lock file and the bill of materials name.
    external: id => !id.startsWith('.') && !id.startsWith('/'),
    onLog(level, log) {
      throw new Error(`${level}: ${log.message}`)
    },
  })
  const { output } = await bundle.write({
    dir: dist,
    format: 'esm',
    entryFileNames: 'main.js',
    chunkFileNames: `${folder}/[name].js`,
    // Two modules may have a class of one name: the name that an error shows stays its own.
    keepNames: true,
    sourcemap: true,
  })
  await bundle.close()
  const beside = readBeside.map(path => ({
    from: join(repository, path),
    to: join(folder, path.split('/').pop() ?? ''),
  }))
  mkdirSync(join(dist, folder), { recursive: true })
  for (const { from, to } of beside) copyFileSync(from, join(dist, to))
  removeOthers(dist, new Set([...output.map(({ fileName }) => fileName), ...beside.map(({ to }) => to)]))
}

/** What an earlier build left would be shipped, and read with a stack in hand. Releases lie here too, and stay. */
function removeOthers(dist: string, made: ReadonlySet<string>): void {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(dist, path)
    if (name.split('/')[0] !== 'release' && entry.isFile() && !made.has(name) && existsSync(path)) rmSync(path)
  }
}
