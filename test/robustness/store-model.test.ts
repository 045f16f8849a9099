// The store against a simple model: a counter, a map, and the list of all changes. Writers act at the same time, the
// disk answers in any order and at any time, and history is compacted in between.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Change, CompactedError, type Entry, type Store, type WriteResult } from '../../src/store/store.ts'
import { memoryDisk, memoryStore } from '../harness/memory-store.ts'

const key = fc.constantFrom('/a', '/a/', '/a/b', '/ab', '/b/c', '/b/d')
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('write' as const), key, guess: fc.nat(3), isDelete: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('look' as const),
      prefix: key,
      back: fc.nat(10),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('watch' as const), prefix: key, back: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const), back: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Everything that was asked, in the order it was asked; what is durable is a prefix of it. */
class Model {
  readonly log: Change[] = []
  readonly state = new Map<string, Entry>()
  compacted = 0

  write(key: string, expected: number | undefined, type: 'put' | 'delete'): WriteResult {
    const current = this.state.get(key)
    if (current?.revision !== expected) return { ok: false, current }
    const revision = this.log.length + 1
    const entry = { key, revision, created: current?.created ?? revision, value: valueAt(revision) }
    this.log.push({ type, entry, previous: current })
    if (type === 'put') this.state.set(key, entry)
    else this.state.delete(key)
    return { ok: true, entry }
  }

  at(revision: number): Map<string, Entry> {
    const state = new Map<string, Entry>()
    for (const { type, entry } of this.log.slice(0, revision)) {
      if (type === 'put') state.set(entry.key, entry)
      else state.delete(entry.key)
    }
    return state
  }
}

function valueAt(revision: number): Buffer {
  return Buffer.from(`value ${revision}`)
}

interface Watched {
  readonly prefix: string
  readonly from: number
  readonly told: Change[]
}

async function run(steps: readonly Step[]): Promise<void> {
  const disk = memoryDisk()
  const model = new Model()
  let store: Store = memoryStore({ disk })
  let asked: Promise<void>[] = []
  let watches: Watched[] = []

  const checkWatches = () => {
    for (const { prefix, from, told } of watches) {
      const due = model.log.slice(from, store.revision).filter(({ entry }) => entry.key.startsWith(prefix))
      expect(told).toEqual(due)
    }
  }

  for (const step of steps) {
    switch (step.kind) {
      case 'write': {
        const held = model.state.get(step.key)?.revision
        const expected = step.guess === 0 ? undefined : step.guess === 1 ? 1 : held
        const type = step.isDelete && expected !== undefined ? 'delete' : 'put'
        const wanted = model.write(step.key, expected, type)
        const result =
          expected === undefined
            ? store.create(step.key, valueAt)
            : type === 'put'
              ? store.update(step.key, expected, valueAt)
              : store.delete(step.key, expected, valueAt)
        const check = (answer: WriteResult) => {
          expect(answer).toEqual(wanted)
          const rest = wanted.ok ? wanted.entry : wanted.current
          expect(store.revision).toBeGreaterThanOrEqual(rest?.revision ?? 0)
        }
        asked.push(result.then(check))
        break
      }
      case 'settle':
        await asked[0]
        break
      case 'look': {
        const revision = Math.max(0, store.revision - step.back)
        if (revision < store.compacted) {
          expect(() => store.list(step.prefix, { revision })).toThrow(CompactedError)
          break
        }
        const state = [...model.at(revision).values()].filter(entry => entry.key.startsWith(step.prefix))
        const wanted = state.sort((one, other) => (one.key < other.key ? -1 : 1))
        expect(readPages(store, step.prefix, revision, step.limit)).toEqual(wanted)
        if (revision === store.revision) expect(store.count(step.prefix)).toBe(wanted.length)
        break
      }
      case 'watch': {
        const from = Math.max(store.compacted, store.revision - step.back)
        const told: Change[] = []
        store.watch(step.prefix, from, change => told.push(change))
        watches.push({ prefix: step.prefix, from, told })
        break
      }
      case 'compact': {
        const revision = Math.max(0, store.revision - step.back)
        await store.compact(revision)
        expect(store.compacted).toBeGreaterThanOrEqual(revision)
        break
      }
      case 'reopen': {
        await store.close()
        await Promise.all(asked)
        checkWatches()
        const { revision, compacted } = store
        store = memoryStore({ disk })
        expect([store.revision, store.compacted]).toEqual([revision, compacted])
        asked = []
        watches = []
        break
      }
    }
    checkWatches()
  }
  await Promise.all(asked)
  checkWatches()
  expect(store.revision).toBe(model.log.length)
  expect(store.list('').entries).toHaveLength(model.state.size)
  await store.close()
}

function readPages(store: Store, prefix: string, revision: number, limit: number): Entry[] {
  const entries: Entry[] = []
  let after: string | undefined
  do {
    const page = store.list(prefix, { revision, limit, ...(after === undefined ? {} : { after }) })
    entries.push(...page.entries)
    after = page.next
    expect(page.revision).toBe(revision)
    expect(page.remaining > 0).toBe(after !== undefined)
  } while (after !== undefined)
  return entries
}

test('behaves like the model, whatever is asked in whatever order', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80 }), run), { numRuns: 300 })
})
