// Opening the data directory: what can be wrong with it is said in two lines.

import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { NotPrivateError } from '../files/private.ts'
import { type OpenOptions, openStore } from '../store/lmdb.ts'
import { DamagedStoreError, type Store, StoreInUseError } from '../store/store.ts'
import { type DataRules, makeDataDirectory, refuseOpen } from './directory.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'

export async function openData(data: string, rules: DataRules, options: OpenOptions = {}): Promise<Store> {
  await makeDataDirectory(data, rules)
  try {
    return await openStore(join(data, 'store'), options)
  } catch (error) {
    throw toFailure(data, error)
  }
}

function toFailure(data: string, cause: unknown): unknown {
  const because = { cause }
  if (cause instanceof NotPrivateError) return refuseOpen(cause)
  if (cause instanceof StoreInUseError) {
    const advice = 'Stop that process, or choose another directory with --data.'
    return new Failure(exitCodes.data, cause.message, advice, because)
  }
  if (isErrno(cause, 'ENOSPC', 'EDQUOT')) return notDurable(data, cause)
  if (isErrno(cause, 'EACCES', 'EROFS', 'EPERM')) {
    const advice = 'Choose another one with --data, or make it writable.'
    return new Failure(exitCodes.environment, `the data directory ${data} cannot be written`, advice, because)
  }
  if (cause instanceof DamagedStoreError) {
    const advice =
      'Nothing was changed. Choose another directory with --data, or bring back a backup with `mooring restore`.'
    return new Failure(exitCodes.data, cause.message, advice, because)
  }
  return cause
}

/** The store gave up: what it could not write was not acknowledged either. */
export function notDurable(data: string, cause: unknown): Failure {
  const why = cause instanceof Error ? cause.message : String(cause)
  const what = `the data in ${data} could not be written: ${why}`
  const advice = `Nothing that was acknowledged is lost. Look after the disk${room(data)}, then start again.`
  return new Failure(exitCodes.data, what, advice, { cause })
}

/** LMDB reports a full disk as an error of input and output, because half of its write had room. */
function room(data: string): string {
  try {
    const { bavail, bsize } = statfsSync(data)
    return `, where ${Math.floor((bavail * bsize) / 2 ** 20)} MiB are free`
  } catch {
    return ''
  }
}
