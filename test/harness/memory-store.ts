// The same store without a disk, for tests and simulation: only the backend differs.

import type { Backend, BackendWrite, Meta } from '../../src/store/backend.ts'
import type { StoreOptions } from '../../src/store/log-store.ts'
import { openLogStore } from '../../src/store/log-store.ts'
import type { Row } from '../../src/store/record.ts'
import type { Store } from '../../src/store/store.ts'

/** What survives a closed or crashed memory store; give it to `memoryStore` again to reopen it. */
export interface MemoryDisk {
  meta: Meta | undefined
  readonly rows: Map<number, Row>
  /** Called before each write; a throw or rejection is a disk fault, and waiting is a slow disk. */
  beforeWrite?: (write: BackendWrite) => void | Promise<void>
}

export interface MemoryStoreOptions extends StoreOptions {
  readonly disk?: MemoryDisk
  readonly id?: string
}

export function memoryDisk(): MemoryDisk {
  return { meta: undefined, rows: new Map() }
}

export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const disk = options.disk ?? memoryDisk()
  return openLogStore(memoryBackend(disk), { id: options.id ?? 'memory' }, options)
}

function memoryBackend(disk: MemoryDisk): Backend {
  return {
    meta: disk.meta,
    scan: () => [...disk.rows.values()].sort((one, other) => one.revision - other.revision),
    async write(write) {
      if (disk.beforeWrite !== undefined) await disk.beforeWrite(write)
      for (const row of write.rows) disk.rows.set(row.revision, row)
      for (const revision of write.trim) disk.rows.delete(revision)
      disk.meta = write.meta
    },
    async backup() {
      throw new Error('a store in memory cannot be backed up')
    },
    async close() {},
  }
}
