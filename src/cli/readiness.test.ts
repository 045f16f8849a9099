import { describe, expect, test } from 'vitest'
import { healthPage, readinessOf } from './readiness.ts'

/** A part of the controller with what it lacks: faults, and kinds that are not installed. */
function aPart(name: string, { faults = [], absent = [] }: { faults?: string[]; absent?: string[] } = {}) {
  const state = faults.length + absent.length > 0 ? 'waiting' : 'working'
  return { name, state, reasons: () => [...faults, ...absent], faults: () => faults } as const
}

const office = aPart('office')
const mayNot = { faults: ['may not list buoys'] }
const isAbsent = { absent: ['buoys is not installed'] }

describe('a process', () => {
  test.each([
    ['nothing is missing', [office, aPart('capi'), aPart('vm')], true, []],
    ['one desk of two has a fault', [office, aPart('capi'), aPart('vm', mayNot)], true, ['vm', 'may not list buoys']],
    ['its only desk has a fault', [office, aPart('vm', mayNot)], false, ['vm', 'may not list buoys']],
    [
      'the kind of its only desk is not installed',
      [office, aPart('vm', isAbsent)],
      true,
      ['vm', 'buoys is not installed'],
    ],
    [
      'no desk works, and one of them has a fault',
      [office, aPart('vm', { ...mayNot, ...isAbsent })],
      false,
      ['vm', 'may not list buoys', 'vm', 'buoys is not installed'],
    ],
  ])('where %s: is it ready, and which desks does it name?', (_, parts, isReady, named) => {
    const lines = named.flatMap((name, at) => (at % 2 === 0 ? [`desk ${name} waits: ${named[at + 1]}`] : []))
    expect(readinessOf(parts, [])).toEqual({ isReady, lines })
  })

  test('a note is said of a process that is ready, and does not make it unready', () => {
    const note = 'webhook a is not registered'
    expect(readinessOf([office, aPart('capi')], [], [note])).toEqual({ isReady: true, lines: [note] })
    expect(readinessOf([office, aPart('capi')], ['no certificate'], [note]).lines).toEqual(['no certificate'])
  })

  test('with a desk that has a fault is not ready because the kinds of another are not installed', () => {
    expect(readinessOf([office, aPart('vm', isAbsent), aPart('capi', mayNot)], []).isReady).toBe(false)
  })

  test('is not ready while the office lacks something, also if that is only not installed', () => {
    const lacking = aPart('office', { absent: ['holds is not installed'] })
    expect(readinessOf([lacking, aPart('capi')], [])).toEqual({ isReady: false, lines: ['holds is not installed'] })
  })

  test('is not ready with a problem of its own', () => {
    expect(readinessOf([office, aPart('capi')], ['no certificate'])).toEqual({
      isReady: false,
      lines: ['no certificate'],
    })
  })
})

describe('the pages', () => {
  const parts = [office, aPart('capi'), aPart('vm', isAbsent)]
  const page = (path: string, query = '') =>
    healthPage({ path, query: new URLSearchParams(query) }, () => readinessOf(parts, []), parts)

  test('of a process that is ready name the desks that wait', () => {
    expect(page('/readyz')).toEqual({ body: 'ok\ndesk vm waits: buoys is not installed\n' })
  })

  test('say of each desk how it stands, if they are asked to be verbose', () => {
    const lines = [
      'office is working',
      'capi is working',
      'vm is not installed',
      'desk vm waits: buoys is not installed',
    ]
    expect(page('/readyz', 'verbose')).toEqual({ body: `ok\n${lines.join('\n')}\n` })
  })

  test('of one desk say whether it works', () => {
    expect(page('/readyz/capi')).toEqual({ body: 'ok' })
    expect(page('/readyz/vm')).toEqual({ status: 503, body: 'buoys is not installed\n' })
    expect(page('/readyz/nonsense')).toBeUndefined()
  })

  test('say that the process is alive, whatever it lacks', () => {
    expect([page('/healthz'), page('/livez')]).toEqual([{ body: 'ok' }, { body: 'ok' }])
  })
})
