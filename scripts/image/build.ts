// The program and the CNI plugin, compiled and put into an image, in memory.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '../build/program.ts'
import { toLayers, user } from './contents.ts'
import { buildForwarder } from './forwarder.ts'
import { type Image, toImage } from './oci.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))

const architectures = { x64: 'amd64', arm64: 'arm64' } as const

export interface BuiltImage extends Image {
  /** `mooring:v0.1.0` */
  readonly name: string
}

export async function buildImage(): Promise<BuiltImage> {
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
  const architecture = architectures[process.arch as keyof typeof architectures]
  if (process.platform !== 'linux' || !architecture) {
    throw new Error(
      `an image is made of the Node that makes it, and this one is for ${process.platform} ${process.arch}`,
    )
  }
  const made = mkdtempSync(join(tmpdir(), 'mooring-image-'))
  const dist = join(made, 'dist')
  try {
    await buildProgram(dist)
    const plugin = buildForwarder(made, architecture)
    const name = `mooring:v${version}`
    const image = toImage({
      layers: toLayers({ repository, dist, plugin, node: process.execPath }),
      entrypoint: ['/usr/bin/node', '/app/dist/main.js'],
      user: `${user.id}:${user.id}`,
      workingDir: '/app',
      env: ['PATH=/usr/bin', 'NODE_ENV=production'],
      labels: {
        'org.opencontainers.image.title': 'mooring',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
      architecture,
      name,
      // A time would make every build another image. SOURCE_DATE_EPOCH is how others agree on one.
      createdSeconds: Number(process.env.SOURCE_DATE_EPOCH ?? 0),
    })
    return { ...image, name }
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}
