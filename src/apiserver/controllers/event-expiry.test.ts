import { describe, expect, test } from 'vitest'
import type { World } from '../call.ts'
import { builtinResources } from '../kinds/builtin-resources.ts'
import type { LocalClient, Target } from '../local-client.ts'
import type { KubeObject } from '../object.ts'
import { encodeObject, keyOf } from '../objects.ts'
import { createEventExpiry } from './event-expiry.ts'

const events = builtinResources().find(({ group, plural }) => group === '' && plural === 'events')
if (events === undefined) throw new Error('there are no events')

const written = '2026-01-01T10:00:00Z'

function event(name: string, more: Record<string, unknown> = {}): KubeObject {
  const metadata = { name, namespace: 'default', uid: `uid-of-${name}`, creationTimestamp: written }
  return { apiVersion: 'v1', kind: 'Event', metadata, ...more }
}

/** Of a store, only what an expiry looks at. */
function world(stored: readonly KubeObject[], now: () => Date): Pick<World, 'store' | 'now'> {
  const resource = events as NonNullable<typeof events>
  const entries = stored.map((object, i) => {
    const key = keyOf(resource, 'default', object.metadata.name ?? '')
    return { key, revision: i + 1, value: encodeObject(object, i + 1) }
  })
  const store = {
    revision: entries.length,
    list: () => ({ entries, revision: entries.length, next: undefined, remaining: 0 }),
    watch: () => ({ stop: () => {} }),
  }
  return { store: store as unknown as World['store'], now }
}

async function forgottenAt(time: string, stored: readonly KubeObject[]): Promise<string[]> {
  const forgotten: string[] = []
  const client = {
    remove: async (target: Target) => void forgotten.push(target.name ?? ''),
  } as unknown as LocalClient
  const expiry = createEventExpiry(
    world(stored, () => new Date(time)),
    client,
    events as NonNullable<typeof events>,
    error => {
      throw error
    },
  )
  expiry.start()
  await expiry.sweep()
  expiry.stop()
  return forgotten
}

describe('an event', () => {
  test('is there for an hour', async () => {
    expect(await forgottenAt('2026-01-01T10:59:59Z', [event('e')])).toEqual([])
  })
  test('is forgotten after an hour', async () => {
    expect(await forgottenAt('2026-01-01T11:00:00Z', [event('e')])).toEqual(['e'])
  })
  test.each([
    ['when it was seen again', { lastTimestamp: '2026-01-01T10:30:00Z' }],
    ['when its series went on', { series: { count: 2, lastObservedTime: '2026-01-01T10:30:00.000000Z' } }],
    ['when its time says so', { eventTime: '2026-01-01T10:30:00.000000Z' }],
  ])('stays longer %s', async (_, more) => {
    expect(await forgottenAt('2026-01-01T11:15:00Z', [event('e', more)])).toEqual([])
    expect(await forgottenAt('2026-01-01T11:30:00Z', [event('e', more)])).toEqual(['e'])
  })
  test('stays when others go', async () => {
    const stored = [event('old'), event('young', { lastTimestamp: '2026-01-01T11:00:00Z' })]
    expect(await forgottenAt('2026-01-01T11:30:00Z', stored)).toEqual(['old'])
  })
})
