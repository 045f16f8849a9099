// The folder from which clusterctl installs, without a network: one folder per provider and version, as a release page has
// them. Cluster API's own components are rendered from the sources of the version that is built; ours are the files we ship.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { moduleDirectory, Unavailable } from '../../scripts/real/binaries.ts'
import { releaseVersion, writeRelease } from '../../scripts/release/write.ts'

export interface Repository {
  /** For `clusterctl --config`. */
  readonly config: string
  readonly coreVersion: string
  readonly version: string
  /** The same components, with an image of a later version. */
  readonly laterVersion: string
  /** Of the provider for vSphere, where it is wanted. */
  readonly vsphereVersion: string
}

export function createRepository(dir: string, withVSphere: boolean): Repository {
  const core = addUpstream(dir, {
    label: 'cluster-api',
    module: moduleDirectory('sigs.k8s.io/cluster-api', 'cluster-api'),
    manifests: 'core/config/default',
    file: 'core-components.yaml',
  })
  const vsphere =
    withVSphere &&
    addUpstream(dir, {
      label: 'infrastructure-vsphere',
      module: moduleDirectory('sigs.k8s.io/cluster-api-provider-vsphere', 'vsphere'),
      manifests: 'config/default',
      file: 'infrastructure-components.yaml',
    })

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
      // Without this a second init that comes soon after the first looks for cert-manager on the internet.
      'cert-manager': { externallyProvisioned: 'true' },
      providers: [
        provider('cluster-api', 'CoreProvider', core.components),
        ...(vsphere ? [provider('vsphere', 'InfrastructureProvider', vsphere.components)] : []),
        provider('mooring', 'IPAMProvider', join(laterDir, 'ipam-components.yaml')),
      ],
    }),
  )
  const vsphereVersion = vsphere ? vsphere.version : ''
  return { config, coreVersion: core.version, version: ours.version, laterVersion, vsphereVersion }
}

interface Upstream {
  readonly label: string
  /** Where its sources are; the folder ends in its version. */
  readonly module: string
  readonly manifests: string
  readonly file: string
}

function addUpstream(
  dir: string,
  { label, module, manifests, file }: Upstream,
): { version: string; components: string } {
  const version = module.slice(module.lastIndexOf('@') + 1)
  const folder = join(dir, label, version)
  mkdirSync(folder, { recursive: true })
  const components = join(folder, file)
  writeFileSync(components, rendered(join(module, manifests)))
  copyFileSync(join(module, 'metadata.yaml'), join(folder, 'metadata.yaml'))
  return { version, components }
}

/** kubectl brings kustomize; the images it names are never run. */
function rendered(folder: string): string {
  const { status, stdout, stderr, error } = spawnSync('kubectl', ['kustomize', folder], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (error) throw new Unavailable('kubectl is not installed')
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
  const version = releaseVersion()
  // clusterctl wants to know the registry.
  writeRelease({ out, image: `registry.example.org/mooring:${version}` })
  const read = (file: string) => readFileSync(join(out, 'ipam-mooring', version, file), 'utf8')
  return { version, components: read('ipam-components.yaml'), metadata: read('metadata.yaml') }
}

function nextPatch(version: string): string {
  const [major, minor, patch] = version.split('.')
  return `${major}.${minor}.${Number(patch) + 1}`
}
