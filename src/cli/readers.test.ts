import { expect, test } from 'vitest'
import type { KubeObject } from '../kube/object.ts'
import { createReaders, type ReadersOptions } from './readers.ts'

/** An API server that knows the token `good`; only `/metrics` may be read with it. */
function aWorld() {
  const world = { nowMs: 0, reviews: 0, isAllowed: true }
  const client = {
    async create(_: unknown, { kind, spec }: KubeObject & { spec: { token?: string } }) {
      if (kind === 'SubjectAccessReview') return { status: { allowed: world.isAllowed } }
      world.reviews++
      return { status: { authenticated: spec.token === 'good', user: { username: 'prometheus' } } }
    },
  }
  const clock = { monotonicMs: () => world.nowMs }
  const readers = createReaders({ client, clock } as unknown as ReadersOptions)
  return { world, read: (token: string) => readers(`Bearer ${token}`, '/metrics') }
}

test('a token that was refused is asked about again a few seconds later, and not before', async () => {
  const { world, read } = aWorld()
  world.isAllowed = false
  expect(await read('good')).toBe('forbidden')
  world.isAllowed = true
  expect(await read('good')).toBe('forbidden')
  expect(world.reviews).toBe(1)
  world.nowMs = 5_000
  expect(await read('good')).toBe('allowed')
})

test('a flood of invented tokens reaches the API server some times a second, and keeps no known reader out', async () => {
  const { world, read } = aWorld()
  expect(await read('good')).toBe('allowed')
  world.nowMs = 60_000
  const answers = await Promise.all(Array.from({ length: 5_000 }, (_, i) => read(`junk-${i}`)))
  expect(new Set(answers)).toEqual(new Set(['unknown', 'busy']))
  expect(world.reviews).toBeLessThanOrEqual(11)
  expect(await read('good')).toBe('allowed')
  world.nowMs += 1_000
  expect(await read('junk')).toBe('unknown')
})
