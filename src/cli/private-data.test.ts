// What other users of the machine can see or plant: nothing, or Mooring does not start.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anywhere, mooringRuns, type Process, untilReady } from '../../test/harness/mooring.ts'

const { home, start, usedData } = mooringRuns('mooring-private-')

/** With the loosest umask there is. */
function mooring(...args: string[]): Process {
  return start(args, ['sh', '-c', 'umask 0; exec "$@"', 'sh'])
}

const up = (data: string, ...more: string[]) => mooring('up', '--data', data, ...anywhere, ...more)

async function startAndStop(data: string, ...more: string[]): Promise<void> {
  const process = up(data, ...more)
  await untilReady(process)
  process.child.kill('SIGTERM')
  expect(await process.ended).toEqual({ code: 0, signal: null })
}

async function done(process: Process): Promise<void> {
  expect((await process.ended).code, process.complaints()).toBe(0)
}

async function refused(process: Process): Promise<string> {
  const { code } = await process.ended
  expect(code, process.complaints()).toBe(3)
  const lines = process.complaints().split('\n')
  expect(lines).toHaveLength(3)
  return lines.join('\n')
}

/** Everything below a directory that any other user has a permission on. */
function openBelow(path: string): string[] {
  const { mode } = lstatSync(path)
  const below = lstatSync(path).isDirectory() ? readdirSync(path).flatMap(name => openBelow(join(path, name))) : []
  return [...((mode & 0o077) === 0 ? [] : [`${path} ${(mode & 0o777).toString(8)}`]), ...below]
}

const isRoot = process.getuid?.() === 0

describe('Data, backup and restored data', () => {
  test('are closed to other users, whatever the umask is and whatever became of the copy', async () => {
    const [data, backup, restored] = [join(home, 'data'), join(home, 'backup'), join(home, 'restored')]
    const running = up(data)
    await untilReady(running)
    expect(openBelow(data)).toEqual([])
    await done(mooring('backup', backup, '--data', data))
    running.child.kill('SIGTERM')
    await running.ended
    expect(openBelow(backup)).toEqual([])
    // As a copy over the network leaves it.
    execFileSync('chmod', ['-R', 'a+rX', backup])
    await done(mooring('restore', backup, '--data', restored))
    expect(openBelow(restored)).toEqual([])
    const offline = join(home, 'offline')
    await done(mooring('backup', offline, '--data', restored))
    expect(openBelow(offline)).toEqual([])
  })

  test('of an earlier version, readable in a closed directory, are closed at the next start', async () => {
    const data = await usedData('earlier')
    for (const name of ['store/mooring.mdb', 'store/witness', 'pki/ca.pem']) chmodSync(join(data, name), 0o644)
    await startAndStop(data)
    expect(openBelow(data)).toEqual([])
  })
})

describe('A data directory that other users can reach', () => {
  test.each(['', 'store', 'pki'])('is refused with the command that mends it: /%s', async name => {
    const data = join(home, `loose-${name}`)
    const loose = join(data, name)
    mkdirSync(loose, { recursive: true, mode: 0o700 })
    chmodSync(data, 0o700)
    chmodSync(loose, 0o777)
    symlinkSync(join(home, 'leak'), join(data, 'kubeconfig.new'))
    const text = await refused(up(data))
    expect(text).toContain(`the directory ${join(data, name).replace(/\/$/, '')} is open to other users (mode 777)`)
    expect(text).toContain('run: chmod 700 ')
    expect(existsSync(join(home, 'leak'))).toBe(false)
    expect(readdirSync(data)).not.toContain('kubeconfig')
  })

  test.runIf(isRoot)('is refused when it belongs to another user', async () => {
    const data = join(home, 'theirs')
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, 65_534, 65_534)
    expect(await refused(up(data))).toContain(`${data} belongs to another user (uid 65534), and this process has uid 0`)
    expect(readdirSync(data)).toEqual([])
  })

  test('takes no link for its store, its keys, its data file or its kubeconfig', async () => {
    const elsewhere = join(home, 'elsewhere')
    mkdirSync(elsewhere, { mode: 0o700 })
    for (const name of ['store', 'pki']) {
      const data = join(home, `linked-${name}`)
      mkdirSync(data, { mode: 0o700 })
      symlinkSync(elsewhere, join(data, name))
      expect(await refused(up(data))).toContain(`${join(data, name)} is a symbolic link`)
    }
    const data = join(home, 'linked-files')
    mkdirSync(join(data, 'store'), { recursive: true, mode: 0o700 })
    chmodSync(data, 0o700)
    const file = join(data, 'store', 'mooring.mdb')
    symlinkSync(join(elsewhere, 'data'), file)
    expect(await refused(up(data))).toContain(`${file} is a symbolic link`)
    rmSync(file)
    writeFileSync(join(elsewhere, 'leak'), '')
    symlinkSync(join(elsewhere, 'leak'), join(data, 'kubeconfig'))
    await startAndStop(data)
    expect(readdirSync(elsewhere)).toEqual(['leak'])
    expect(readFileSync(join(elsewhere, 'leak'), 'utf8')).toBe('')
  })

  test('is refused too as the place of a backup, and as what is restored to', async () => {
    const data = await usedData('source')
    const backup = join(home, 'source-backup')
    await done(mooring('backup', backup, '--data', data))
    const loose = join(home, 'loose-target')
    mkdirSync(loose)
    chmodSync(loose, 0o755)
    expect(await refused(mooring('backup', loose, '--data', data))).toContain('is open to other users (mode 755)')
    expect(await refused(mooring('restore', backup, '--data', loose))).toContain('is open to other users (mode 755)')
    expect(readdirSync(loose)).toEqual([])
  })
})

describe('A volume of a pod', () => {
  test.runIf(isRoot)('is no data directory itself, but holds one', async () => {
    const volume = join(home, 'volume')
    mkdirSync(volume)
    chmodSync(volume, 0o2777)
    chownSync(volume, 65_534, 1000)
    expect(await refused(up(volume))).toContain('also one inside this one: it is made private.')
    await startAndStop(join(volume, 'mooring'))
    expect(openBelow(join(volume, 'mooring'))).toEqual([])
  })

  test('with an fsGroup opens all directories to the group at each mount: one flag lets that be', async () => {
    const data = await usedData('mounted')
    execFileSync('chmod', ['-R', 'u+rwX,g+rwX', data])
    execFileSync('find', [data, '-type', 'd', '-exec', 'chmod', 'g+s', '{}', '+'])
    expect(await refused(up(data))).toContain('(mode 770)')
    await startAndStop(data, '--allow-group-access')
    await done(mooring('backup', join(home, 'of-mounted'), '--data', data, '--allow-group-access'))
  })
})
