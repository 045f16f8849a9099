// What is in the image: Node with the libraries it is linked to, the packages that the lock file says are needed to run, and
// the program, with the CNI plugin that it puts on nodes. No shell, no package manager, nothing else that could be run.

import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Layer } from './oci.ts'
import type { TarEntry } from './tar.ts'

export const user = { id: 65_532, name: 'nonroot' } as const

export interface ContentsOptions {
  readonly repository: string
  /** What the compiler wrote. */
  readonly dist: string
  /** The CNI plugin, compiled. */
  readonly plugin: string
  /** The Node to put in. */
  readonly node: string
}

/** From what changes least to what changes most, so that a new version is a small download. */
export function toLayers({ repository, dist, plugin, node }: ContentsOptions): Layer[] {
  return [
    { about: `node ${process.version}`, entries: withFolders(nodeEntries(node)) },
    { about: 'packages, by package-lock.json', entries: withFolders(packageEntries(repository)) },
    { about: 'mooring', entries: withFolders(programEntries(repository, dist, plugin)) },
  ]
}

function nodeEntries(node: string): TarEntry[] {
  return [
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    text(
      'etc/passwd',
      `root:x:0:0:root:/root:/sbin/nologin\n${user.name}:x:${user.id}:${user.id}::/tmp:/sbin/nologin\n`,
    ),
    text('etc/group', `root:x:0:\n${user.name}:x:${user.id}:\n`),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    // No authorities: Node brings those of the public, a pod is given its cluster's, and those of this machine are its own.
    { ...copy(node, 'usr/bin/node'), isExecutable: true },
    ...librariesOf(node).map(path => ({ ...copy(path, path.slice(1)), isExecutable: true })),
  ]
}

/** Where the loader finds them here, it finds them there. */
function librariesOf(program: string): string[] {
  const { status, stdout, stderr } = spawnSync('ldd', [program], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ldd ${program}: ${stderr}`)
  return [...stdout.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = '']) => path)
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>
}

/** Optional packages are there for the platform on which `npm ci` ran, and nowhere else. */
function packageEntries(repository: string): TarEntry[] {
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as Lock
  return Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .filter(([path]) => existsSync(join(repository, path)))
    .flatMap(([path]) => folder(join(repository, path), `app/${path}`, name => name !== 'node_modules'))
}

function programEntries(repository: string, dist: string, plugin: string): TarEntry[] {
  const isShipped = (name: string) => !name.endsWith('.map') && name !== 'release'
  return [
    ...folder(dist, 'app/dist', isShipped),
    ...folder(join(repository, 'config', 'crd'), 'app/config/crd', () => true),
    { ...copy(plugin, 'app/cni/mooring'), isExecutable: true },
    ...['package.json', 'LICENSE'].map(name => copy(join(repository, name), `app/${name}`)),
  ]
}

/** A folder of a package can hold another package, which has a line of its own in the lock file. */
function folder(from: string, to: string, isWanted: (name: string) => boolean): TarEntry[] {
  return readdirSync(from)
    .filter(isWanted)
    .flatMap((name): TarEntry[] => {
      const path = join(from, name)
      const stat = lstatSync(path)
      if (stat.isDirectory()) return folder(path, `${to}/${name}`, isWanted)
      if (stat.isSymbolicLink()) return [{ kind: 'link', path: `${to}/${name}`, target: readlinkSync(path) }]
      return [copy(path, `${to}/${name}`)]
    })
}

function copy(from: string, to: string) {
  return { kind: 'file', path: to, body: readFileSync(from) } as const
}

function text(path: string, content: string): TarEntry {
  return { kind: 'file', path, body: Buffer.from(content) }
}

/** In order, and each after the folders it lies in. */
function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const all = new Map(entries.map(entry => [entry.path, entry]))
  for (const { path } of entries) {
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
      if (!all.has(parent)) all.set(parent, { kind: 'folder', path: parent })
    }
  }
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Of a layer, for people. */
export function bytesOf({ entries }: Layer): number {
  return entries.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.body.length : 0), 0)
}
