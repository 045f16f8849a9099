// Directories that a command needs and makes. One level at a time: Node's own way of making several tries for ever where a
// file system says that something is missing although nothing is, as that of /proc does.

import { mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkPrivateDirectory, type DirectoryRules, NotPrivateError } from '../files/private.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'

/** What is made is for its owner alone. `advice` says where another one can be named. */
export async function makeDirectory(path: string, advice: string): Promise<void> {
  try {
    await makeFrom(path)
  } catch (error) {
    throw toFailure(error, path, advice)
  }
}

/** As above; one that is there already must be closed to other users. */
export async function makePrivateDirectory(path: string, advice: string, rules: DirectoryRules = {}): Promise<void> {
  await makeDirectory(path, advice)
  try {
    checkPrivateDirectory(path, { mayBeLink: true, ...rules })
  } catch (error) {
    throw toFailure(error, path, advice)
  }
}

export interface DataRules {
  readonly allowGroupAccess?: boolean
}

/** The data directory and what is in it already: made where it is missing, refused where other users can reach it. */
export async function makeDataDirectory(data: string, { allowGroupAccess = false }: DataRules): Promise<void> {
  const advice = 'Choose another one with --data.'
  await makePrivateDirectory(data, advice, { isOpenToGroup: allowGroupAccess })
  const rules = { isOpenToGroup: allowGroupAccess, mayBeLink: false }
  for (const name of ['store', 'pki']) await makePrivateDirectory(join(data, name), advice, rules)
}

/** Answers false only where nothing is: what may not be looked at is said. */
export async function isThereAt(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false
    if (!isErrno(error)) throw error
    const advice = 'Run this as the user that the directory belongs to.'
    throw new Failure(exitCodes.environment, `${path} cannot be read (${error.code})`, advice, { cause: error })
  }
}

function toFailure(error: unknown, path: string, advice: string): unknown {
  if (error instanceof NotPrivateError) return refuseOpen(error)
  if (!isErrno(error)) return error
  return new Failure(exitCodes.environment, `the directory ${path} ${whyNot(error)}`, advice, { cause: error })
}

export function refuseOpen(error: NotPrivateError): Failure {
  return new Failure(exitCodes.environment, error.message, error.fix, { cause: error })
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
