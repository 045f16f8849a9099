// Everything a user installs from, in one folder. Nothing of it is kept in git: it is made from what is.
//
//   ipam-mooring/<version>/   what clusterctl reads, by file:// or from a release page
//   mooring.yaml              the same objects for `kubectl apply --server-side -f`
//   charts/mooring/           the chart, and beside it, packed
//   prometheus/, grafana/     alerts, and a board
//   samples/                  pools and claims to begin with

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { plainInstall, toInstallation, toYAML } from '../config/manifests.ts'
import { toTar } from '../image/tar.ts'
import { readChart } from './chart.ts'
import { toComponents, toMetadata } from './clusterctl.ts'
import { repository } from './repository.ts'

export interface ReleaseOptions {
  readonly out: string
  /** With its tag or digest. */
  readonly image?: string
  readonly say?: (line: string) => void
}

/** With the `v` that clusterctl and image tags have. */
export function releaseVersion(): string {
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
  return `v${version}`
}

export function writeRelease({ out, image = plainInstall.image, say = () => {} }: ReleaseOptions): void {
  const version = releaseVersion()
  const objects = toInstallation({ ...plainInstall, image })
  const write = (path: string, text: string | Buffer) => {
    mkdirSync(dirname(join(out, path)), { recursive: true })
    writeFileSync(join(out, path), text)
    say(join(out, path))
  }
  // Only what an earlier run wrote: the folder may hold other things.
  for (const made of ['ipam-mooring', 'charts', ...copied]) rmSync(join(out, made), { recursive: true, force: true })
  write(`ipam-mooring/${version}/ipam-components.yaml`, toComponents(objects))
  write(`ipam-mooring/${version}/metadata.yaml`, toMetadata(version))
  write('mooring.yaml', toYAML(objects))
  const chart = readChart(version, image)
  for (const { path, text } of chart) write(`charts/mooring/${path}`, text)
  const packed = chart.map(({ path, text }) => file(`mooring/${path}`, text))
  write(`charts/mooring-${version.slice(1)}.tgz`, gzipSync(toTar(packed, 0)))
  for (const folder of copied) {
    cpSync(join(repository, 'config', folder), join(out, folder), { recursive: true })
    say(join(out, folder))
  }
}

/** Folders of `config` that users take as they are. */
const copied = ['samples', 'prometheus', 'grafana']

function file(path: string, text: string) {
  return { kind: 'file', path, body: Buffer.from(text) } as const
}
