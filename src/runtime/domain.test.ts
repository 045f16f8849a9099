import { expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Feed } from './domain.ts'
import { Manager } from './manager.ts'

function aKind(problem: string, isInstalled: boolean): Feed {
  return {
    name: 'buoys',
    isInstalled,
    start: () => {},
    synced: () => Promise.resolve(),
    problem: () => problem,
    stop: async () => {},
  }
}

async function started(feed: Feed) {
  const metrics = createMetrics()
  const manager = new Manager({ clock: new VirtualClock(), random: seededRandom(1), log: silentLog, metrics })
  const domain = manager.domain('toy')
  domain.addFeed(feed)
  await manager.start()
  await settle()
  const state = /^mooring_desk_state\{desk="toy",state="([\w ]+)"\} 1$/m.exec(metrics.text())?.[1]
  await manager.stop('shutdown')
  return { reasons: domain.reasons(), faults: domain.faults(), state }
}

test('a kind that cannot be read is a fault', async () => {
  const reasons = ['buoys cannot be read: forbidden']
  expect(await started(aKind('buoys cannot be read: forbidden', true))).toEqual({
    reasons,
    faults: reasons,
    state: 'waiting',
  })
})

test('a desk that lacks nothing stands by until this process leads, and one that has not listed its kinds does not', async () => {
  let lead = () => {}
  const metrics = createMetrics()
  const manager = new Manager({
    ...{ clock: new VirtualClock(), random: seededRandom(1), log: silentLog, metrics },
    admitted: () =>
      new Promise<void>(resolve => {
        lead = resolve
      }),
  })
  manager.domain('idle')
  manager.domain('late').addFeed({ ...aKind('', true), problem: () => undefined, synced: () => new Promise(() => {}) })
  const started = manager.start()
  await settle()
  const states = () =>
    [...metrics.text().matchAll(/^mooring_desk_state\{desk="(\w+)",state="([\w ]+)"\} 1$/gm)].map(
      ([, desk, state]) => `${desk} ${state}`,
    )
  expect(states()).toEqual(['idle standing by', 'late starting'])
  lead()
  await settle()
  expect(states()).toEqual(['idle working', 'late starting'])
  const refused = expect(started).rejects.toThrow()
  await manager.stop('shutdown')
  await refused
})

test('a kind that is not installed is a reason to wait, and no fault', async () => {
  expect(await started(aKind('buoys is not installed', false))).toEqual({
    reasons: ['buoys is not installed'],
    faults: [],
    state: 'not installed',
  })
})
