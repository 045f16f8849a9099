import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { ToyObjects } from '../../test/harness/toy-client.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { createLog } from '../telemetry/log.ts'
import { ApiError } from './api-error.ts'
import { createRecorder, type EventInput, type EventObject } from './events.ts'

function aRecorder() {
  const [server, clock] = [new ToyObjects(), new VirtualClock()]
  const lines: { msg: string; count?: number; why?: string; namespace?: string }[] = []
  const log = createLog({ write: line => lines.push(JSON.parse(line)), now: () => clock.now() })
  let dropped = 0
  const recorder = createRecorder({
    client: server.client,
    clock,
    random: seededRandom(1),
    log,
    controller: 'mooring.dev/capi',
    instance: 'mooring-0',
    metrics: {
      begin: () => {},
      dropped: () => {
        dropped++
      },
    },
  })
  const about = (name: string, namespace = 'lab'): EventInput => {
    const metadata = { ...bound.about.metadata, name, namespace, uid: `${namespace}/${name}` }
    return { ...bound, about: { ...bound.about, metadata } }
  }
  return {
    server,
    clock,
    recorder,
    lines,
    dropped: () => dropped,
    about,
    stored: () => [...server.objects.values()] as EventObject[],
  }
}

const bound: EventInput = {
  about: {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: { name: 'claim', namespace: 'lab', uid: 'u', resourceVersion: '7' },
  },
  type: 'Normal',
  reason: 'Bound',
  action: 'Bind',
  note: 'holds 192.0.2.1',
}

