// From rows on disk to state in memory. Nothing is trusted: every checksum, every revision, every link is checked.
//
// Up to the compacted revision only the newest record of each living key is needed; other records there were
// left by a crash during trimming, and are returned to be trimmed. Trimming removes the older records of a key
// first, so a half-done trim never lets a deleted key come back. After the compacted revision there is no gap, and
// every record names the revision it replaced.

import type { Meta } from './backend.ts'
import { History } from './history.ts'
import { OrderedMap } from './ordered-map.ts'
import type { Row, Written } from './record.ts'
import { parseRow } from './record.ts'
import type { Entry } from './store.ts'
import { DamagedStoreError } from './store.ts'

export interface Loaded {
  readonly current: OrderedMap<Entry>
  readonly history: History
  /** Rows that nothing needs any more, older ones of a key first. */
  readonly leftovers: readonly number[]
}

/** The sum of revisions wraps here so that it stays an exact integer. */
export const liveSumModulo = 2 ** 48

export function load(meta: Meta, rows: Iterable<Row>): Loaded {
  const current = new OrderedMap<Entry>()
  const history = new History(meta.compacted)
  const leftovers: number[] = []
  let next = meta.compacted + 1
  let before = 0

  for (const row of rows) {
    if (row.revision <= before) throw new DamagedStoreError(`revision ${row.revision} is kept after revision ${before}`)
    before = row.revision
    if (row.revision > meta.last) {
      throw new DamagedStoreError(`there is a record of revision ${row.revision}, but the newest is ${meta.last}`)
    }
    const written = parseRow(row)
    const previous = current.get(written.entry.key)
    if (row.revision <= meta.compacted) {
      if (previous !== undefined) leftovers.push(previous.revision)
      if (written.type === 'delete') leftovers.push(row.revision)
    } else {
      if (row.revision !== next) throw new DamagedStoreError(gap(next, row.revision - 1))
      checkLink(written, previous)
      history.push({ type: written.type, entry: written.entry, previous })
      next += 1
    }
    if (written.type === 'put') current.set(written.entry.key, written.entry)
    else current.delete(written.entry.key)
  }

  if (next !== meta.last + 1) throw new DamagedStoreError(gap(next, meta.last))
  checkLiving(meta, current)
  return { current, history, leftovers }
}

function checkLink({ entry, type, replaced }: Written, previous: Entry | undefined): void {
  const found = previous?.revision ?? 0
  if (found !== replaced) {
    throw new DamagedStoreError(
      `revision ${entry.revision} replaced revision ${replaced}, but ${found} was found there`,
    )
  }
  const created = previous?.created ?? (type === 'put' ? entry.revision : undefined)
  if (created !== entry.created) {
    throw new DamagedStoreError(
      `revision ${entry.revision} belongs to a key created at ${entry.created}, not ${created}`,
    )
  }
}

function checkLiving(meta: Meta, current: OrderedMap<Entry>): void {
  let sum = 0
  for (const entry of current.under('')) sum = (sum + entry.revision) % liveSumModulo
  if (current.size === meta.liveCount && sum === meta.liveSum) return
  throw new DamagedStoreError(
    `there should be ${meta.liveCount} living keys, but the records found make ${current.size}`,
  )
}

function gap(from: number, to: number): string {
  return from === to
    ? `the record of revision ${from} is missing`
    : `the records of revisions ${from} to ${to} are missing`
}
