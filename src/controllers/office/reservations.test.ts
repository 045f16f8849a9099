import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/harness/virtual-clock.ts'
import type { Client } from '../../kube/client.ts'
import type { KubeObject } from '../../kube/object.ts'
import { createReservationsRead } from './reservations.ts'
import { createViews } from './views.ts'

const ipPool = {
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'IPPool',
  metadata: { name: 'blue', uid: 'blue', resourceVersion: '50' },
  spec: { 'network-name': 'blue' },
} as KubeObject

/** The stream has brought all up to `seen`; a list answers with the pool, as of `listed`. */
function asked(seen: string, listed: string) {
  const views = createViews()
  views.ipPools.replace([], seen)
  const client = { list: async () => ({ items: [ipPool], resourceVersion: listed }) } as unknown as Client
  return { views, read: createReservationsRead(client, views, new VirtualClock()) }
}

test.each([
  ['is not heard of yet', '40'],
  ['was lost by the stream', '60'],
])('an IPPool that %s is in view after the read', async (_, seen) => {
  const { views, read } = asked(seen, '70')
  await read()
  expect(views.ipPools.get('blue')).toBeDefined()
})

test('an IPPool that is listed, of which the stream may have told that it is gone, is neither in view nor passed over', async () => {
  const { views, read } = asked('80', '70')
  await expect(read()).rejects.toThrow('IPPool blue is not in view yet')
  expect(views.ipPools.get('blue')).toBeUndefined()
})