describe('a recorder', () => {
  test('sends events in the form the server takes', async () => {
    const { recorder, stored } = aRecorder()
    recorder.event(bound)
    await recorder.flushed()
    expect(stored()).toMatchObject([
      {
        metadata: { namespace: 'lab', name: expect.stringMatching(/^claim\.[0-9a-f]{12}$/) },
        eventTime: '2030-01-01T00:00:00.000000Z',
        type: 'Normal',
        reason: 'Bound',
        action: 'Bind',
        note: 'holds 192.0.2.1',
        regarding: { kind: 'IPAddressClaim', name: 'claim', namespace: 'lab', uid: 'u' },
        reportingController: 'mooring.dev/capi',
        reportingInstance: 'mooring-0',
      },
    ])
  })

  test('puts an event about an object without a namespace into the default one, and cuts what is too long', async () => {
    const { recorder, stored } = aRecorder()
    const about = { ...bound.about, metadata: { name: 'a'.repeat(253), uid: 'v' } }
    recorder.event({ ...bound, about, note: '\u20ac'.repeat(2_000) })
    await recorder.flushed()
    const [event] = stored()
    expect(event?.metadata.namespace).toBe('default')
    expect(event?.metadata.name?.length).toBeLessThanOrEqual(253)
    expect(Buffer.byteLength(event?.note ?? '')).toBeLessThanOrEqual(1024)
  })

  test('counts an event that happens again instead of sending a new one', async () => {
    const { recorder, stored, clock } = aRecorder()
    for (let i = 0; i < 50; i++) {
      recorder.event(bound)
      await clock.advance(10_000)
    }
    await recorder.flushed()
    expect(stored()).toHaveLength(1)
    expect(stored()[0]?.series?.count).toBeGreaterThan(40)
    await clock.advance(10 * 60_000)
    recorder.event(bound)
    await recorder.flushed()
    expect(stored()).toHaveLength(2)
  })

  test('sends a new event when the one it counted is gone', async () => {
    const { recorder, stored, clock, server } = aRecorder()
    recorder.event(bound)
    await recorder.flushed()
    server.objects.clear()
    await clock.advance(60_000)
    recorder.event(bound)
    await recorder.flushed()
    expect(stored()[0]?.series?.count).toBe(2)
  })

  test('limits the events of one object, and not those of others', async () => {
    const { recorder, stored, clock } = aRecorder()
    for (let i = 0; i < 1_000; i++) recorder.event({ ...bound, note: `note ${i}` })
    recorder.event({ ...bound, about: { ...bound.about, metadata: { name: 'other', namespace: 'lab', uid: 'v' } } })
    await recorder.flushed()
    expect(stored()).toHaveLength(26)
    await clock.advance(60_000)
    recorder.event({ ...bound, note: 'one more' })
    recorder.event({ ...bound, note: 'and another' })
    await recorder.flushed()
    expect(stored()).toHaveLength(27)
  })

  test('limits the events of one namespace, however many objects it has, and not those of others', async () => {
    const { recorder, stored, clock, about, dropped } = aRecorder()
    const storedOf = (namespace: string) => stored().filter(({ metadata }) => metadata.namespace === namespace).length
    const [flood, others] = [5_000, 20]
    for (let i = 0; i < flood; i++) recorder.event(about(`claim-${i}`))
    for (let i = 0; i < others; i++) recorder.event(about(`claim-${i}`, 'shop'))
    await recorder.flushed()
    expect([storedOf('lab'), storedOf('shop'), dropped()]).toEqual([100, others, flood - 100])
    await clock.advance(10_000)
    for (let i = 0; i < flood; i++) recorder.event(about(`later-${i}`))
    await recorder.flushed()
    expect(storedOf('lab')).toBe(110)
  })

  test('limits the counts of events that happen again, and sends them with the next', async () => {
    const { recorder, stored, clock, about, server, dropped } = aRecorder()
    const all = Array.from({ length: 100 }, (_, i) => about(`claim-${i}`))
    for (const input of all) recorder.event(input)
    await recorder.flushed()
    let requests = 0
    server.weather = moment => {
      if (moment === 'before') requests++
      return Promise.resolve()
    }
    for (let round = 0; round < 10; round++) {
      await clock.advance(31_000)
      for (const input of all) recorder.event(input)
      await recorder.flushed()
    }
    expect(requests).toBe(310)
    expect(Math.max(...stored().map(({ series }) => series?.count ?? 1))).toBeGreaterThan(8)
    expect(dropped()).toBe(0)
  })

  test('limits the events of all namespaces together', async () => {
    const { recorder, stored, about } = aRecorder()
    for (let i = 0; i < 5_000; i++) recorder.event(about(`claim-${i}`, `ns-${i % 1_000}`))
    await recorder.flushed()
    expect(stored()).toHaveLength(500)
  })

  test('logs what it dropped once a minute', async () => {
    const { recorder, clock, lines, about } = aRecorder()
    for (let second = 0; second < 150; second++) {
      for (let i = 0; i < 10; i++) recorder.event(about(`claim-${second}-${i}`))
      await clock.advance(1_000)
    }
    await recorder.flushed()
    expect(lines.map(({ msg, namespace }) => [msg, namespace])).toEqual(Array(3).fill(['events were dropped', 'lab']))
    const counts = lines.map(({ count = 0 }) => count)
    expect(counts[0]).toBe(1)
    expect(counts.slice(1).every(count => count > 500)).toBe(true)
  })

  test('never fails or holds up its caller, and gives up after a while', async () => {
    const { recorder, server, clock, stored } = aRecorder()
    let requests = 0
    server.weather = () => {
      requests++
      return Promise.reject(new ApiError('down', { reason: 'Unreachable', code: 0 }))
    }
    recorder.event(bound)
    await clock.advance(60_000)
    await recorder.flushed()
    expect(requests).toBe(3)
    server.weather = () => Promise.reject(new ApiError('no', { reason: 'Forbidden', code: 403 }))
    recorder.event({ ...bound, reason: 'Released' })
    await recorder.flushed()
    expect(stored()).toEqual([])
  })

  test('keeps a bounded number of events for a server that does not answer', async () => {
    const { recorder, server, clock, about, dropped } = aRecorder()
    let open = () => {}
    server.weather = () =>
      new Promise(resolve => {
        open = resolve
      })
    for (let i = 0; i < 3_000; i++) {
      recorder.event(about(`c-${i}`, `ns-${i % 100}`))
      if (i === 0) await settle()
      else if (i % 20 === 0) await clock.advance(1_000)
    }
    server.weather = () => Promise.resolve()
    open()
    await recorder.flushed()
    expect([server.objects.size, dropped()]).toEqual([1_001, 1_999])
  })

  test('stops at once', async () => {
    const { recorder, server, clock, stored } = aRecorder()
    server.weather = () => Promise.reject(new ApiError('down', { reason: 'Unreachable', code: 0 }))
    recorder.event(bound)
    await settle()
    await recorder.stop()
    recorder.event(bound)
    expect([clock.timers, stored()]).toEqual([0, []])
  })
})
