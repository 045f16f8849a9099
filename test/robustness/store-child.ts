// The process that is killed: many writers on the real store, every call and answer reported before the next begins.
//
// Lines on standard output, each complete or cut off by the kill: `call`, `ok`, `no`, `told`.

import { writeSync } from 'node:fs'
import { openStore } from '../../src/store/lmdb.ts'
import type { Store } from '../../src/store/store.ts'

const [dir = '', session = '', readyAfter = ''] = process.argv.slice(2)
const writers = 32
const keys = 48
let random = (Number(session) + 1) * 7919
let acknowledged = 0

function below(bound: number): number {
  random ^= random << 13
  random ^= random >>> 17
  random ^= random << 5
  random >>>= 0
  return random % bound
}

function say(line: string): void {
  writeSync(1, `${line}\n`)
}

async function write(store: Store, client: string, count: number): Promise<void> {
  const key = `/keys/${below(keys)}`
  const value = `${client}-${count}`
  const encode = (revision: number) => Buffer.from(`${value}@${revision}`)
  const current = store.get(key)
  const isDelete = current !== undefined && below(4) === 0
  const kind = current === undefined ? 'create' : isDelete ? 'delete' : 'update'
  say(`call ${client} ${count} ${kind} ${key} ${current?.revision ?? 0} ${value}`)
  const result =
    current === undefined
      ? await store.create(key, encode)
      : await (isDelete ? store.delete(key, current.revision, encode) : store.update(key, current.revision, encode))
  if (result.ok) {
    say(`ok ${client} ${count} ${result.entry.revision}`)
    acknowledged += 1
    // The parent kills when it hears this; the writers go on until then.
    if (acknowledged === Number(readyAfter)) process.send?.('ready')
  } else say(`no ${client} ${count} ${result.current?.revision ?? 0}`)
}

const store = await openStore(dir, { historyChangesMax: 1_000_000, historyBytesMax: 2 ** 31 })
const from = store.revision
say(`open ${from}`)
store.watch('/', from, ({ type, entry, previous }) => {
  const before = previous === undefined ? '0 -' : `${previous.revision} ${previous.value.toString()}`
  say(`told ${type} ${entry.key} ${entry.revision} ${entry.created} ${entry.value.toString()} ${before}`)
})
await Promise.all(
  Array.from({ length: writers }, async (_, writer) => {
    for (let count = 0; ; count += 1) await write(store, `${session}.${writer}`, count)
  }),
)
