// Archives that depend on nothing but what is in them: entries in the order given, one time for all, no names of people. The
// same input gives the same bytes on every machine.

export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly body: Uint8Array; readonly isExecutable?: boolean }
  | { readonly kind: 'folder'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

const blockBytes = 512
const pathBytesMax = 100

export function toTar(entries: readonly TarEntry[], modifiedSeconds: number): Buffer {
  const blocks = entries.flatMap(entry => toBlocks(entry, modifiedSeconds))
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)])
}

function toBlocks(entry: TarEntry, modifiedSeconds: number): Buffer[] {
  const body = entry.kind === 'file' ? Buffer.from(entry.body) : Buffer.alloc(0)
  const path = entry.kind === 'folder' ? `${entry.path}/` : entry.path
  const target = entry.kind === 'link' ? entry.target : ''
  const long = [...tooLong('path', path), ...tooLong('linkpath', target)]
  const about = long.length === 0 ? [] : extended(long.join(''), modifiedSeconds)
  const type = { file: '0', link: '2', folder: '5' }[entry.kind]
  return [
    ...about,
    header({ path, target, type, mode: modeOf(entry), size: body.length, modifiedSeconds }),
    ...padded(body),
  ]
}

function modeOf(entry: TarEntry): number {
  if (entry.kind === 'link') return 0o777
  if (entry.kind === 'folder') return entry.mode ?? 0o755
  return entry.isExecutable ? 0o755 : 0o644
}

/** Names that do not fit into a header stand before it, as POSIX has it. */
function tooLong(key: string, value: string): string[] {
  if (Buffer.byteLength(value) <= pathBytesMax) return []
  // A record begins with its own length, and that counts the digits of the length too.
  const rest = ` ${key}=${value}\n`
  let bytes = Buffer.byteLength(rest)
  while (String(bytes).length + Buffer.byteLength(rest) !== bytes)
    bytes = String(bytes).length + Buffer.byteLength(rest)
  return [`${bytes}${rest}`]
}

function extended(records: string, modifiedSeconds: number): Buffer[] {
  const body = Buffer.from(records)
  return [
    header({ path: 'pax', target: '', type: 'x', mode: 0o644, size: body.length, modifiedSeconds }),
    ...padded(body),
  ]
}

interface Header {
  readonly path: string
  readonly target: string
  readonly type: string
  readonly mode: number
  readonly size: number
  readonly modifiedSeconds: number
}

function header({ path, target, type, mode, size, modifiedSeconds }: Header): Buffer {
  const block = Buffer.alloc(blockBytes)
  const text = (at: number, value: string, bytes: number) => Buffer.from(value).copy(block, at, 0, bytes)
  const number = (at: number, value: number, bytes: number) =>
    text(at, `${value.toString(8).padStart(bytes - 1, '0')}\0`, bytes)
  text(0, path, pathBytesMax)
  number(100, mode, 8)
  number(108, 0, 8)
  number(116, 0, 8)
  number(124, size, 12)
  number(136, modifiedSeconds, 12)
  text(148, ' '.repeat(8), 8)
  text(156, type, 1)
  text(157, target, pathBytesMax)
  text(257, 'ustar\u000000', 8)
  const sum = block.reduce((total, byte) => total + byte, 0)
  text(148, `${sum.toString(8).padStart(6, '0')}\0 `, 8)
  return block
}

function padded(body: Buffer): Buffer[] {
  const rest = body.length % blockBytes
  return rest === 0 ? [body] : [body, Buffer.alloc(blockBytes - rest)]
}
