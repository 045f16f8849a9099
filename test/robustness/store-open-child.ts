// Opens one damaged copy after another and says what it found; a crash of the process is part of the answer.

import { createHash } from 'node:crypto'
import { openStore } from '../../src/store/lmdb.ts'

const [root = '', first = '0', count = '0'] = process.argv.slice(2)

async function judge(dir: string): Promise<string> {
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

for (let at = Number(first); at < Number(count); at += 1) {
  process.send?.({ at, verdict: 'began' })
  process.send?.({ at, verdict: await judge(`${root}/${at}`) })
}
process.disconnect()
