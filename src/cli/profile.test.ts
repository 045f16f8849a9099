import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { realClock } from '../runtime/clock.ts'
import type { Page } from './listen.ts'
import { createProfiler } from './profile.ts'

const ask = (path: string, query = '', signal = new AbortController().signal) => ({
  path,
  query: new URLSearchParams(query),
  authorization: undefined,
  signal,
})

const parsed = (page: Page | undefined) => JSON.parse(String(page?.body)) as Record<string, unknown>

describe('a look into the process', () => {
  test('a profile is one that V8 took', async () => {
    const page = await createProfiler(realClock)(ask('/debug/pprof/profile', 'seconds=0.01'))
    expect(parsed(page)).toMatchObject({ nodes: expect.any(Array), startTime: expect.any(Number) })
    expect(page?.headers?.['content-disposition']).toContain('.cpuprofile')
  })

  test('only one at a time, and it ends when its reader goes', async () => {
    const profiler = createProfiler(new VirtualClock())
    const reader = new AbortController()
    const first = profiler(ask('/debug/pprof/profile', 'seconds=300', reader.signal))
    expect(await profiler(ask('/debug/pprof/profile'))).toMatchObject({ status: 429 })
    reader.abort()
    expect(parsed(await first)).toHaveProperty('nodes')
  })

  test.each(['seconds=0', 'seconds=301', 'seconds=long', 'seconds=-1'])('%s is refused', async query => {
    expect(await createProfiler(realClock)(ask('/debug/pprof/profile', query))).toMatchObject({ status: 400 })
  })

  test('the heap is summed up by its spaces', async () => {
    const page = await createProfiler(realClock)(ask('/debug/pprof/heap'))
    expect(parsed(page)).toMatchObject({ heap: { used_heap_size: expect.any(Number) }, spaces: expect.any(Array) })
  })

  test('there is nothing else', async () => {
    expect(await createProfiler(realClock)(ask('/debug/pprof/goroutine'))).toBeUndefined()
  })
})
