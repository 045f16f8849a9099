import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { ApiError } from './api-error.ts'
import { defineKind, type KubeObject } from './object.ts'
import { Presence } from './presence.ts'

const kind = defineKind<KubeObject>({
  group: 'example.com',
  versions: ['v1'],
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
})

/** What the server answers, one after the other; the last one stays. */
function aPresence(...answers: readonly (string | undefined | ApiError)[]) {
  const clock = new VirtualClock()
  const said: string[] = []
  let asked = 0
  const find = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]
    if (answer instanceof ApiError) throw answer
    return answer
  }
  const presence = new Presence({ kind, discovery: { find }, clock, random: () => 0.5 })
  presence.onFound(() => said.push('found'))
  void presence.synced().then(() => said.push('known'))
  presence.start()
  return { presence, clock, said, asked: () => asked }
}

const unreachable = new ApiError('no answer', { reason: 'Unreachable', code: 0 })

describe('a kind', () => {
  test('that is there is known at once, and asked about no more', async () => {
    const { presence, clock, said, asked } = aPresence('v1', undefined)
    await clock.advance(60_000)
    expect(presence.isThere).toBe(true)
    expect(said).toEqual(['found', 'known'])
    expect(asked()).toBe(1)
  })

  test('that is absent is known to be, and found when it comes', async () => {
    const { presence, clock, said } = aPresence(undefined, undefined, 'v1')
    await clock.advance(0)
    expect([presence.isThere, said]).toEqual([false, ['known']])
    await clock.advance(10_000)
    expect([presence.isThere, said]).toEqual([true, ['known', 'found']])
  })

  test('is neither there nor absent while the server does not answer', async () => {
    const { presence, clock, said } = aPresence(unreachable, unreachable, undefined)
    await clock.advance(5_000)
    expect(said).toEqual([])
    await clock.advance(5_000)
    expect([presence.isThere, said]).toEqual([false, ['known']])
    await presence.stop('shutdown')
  })

  test('has a problem when the server does not say for long whether it is there, until it says so', async () => {
    const { presence, clock, said } = aPresence(...Array.from({ length: 12 }, () => unreachable), undefined)
    presence.onProblemChange(() => said.push(presence.problem() ?? 'no problem'))
    await clock.advance(25_000)
    expect(new Set(said)).toEqual(new Set(['no problem']))
    await clock.advance(15_000)
    expect(said.at(-1)).toBe('whether things.example.com is installed is not known: no answer')
    await clock.advance(30_000)
    expect([presence.problem(), said.slice(-2)]).toEqual([undefined, ['no problem', 'known']])
    await presence.stop('shutdown')
  })
})
