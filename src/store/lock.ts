// At most one process works on a directory, and a killed one never blocks the next.
//
// The lock is a listening Unix socket in the directory, because the kernel closes it together with the process: nothing
// has to be cleaned up after a kill, and it works across containers, where process ids mean nothing. Each process first
// listens on a socket of its own and only then connects to all the others, so of two processes that start together at
// least one sees the other and stops.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join, relative } from 'node:path'
import { StoreInUseError } from './store.ts'

export interface Lock {
  release(): Promise<void>
}

const lockName = /^lock-(\d+)-[0-9a-f]{8}$/

export function isLockFile(name: string): boolean {
  return lockName.test(name)
}

export async function takeLock(dir: string): Promise<Lock> {
  const own = `lock-${process.pid}-${randomUUID().slice(0, 8)}`
  const folder = openFolder(dir)
  const server = createServer(socket => socket.destroy())
  let isReleased = false
  const release = async () => {
    if (isReleased) return
    isReleased = true
    if (server.listening) {
      server.close()
      await once(server, 'close')
    }
    rmSync(join(dir, own), { force: true })
    folder.close()
  }
  try {
    server.listen(folder.pathOf(own))
    await once(server, 'listening')
    server.unref()
    await refuseOthers(dir, folder, own)
  } catch (error) {
    await release()
    throw error
  }
  return { release }
}

/** The process that works on a directory, if one does. Leaves everything as it is. */
export async function processUsing(dir: string): Promise<number | undefined> {
  const folder = openFolder(dir)
  try {
    for (const name of readdirSync(dir)) {
      const pid = lockName.exec(name)?.[1]
      if (pid !== undefined && (await isListening(folder.pathOf(name)))) return Number(pid)
    }
    return undefined
  } finally {
    folder.close()
  }
}

async function refuseOthers(dir: string, folder: Folder, own: string): Promise<void> {
  const stale: string[] = []
  for (const name of readdirSync(dir)) {
    const pid = lockName.exec(name)?.[1]
    if (pid === undefined || name === own) continue
    if (await isListening(folder.pathOf(name))) {
      throw new StoreInUseError(`the data in ${dir} is in use by the process ${pid}`, Number(pid))
    }
    stale.push(name)
  }
  for (const name of stale) rmSync(join(dir, name), { force: true })
}

async function isListening(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    // Any other error is taken for a live process: better one needless refusal than two writers.
    return code !== 'ECONNREFUSED' && code !== 'ENOENT'
  } finally {
    socket.destroy()
  }
}

interface Folder {
  pathOf(name: string): string
  close(): void
}

/** Socket paths may have about a hundred bytes only; where the kernel offers it, a path through a handle is short. */
function openFolder(dir: string): Folder {
  if (existsSync('/proc/self/fd')) {
    const handle = openSync(dir, 'r')
    return { pathOf: name => `/proc/self/fd/${handle}/${name}`, close: () => closeSync(handle) }
  }
  return { pathOf: name => join(relative('', dir), name), close: () => undefined }
}
