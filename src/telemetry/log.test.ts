import { expect, test } from 'vitest'
import { createLog, describeError, type LogOptions } from './log.ts'

function aLog(options: Partial<LogOptions> = {}) {
  const lines: string[] = []
  return { lines, log: createLog({ write: line => lines.push(line), now: () => Date.UTC(2030, 0, 1), ...options }) }
}

test('a line is a sentence and its fields, those of the log first', () => {
  const { lines, log } = aLog()
  log.with({ reconciler: 'claim.binding' }).info('bound', { claim: 'lab/a', revision: 2n ** 60n })
  expect(lines).toEqual([
    '{"time":"2030-01-01T00:00:00.000Z","level":"info","msg":"bound","reconciler":"claim.binding","claim":"lab/a","revision":"1152921504606846976"}\n',
  ])
})

test('for a terminal it is one line too, whatever the fields hold', () => {
  const { lines, log } = aLog({ form: 'text' })
  log.error('no answer', { claim: 'lab/a', error: new Error('two\nlines'), nothing: undefined })
  expect(lines).toEqual(['2030-01-01T00:00:00.000Z error no answer claim=lab/a error="two\\nlines"\n'])
})

test.each(['json', 'text'] as const)(
  'as %s, no character in a field turns the line around or hides part of it',
  form => {
    const { lines, log } = aLog({ form })
    log.info('refused', { name: 'a\u202eb\u2066c\u200bd\u009be' })
    expect(lines[0]).toContain('a\\u202eb\\u2066c\\u200bd\\u009be')
  },
)

test('what is below the level is not written', () => {
  const { lines, log } = aLog()
  log.debug('details')
  expect(lines).toEqual([])
})

test('a field that cannot be printed does not fail the caller', () => {
  const { lines, log } = aLog()
  const circle: Record<string, unknown> = {}
  circle.self = circle
  log.info('odd', {
    circle,
    toJSON: {
      toJSON: () => {
        throw new Error('no')
      },
    },
  })
  expect(lines).toHaveLength(1)
})

test('an error is printed with its causes, up to a point', () => {
  const error = new Error('outer', { cause: new Error('inner', { cause: 'text' }) })
  expect(describeError(error)).toBe('outer: inner')
  expect(describeError('text')).toBe('text')
  const endless = new Error('again')
  endless.cause = endless
  expect(describeError(endless).length).toBeLessThan(100)
})
