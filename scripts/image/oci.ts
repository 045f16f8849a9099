// An image is JSON and archives that name each other by their hashes. Made without a daemon and without a base image, so the
// same files give the same digest wherever it is done.

import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type TarEntry, toTar } from './tar.ts'

export interface ImageOptions {
  readonly layers: readonly Layer[]
  readonly entrypoint: readonly string[]
  readonly user: string
  readonly workingDir: string
  readonly env: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly architecture: 'amd64' | 'arm64'
  /** How `docker load` and others call it: `mooring:v0.1.0`. */
  readonly name: string
  /** Seconds since 1970; the same for everything in it. */
  readonly createdSeconds: number
}

export interface Layer {
  /** For readers of the history. */
  readonly about: string
  readonly entries: readonly TarEntry[]
}

export interface Image {
  /** Of the manifest: what an image is pulled by. */
  readonly digest: string
  /** Uncompressed, of the layers from the bottom up. */
  readonly layers: readonly Buffer[]
  /** A layout in one archive, as `skopeo copy oci-archive:` reads it. */
  readonly archive: Buffer
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly annotations?: Readonly<Record<string, string>>
}

const types = {
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
} as const

export function toImage(options: ImageOptions): Image {
  const { architecture, createdSeconds, labels } = options
  const blobs = new Map<string, Buffer>()
  const keep = (mediaType: string, content: Buffer): Descriptor => {
    const hash = sha256(content)
    blobs.set(hash, content)
    return { mediaType, digest: `sha256:${hash}`, size: content.length }
  }
  const created = new Date(createdSeconds * 1000).toISOString().replace('.000Z', 'Z')
  const tars = options.layers.map(({ entries }) => toTar(entries, createdSeconds))
  const config = keep(
    types.config,
    json({
      created,
      architecture,
      os: 'linux',
      config: {
        User: options.user,
        Entrypoint: options.entrypoint,
        WorkingDir: options.workingDir,
        Env: options.env,
        Labels: labels,
      },
      rootfs: { type: 'layers', diff_ids: tars.map(tar => `sha256:${sha256(tar)}`) },
      history: options.layers.map(({ about }) => ({ created, created_by: about })),
    }),
  )
  const manifest = keep(
    types.manifest,
    json({
      schemaVersion: 2,
      mediaType: types.manifest,
      config,
      layers: tars.map(tar => keep(types.layer, gzipSync(tar))),
      annotations: labels,
    }),
  )
  const annotations = {
    'io.containerd.image.name': options.name,
    'org.opencontainers.image.ref.name': options.name.slice(options.name.lastIndexOf(':') + 1),
  }
  const index = json({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [{ ...manifest, platform: { architecture, os: 'linux' }, annotations }],
  })
  const archive = toTar(
    [
      file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
      file('index.json', index),
      { kind: 'folder', path: 'blobs' },
      { kind: 'folder', path: 'blobs/sha256' },
      ...[...blobs]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([hash, content]) => file(`blobs/sha256/${hash}`, content)),
    ],
    createdSeconds,
  )
  return { digest: manifest.digest, layers: tars, archive }
}

function file(path: string, body: Buffer): TarEntry {
  return { kind: 'file', path, body }
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
