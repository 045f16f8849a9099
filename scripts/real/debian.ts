// Programs that come with Debian, installed where they are missing: a lane that changes networks has root, and says what it does.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Unavailable } from './binaries.ts'

/** Package by a file that it brings. */
export function needDebian(files: Readonly<Record<string, string>>, say: (line: string) => void): void {
  const missing = Object.entries(files).flatMap(([file, name]) => (existsSync(file) ? [] : [name]))
  if (missing.length === 0) return
  const apt = (...args: string[]) =>
    spawnSync('apt-get', args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  if (apt('--version').status !== 0) throw new Unavailable(`${missing.join(', ')} of Debian are missing`)
  say(`installing ${missing.join(', ')} of Debian`)
  // Lists that are older than the archive name files that it no longer has.
  apt('update')
  const { status, stderr } = apt('install', '-y', '--no-install-recommends', ...missing)
  if (status !== 0) throw new Unavailable(`${missing.join(', ')} cannot be installed: ${stderr.trim()}`)
}
