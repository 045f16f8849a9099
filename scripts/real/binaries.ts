// Where the real programs come from: built once with Go into a cache outside the repository, keyed by version, and
// reused for ever after. A machine that has them already (KUBEBUILDER_ASSETS) builds nothing. What cannot be built is
// reported as `Unavailable`, so that a caller says "skipped, because ..." and never mistakes it for a failure.

import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Exit code of a script that could not do its work on this machine, through no fault of the code under test. */
export const skippedExitCode = 77

export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const kubernetesVersion = 'v1.35.4'
export const referenceIpamVersion = 'v1.0.3'
const clusterApiVersion = 'v1.14.2'
const vsphereProviderVersion = 'v1.14.0'
const vcenterVersion = 'v0.52.0'
const cniVersion = 'v1.3.0'
export const whereaboutsVersion = 'v0.8.0'
export const helmVersion = 'v3.19.5'
export const prometheusVersion = 'v3.5.0'

export const moduleAt = (name: string): string => join(repository, 'test', 'real', name)
const kubernetesModule = moduleAt('kubernetes')
const referenceIpamModule = moduleAt('reference-ipam')
const clusterApiModule = moduleAt('cluster-api')
const vsphereModule = moduleAt('vsphere')

const [major, minor] = kubernetesVersion.slice(1).split('.')
const versionPackage = 'k8s.io/component-base/version'
// Without these the server calls itself v0.0.0-master and clients warn about the skew.
const versionFlags = [
  '-s -w',
  `-X ${versionPackage}.gitVersion=${kubernetesVersion}`,
  `-X ${versionPackage}.gitMajor=${major}`,
  `-X ${versionPackage}.gitMinor=${minor}`,
].join(' ')

export interface Recipe {
  readonly module: string
  readonly into: string
  readonly go: readonly string[]
  readonly target: string
  readonly env?: Readonly<Record<string, string>>
  /** What a person should expect on two slow cores, so that silence is not mistaken for a hang. */
  readonly minutes: number
}

const kubernetesCache = `kubernetes-${kubernetesVersion}`
const build = ['build', '-trimpath', '-ldflags', versionFlags]
const clusterApiBuild = [
  'build',
  '-trimpath',
  '-ldflags',
  `-s -w -X sigs.k8s.io/cluster-api/version.gitVersion=${clusterApiVersion}`,
]

const recipes = {
  etcd: {
    module: kubernetesModule,
    into: kubernetesCache,
    go: build,
    target: 'go.etcd.io/etcd/server/v3',
    minutes: 1,
  },
  'kube-apiserver': {
    module: kubernetesModule,
    into: kubernetesCache,
    go: build,
    target: 'k8s.io/kubernetes/cmd/kube-apiserver',
    minutes: 5,
  },
  'kube-controller-manager': {
    module: kubernetesModule,
    into: kubernetesCache,
    go: build,
    target: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    minutes: 2,
  },
  'upstream.test': {
    module: kubernetesModule,
    into: kubernetesCache,
    go: ['test', '-c', '-trimpath', '-ldflags', versionFlags],
    target: '.',
    minutes: 3,
  },
  manager: {
    module: referenceIpamModule,
    into: `reference-ipam-${referenceIpamVersion}`,
    go: ['build', '-trimpath', '-ldflags', '-s -w'],
    target: 'sigs.k8s.io/cluster-api-ipam-provider-in-cluster',
    minutes: 2,
  },
  clusterctl: {
    module: clusterApiModule,
    into: `cluster-api-${clusterApiVersion}`,
    go: clusterApiBuild,
    target: 'sigs.k8s.io/cluster-api/cmd/clusterctl',
    minutes: 4,
  },
  'cluster-api-manager': {
    module: clusterApiModule,
    into: `cluster-api-${clusterApiVersion}`,
    go: clusterApiBuild,
    target: 'sigs.k8s.io/cluster-api/core',
    minutes: 2,
  },
  'vsphere-manager': {
    module: vsphereModule,
    into: `vsphere-${vsphereProviderVersion}`,
    go: ['build', '-trimpath', '-ldflags', '-s -w'],
    target: 'sigs.k8s.io/cluster-api-provider-vsphere',
    minutes: 6,
  },
  vcenter: {
    module: moduleAt('vcenter'),
    into: `vcenter-${vcenterVersion}-${digestOf(moduleAt('vcenter'), 'main.go')}`,
    go: ['build', '-trimpath', '-ldflags', '-s -w'],
    target: '.',
    minutes: 1,
  },
  cnitool: {
    module: moduleAt('cni'),
    into: `cni-${cniVersion}`,
    go: ['build', '-trimpath', '-ldflags', '-s -w'],
    target: 'github.com/containernetworking/cni/cnitool',
    minutes: 1,
  },
  whereabouts: {
    module: moduleAt('whereabouts'),
    into: `whereabouts-${whereaboutsVersion}`,
    go: ['build', '-trimpath', '-ldflags', '-s -w'],
    target: 'github.com/k8snetworkplumbingwg/whereabouts/cmd',
    minutes: 4,
    // As it is shipped.
    env: { CGO_ENABLED: '0' },
  },
  helm: {
    module: moduleAt('helm'),
    into: `helm-${helmVersion}`,
    go: ['build', '-trimpath', '-ldflags', `-s -w -X helm.sh/helm/v3/internal/version.version=${helmVersion}`],
    target: 'helm.sh/helm/v3/cmd/helm',
    minutes: 2,
  },
  promtool: {
    module: moduleAt('promtool'),
    into: `prometheus-${prometheusVersion}`,
    go: ['build', '-trimpath', '-ldflags', '-s -w'],
    target: 'github.com/prometheus/prometheus/cmd/promtool',
    minutes: 6,
  },
} satisfies Record<string, Recipe>

