// What the log needs from a disk, and nothing more: read all rows in order once, then atomic durable writes.

import type { Row } from './record.ts'

/** The facts about the whole log, written in the same transaction as the rows they speak of. */
export interface Meta {
  /** Changes when a backup is restored, so that two histories are never taken for one. */
  readonly id: string
  /** The newest revision ever handed out; kept apart because its record may have been trimmed. */
  readonly last: number
  readonly compacted: number
  /** How many keys exist at `last`, and the sum of their revisions (modulo 2^48): tells a missing live record. */
  readonly liveCount: number
  readonly liveSum: number
}

export interface BackendWrite {
  readonly rows: readonly Row[]
  readonly trim: readonly number[]
  readonly meta: Meta
}

export interface Backend {
  /** Undefined when nothing was ever written. */
  readonly meta: Meta | undefined
  /** All rows in revision order. */
  scan(): Iterable<Row>
  /** All of it or none of it, and durable once resolved. Never called again before it settled. */
  write(write: BackendWrite): Promise<void>
  backup(path: string): Promise<void>
  close(): Promise<void>
}
