// `mooring restore`: from a backup to a new data directory. Never over existing data.

import { existsSync } from 'node:fs'
import { cp, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Restored, restoreStore } from '../store/restore.ts'
import { DamagedStoreError } from '../store/store.ts'
import { makeDirectory } from './directory.ts'
import { exitCodes, Failure } from './failure.ts'

export async function restore(
  source: string,
  options: { readonly data: string },
): Promise<Restored & { data: string }> {
  const data = resolve(options.data)
  const backup = resolve(source)
  if (!existsSync(join(backup, 'store'))) {
    throw new Failure(
      exitCodes.environment,
      `${backup} does not hold a backup`,
      'Name a directory that `mooring backup` wrote.',
    )
  }
  if (existsSync(data) && (await readdir(data)).length > 0) {
    const advice = 'Move it away, or restore into another directory with --data.'
    throw new Failure(exitCodes.data, `${data} already holds data`, advice)
  }
  await makeDirectory(data, 'Choose another one with --data.')
  try {
    const restored = await restoreStore(join(backup, 'store'), join(data, 'store'))
    await cp(join(backup, 'pki'), join(data, 'pki'), { recursive: true })
    return { ...restored, data }
  } catch (error) {
    // What is half there must not look like data to the next start.
    await rm(data, { recursive: true, force: true })
    if (!(error instanceof DamagedStoreError)) throw error
    throw new Failure(exitCodes.data, error.message, 'Use another backup; this one was left as it is.', {
      cause: error,
    })
  }
}