export type Program = keyof typeof recipes

export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  if (env.MOORING_CACHE) return env.MOORING_CACHE
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'mooring')
}

/** Where the code is ours, it changes while the versions stay. */
export function digestOf(module: string, file: string): string {
  return createHash('sha256')
    .update(readFileSync(join(module, file)))
    .digest('hex')
    .slice(0, 8)
}

/** The path of a ready-to-run program; builds it first where it is missing. */
export async function binary(program: Program, say: (line: string) => void = noProgress): Promise<string> {
  return givenBinary(program) ?? (await builtBy(recipes[program], program, say))
}

/** Whether it can be had without building it. */
export const hasBinary = (program: Program): boolean =>
  givenBinary(program) !== undefined || existsSync(join(cacheRoot(), 'real', recipes[program].into, program))

/** The path of a program of the cache; builds it first where it is missing. */
export async function builtBy(
  recipe: Recipe,
  program: string,
  say: (line: string) => void = noProgress,
): Promise<string> {
  const path = join(cacheRoot(), 'real', recipe.into, program)
  if (existsSync(path)) return path
  if (!goIsInstalled()) throw new Unavailable('Go is not installed')
  say(`building ${program} (${recipe.into}), once, about ${recipe.minutes} min`)
  const started = Date.now()
  mkdirSync(dirname(path), { recursive: true })
  // Another process may build the same program at the same time; the rename makes the last one win, whole.
  const partial = `${path}.${process.pid}.partial`
  await go([...recipe.go, '-o', partial, recipe.target], recipe.module, recipe.env)
  renameSync(partial, path)
  say(`built ${program} in ${Math.round((Date.now() - started) / 1000)} s`)
  return path
}

/** The directory in which Go keeps the sources of a module that the one in `test/real/<by>` requires. */
export function moduleDirectory(module: string, by = 'reference-ipam'): string {
  if (!goIsInstalled()) throw new Unavailable('Go is not installed')
  const cwd = moduleAt(by)
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  const listed = spawnSync('go', ['mod', 'download', '-json', `${module}@${requiredVersion(module, cwd)}`], {
    cwd,
    env,
    encoding: 'utf8',
  })
  if (listed.status !== 0) throw new Unavailable(`${module} cannot be downloaded: ${listed.stderr.trim()}`)
  return (JSON.parse(listed.stdout) as { Dir: string }).Dir
}

function requiredVersion(module: string, cwd: string): string {
  const listed = spawnSync('go', ['list', '-m', '-f', '{{.Version}}', module], { cwd, encoding: 'utf8' })
  if (listed.status !== 0) throw new Unavailable(`${module} is not required: ${listed.stderr.trim()}`)
  return listed.stdout.trim()
}

function givenBinary(program: Program): string | undefined {
  const assets = process.env.KUBEBUILDER_ASSETS
  if (!assets) return undefined
  const path = join(assets, program)
  return existsSync(path) ? path : undefined
}

function goIsInstalled(): boolean {
  return spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0
}

function go(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'inherit', 'inherit'] })
    child.on('error', reject)
    child.on('exit', code => (code === 0 ? resolve() : reject(new Error(`go ${args[0]} ended with ${code}`))))
  })
}

function noProgress(): void {}
