// The CNI plugin, compiled: a static program for a node that has nothing else. The same sources give the same bytes.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Unavailable } from '../real/binaries.ts'

const module = fileURLToPath(new URL('../../src/node/forwarder', import.meta.url))

/** Writes it to `<dir>/mooring`, and answers that path. */
export function buildForwarder(dir: string, architecture?: string): string {
  const path = join(dir, 'mooring')
  // Not to be stamped with a commit: an image of unchanged sources stays the same image.
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w -buildid=', '-o', path, '.']
  const env = { ...process.env, CGO_ENABLED: '0', GOOS: 'linux', ...(architecture && { GOARCH: architecture }) }
  const { status, stderr, error } = spawnSync('go', args, { cwd: module, env, encoding: 'utf8' })
  if (error !== undefined) throw new Unavailable('Go is not installed, and the CNI plugin is compiled with it')
  if (status !== 0) throw new Error(`go build ended with ${status}:\n${stderr}`)
  return path
}
