// Shows that the checker can fail: known mistakes are put into a good history one at a time.

import { describe, expect, test } from 'vitest'
import type { Operation, Stream, Told } from './history-checker.ts'
import { checkAgreement, checkHistory, checkStream } from './history-checker.ts'

const log: readonly Told[] = [
  { type: 'put', key: '/a', revision: 1, created: 1, value: 'one', previous: undefined },
  { type: 'put', key: '/b', revision: 2, created: 2, value: 'two', previous: undefined },
  { type: 'put', key: '/a', revision: 3, created: 1, value: 'three', previous: { revision: 1, value: 'one' } },
  { type: 'delete', key: '/a', revision: 4, created: 1, value: 'end', previous: { revision: 3, value: 'three' } },
]

function asked(change: Told, calledAt: number, answeredAt?: number): Operation {
  const kind = change.type === 'delete' ? 'delete' : change.previous === undefined ? 'create' : 'update'
  const { key, value, revision } = change
  const answer: Operation['answer'] =
    answeredAt === undefined ? undefined : { at: answeredAt, outcome: { ok: true, revision } }
  return { client: 'c', key, kind, expected: change.previous?.revision, value, calledAt, answer }
}

function refused(key: string, current: number | undefined, calledAt: number, answeredAt: number): Operation {
  const answer: Operation['answer'] = { at: answeredAt, outcome: { ok: false, current } }
  return { client: 'r', key, kind: 'update', expected: 99, value: 'x', calledAt, answer }
}

const operations = log.map((change, at) => asked(change, at * 10, at * 10 + 5))

function but<T>(items: readonly T[], at: number, change: Partial<T>): T[] {
  return items.map((item, index) => (index === at ? { ...item, ...change } : item))
}

function without<T>(items: readonly T[], at: number): T[] {
  return items.filter((_, index) => index !== at)
}

describe('a history', () => {
  test('is lawful as it happened', () => {
    expect(checkHistory(operations, log)).toEqual([])
  })

  test('is lawful when the outcome of a write is unknown, whether it happened or not', () => {
    const last = log.length - 1
    const unknown = but(operations, last, { answer: undefined })
    expect(checkHistory(unknown, log)).toEqual([])
    expect(checkHistory(unknown, without(log, last))).toEqual([])
  })

  test('is lawful with a refusal that names what was there at that time', () => {
    expect(checkHistory([...operations, refused('/a', 3, 22, 28)], log)).toEqual([])
    expect(checkHistory([...operations, refused('/a', undefined, 40, 41)], log)).toEqual([])
  })

  test.each<[string, readonly Operation[], readonly Told[]]>([
    ['an acknowledged write is lost', operations, without(log, 1)],
    ['the last acknowledged write is lost', operations, without(log, 3)],
    ['a revision is used twice', operations, but(log, 1, { revision: 1 })],
    ['a revision is acknowledged twice', [...operations, operations[1] as Operation], log],
    ['no client asked for a change', without(operations, 1), log],
    ['a stored value is not the one asked for', operations, but(log, 1, { value: 'other' })],
    ['a stored type is not the one asked for', operations, but(log, 3, { type: 'put' })],
    ['a write did not rest on what was there', operations, but(log, 2, { previous: undefined })],
    ['a key forgot when it was created', operations, but(log, 2, { created: 3 })],
    [
      'a write called later got the smaller revision',
      but(operations, 0, { calledAt: 50, answer: { at: 51, outcome: { ok: true, revision: 1 } } }),
      log,
    ],
    ['a refusal names what was not there yet', [...operations, refused('/a', 3, 1, 2)], log],
    ['a refusal names what was no longer there', [...operations, refused('/a', 1, 40, 41)], log],
    ['a refusal names what never was', [...operations, refused('/a', 7, 0, 100)], log],
    ['a write is refused though its condition held', [...operations, refused('/a', 99, 0, 100)], log],
  ])('is unlawful when %s', (_name, asked, written) => {
    expect(checkHistory(asked, written)).not.toEqual([])
  })
})

describe('a watch', () => {
  const whole: Stream = { prefix: '/', from: 0, told: log }

  test('is lawful when it tells what happened, from anywhere, under any prefix', () => {
    expect(checkStream(whole, log)).toEqual([])
    expect(checkStream({ prefix: '/a', from: 1, told: [log[2] as Told, log[3] as Told] }, log)).toEqual([])
    expect(checkStream({ prefix: '/', from: 9, told: [] }, log)).toEqual([])
  })

  const [first, second, third, fourth] = log as [Told, Told, Told, Told]
  test.each<[string, Stream]>([
    ['two changes are told in the wrong order', { ...whole, told: [first, third, second, fourth] }],
    ['a change is told twice', { ...whole, told: [first, second, second, third, fourth] }],
    ['a change is left out', { ...whole, told: [first, third, fourth] }],
    ['the first change after its start is left out', { ...whole, told: [second, third, fourth] }],
    ['something from before its start is told', { ...whole, from: 1, told: log }],
    ['a key outside its prefix is told', { ...whole, prefix: '/a', told: log }],
    ['a delete is told as a put', { ...whole, told: but(log, 3, { type: 'put' }) }],
    ['a delete carries the revision it deleted', { ...whole, told: but(log, 3, { revision: 3 }) }],
    ['a value is not what was written', { ...whole, told: but(log, 2, { value: 'one' }) }],
    [
      'the value before is not what was there',
      { ...whole, told: but(log, 2, { previous: { revision: 1, value: 'x' } }) },
    ],
    ['the value before is missing', { ...whole, told: but(log, 3, { previous: undefined }) }],
    ['something is told that never happened', { ...whole, told: [...log, { ...second, revision: 5 }] }],
  ])('is unlawful when %s', (_name, stream) => {
    expect(checkStream(stream, log)).not.toEqual([])
  })

  test('is unlawful beside another that was told another order', () => {
    expect(checkAgreement(whole, { ...whole, told: log.slice(1) })).toEqual([])
    expect(checkAgreement(whole, { ...whole, told: [first, third, second, fourth] })).not.toEqual([])
  })
})
