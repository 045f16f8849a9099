// Archives and images as they are written, read back by hand.

import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type ImageOptions, toImage } from '../../scripts/image/oci.ts'
import { type TarEntry, toTar } from '../../scripts/image/tar.ts'

const deep = `${'folder/'.repeat(20)}file`

const entries: readonly TarEntry[] = [
  { kind: 'folder', path: 'tmp', mode: 0o1777 },
  { kind: 'file', path: 'bin/node', body: Buffer.from('program'), isExecutable: true },
  { kind: 'file', path: 'empty', body: Buffer.alloc(0) },
  { kind: 'file', path: 'block', body: Buffer.alloc(512, 'x') },
  { kind: 'link', path: 'link', target: 'bin/node' },
  { kind: 'file', path: deep, body: Buffer.from('ü') },
]

interface Read {
  readonly path: string
  readonly type: string
  readonly mode: string
  readonly body: string
  readonly target: string
}

function readTar(tar: Buffer): Read[] {
  const read: Read[] = []
  let longPath: string | undefined
  for (let at = 0; tar[at] !== 0; ) {
    const header = Buffer.from(tar.subarray(at, at + 512))
    const field = (from: number, bytes: number) => header.toString('utf8', from, from + bytes).replace(/\0.*$/s, '')
    const size = Number.parseInt(field(124, 12), 8)
    const sum = Number.parseInt(field(148, 8), 8)
    const [path, type, mode, target] = [field(0, 100), field(156, 1), field(100, 8), field(157, 100)]
    header.fill(' ', 148, 156)
    expect(header.reduce((total, byte) => total + byte, 0)).toBe(sum)
    const body = tar.subarray(at + 512, at + 512 + size).toString('utf8')
    at += 512 + Math.ceil(size / 512) * 512
    if (type === 'x') {
      const [, length = '', value] = /^(\d+) path=(.*)\n$/s.exec(body) ?? []
      expect(Buffer.byteLength(body)).toBe(Number(length))
      longPath = value
      continue
    }
    read.push({ path: longPath ?? path, type, mode, body, target })
    longPath = undefined
  }
  return read
}

describe('an archive', () => {
  test('holds what was put in, in that order, names longer than a header included', () => {
    expect(readTar(toTar(entries, 0))).toEqual([
      { path: 'tmp/', type: '5', mode: '0001777', body: '', target: '' },
      { path: 'bin/node', type: '0', mode: '0000755', body: 'program', target: '' },
      { path: 'empty', type: '0', mode: '0000644', body: '', target: '' },
      { path: 'block', type: '0', mode: '0000644', body: 'x'.repeat(512), target: '' },
      { path: 'link', type: '2', mode: '0000777', body: '', target: 'bin/node' },
      { path: deep, type: '0', mode: '0000644', body: 'ü', target: '' },
    ])
  })

  test('ends as readers expect', () => {
    const tar = toTar(entries, 0)
    expect(tar.length % 512).toBe(0)
    expect(tar.subarray(-1024).every(byte => byte === 0)).toBe(true)
  })

  test('has records of the right length wherever the count of digits changes', () => {
    for (let length = 80; length < 1100; length++) {
      const path = 'p'.repeat(length)
      const [file] = readTar(toTar([{ kind: 'file', path, body: Buffer.alloc(0) }], 0))
      expect(file?.path).toBe(path)
    }
  })
})

describe('an image', () => {
  const options: ImageOptions = {
    layers: [
      { about: 'below', entries: entries.slice(0, 3) },
      { about: 'above', entries: entries.slice(3) },
    ],
    entrypoint: ['/bin/node'],
    user: '65532:65532',
    workingDir: '/app',
    env: [],
    labels: { a: 'b' },
    architecture: 'amd64',
    name: 'mooring:v1',
    createdSeconds: 0,
  }
  const image = toImage(options)
  const files = new Map<string, Buffer>()
  let at = 0
  while (image.archive[at] !== 0) {
    const path = image.archive.toString('utf8', at, at + 100).replace(/\0.*$/s, '')
    const size = Number.parseInt(image.archive.toString('utf8', at + 124, at + 135), 8)
    files.set(path, image.archive.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  const blob = (digest: string) => files.get(`blobs/${digest.replace(':', '/')}`) ?? Buffer.alloc(0)
  const read = (content: Buffer | undefined) => JSON.parse(String(content))

  test('names everything by its hash, and nothing is missing', () => {
    for (const [path, content] of files) {
      if (!path.startsWith('blobs/sha256/') || path.endsWith('/')) continue
      expect(createHash('sha256').update(content).digest('hex')).toBe(path.slice('blobs/sha256/'.length))
    }
    expect(read(files.get('oci-layout'))).toEqual({ imageLayoutVersion: '1.0.0' })
    const [manifest] = read(files.get('index.json')).manifests
    expect(manifest.digest).toBe(image.digest)
    const { config, layers } = read(blob(image.digest))
    const { rootfs } = read(blob(config.digest))
    expect(layers).toHaveLength(2)
    for (const [i, layer] of layers.entries()) {
      const content = blob(layer.digest)
      expect(content.length).toBe(layer.size)
      const hash = createHash('sha256').update(gunzipSync(content)).digest('hex')
      expect(rootfs.diff_ids[i]).toBe(`sha256:${hash}`)
    }
  })

  test('is the same whenever it is made of the same, and another of anything else', () => {
    expect(toImage(options).archive.equals(image.archive)).toBe(true)
    expect(toImage({ ...options, user: '0' }).digest).not.toBe(image.digest)
    expect(toImage({ ...options, layers: options.layers.toReversed() }).digest).not.toBe(image.digest)
  })
})
