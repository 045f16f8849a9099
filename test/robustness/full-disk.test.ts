// A disk with no room left: the user's matter, said in two lines, and nothing that was acknowledged is lost.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Build, theBuild } from '../harness/build.ts'
import { anywhere, connectWith, type Process, run, untilReady } from '../harness/mooring.ts'
import { aConfigMap, configMaps } from '../harness/objects.ts'

/** A file system of its own, so small that it can be filled. Only root can have one. */
function mount(place: string, kib: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=700`, 'tmpfs', place], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const unmount = (place: string) => execFileSync('umount', [place])

function canMount(): boolean {
  const place = mkdtempSync(join(tmpdir(), 'mooring-mount-'))
  const isMounted = mount(place, 64)
  if (isMounted) unmount(place)
  rmSync(place, { recursive: true })
  return isMounted
}

describe.runIf(process.platform === 'linux' && canMount())('A disk that is full', () => {
  let build: Build
  let disk: string
  let running: Process | undefined

  beforeAll(async () => {
    build = await theBuild()
  })
  beforeEach(() => {
    disk = mkdtempSync(join(tmpdir(), 'mooring-disk-'))
  })
  afterEach(async () => {
    if (running?.child.exitCode === null && running.child.signalCode === null) running.child.kill('SIGKILL')
    await running?.ended
    unmount(disk)
    rmSync(disk, { recursive: true })
  })

  const up = (...more: string[]): Process => {
    running = run(build, ['up', '--data', join(disk, 'data'), ...anywhere, ...more])
    return running
  }

  /** The last two lines; what the database prints of its own comes before. */
  async function saidAtTheEnd(process: Process): Promise<{ code: number | null; lines: string[] }> {
    const { code } = await process.ended
    expect(process.complaints()).not.toContain('a fault of ours')
    return { code, lines: process.complaints().trimEnd().split('\n').slice(-2) }
  }

  test.each([
    ['while the keys are made', 40, 3, /^mooring: the keys cannot be kept: ENOSPC/],
    ['while the first objects are written', 150, 4, /^mooring: the data in .* could not be written: /],
  ])('%s ends the start', async (_, kib, expected, sentence) => {
    mount(disk, kib)
    const { code, lines } = await saidAtTheEnd(up())
    expect(lines[0]).toMatch(sentence)
    expect(code).toBe(expected)
  })

  test('while it runs ends the process; once there is room, everything that was acknowledged is there', async () => {
    mount(disk, 4096)
    const first = up()
    const remote = connectWith((await untilReady(first)).kubeconfig)
    const kept: string[] = []
    const ballast = join(disk, 'ballast')
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 256 * 1024))
    for (let at = 0; first.child.exitCode === null; at++) {
      const answer = await remote
        .send('POST', configMaps(), aConfigMap(`kept-${at}`, { text: 'x'.repeat(50_000) }))
        .catch(() => undefined)
      if (answer?.code !== 201) break
      kept.push(`kept-${at}`)
    }
    const { code, lines } = await saidAtTheEnd(first)
    await remote.close()
    expect(lines[0]).toMatch(/^mooring: the data in .* could not be written: /)
    expect(lines[1]).toMatch(/^Nothing that was acknowledged is lost\. Look after the disk, where 0 MiB are free/)
    expect(code).toBe(4)

    rmSync(ballast)
    const again = connectWith((await untilReady(up())).kubeconfig)
    const { body } = await again.send('GET', configMaps())
    const names = (body.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
    expect(names).toEqual(expect.arrayContaining(kept))
    expect(kept.length).toBeGreaterThan(0)
    await again.close()
  })

  test('leaves nothing of a backup behind', async () => {
    mount(disk, 300)
    mkdirSync(join(disk, 'backup'), { mode: 0o700 })
    const data = mkdtempSync(join(tmpdir(), 'mooring-full-'))
    const server = run(build, ['up', '--data', data, ...anywhere])
    await untilReady(server)
    server.child.kill('SIGTERM')
    await server.ended
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(200 * 1024))
    running = run(build, ['backup', join(disk, 'backup', 'one'), '--data', data])
    const { code, lines } = await saidAtTheEnd(running)
    expect(lines[0]).toContain('could not be written')
    expect(code).toBe(3)
    expect(readdirSync(join(disk, 'backup'))).toEqual([])
    rmSync(data, { recursive: true })
  })
})
