import { expect, test } from 'vitest'
import type { Handler } from '../apiserver/edge/handler.ts'
import { embeddedWire } from './embedded-wire.ts'

test('a request under way ends with its signal, and may have arrived; one aborted before has not', async () => {
  let hasArrived = false
  const silent: Handler = () => {
    hasArrived = true
    return new Promise(() => {})
  }
  const wire = embeddedWire({ handler: () => silent })
  const abort = new AbortController()
  const request = {
    method: 'PATCH',
    path: '/api/v1/namespaces/a',
    headers: {},
    body: '{}',
    signal: abort.signal,
  } as const
  const answer = wire(request)
  expect(hasArrived).toBe(true)
  abort.abort(new Error('the pass is over'))
  await expect(answer).rejects.toMatchObject({ mayHaveArrived: true, cause: { message: 'the pass is over' } })
  await expect(wire(request)).rejects.toMatchObject({ mayHaveArrived: false })
})
