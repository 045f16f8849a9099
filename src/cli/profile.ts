// A look into the running process: where its time goes, and what its memory holds. Costs nothing until a request asks for it.

import { Session } from 'node:inspector/promises'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { type Clock, pause } from '../runtime/clock.ts'
import type { Page, PageRequest } from './listen.ts'

const secondsDefault = 30
const secondsMax = 300

export type Profiler = (request: PageRequest) => Promise<Page | undefined>

export function createProfiler(clock: Clock): Profiler {
  let isBusy = false

  async function takeProfile({ query, signal }: PageRequest): Promise<Page> {
    const seconds = Number(query.get('seconds') ?? secondsDefault)
    if (!(seconds > 0 && seconds <= secondsMax)) {
      return { status: 400, body: `seconds is a number up to ${secondsMax}\n` }
    }
    if (isBusy) return { status: 429, body: 'a profile is being taken\n', headers: { 'retry-after': '30' } }
    isBusy = true
    try {
      return {
        type: 'application/json',
        headers: { 'content-disposition': 'attachment; filename="mooring.cpuprofile"' },
        body: JSON.stringify(await sample(clock, seconds * 1000, signal)),
      }
    } finally {
      isBusy = false
    }
  }

  return async request => {
    if (request.path === '/debug/pprof/profile') return takeProfile(request)
    if (request.path !== '/debug/pprof/heap') return undefined
    const summary = { memory: process.memoryUsage(), heap: getHeapStatistics(), spaces: getHeapSpaceStatistics() }
    return { type: 'application/json', body: `${JSON.stringify(summary, null, 2)}\n` }
  }
}

async function sample(clock: Clock, durationMs: number, signal: AbortSignal): Promise<object> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    await pause(clock, durationMs, signal)
    const { profile } = await session.post('Profiler.stop')
    return profile
  } finally {
    session.disconnect()
  }
}
