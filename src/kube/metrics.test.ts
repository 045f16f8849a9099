import { expect, test } from 'vitest'
import { createMetrics } from '../telemetry/metrics.ts'
import { measureReflectors } from './metrics.ts'

test('lists and the ends of watches are there at zero from when a kind is followed, for each way in which a watch can end', () => {
  const metrics = createMetrics()
  const counters = () =>
    metrics
      .text()
      .split('\n')
      .filter(line => line.includes('_total{'))
  const reflectors = measureReflectors(metrics)
  expect(counters()).toEqual([])
  reflectors.follow({ name: 'holds.mooring.dev', state: 'empty', size: 0 })
  const ends = ['ended', 'idle', 'gone', 'unreadable', 'failed'] as const
  const lineOf = (why: string, count: number) =>
    `mooring_reflector_streams_ended_total{resource="holds.mooring.dev",why="${why}"} ${count}`
  expect(counters()).toEqual([
    'mooring_reflector_lists_total{resource="holds.mooring.dev"} 0',
    ...ends.map(why => lineOf(why, 0)),
  ])
  reflectors.listed('holds.mooring.dev', 1)
  for (const why of ends) reflectors.streamEnded('holds.mooring.dev', why)
  expect(counters()).toEqual([
    'mooring_reflector_lists_total{resource="holds.mooring.dev"} 1',
    ...ends.map(why => lineOf(why, 1)),
  ])
})
