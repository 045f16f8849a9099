// Directories that a command needs and makes. One level at a time: Node's own way of making several tries for ever where a
// file system says that something is missing although nothing is, as that of /proc does.

import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { exitCodes, Failure, isErrno } from './failure.ts'

/** What is made is for its owner alone. `advice` says where another one can be named. */
export async function makeDirectory(path: string, advice: string): Promise<void> {
  try {
    await makeFrom(path)
  } catch (error) {
    if (!isErrno(error)) throw error
    throw new Failure(exitCodes.environment, `the directory ${path} ${whyNot(error)}`, advice, {
      cause: error,
    })
  }
}

async function makeFrom(path: string): Promise<void> {
  const missing: string[] = []
  let at = path
  while (!(await isThere(at))) {
    missing.push(at)
    at = dirname(at)
  }
  for (const one of missing.reverse()) {
    await mkdir(one, { mode: 0o700 }).catch((error: unknown) => {
      // Another process may make it too.
      if (!isErrno(error, 'EEXIST')) throw error
    })
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true
    throw Object.assign(new Error(`${path} is a file`), { code: 'ENOTDIR' })
  } catch (error) {
    if (isErrno(error, 'ENOENT') && dirname(path) !== path) return false
    throw error
  }
}

function whyNot({ code }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'cannot be written'
    case 'EEXIST':
    case 'ENOTDIR':
      return 'is not a directory'
    default:
      return `cannot be made (${code})`
  }
}
