// The newest revision of the log, noted a second time in a file of its own.
//
// After each durable write the newest revision is noted here, without a sync. The note may therefore lag behind the
// data after a power cut, but it is never ahead of it, unless the data was damaged, cut short, or swapped for an older
// copy: then a start would silently lose acknowledged writes, so it is refused.

import { closeSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { openPrivate, readPrivate } from '../files/private.ts'

export interface Witness {
  readonly id: string
  readonly last: number
}

export interface WitnessFile {
  note(witness: Witness): void
  close(): void
}

const form = /^mooring-store ([\w-]{1,64}) (\d{16}) ([0-9a-f]{8})\n$/

/** Undefined when it is absent or damaged: the store starts without it too. */
export function readWitness(path: string): Witness | undefined {
  const [, id, last, sum] = form.exec(readPrivate(path) ?? '') ?? []
  if (id === undefined || last === undefined || sum === undefined) return undefined
  return checksum(id, last) === sum ? { id, last: Number(last) } : undefined
}

export function openWitness(path: string): WitnessFile {
  const handle = openPrivate(path)
  return {
    note({ id, last }) {
      const padded = String(last).padStart(16, '0')
      writeSync(handle, `mooring-store ${id} ${padded} ${checksum(id, padded)}\n`, 0)
    },
    close: () => closeSync(handle),
  }
}

function checksum(id: string, last: string): string {
  return crc32(`${id} ${last}`).toString(16).padStart(8, '0')
}
