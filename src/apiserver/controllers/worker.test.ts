import { expect, test } from 'vitest'
import { createWorker } from './worker.ts'

const nextTurn = () => new Promise(resolve => setImmediate(resolve))

test.each([
  ['while it works', false, ['default']],
  ['after it was stopped, for the store may be closed by then', true, []],
])('what fails %s: is it reported?', async (_, isStopped, expected) => {
  const reported: string[] = []
  let fail: ((error: Error) => void) | undefined
  const look = () =>
    new Promise<void>((_, reject) => {
      fail = reject
    })
  const worker = createWorker(look, (_, key) => reported.push(key))
  worker.mark('default')
  while (fail === undefined) await nextTurn()
  if (isStopped) worker.stop()
  fail(new Error('the store is closed'))
  await nextTurn()
  worker.stop()
  expect(reported).toEqual(expected)
})
