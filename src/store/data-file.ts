// Checks the pages of the data file before LMDB maps it: LMDB trusts what it maps, so a foreign file, a truncated one,
// or a flipped bit in the links between pages would crash the process instead of failing the start.
//
// What LMDB (data version 2) writes, in little-endian order:
//
//   every page     0 u64 its number, 8 u64 the transaction that wrote it, 18 u16 its kind, 20 u16 where its list of nodes
//                  ends, counted from byte 24
//   pages 0 and 1  24 u32 magic, 28 u32 version, 48 u32 page size, 88 u64 root of the free tree, 136 u64 root of the
//                  main tree, 144 u64 last page ever used, 152 u64 transaction; the one with the newer transaction counts
//   branch         a list of u16 places of nodes, each with a 48-bit page number, then u16 length of its key
//   leaf           the same list; each node has u32 length of its value, u16 flags, u16 length of its key, key, value;
//                  a large value lies in pages of its own (flag 1), a named tree is described by 48 bytes (flag 2)
//
// Only the structure is checked here. The contents of records are checked by their checksums when they are read.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { DamagedStoreError } from './store.ts'

const pageHeaderBytes = 24
const nodeHeaderBytes = 8
const descriptionBytes = 160
const magic = 0xbeefc0de
const version = 2
const noPage = 2 ** 64
const kindBranch = 0x01
const kindLeaf = 0x02
const kindOverflow = 0x04
const kindMeta = 0x08
/** Leaves out marks that only mean something while a page is being changed. */
const kindMask = 0x1fff
const flagLarge = 0x01
const flagTree = 0x02

interface File {
  readonly path: string
  readonly handle: number
  readonly pageBytes: number
  readonly pages: number
  /** The last page that was ever used: a link beyond it is damaged, one beyond the file's end was cut off. */
  readonly lastPage: number
  /** The newest transaction: a page that a later one wrote belongs to a description that was lost. */
  readonly transaction: bigint
}

export function checkDataFile(path: string): void {
  const handle = openSync(path, 'r')
  try {
    const { size } = fstatSync(handle)
    // Made but not yet written, by a first start that was cut off.
    if (size === 0) return
    const first = readAt(handle, 0, Buffer.alloc(descriptionBytes))
    const pageBytes = first.readUInt32LE(48)
    if (!isDescription(first, 0) || pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) {
      throw new DamagedStoreError(`${path} is not a data file of this program`)
    }
    const second = readAt(handle, pageBytes, Buffer.alloc(descriptionBytes))
    if (!isDescription(second, 1) || second.readUInt32LE(48) !== pageBytes) throw damaged({ path }, 1)
    const newest = first.readBigUInt64LE(152) > second.readBigUInt64LE(152) ? first : second
    const transaction = newest.readBigUInt64LE(152)
    const [pages, lastPage] = [Math.floor(size / pageBytes), pageNumberAt(newest, 144)]
    const file = { path, handle, pageBytes, pages, lastPage, transaction }
    walk(file, [pageNumberAt(newest, 88), pageNumberAt(newest, 136)])
  } finally {
    closeSync(handle)
  }
}

function isDescription(page: Buffer, number: number): boolean {
  return (
    pageNumberAt(page, 0) === number &&
    page.readUInt16LE(18) === kindMeta &&
    page.readUInt32LE(24) === magic &&
    page.readUInt32LE(28) === version
  )
}

