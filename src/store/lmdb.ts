// The store on disk: one LMDB file holds the log and the facts about it, every commit is synced before it counts.
//
// In the directory: `mooring.mdb` and `mooring.mdb-lock` (LMDB's own), `witness` (how far the log had come), and the
// socket that keeps a second process out. A directory with anything else in it is refused and left as it is.

import { randomUUID } from 'node:crypto'
import { access, chmod, constants, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, RootDatabase } from 'lmdb'
import { open as openEnvironment } from 'lmdb'
import { makePrivate } from '../files/private.ts'
import type { Backend, Meta } from './backend.ts'
import { checkDataFile } from './data-file.ts'
import { isLockFile, type Lock, takeLock } from './lock.ts'
import { emptyMeta, openLogStore, type StoreOptions } from './log-store.ts'
import { parseMeta, toMetaBytes } from './meta.ts'
import type { Row } from './record.ts'
import { DamagedStoreError, type Store } from './store.ts'
import { openWitness, readWitness, type Witness } from './witness.ts'

export interface OpenOptions extends StoreOptions {
  /** Names a new store; random unless told. */
  readonly newId?: () => string
}

export const dataFile = 'mooring.mdb'
const lockFile = `${dataFile}-lock`
const witnessFile = 'witness'

export async function openStore(dir: string, options: OpenOptions = {}): Promise<Store> {
  const found = await prepareDirectory(dir)
  const lock = await takeLock(dir)
  try {
    const id = (options.newId ?? randomUUID)()
    return await openLocked(dir, found, lock, id, options)
  } catch (error) {
    await lock.release()
    throw error
  }
}

async function openLocked(dir: string, found: Found, lock: Lock, id: string, options: OpenOptions): Promise<Store> {
  const witness = readWitness(join(dir, witnessFile))
  if (!found.hasData && witness !== undefined && witness.last > 0) {
    throw new DamagedStoreError(`${join(dir, dataFile)} is missing, but it had come to revision ${witness.last}`)
  }
  const backend = await openBackend(dir, { isNew: !found.hasData, witness, onClose: () => lock.release() })
  try {
    if (backend.meta === undefined) await backend.write({ rows: [], trim: [], meta: emptyMeta(id) })
    return openLogStore(backend, { id }, options)
  } catch (error) {
    await backend.close()
    throw error
  }
}

interface Found {
  readonly hasData: boolean
}

/** Makes the directory when it is missing, and refuses one that is not ours. */
async function prepareDirectory(dir: string): Promise<Found> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const names = await readdir(dir)
  const foreign = names.find(name => !isOurs(name))
  if (foreign !== undefined) {
    throw new DamagedStoreError(`${dir} is not a data directory: it holds ${foreign}, which this program did not write`)
  }
  try {
    await access(dir, constants.W_OK)
  } catch (cause) {
    throw new DamagedStoreError(`${dir} cannot be written to`, { cause })
  }
  return { hasData: names.includes(dataFile) }
}

function isOurs(name: string): boolean {
  return name === dataFile || name === lockFile || name === witnessFile || isLockFile(name)
}

interface BackendOptions {
  readonly isNew: boolean
  readonly witness: Witness | undefined
  readonly onClose: () => Promise<void>
}

export async function openBackend(dir: string, { isNew, witness, onClose }: BackendOptions): Promise<Backend> {
  // LMDB would make them readable for all, and follow a link.
  for (const name of [dataFile, lockFile]) makePrivate(join(dir, name))
  if (!isNew) checkDataFile(join(dir, dataFile))
  const environment = openFile(join(dir, dataFile))
  let opened: Opened
  try {
    opened = openTables(dir, environment, isNew)
    if (witness !== undefined) checkWitness(dir, witness, opened.meta)
  } catch (error) {
    await environment.close()
    throw error
  }
  const { log, facts, meta } = opened
  if (isNew) await syncDirectory(dir)
  const noted = openWitness(join(dir, witnessFile))
  if (meta !== undefined) noted.note(meta)

  return {
    meta,
    *scan() {
      const rows = log.getRange()[Symbol.iterator]()
      for (let next = orDamaged(dir, () => rows.next()); !next.done; next = orDamaged(dir, () => rows.next())) {
        yield { revision: next.value.key, bytes: next.value.value } satisfies Row
      }
    },
    async write({ rows, trim, meta: next }) {
      try {
        await environment.transaction(() => {
          // Inside a transaction these take effect at once; only its end is waited for.
          for (const row of rows) void log.put(row.revision, row.bytes)
          for (const revision of trim) void log.remove(revision)
          void facts.put('meta', toMetaBytes(next))
        })
      } catch (error) {
        throw await causeOf(error)
      }
      noted.note(next)
    },
    async backup(path) {
      await copyTo(path, environment)
    },
    async close() {
      await environment.close()
      noted.close()
      await onClose()
    },
  }
}

function openFile(path: string): RootDatabase<Buffer> {
  try {
    // Without overlapping syncs a resolved write is a synced write.
    return openEnvironment<Buffer>({ path, noSubdir: true, maxDbs: 2, overlappingSync: false, encoding: 'binary' })
  } catch (cause) {
    throw new DamagedStoreError(`${path} cannot be opened as a data file: ${reasonOf(cause)}`, { cause })
  }
}

interface Opened {
  readonly log: Database<Buffer, number>
  readonly facts: Database<Buffer, string>
  readonly meta: Meta | undefined
}

function openTables(dir: string, environment: RootDatabase<Buffer>, isNew: boolean): Opened {
  return orDamaged(dir, () => {
    const log = environment.openDB<Buffer, number>('log', { encoding: 'binary' })
    const facts = environment.openDB<Buffer, string>('meta', { encoding: 'binary' })
    const bytes = facts.get('meta')
    if (bytes !== undefined) return { log, facts, meta: parseMeta(bytes) }
    // The very first start may have ended between making the file and describing it.
    if (isNew || log.getCount({ limit: 1 }) === 0) return { log, facts, meta: undefined }
    throw new DamagedStoreError(`${join(dir, dataFile)} holds records, but not the description of the data`)
  })
}

/** While reading, whatever LMDB stumbles over is damage. */
function orDamaged<T>(dir: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof DamagedStoreError) throw cause
    throw new DamagedStoreError(`${join(dir, dataFile)} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

function checkWitness(dir: string, witness: Witness, meta: Meta | undefined): void {
  const last = meta?.last ?? 0
  if (meta !== undefined && meta.id !== witness.id) {
    throw new DamagedStoreError(`${join(dir, dataFile)} belongs to another history than the one last kept here`)
  }
  if (last < witness.last) {
    throw new DamagedStoreError(
      `${join(dir, dataFile)} ends at revision ${last}, but revision ${witness.last} had been kept here`,
    )
  }
}

async function copyTo(path: string, environment: RootDatabase<Buffer>): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  if ((await readdir(path)).length > 0) throw new Error(`${path} is not empty`)
  const file = join(path, dataFile)
  try {
    // LMDB makes the file itself; until its mode is mended, the directory keeps others out.
    await environment.backup(file, true)
    await chmod(file, 0o600)
    await syncFile(file)
  } catch (error) {
    // Half a copy must not be taken for a backup, nor stand in the way of the next try.
    await rm(file, { force: true })
    throw error
  }
  await syncDirectory(path)
}

export async function syncDirectory(path: string): Promise<void> {
  await syncFile(path)
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** LMDB rejects with a promise of the reason inside its error. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  return Promise.resolve(error.commitError).then(
    () => error,
    (cause: unknown) => cause,
  )
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
