// What a store says when it is opened: all that it holds, as one number, or why it refuses.

import { createHash } from 'node:crypto'
import { openStore } from '../../src/store/lmdb.ts'

export async function verdictOf(dir: string): Promise<string> {
  try {
    const store = await openStore(dir)
    const hash = createHash('sha256')
    store.watch('', store.compacted, ({ type, entry }) =>
      hash.update(`${type} ${entry.key} ${entry.revision} ${entry.value.toString()}\n`),
    )
    for (const entry of store.list('').entries)
      hash.update(`${entry.key} ${entry.revision} ${entry.value.toString()}\n`)
    await store.close()
    return `opened ${hash.digest('hex')}`
  } catch (error) {
    return `refused ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`
  }
}
