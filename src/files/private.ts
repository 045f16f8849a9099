// Files for one user of the machine alone, from their first byte. What holds a key or data is made under a name that was free
// (never through a link that another user planted there), with mode 0600 whatever the umask is. A text is written whole: to a
// temporary file of a random name, which is synced and then renamed.
//
// A directory that other users can enter, or that belongs to one of them, is not mended but refused: what lies in it may be
// theirs. A file in a private directory was out of their reach, so its mode is mended.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** Something that another user can reach or has made. `fix` is a sentence for the administrator. */
export class NotPrivateError extends Error {
  override readonly name = 'NotPrivateError'
  readonly fix: string

  constructor(what: string, fix: string) {
    super(what)
    this.fix = fix
  }
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
const ofGroup = 0o070
const ofOthers = 0o007

export interface DirectoryRules {
  /** Its group may have access too, as with a volume of a pod that has an fsGroup. */
  readonly isOpenToGroup?: boolean
  /** A link to a directory is as good, unless another user made it. */
  readonly mayBeLink?: boolean
}

/** Throws unless it is a directory of this process's user that no other user can enter. */
export function checkPrivateDirectory(path: string, rules: DirectoryRules = {}): void {
  const own = lstatSync(path)
  if (own.isSymbolicLink()) {
    if (!rules.mayBeLink) throw new NotPrivateError(`${path} is a symbolic link`, 'Put the directory itself there.')
    if (own.uid !== 0) refuseOtherOwner(path, own)
  }
  const found = statSync(path)
  if (!found.isDirectory()) throw Object.assign(new Error(`${path} is not a directory`), { code: 'ENOTDIR' })
  refuseOtherOwner(path, found)
  const open = found.mode & (rules.isOpenToGroup ? ofOthers : ofGroup | ofOthers)
  if (open === 0 || process.getuid === undefined) return
  const mode = (found.mode & 0o777).toString(8)
  const fix = `If no other user has put anything into it, run: chmod 700 ${path}`
  throw new NotPrivateError(`the directory ${path} is open to other users (mode ${mode})`, fix)
}

function refuseOtherOwner(path: string, { uid }: Stats): void {
  const me = process.getuid?.()
  if (me === undefined || uid === me) return
  const fix = 'Name a directory that is not there yet, also one inside this one: it is made private.'
  throw new NotPrivateError(`${path} belongs to another user (uid ${uid}), and this process has uid ${me}`, fix)
}

/** For what another library opens by its name: there afterwards, a file of ours that no other user can open. */
export function makePrivate(path: string): void {
  closeSync(openPrivate(path))
}

/** To read and write. Made where it is missing; what is there keeps its content. */
export function openPrivate(path: string): number {
  try {
    return createPrivate(path)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    return openChecked(path, O_RDWR)
  }
}

/** Undefined when there is none. */
export function readPrivate(path: string): string | undefined {
  let handle: number
  try {
    handle = openChecked(path, O_RDONLY)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    return readFileSync(handle, 'utf8')
  } finally {
    closeSync(handle)
  }
}

/** The file holds the new text or still the old one, and once this returns the new one survives a power cut. */
export function writePrivate(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.new`)
  const handle = createPrivate(temporary)
  try {
    try {
      writeFileSync(handle, text)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(temporary, path)
  } catch (error) {
    // It may hold a key.
    rmSync(temporary, { force: true })
    throw error
  }
  syncDirectory(dirname(path))
}

const temporaryName = /^\..+\.[0-9a-f]{16}\.new$/

/** Files that `writePrivate` left in this directory when its process was killed. For one who works there alone. */
export function removeTemporaryFiles(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (temporaryName.test(name)) rmSync(join(directory, name), { force: true })
  }
}

/** To a name that is free. Whatever mode the original has, the copy is private. */
export async function copyPrivate(from: string, to: string): Promise<void> {
  const source = openSync(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if (!fstatSync(source).isFile()) {
    closeSync(source)
    throw notAFile(from)
  }
  const target = createPrivate(to)
  await pipeline(createReadStream('', { fd: source }), createWriteStream('', { fd: target, flush: true }))
}

function createPrivate(path: string): number {
  const handle = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  // A umask may have taken away more than it should.
  fchmodSync(handle, 0o600)
  return handle
}

function openChecked(path: string, flags: number): number {
  let handle: number
  try {
    // A pipe that is planted there would keep an open waiting for ever.
    handle = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (hasCode(error, 'ELOOP')) throw new NotPrivateError(`${path} is a symbolic link`, 'Put the file itself there.')
    throw error
  }
  try {
    const found = fstatSync(handle)
    if (!found.isFile()) throw notAFile(path)
    refuseOtherOwner(path, found)
    if ((found.mode & (ofGroup | ofOthers)) !== 0) fchmodSync(handle, 0o600)
    return handle
  } catch (error) {
    closeSync(handle)
    throw error
  }
}

function notAFile(path: string): NotPrivateError {
  return new NotPrivateError(`${path} is not a plain file`, 'Move it away, and put back the file that belongs there.')
}

function syncDirectory(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
