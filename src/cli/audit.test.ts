import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type AuditTarget, keepAuditTrail, openAuditTarget } from './audit.ts'

const home = mkdtempSync(join(tmpdir(), 'mooring-audit-'))
afterAll(() => rmSync(home, { recursive: true }))

const now = () => new Date(0)

/** A disk that writes when it is told to. */
function aSlowTarget() {
  const written: string[] = []
  const turns: { go: () => void; fail: () => void }[] = []
  const target: AuditTarget = {
    append: lines =>
      new Promise((resolve, reject) => {
        const go = () => {
          written.push(lines.toString())
          resolve()
        }
        turns.push({ go, fail: () => reject(new Error('no space left')) })
      }),
    close: () => Promise.resolve(),
  }
  const complaints: string[] = []
  const log = { error: (sentence: string) => complaints.push(sentence) }
  /** The write that is under way ends, and the next one begins. */
  const turn = async (how: 'go' | 'fail') => {
    turns.shift()?.[how]()
    await new Promise(resolve => setImmediate(resolve))
  }
  return { target, log, written, complaints, turn }
}

describe('the audit trail', () => {
  test('keeps no more lines in memory than it may, and tells how many are missing', async () => {
    const { target, log, written, turn } = aSlowTarget()
    const trail = keepAuditTrail({ target, log, now, bytesMax: 20 })
    // The first is being written, two more fit, the rest is lost.
    for (let n = 1; n <= 6; n++) trail.record({ n })
    await turn('go')
    await turn('go')
    trail.record({ n: 7 })
    await turn('go')
    expect(
      written
        .join('')
        .trim()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual([
      { n: 1 },
      { kind: 'EventsLost', count: 3, stageTimestamp: '1970-01-01T00:00:00.000Z' },
      { n: 2 },
      { n: 3 },
      { n: 7 },
    ])
  })

  test('goes on after a write that failed, on a line of its own, and complains once', async () => {
    const { target, log, written, complaints, turn } = aSlowTarget()
    const trail = keepAuditTrail({ target, log, now })
    trail.record({ n: 1 })
    await turn('fail')
    trail.record({ n: 2 })
    await turn('fail')
    trail.record({ n: 3 })
    await turn('go')
    expect(complaints).toEqual(['the audit trail cannot be written'])
    expect(written.join('')).toBe(
      '\n{"kind":"EventsLost","count":2,"stageTimestamp":"1970-01-01T00:00:00.000Z"}\n{"n":3}\n',
    )
  })

  test('is whole when it was stopped', async () => {
    const path = join(home, 'whole')
    const trail = keepAuditTrail({ target: await openAuditTarget(path), log: { error: () => {} }, now })
    for (let n = 0; n < 1_000; n++) trail.record({ n })
    await trail.stop()
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1_001)
  })
})

describe('the audit file', () => {
  const close = async (path: string) => (await openAuditTarget(path)).close()

  test('is made for its owner alone, and appended to', async () => {
    const path = join(home, 'new')
    const target = await openAuditTarget(path)
    await target.append(Buffer.from('one\n'))
    await target.close()
    const again = await openAuditTarget(path)
    await again.append(Buffer.from('two\n'))
    await again.close()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
  })

  test('is refused where others could read it, or where it is no file', async () => {
    const plain = join(home, 'plain')
    writeFileSync(plain, 'kept\n')
    chmodSync(plain, 0o640)
    await expect(close(plain)).rejects.toThrow('can be read or written by other users')
    const link = join(home, 'link')
    symlinkSync(join(home, 'elsewhere'), link)
    await expect(close(link)).rejects.toThrow('is a symbolic link')
    const pipe = join(home, 'pipe')
    execFileSync('mkfifo', ['-m', '600', pipe])
    await expect(close(pipe)).rejects.toThrow('cannot be opened (ENXIO)')
    await expect(close(home)).rejects.toThrow('cannot be opened (EISDIR)')
    expect(readFileSync(plain, 'utf8')).toBe('kept\n')
  })
})
