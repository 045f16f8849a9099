// A look at the data file before LMDB maps it: LMDB trusts what it maps, and a file that is something else ends the
// process instead of the attempt.
//
// Each of the first two pages describes the file: a header of 24 bytes with the page's number and kind, then a magic
// number, a version, and further on the page size, the roots of the two inner trees, and the last transaction.

import { open } from 'node:fs/promises'
import { DamagedStoreError } from './store.ts'

const pageKindMeta = 0x08
const magic = 0xbeefc0de
const version = 2
const descriptionBytes = 0xa0
const noRoot = 0xffff_ffff_ffff_ffffn

export async function checkDataFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    // Made but not yet written, by a first start that was cut off.
    if (size === 0) return
    const first = await read(file, 0)
    const pageBytes = first.readUInt32LE(0x30)
    if (!isDescription(first, 0n) || pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) {
      throw new DamagedStoreError(`${path} is not a data file of this program`)
    }
    const second = await read(file, pageBytes)
    if (!isDescription(second, 1n)) throw new DamagedStoreError(`${path} is damaged in its second page`)
    const newest = first.readBigUInt64LE(0x98) > second.readBigUInt64LE(0x98) ? first : second
    const pages = BigInt(Math.floor(size / pageBytes))
    for (const root of [newest.readBigUInt64LE(0x58), newest.readBigUInt64LE(0x88)]) {
      if (root !== noRoot && root >= pages) throw new DamagedStoreError(`${path} was cut short`)
    }
  } finally {
    await file.close()
  }
}

async function read(file: Awaited<ReturnType<typeof open>>, at: number): Promise<Buffer> {
  const bytes = Buffer.alloc(descriptionBytes)
  await file.read(bytes, 0, bytes.length, at)
  return bytes
}

function isDescription(page: Buffer, number: bigint): boolean {
  return (
    page.readBigUInt64LE(0) === number &&
    page.readUInt16LE(0x12) === pageKindMeta &&
    page.readUInt32LE(0x18) === magic &&
    page.readUInt32LE(0x1c) === version
  )
}
