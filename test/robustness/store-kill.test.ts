// The real store in a real process, killed without warning again and again: nothing acknowledged is lost (I7), the
// history stays lawful (I8), no revision is used twice (I9), and what watchers were told is what happened (I10).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/lmdb.ts'
import type { Change } from '../../src/store/store.ts'
import { checkHistory, checkStream, type Operation, type Outcome, type Stream, type Told } from './history-checker.ts'

const child = fileURLToPath(new URL('./store-child.ts', import.meta.url))
const kills = 10
const acknowledgedPerLife = 1_000

interface Life {
  readonly operations: Operation[]
  readonly stream: Stream
  readonly acknowledged: number
}

test('loses nothing acknowledged and reuses no revision over ten kills', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'mooring-kill-'))
  try {
    const clock = { now: 0 }
    const lives: Life[] = []
    for (let life = 0; life < kills; life += 1) lives.push(await liveAndDie(dir, life, clock))
    const log = await readLog(dir)
    const operations = lives.flatMap(life => life.operations)
    expect(lives.reduce((sum, life) => sum + life.acknowledged, 0)).toBeGreaterThan(10_000)
    expect(checkHistory(operations, log)).toEqual([])
    for (const { stream } of lives) expect(checkStream(stream, log)).toEqual([])
  } finally {
    await rm(dir, { recursive: true })
  }
})

async function liveAndDie(dir: string, life: number, clock: { now: number }): Promise<Life> {
  // The kill comes at a different place in the flow each time; what was written down before it counts.
  const readyAfter = acknowledgedPerLife + life * 17
  const journal = join(dir, '..', `${basename(dir)}-life-${life}`)
  const file = await open(journal, 'w')
  const args = ['--import', 'tsx', child, dir, String(life), String(readyAfter)]
  const running = spawn(process.execPath, args, { stdio: ['ignore', file.fd, 'inherit', 'ipc'] })
  running.once('message', () => running.kill('SIGKILL'))
  const exited = once(running, 'exit')
  const [, signal] = await exited
  expect(signal).toBe('SIGKILL')
  await file.close()
  const lines = (await readFile(journal, 'utf8')).split('\n')
  await rm(journal)
  const reader = lifeReader(life, clock)
  // The last line was cut off by the kill, or is empty.
  for (const line of lines.slice(0, -1)) reader.read(line)
  return reader.life()
}

function lifeReader(life: number, clock: { now: number }) {
  const calls = new Map<string, Operation>()
  const answered: Operation[] = []
  const told: Told[] = []
  let from = 0
  let acknowledged = 0

  function answer(call: string, outcome: Outcome): void {
    const operation = calls.get(call)
    if (operation === undefined) throw new Error(`life ${life} answered ${call}, which it did not call`)
    calls.delete(call)
    answered.push({ ...operation, answer: { at: clock.now, outcome } })
  }

  function read(line: string): void {
    clock.now += 1
    const [what, ...rest] = line.split(' ')
    const [a = '', b = '', c = '', d = '', e = '', f = '', g = ''] = rest
    if (what === 'open') from = Number(a)
    if (what === 'call') {
      const kind = c as Operation['kind']
      const expected = kind === 'create' ? undefined : Number(e)
      calls.set(`${a} ${b}`, { client: a, key: d, kind, expected, value: f, calledAt: clock.now, answer: undefined })
    }
    if (what === 'ok') {
      acknowledged += 1
      answer(`${a} ${b}`, { ok: true, revision: Number(c) })
    }
    if (what === 'no') answer(`${a} ${b}`, { ok: false, current: Number(c) || undefined })
    if (what === 'told') {
      const previous = Number(f) === 0 ? undefined : { revision: Number(f), value: unstamp(g, Number(f)) }
      const revision = Number(c)
      told.push({
        type: a as Told['type'],
        key: b,
        revision,
        created: Number(d),
        value: unstamp(e, revision),
        previous,
      })
    }
  }

  return {
    read,
    life: (): Life => ({
      operations: [...answered, ...calls.values()],
      stream: { prefix: '/', from, told },
      acknowledged,
    }),
  }
}

async function readLog(dir: string): Promise<Told[]> {
  const store = await openStore(dir)
  const changes: Change[] = []
  store.watch('', 0, change => changes.push(change))
  await store.close()
  return changes.map(({ type, entry, previous }) => ({
    type,
    key: entry.key,
    revision: entry.revision,
    created: entry.created,
    value: unstamp(entry.value.toString(), entry.revision),
    previous: previous && { revision: previous.revision, value: unstamp(previous.value.toString(), previous.revision) },
  }))
}

/** Each value was encoded with the revision it got; anything else is left as it is and will match nothing. */
function unstamp(value: string, revision: number): string {
  const stamp = `@${revision}`
  return value.endsWith(stamp) ? value.slice(0, -stamp.length) : value
}
