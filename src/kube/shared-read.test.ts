import { expect, test } from 'vitest'
import { sharedRead } from './shared-read.ts'

/** A read whose answers are numbered, and given when the test says so. */
function aRead() {
  const begun: { readonly key: string; readonly answer: (error?: Error) => void }[] = []
  const ask = sharedRead<number>(
    key =>
      new Promise((resolve, reject) => {
        const number = begun.length + 1
        begun.push({ key, answer: error => (error === undefined ? resolve(number) : reject(error)) })
      }),
  )
  return { ask, begun }
}

test('what is asked while a read is under way is answered by the next one, all of it by one', async () => {
  const { ask, begun } = aRead()
  const first = ask('lab')
  const later = [ask('lab'), ask('lab'), ask('lab')]
  expect(begun).toHaveLength(1)
  begun[0]?.answer()
  expect(await first).toBe(1)
  await expect.poll(() => begun.length).toBe(2)
  const latest = ask('lab')
  begun[1]?.answer()
  expect(await Promise.all(later)).toEqual([2, 2, 2])
  await expect.poll(() => begun.length).toBe(3)
  begun[2]?.answer()
  expect(await latest).toBe(3)
})

test('a question after the answer is a new read', async () => {
  const { ask, begun } = aRead()
  const first = ask('lab')
  begun[0]?.answer()
  await first
  void ask('lab')
  expect(begun).toHaveLength(2)
})

test('a read that fails fails those that it was for, and not the next', async () => {
  const { ask, begun } = aRead()
  const first = ask('lab')
  const later = ask('lab')
  begun[0]?.answer(new Error('unreachable'))
  await expect(first).rejects.toThrow('unreachable')
  await expect.poll(() => begun.length).toBe(2)
  begun[1]?.answer()
  expect(await later).toBe(2)
})

test('keys are read apart', () => {
  const { ask, begun } = aRead()
  void ask('lab')
  void ask('home')
  expect(begun.map(({ key }) => key)).toEqual(['lab', 'home'])
})

test('the next one begins when it is time for it, and answers what was asked meanwhile', async () => {
  let end = () => {}
  const over = new Promise<void>(resolve => {
    end = resolve
  })
  let begun = 0
  const ask = sharedRead<number>(
    async () => ++begun,
    () => over,
  )
  expect(await ask('lab')).toBe(1)
  const later = [ask('lab'), ask('lab')]
  expect(begun).toBe(1)
  end()
  expect(await Promise.all(later)).toEqual([2, 2])
})
