// Everything a user installs from, in one folder. Nothing of it is kept in git: it is made from what is.
//
//   ipam-mooring/<version>/   what clusterctl reads, by file:// or from a release page
//   mooring.yaml              the same objects for `kubectl apply --server-side -f`
//   charts/mooring/           the chart, and beside it, packed
//   definitions/              of kinds that a desk needs and that other products may not have brought
//   prometheus/, grafana/     alerts, and a board
//   samples/                  pools and claims to begin with
//   bom.json                  which packages are in the program, for scanners (CycloneDX)
//   provenance.json           from what it was made
//   SHA256SUMS                of every file of it

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ownDefinitionsOf } from '../../src/cli/definitions.ts'
import { desks } from '../../src/controllers/desks.ts'
import { plainInstall, toInstallation, toYAML } from '../config/manifests.ts'
import { toTar } from '../image/tar.ts'
import { type Lock, toBOM } from './bom.ts'
import { readChart } from './chart.ts'
import { toComponents, toMetadata } from './clusterctl.ts'
import { type Made, toProvenance, toSums } from './provenance.ts'
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
  const made: Made[] = []
  const write = (path: string, text: string | Buffer) => {
    mkdirSync(dirname(join(out, path)), { recursive: true })
    writeFileSync(join(out, path), text)
    made.push({ path, body: Buffer.from(text) })
    say(join(out, path))
  }
  // Only what an earlier run wrote: the folder may hold other things.
  for (const old of ['ipam-mooring', 'charts', 'definitions', ...copied])
    rmSync(join(out, old), { recursive: true, force: true })
  write(`ipam-mooring/${version}/ipam-components.yaml`, toComponents(objects))
  write(`ipam-mooring/${version}/metadata.yaml`, toMetadata(version))
  write('mooring.yaml', toYAML(objects))
  const chart = readChart(version, image)
  for (const { path, text } of chart) write(`charts/mooring/${path}`, text)
  const packed = chart.map(({ path, text }) => file(`mooring/${path}`, text))
  write(`charts/mooring-${version.slice(1)}.tgz`, gzipSync(toTar(packed, 0)))
  for (const { path, text } of desks.flatMap(ownDefinitionsOf)) write(`definitions/${basename(path)}`, text)
  for (const folder of copied) {
    for (const path of filesIn(folder)) write(path, readFileSync(join(repository, 'config', path)))
  }
  const lock = readFileSync(join(repository, 'package-lock.json'))
  write('bom.json', toJSON(toBOM(JSON.parse(lock.toString()) as Lock)))
  write('provenance.json', toJSON(toProvenance(made, { version, commit: commitOf(repository), lock, image })))
  write('SHA256SUMS', toSums(made))
}

const toJSON = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

/** Undefined where git does not know, or where a file differs from what was committed. */
function commitOf(folder: string): string | undefined {
  const git = (...args: string[]) => spawnSync('git', ['-C', folder, ...args], { encoding: 'utf8' })
  const { status, stdout } = git('status', '--porcelain', '--untracked-files=no')
  return status === 0 && stdout === '' ? git('rev-parse', 'HEAD').stdout.trim() : undefined
}

/** Paths below `config`, in an order that does not depend on the machine. */
function filesIn(folder: string): string[] {
  return readdirSync(join(repository, 'config', folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(join(repository, 'config'), join(entry.parentPath, entry.name)))
    .toSorted()
}

/** Folders of `config` that users take as they are. */
const copied = ['samples', 'prometheus', 'grafana']

function file(path: string, text: string) {
  return { kind: 'file', path, body: Buffer.from(text) } as const
}
