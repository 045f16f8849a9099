// Everything a user installs from, in one folder. Nothing of it is kept in git: it is made from what is.
//
//   ipam-mooring/<version>/   what clusterctl reads, by file:// or from a release page
//   mooring.yaml              the same objects for `kubectl apply --server-side -f`
//   samples/                  pools and claims to begin with

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { plainInstall, toInstallation, toYAML } from '../config/manifests.ts'
import { toComponents, toMetadata } from './clusterctl.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))

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
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(out, path)), { recursive: true })
    writeFileSync(join(out, path), text)
    say(join(out, path))
  }
  // Only what an earlier run wrote: the folder may hold other things.
  for (const made of ['ipam-mooring', 'samples']) rmSync(join(out, made), { recursive: true, force: true })
  write(`ipam-mooring/${version}/ipam-components.yaml`, toComponents(objects))
  write(`ipam-mooring/${version}/metadata.yaml`, toMetadata(version))
  write('mooring.yaml', toYAML(objects))
  cpSync(join(repository, 'config', 'samples'), join(out, 'samples'), { recursive: true })
  say(join(out, 'samples'))
}
