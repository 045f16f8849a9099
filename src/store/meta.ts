// The facts about the whole log as bytes: one line of text that names its format, a checksum, and JSON.

import { crc32 } from 'node:zlib'
import type { Meta } from './backend.ts'
import { DamagedStoreError } from './store.ts'

const format = 1
const form = /^mooring-store (\d{1,9}) (\d{1,10}) (\{[^\n]*\})\n$/

export function toMetaBytes({ id, last, compacted, liveCount, liveSum }: Meta): Buffer {
  const facts = JSON.stringify({ id, last, compacted, liveCount, liveSum })
  return Buffer.from(`mooring-store ${format} ${crc32(facts)} ${facts}\n`)
}

export function parseMeta(bytes: Buffer): Meta {
  const [, foundFormat, sum, facts] = form.exec(bytes.toString()) ?? []
  if (foundFormat === undefined || facts === undefined) {
    throw new DamagedStoreError('the description of the data cannot be read')
  }
  if (Number(foundFormat) > format) {
    throw new DamagedStoreError(`the data has format ${foundFormat}, and this program knows formats up to ${format}`)
  }
  if (crc32(facts) !== Number(sum)) {
    throw new DamagedStoreError('the description of the data is damaged: its checksum does not match')
  }
  return JSON.parse(facts) as Meta
}
