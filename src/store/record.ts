// One record of the log as bytes: key, value, revisions, and a checksum over all of it.
//
//   0  u32  crc32 of everything after it
//   4  u8   1 put, 2 delete
//   5  u8   how the key is written: 0 latin1, 1 utf16le (any string comes back exactly, even a broken surrogate pair)
//   6  u16  bytes of the key
//   8  u48  revision of this write
//  14  u48  revision that created the key
//  20  u48  revision this write replaced, 0 when it created the key
//  26  key, then value to the end
//
// The value in memory is a window into these same bytes, so a stored object costs its bytes once.

import { crc32 } from 'node:zlib'
import type { Entry } from './store.ts'
import { DamagedStoreError } from './store.ts'

export interface Row {
  readonly revision: number
  readonly bytes: Buffer
}

export interface Written {
  readonly type: 'put' | 'delete'
  readonly entry: Entry
  /** The revision of what this write replaced; 0 when it created the key. */
  readonly replaced: number
}

const headerBytes = 26
const keyBytesMax = 0xffff
const put = 1
const deletion = 2
const beyondLatin1 = /[\u0100-\uffff]/

export interface Unwritten {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly replaced: number
  readonly value: Buffer
}

export function toRow({ type, key, revision, created, replaced, value }: Unwritten): { row: Row; entry: Entry } {
  const encoding = beyondLatin1.test(key) ? 'utf16le' : 'latin1'
  const keyBytes = Buffer.byteLength(key, encoding)
  if (keyBytes > keyBytesMax) throw new RangeError(`a key of ${keyBytes} bytes is longer than ${keyBytesMax}`)
  // Not from Node's shared pool: a small value that lives for long would pin its eight-kilobyte neighbourhood.
  const bytes = Buffer.allocUnsafeSlow(headerBytes + keyBytes + value.length)
  bytes.writeUInt8(type === 'put' ? put : deletion, 4)
  bytes.writeUInt8(encoding === 'latin1' ? 0 : 1, 5)
  bytes.writeUInt16BE(keyBytes, 6)
  bytes.writeUIntBE(revision, 8, 6)
  bytes.writeUIntBE(created, 14, 6)
  bytes.writeUIntBE(replaced, 20, 6)
  bytes.write(key, headerBytes, encoding)
  value.copy(bytes, headerBytes + keyBytes)
  bytes.writeUInt32BE(crc32(bytes.subarray(4)), 0)
  return { row: { revision, bytes }, entry: { key, revision, created, value: bytes.subarray(headerBytes + keyBytes) } }
}

export function parseRow({ revision, bytes }: Row): Written {
  if (bytes.length < headerBytes || bytes.readUInt32BE(0) !== crc32(bytes.subarray(4))) {
    throw new DamagedStoreError(`the record of revision ${revision} is damaged: its checksum does not match`)
  }
  const valueAt = headerBytes + bytes.readUInt16BE(6)
  const type = bytes.readUInt8(4)
  const writtenAs = bytes.readUIntBE(8, 6)
  if (writtenAs !== revision) {
    throw new DamagedStoreError(`the record of revision ${revision} says it is revision ${writtenAs}`)
  }
  if (valueAt > bytes.length || (type !== put && type !== deletion)) {
    throw new DamagedStoreError(`the record of revision ${revision} is not one this program writes`)
  }
  const key = bytes.toString(bytes.readUInt8(5) === 0 ? 'latin1' : 'utf16le', headerBytes, valueAt)
  return {
    type: type === put ? 'put' : 'delete',
    entry: { key, revision, created: bytes.readUIntBE(14, 6), value: bytes.subarray(valueAt) },
    replaced: bytes.readUIntBE(20, 6),
  }
}