/** Visits every page that can be reached from the roots, each exactly once. */
function walk(file: File, roots: readonly number[]): void {
  const visited = new Uint8Array(file.pages)
  const page = Buffer.alloc(file.pageBytes)
  const todo = roots.filter(root => root !== noPage)
  const visit = (number: number) => {
    if (number > file.lastPage) throw new DamagedStoreError(`${file.path} is damaged: there never was a page ${number}`)
    if (number >= file.pages) throw new DamagedStoreError(`${file.path} was cut short: page ${number} is not there`)
    if (visited[number] !== 0 || number < 2) throw damaged(file, number)
    visited[number] = 1
  }
  for (let number = todo.pop(); number !== undefined; number = todo.pop()) {
    visit(number)
    readAt(file.handle, number * file.pageBytes, page)
    const kind = page.readUInt16LE(18) & kindMask
    if (!isOwnPage(file, number, page) || (kind !== kindBranch && kind !== kindLeaf)) throw damaged(file, number)
    for (const node of nodesOf(file, number, page)) {
      if (kind === kindBranch) {
        todo.push(page.readUIntLE(node, 6))
        continue
      }
      const value = readValue(file, number, page, node)
      if (value.kind === 'tree' && value.root !== noPage) todo.push(value.root)
      if (value.kind === 'large') checkLarge(file, value, visit)
    }
  }
}

/** Where the nodes of a page begin; their headers and keys are inside the page. */
function nodesOf(file: File, number: number, page: Buffer): number[] {
  const listBytes = page.readUInt16LE(20)
  if (listBytes % 2 !== 0 || pageHeaderBytes + listBytes > file.pageBytes) throw damaged(file, number)
  const nodes: number[] = []
  for (let at = pageHeaderBytes; at < pageHeaderBytes + listBytes; at += 2) {
    const node = page.readUInt16LE(at) + pageHeaderBytes
    if (node < pageHeaderBytes + listBytes || node + nodeHeaderBytes > file.pageBytes) throw damaged(file, number)
    if (node + nodeHeaderBytes + page.readUInt16LE(node + 6) > file.pageBytes) throw damaged(file, number)
    nodes.push(node)
  }
  return nodes
}

interface Large {
  readonly kind: 'large'
  readonly first: number
  readonly bytes: number
}

type Value = { readonly kind: 'inside' } | { readonly kind: 'tree'; readonly root: number } | Large

function readValue(file: File, number: number, page: Buffer, node: number): Value {
  const bytes = page.readUInt32LE(node)
  const flags = page.readUInt16LE(node + 4)
  const at = node + nodeHeaderBytes + page.readUInt16LE(node + 6)
  const bytesInside = flags === flagLarge ? 24 : bytes
  if (flags > flagTree || at + bytesInside > file.pageBytes) throw damaged(file, number)
  if (flags === flagLarge) return { kind: 'large', first: pageNumberAt(page, at), bytes }
  if (flags !== flagTree) return { kind: 'inside' }
  if (bytes !== 48) throw damaged(file, number)
  return { kind: 'tree', root: pageNumberAt(page, at + 40) }
}

/** A value too large for its page lies in neighbouring pages, of which only the first has a header. */
function checkLarge(file: File, { first, bytes }: Large, visit: (number: number) => void): void {
  const count = Math.floor((pageHeaderBytes - 1 + bytes) / file.pageBytes) + 1
  // A damaged number may be so large that one more is the same.
  for (let i = 0; i < count; i += 1) visit(first + i)
  const header = readAt(file.handle, first * file.pageBytes, Buffer.alloc(pageHeaderBytes))
  const isOverflow = (header.readUInt16LE(18) & kindMask) === kindOverflow
  if (!isOwnPage(file, first, header) || !isOverflow || header.readUInt32LE(20) < count) throw damaged(file, first)
}

function isOwnPage({ transaction }: File, number: number, page: Buffer): boolean {
  return pageNumberAt(page, 0) === number && page.readBigUInt64LE(8) <= transaction
}

function pageNumberAt(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at))
}

function readAt(handle: number, position: number, into: Buffer): Buffer {
  const count = readSync(handle, into, 0, into.length, position)
  into.fill(0, count)
  return into
}

function damaged(file: Pick<File, 'path'>, number: number): DamagedStoreError {
  return new DamagedStoreError(`${file.path} is damaged in page ${number}`)
}
