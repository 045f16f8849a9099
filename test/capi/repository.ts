// The folder from which clusterctl installs, without a network: one folder per provider and version, as a release page has
// them. Cluster API's own components are rendered from the sources of the version that is built; ours are the files we ship.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { moduleDirectory } from '../../scripts/real/binaries.ts'
import { releaseVersion, writeRelease } from '../../scripts/release/write.ts'

export interface Repository {
  /** For `clusterctl --config`. */
  readonly config: string
  readonly coreVersion: string
  readonly version: string
  /** The same components, with an image of a later version. */
  readonly laterVersion: string
}

export function createRepository(dir: string): Repository {
  const core = moduleDirectory('sigs.k8s.io/cluster-api', 'cluster-api')
  const coreVersion = core.slice(core.lastIndexOf('@') + 1)
  const coreDir = join(dir, 'cluster-api', coreVersion)
  mkdirSync(coreDir, { recursive: true })
  writeFileSync(join(coreDir, 'core-components.yaml'), rendered(join(core, 'core', 'config', 'default')))
  copyFileSync(join(core, 'metadata.yaml'), join(coreDir, 'metadata.yaml'))

  const ours = shipped(dir)
  const laterVersion = nextPatch(ours.version)
  const oursDir = join(dir, 'ipam-mooring', ours.version)
  const laterDir = join(dir, 'ipam-mooring', laterVersion)
  for (const folder of [oursDir, laterDir]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'metadata.yaml'), ours.metadata)
  }
  writeFileSync(join(oursDir, 'ipam-components.yaml'), ours.components)
  writeFileSync(
    join(laterDir, 'ipam-components.yaml'),
    ours.components.replaceAll(`:${ours.version}`, `:${laterVersion}`),
  )

  const config = join(dir, 'clusterctl.yaml')
  const provider = (name: string, type: string, path: string) => ({ name, type, url: `file://${path}` })
  writeFileSync(
    config,
    stringify({
      providers: [
        provider('cluster-api', 'CoreProvider', join(coreDir, 'core-components.yaml')),
        provider('mooring', 'IPAMProvider', join(laterDir, 'ipam-components.yaml')),
      ],
    }),
  )
  return { config, coreVersion, version: ours.version, laterVersion }
}

/** kubectl brings kustomize; the images it names are never run. */
function rendered(folder: string): string {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0) throw new Error(`kubectl kustomize ${folder}: ${stderr}`)
  return stdout
}

interface Shipped {
  readonly version: string
  readonly components: string
  readonly metadata: string
}

function shipped(dir: string): Shipped {
  const out = join(dir, 'release')
  writeRelease({ out })
  const version = releaseVersion()
  const read = (file: string) => readFileSync(join(out, 'ipam-mooring', version, file), 'utf8')
  return { version, components: read('ipam-components.yaml'), metadata: read('metadata.yaml') }
}

function nextPatch(version: string): string {
  const [major, minor, patch] = version.split('.')
  return `${major}.${minor}.${Number(patch) + 1}`
}
