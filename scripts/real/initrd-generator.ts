// NetworkManager's generator for the initial RAM disk, which reads kernel arguments in a guest: taken from Debian's packages into
// the cache, without installing anything. It needs no daemon and no root, and prints the connections that it would make.

import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { cacheRoot, Unavailable } from './binaries.ts'

const packages = ['network-manager', 'libnm0', 'libjansson4', 'libteamdctl0']
const program = 'usr/lib/NetworkManager/nm-initrd-generator'

export interface Generator {
  readonly version: string
  /** What it prints on stdout for these arguments. */
  run(kargs: string): string
}

export function initrdGenerator(say: (line: string) => void): Generator {
  const root = unpacked(say)
  const libraries = readdirSync(join(root, 'usr', 'lib'))
    .filter(name => name.includes('-linux-'))
    .map(name => join(root, 'usr', 'lib', name))
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':') }
  const start = (args: readonly string[]) => {
    const { status, stdout, stderr, error } = spawnSync(join(root, program), args, { env, encoding: 'utf8' })
    if (error !== undefined || status !== 0) {
      throw new Unavailable(`${program} does not run here: ${error?.message ?? stderr.trim()}`)
    }
    return stdout
  }
  return {
    version: readFileSync(join(root, 'version'), 'utf8'),
    run: kargs => start(['-s', '--', ...kargs.split(' ').filter(item => item !== '')]),
  }
}

function unpacked(say: (line: string) => void): string {
  const parent = join(cacheRoot(), 'real')
  const root = join(parent, 'initrd-generator')
  if (existsSync(join(root, program))) return root
  for (const tool of ['apt-get', 'dpkg']) {
    if (spawnSync(tool, ['--version'], { stdio: 'ignore' }).status !== 0)
      throw new Unavailable(`${tool} is not installed`)
  }
  say(`downloading ${packages.join(', ')}, once`)
  mkdirSync(parent, { recursive: true })
  const made = mkdtempSync(join(parent, '.initrd-generator-'))
  try {
    const got = spawnSync('apt-get', ['download', ...packages], { cwd: made, encoding: 'utf8' })
    if (got.status !== 0) throw new Unavailable(`the packages of Debian cannot be downloaded: ${got.stderr.trim()}`)
    const archives = readdirSync(made).filter(name => name.endsWith('.deb'))
    for (const name of archives) {
      const { status, stderr } = spawnSync('dpkg', ['-x', join(made, name), join(made, 'root')], { encoding: 'utf8' })
      if (status !== 0) throw new Unavailable(`${name} cannot be unpacked: ${stderr.trim()}`)
    }
    if (!existsSync(join(made, 'root', program))) throw new Unavailable(`network-manager has no ${program}`)
    // network-manager_1.42.4-1_amd64.deb
    const [, version = ''] = archives.find(name => name.startsWith('network-manager_'))?.split('_') ?? []
    writeFileSync(join(made, 'root', 'version'), version)
    rmSync(root, { recursive: true, force: true })
    renameSync(join(made, 'root'), root)
    return root
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}
