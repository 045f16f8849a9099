import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../../test/harness/virtual-clock.ts'
import { aPodObject, aVMIObject, aVMObject } from '../../../../test/vm/builders.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { createViews } from '../../office/views.ts'
import { createCaches } from '../world.ts'
import { askMachine, createLaunchersOf } from './ask.ts'

/** The API server knows these; the caches know a virtual machine that is gone. */
async function ask(stored: { vm?: KubeObject; vmi?: KubeObject; pods?: readonly KubeObject[] }) {
  const caches = createCaches(true, createViews(true))
  caches.vms.replace([aVMObject({ uid: 'vm-0' })], '1')
  const client = {
    get: async ({ kind }: { kind: string }) => (kind === 'VirtualMachine' ? stored.vm : stored.vmi),
    list: async () => ({ items: stored.pods ?? [], resourceVersion: '1' }),
  }
  const asked = await askMachine(
    { client: client as never, launchersOf: createLaunchersOf(client as never, new VirtualClock()), caches },
    'lab',
    'vm1',
  )
  return { asked, known: caches.vms.get('lab/vm1') }
}

describe('A virtual machine that is asked for', () => {
  test('is gone if the API server says so, and the cache knows it then', async () => {
    const { asked, known } = await ask({})
    expect(asked).toEqual({ vm: undefined, vmi: undefined, pods: [] })
    expect(known).toBeUndefined()
  })

  test('comes with its instance, and with the pods that say that they run it', async () => {
    const { asked } = await ask({
      vm: aVMObject({ uid: 'vm-1' }),
      vmi: aVMIObject({ uid: 'vmi-1' }),
      pods: [aPodObject({ name: 'one' }), aPodObject({ name: 'other', domain: 'vm2' })],
    })
    expect(asked?.vm?.metadata.uid).toBe('vm-1')
    expect(asked?.vmi?.metadata.uid).toBe('vmi-1')
    expect(asked?.pods.map(({ metadata }) => metadata.name)).toEqual(['one'])
  })

  test.each([
    ['virtual machine', { vm: { metadata: {} } }],
    ['instance', { vmi: { metadata: {} } }],
    ['pod', { pods: [{ metadata: {} }] }],
  ])('is not known if its %s cannot be read', async (_, stored) => {
    expect((await ask(stored)).asked).toBeUndefined()
  })
})

test('machines of a large namespace that end at the same time share lists, of which none is older than its question', async () => {
  const clock = new VirtualClock()
  const stored = Array.from({ length: 2_500 }, (_, i) => aPodObject({ name: `launcher-${i}`, domain: `vm${i}` }))
  let lists = 0
  const client = {
    async list() {
      lists++
      return { items: [...stored], resourceVersion: '1' }
    },
  }
  const launchersOf = createLaunchersOf(client as never, clock)
  const asked: Promise<void>[] = []
  for (let i = 0; i < 500; i++) {
    stored.shift()
    asked.push(launchersOf('lab').then(launchers => expect(launchers?.has(`vm${i}`)).toBe(false)))
    await clock.advance(1)
  }
  await clock.advance(1_000)
  await Promise.all(asked)
  expect(lists).toBeLessThan(5)
})
