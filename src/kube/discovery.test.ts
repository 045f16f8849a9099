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

test('a look reads each document once, and the next one reads it anew', async () => {
  const paths: string[] = []
  const wire: Wire = async ({ path }) => {
    paths.push(path)
    const versions = [{ version: 'v2' }, { version: 'v1' }]
    const body = path === '/apis/example.org' ? { versions } : { resources: [{ name: 'wishes' }] }
    return { status: 200, headers: {}, body: JSON.stringify(body) }
  }
  const { look } = createDiscovery({ wire, clock: new VirtualClock(), name: 'tester' })
  const served = look()
  expect([await served(kindOf('wishes')), await served(kindOf('dreams'))]).toEqual([['v2', 'v1'], []])
  const documents = ['/apis/example.org', '/apis/example.org/v2', '/apis/example.org/v1']
  expect(paths).toEqual(documents)
  await look()(kindOf('wishes'))
  expect(paths).toEqual([...documents, ...documents])
})
