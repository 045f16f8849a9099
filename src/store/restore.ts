// From a backup to a data directory, checked from end to end, and never over existing data.
//
// The restored store is a new history: after the backup was taken more revisions were handed out, and clients remember
// them. It therefore gets a new id and starts a long way after the newest revision that the old one can have reached;
// a client that comes back with an old revision is told that it is no longer kept, and reads anew.

import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { copyPrivate } from '../files/private.ts'
import { dataFile, openBackend, syncDirectory } from './lmdb.ts'
import { load } from './load.ts'
import { DamagedStoreError } from './store.ts'

/** More writes than happen between a backup and the loss of the store it was taken from. */
const revisionJump = 1_000_000_000

export interface RestoreOptions {
  readonly newId?: () => string
}

export interface Restored {
  readonly id: string
  /** The revision the restored store starts at. */
  readonly revision: number
  readonly keys: number
}

export async function restoreStore(backup: string, dir: string, options: RestoreOptions = {}): Promise<Restored> {
  const target = resolve(dir)
  if (!(await readdir(backup)).includes(dataFile)) throw new DamagedStoreError(`${backup} does not hold a backup`)
  await refuseData(target)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const draft = await mkdtemp(join(dirname(target), `.${basename(target)}-restoring-`))
  try {
    await copyPrivate(join(backup, dataFile), join(draft, dataFile))
    const restored = await renew(draft, (options.newId ?? randomUUID)())
    await syncDirectory(draft)
    await removeEmpty(target)
    await rename(draft, target)
    await syncDirectory(dirname(target))
    return restored
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function renew(draft: string, id: string): Promise<Restored> {
  const backend = await openBackend(draft, { isNew: false, witness: undefined, onClose: async () => undefined })
  try {
    const { meta } = backend
    if (meta === undefined) throw new DamagedStoreError('the backup is empty')
    const { current } = load(meta, backend.scan())
    const revision = (Math.floor(meta.last / revisionJump) + 2) * revisionJump
    await backend.write({ rows: [], trim: [], meta: { ...meta, id, last: revision, compacted: revision } })
    return { id, revision, keys: current.size }
  } finally {
    await backend.close()
  }
}

async function refuseData(target: string): Promise<void> {
  const names = await readdir(target).catch(absentIsEmpty)
  if (names.length > 0)
    throw new DamagedStoreError(`${target} already holds ${names[0]}; restore into an empty directory`)
}

async function removeEmpty(target: string): Promise<void> {
  // Removing refuses a directory that was filled meanwhile.
  await rmdir(target).catch(absentIsEmpty)
}

function absentIsEmpty(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return []
  throw error
}
