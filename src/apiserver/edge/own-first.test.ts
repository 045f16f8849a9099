import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createOwnFirst } from './own-first.ts'

const longMs = 60_000
const wasIdle = () => false

test('what clients create waits while the controllers have enough to do, and then comes in its order', async () => {
  let work = 2
  const ownFirst = createOwnFirst({ ownWork: () => work, enough: 2, wasIdle, waitMsMax: longMs })
  const begun: string[] = []
  const create = (name: string) => ownFirst('jane', async () => begun.push(name))
  const creates = [create('a'), create('b'), create('c')]
  await setImmediate()
  expect(begun).toEqual([])
  work = 1
  await Promise.all(creates)
  expect(begun).toEqual(['a', 'b', 'c'])
})

test('creations that are under way count as work', async () => {
  const ownFirst = createOwnFirst({ ownWork: () => 1, enough: 2, wasIdle, waitMsMax: longMs })
  let end = () => {}
  const first = ownFirst('jane', () => new Promise<void>(resolve => (end = resolve)))
  let hasBegun = false
  const second = ownFirst('jane', async () => {
    hasBegun = true
  })
  await setImmediate()
  expect(hasBegun).toBe(false)
  end()
  await Promise.all([first, second])
  expect(hasBegun).toBe(true)
})

test('nothing waits longer than its bound, whatever the controllers have to do', async () => {
  const ownFirst = createOwnFirst({ ownWork: () => 1_000, enough: 2, wasIdle, waitMsMax: 1 })
  expect(await Promise.all([ownFirst('jane', async () => 'a'), ownFirst('jane', async () => 'b')])).toEqual(['a', 'b'])
})

test('while the process is idle one goes after the other: what the controllers wait for may be what a client creates', async () => {
  let isIdle = false
  const ownFirst = createOwnFirst({ ownWork: () => 1_000, wasIdle: () => isIdle, enough: 2, waitMsMax: longMs })
  const begun: string[] = []
  const create = (name: string) => ownFirst('jane', async () => begun.push(name))
  const creates = [create('a'), create('b'), create('c')]
  await setImmediate()
  expect(begun).toEqual([])
  isIdle = true
  await Promise.all(creates)
  expect(begun).toEqual(['a', 'b', 'c'])
})

test('beyond so many that wait, an object is created at once', async () => {
  const ownFirst = createOwnFirst({ ownWork: () => 1_000, enough: 2, wasIdle, waitMsMax: 50, waitingMax: 1 })
  const begun: string[] = []
  const create = (name: string) => ownFirst('jane', async () => begun.push(name))
  await Promise.all([create('waits'), create('does not')])
  expect(begun).toEqual(['does not', 'waits'])
})

test('a create that fails leaves room for the next', async () => {
  const ownFirst = createOwnFirst({ ownWork: () => 1, enough: 2, wasIdle, waitMsMax: longMs })
  await expect(ownFirst('jane', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  expect(await ownFirst('jane', async () => 'made')).toBe('made')
})

test('users take turns: one that brings many makes another wait for one of them, not for all', async () => {
  let work = 2
  const ownFirst = createOwnFirst({ ownWork: () => work, enough: 2, wasIdle, waitMsMax: longMs })
  const begun: string[] = []
  const create = (user: string, name: string) => ownFirst(user, async () => begun.push(name))
  const creates = ['a', 'b', 'c'].map(name => create('jane', name))
  creates.push(create('joe', 'his'))
  work = 1
  await Promise.all(creates)
  expect(begun).toEqual(['a', 'his', 'b', 'c'])
})

test('nothing waits where the controllers have nothing to do, however much is created at once', async () => {
  const ownFirst = createOwnFirst({ ownWork: () => 0, enough: 1, wasIdle, waitMsMax: longMs })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const long = (name: string) =>
    ownFirst('jane', () => new Promise<void>(resolve => begun.push(name) && ends.push(resolve)))
  const creates = [long('a'), long('b')]
  await setImmediate()
  expect(begun).toEqual(['a', 'b'])
  for (const end of ends) end()
  await Promise.all(creates)
})
