import { expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { createDiscovery } from './discovery.ts'
import { defineKind, type KubeObject } from './object.ts'
import type { Wire } from './wire.ts'

const kindOf = (plural: string) =>
  defineKind<KubeObject>({ group: 'example.org', versions: ['v1'], plural, kind: plural, namespaced: true })

test('kinds of one group that are asked about at once take one request, and later ones are asked about anew', async () => {
  const paths: string[] = []
  const resources = [{ name: 'wishes' }]
  const wire: Wire = async ({ path }) => {
    paths.push(path)
    return { status: 200, headers: {}, body: JSON.stringify({ resources }) }
  }
  const discovery = createDiscovery({ wire, clock: new VirtualClock(), name: 'tester' })
  const found = await Promise.all([discovery.find(kindOf('wishes')), discovery.find(kindOf('dreams'))])
  expect(found).toEqual(['v1', undefined])
  expect(paths).toEqual(['/apis/example.org/v1'])
  resources.push({ name: 'hopes' })
  expect(await discovery.find(kindOf('hopes'))).toBe('v1')
})
