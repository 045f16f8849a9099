// `mooring backup`: everything needed to stand up the same API again, in a directory of its own. While Mooring runs, the
// running process is asked, because it alone may read its data; otherwise the data is opened here.

import { mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Agent, request } from 'undici'
import { copyPrivate, NotPrivateError } from '../files/private.ts'
import { type Connection, fromKubeconfig } from '../kube/kubeconfig.ts'
import { type Store, StoreInUseError } from '../store/store.ts'
import { describeError } from '../telemetry/log.ts'
import { readFile, toFailure } from './connect.ts'
import { isThereAt, makePrivateDirectory, refuseOpen } from './directory.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { openData } from './open-data.ts'

export interface BackupOptions {
  readonly data: string
  readonly kubeconfig?: string
  readonly allowGroupAccess?: boolean
}

export interface BackupReport {
  readonly target: string
  readonly revision: number
}

/** Where the running server takes the order. */
export const backupPath = '/mooring/backup'

export async function backup(target: string, options: BackupOptions): Promise<BackupReport> {
  const data = resolve(options.data)
  const where = resolve(target)
  if (!(await isThereAt(join(data, 'store')))) {
    throw new Failure(exitCodes.environment, `there is no data in ${data}`, 'Name the data directory with --data.')
  }
  let store: Store
  try {
    store = await openData(data, options)
  } catch (error) {
    const isRunning = error instanceof Failure && error.cause instanceof StoreInUseError
    if (!isRunning) throw error
    return askRunning(where, resolve(options.kubeconfig ?? join(data, 'kubeconfig')))
  }
  try {
    return await writeBackup(store, data, where)
  } finally {
    await store.close()
  }
}

/** Writes the store and the certificates; refuses to mix with what is there. */
export async function writeBackup(store: Store, data: string, target: string): Promise<BackupReport> {
  await makePrivateDirectory(target, 'Name another one.')
  if ((await readdir(target)).length > 0) {
    throw new Failure(exitCodes.environment, `${target} is not empty`, 'Name a directory that does not exist yet.')
  }
  try {
    const { revision } = store
    await store.backup(join(target, 'store')).catch((cause: unknown) => {
      // LMDB tells in words alone that there is no room.
      throw copyFailed(target, cause)
    })
    await copyKeys(join(data, 'pki'), join(target, 'pki'))
    return { target, revision }
  } catch (error) {
    await rm(target, { recursive: true, force: true })
    throw notWritten(target, error)
  }
}

/** Whatever modes the originals have, the copies are private. */
export async function copyKeys(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  const names = (await readdir(from)).filter(name => name.endsWith('.pem'))
  for (const name of names) await copyPrivate(join(from, name), join(to, name))
}

/** A copy that fails is a matter of disks and modes, not of Mooring. */
export function notWritten(target: string, cause: unknown): unknown {
  if (cause instanceof NotPrivateError) return refuseOpen(cause)
  return isErrno(cause) ? copyFailed(target, cause) : cause
}

function copyFailed(target: string, cause: unknown): Failure {
  const advice = 'Nothing is left of it. Make room, or name another directory.'
  return new Failure(exitCodes.environment, `${target} could not be written: ${describeError(cause)}`, advice, {
    cause,
  })
}

async function askRunning(target: string, kubeconfig: string): Promise<BackupReport> {
  const { server, ca, clientCertificate } = readKubeconfig(kubeconfig)
  const { certificate: cert, key } = clientCertificate ?? {}
  const dispatcher = new Agent({ connect: { ca, cert, key } })
  try {
    const answer = await request(`${server}${backupPath}`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ target }),
    })
    const body = (await answer.body.json()) as BackupReport & { message?: string }
    if (answer.statusCode === 200) return body
    throw new Failure(
      exitCodes.environment,
      body.message ?? `the server answered ${answer.statusCode}`,
      'Nothing was written.',
    )
  } catch (cause) {
    if (!isErrno(cause)) throw cause
    const what = `the server ${server}, which works on the data, does not answer: ${cause.message || cause.code}`
    throw new Failure(exitCodes.environment, what, `Name its kubeconfig with --kubeconfig; this was ${kubeconfig}.`, {
      cause,
    })
  } finally {
    await dispatcher.close()
  }
}

function readKubeconfig(file: string): Connection {
  try {
    return fromKubeconfig({ env: {}, home: '', readFile }, { kubeconfig: file })
  } catch (error) {
    throw toFailure(error, 'Name the file with --kubeconfig; `mooring up` prints where it is.')
  }
}
