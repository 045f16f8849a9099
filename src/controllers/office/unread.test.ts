import { expect, test } from 'vitest'
import { silentLog } from '../../../test/harness/silent-log.ts'
import { Unread } from './unread.ts'

/** As a reflector tells of a kind: what it says, and when it may say something else. */
function aKind() {
  const changed: (() => void)[] = []
  const now = { isInstalled: false, hasListed: false, problem: undefined as string | undefined }
  const source = {
    name: 'buoys',
    get isInstalled() {
      return now.isInstalled
    },
    get hasListed() {
      return now.hasListed
    },
    problem: () => now.problem,
    onProblemChange: (call: () => void) => void changed.push(call),
  }
  const become = (next: Partial<typeof now>) => {
    Object.assign(now, next)
    for (const call of changed) call()
  }
  const sources = { poolsIn: function* () {} }
  const unread = new Unread({ sources, networks: { isNamed: () => false }, log: silentLog, metrics: undefined })
  unread.follow(source, undefined)
  return { unread, become }
}

test('a kind that is installed later closes its spaces until it is listed, whether or not it is known why it is not', () => {
  const { unread, become } = aKind()
  let reads = 0
  unread.onRead(() => reads++)
  expect(unread.in('blue')).toBeUndefined()
  become({ isInstalled: true })
  expect([unread.in('blue'), unread.problems()]).toEqual(['buoys', []])
  become({ problem: 'buoys cannot be read: broken' })
  expect([unread.in('blue'), reads]).toEqual(['buoys', 0])
  expect(unread.problems()).toEqual([
    'buoys cannot be read: broken: nothing new is given out where it may show an address in use',
  ])
  become({ problem: undefined })
  expect([unread.in('blue'), reads]).toEqual(['buoys', 0])
  become({ hasListed: true })
  expect([unread.in('blue'), reads]).toEqual([undefined, 1])
})
