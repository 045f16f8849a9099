// `mooring restore`: from a backup to a new data directory. Never over existing data.

import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { processUsing } from '../store/lock.ts'
import { type Restored, restoreStore } from '../store/restore.ts'
import { DamagedStoreError } from '../store/store.ts'
import { copyKeys, notWritten } from './backup.ts'
import { isThereAt, makePrivateDirectory } from './directory.ts'
import { exitCodes, Failure } from './failure.ts'

export async function restore(
  source: string,
  options: { readonly data: string },
): Promise<Restored & { data: string }> {
  const data = resolve(options.data)
  const backup = resolve(source)
  await refuseOther(backup)
  if ((await isThereAt(data)) && (await readdir(data)).length > 0) {
    const advice = 'Move it away, or restore into another directory with --data.'
    throw new Failure(exitCodes.data, `${data} already holds data`, advice)
  }
  await makePrivateDirectory(data, 'Choose another one with --data.')
  try {
    const restored = await restoreStore(join(backup, 'store'), join(data, 'store'))
    await copyKeys(join(backup, 'pki'), join(data, 'pki'))
    return { ...restored, data }
  } catch (error) {
    // What is half there must not look like data to the next start.
    await rm(data, { recursive: true, force: true })
    if (!(error instanceof DamagedStoreError)) throw notWritten(data, error)
    throw new Failure(exitCodes.data, error.message, 'Use another backup; this one was left as it is.', {
      cause: error,
    })
  }
}

/** Without these keys nothing that the former server signed would be known to the new one. */
const needed = ['ca.pem', 'service-account.pem']

async function refuseOther(backup: string): Promise<void> {
  const store = join(backup, 'store')
  if (!(await isThereAt(store))) {
    const advice = 'Name a directory that `mooring backup` wrote.'
    throw new Failure(exitCodes.environment, `${backup} does not hold a backup`, advice)
  }
  const pid = await processUsing(store)
  if (pid !== undefined) {
    const what = `${backup} is no backup: it is the data directory of the process ${pid}, which changes it`
    throw new Failure(exitCodes.data, what, 'Take a backup of it with `mooring backup`.')
  }
  for (const name of needed) {
    if (await isThereAt(join(backup, 'pki', name))) continue
    const what = `the backup ${backup} is not whole: pki/${name} is missing`
    throw new Failure(exitCodes.data, what, 'Use another backup; this one was left as it is.')
  }
}
