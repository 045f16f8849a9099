import { expect, test } from 'vitest'
import { giveBackMemory } from './give-back.ts'

test('what is no longer needed is collected, and the process goes on', async () => {
  const gone = new WeakRef(Array.from({ length: 1_000 }, (_, number) => ({ number })))
  // A weak reference is kept until the turn in which it was made has ended.
  await new Promise(resolve => setImmediate(resolve))
  giveBackMemory()
  expect(gone.deref()).toBeUndefined()
  await new Promise(resolve => setImmediate(resolve))
})
