import fc from 'fast-check'
import { expect, test } from 'vitest'
import { outcomeOf } from '../../test/harness/outcome.ts'
import { ToyObjects } from '../../test/harness/toy-client.ts'
import { addFinalizer, removeFinalizer } from './finalizers.ts'
import { defineKind, type KubeObject } from './object.ts'

const toys = defineKind<KubeObject>({ group: '', versions: ['v1'], plural: 'toys', kind: 'Toy', namespaced: false })
const ours = 'mooring.dev/hold'

test('ours is added behind the others and taken away from between them', async () => {
  const server = new ToyObjects()
  const toy = server.put({ metadata: { name: 'a', finalizers: ['x.io/one'] } })
  const held = await addFinalizer(server.client, toys, toy, ours)
  expect(held.metadata.finalizers).toEqual(['x.io/one', ours])
  const more = server.put({ ...held, metadata: { ...held.metadata, finalizers: ['x.io/one', ours, 'x.io/two'] } })
  const free = await removeFinalizer(server.client, toys, more, ours)
  expect(free?.metadata.finalizers).toEqual(['x.io/one', 'x.io/two'])
})

test('nothing is written when it is already so', async () => {
  const server = new ToyObjects()
  const toy = server.put({ metadata: { name: 'a', finalizers: [ours] } })
  expect(await addFinalizer(server.client, toys, toy, ours)).toBe(toy)
  const other = server.put({ metadata: { name: 'b' } })
  expect(await removeFinalizer(server.client, toys, other, ours)).toBe(other)
})

test('an object that is being deleted takes no new finalizer', async () => {
  const server = new ToyObjects()
  const toy = server.put({
    metadata: { name: 'a', finalizers: ['x.io/one'], deletionTimestamp: '2030-01-01T00:00:00Z' },
  })
  expect(await addFinalizer(server.client, toys, toy, ours)).toBe(toy)
})

test('an old version is a conflict, and an object that is gone needs nothing', async () => {
  const server = new ToyObjects()
  const toy = server.put({ metadata: { name: 'a', finalizers: [ours] } })
  server.put({ ...toy, metadata: { ...toy.metadata, finalizers: [ours, 'x.io/one'] } })
  expect(await outcomeOf(removeFinalizer(server.client, toys, toy, ours))).toMatchObject({ reason: 'Conflict' })
  server.objects.clear()
  expect(await removeFinalizer(server.client, toys, toy, ours)).toBeUndefined()
})

// Two workers, people and other controllers in any order. Each worker looks, then acts on what it saw, perhaps much later.

const acts = fc.oneof(
  fc.tuple(fc.constantFrom('look' as const, 'act' as const), fc.nat(1)),
  fc.tuple(
    fc.constantFrom('delete' as const, 'recreate' as const, 'add other' as const, 'remove other' as const),
    fc.nat(1),
  ),
)

test('in any order: the work is undone before ours is gone, and others keep theirs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { maxLength: 40 }), async story => {
      const server = new ToyObjects()
      server.put({ metadata: { name: 'a' } })
      const worked = new Set<string>()
      const others = new Map<string, Set<string>>()
      const views: (KubeObject | undefined)[] = [undefined, undefined]
      const othersOf = (uid: string) => {
        const known = others.get(uid) ?? new Set<string>()
        others.set(uid, known)
        return known
      }
      const check = () => {
        const toy = server.objects.get('a')
        const uid = toy?.metadata.uid ?? ''
        for (const held of worked) {
          expect(held === uid && toy?.metadata.finalizers?.includes(ours)).toBe(true)
        }
        if (toy === undefined) return
        expect((toy.metadata.finalizers ?? []).filter(name => name !== ours)).toEqual([...othersOf(uid)])
      }
      for (const [act, which] of story) {
        const toy = server.objects.get('a')
        const uid = toy?.metadata.uid ?? ''
        const other = `x.io/${which}`
        if (act === 'look') views[which] = toy
        else if (act === 'act' && views[which] !== undefined) {
          const seen = views[which]
          const isGoing = seen.metadata.deletionTimestamp !== undefined
          if (isGoing) worked.delete(seen.metadata.uid ?? '')
          const step = isGoing
            ? removeFinalizer(server.client, toys, seen, ours)
            : addFinalizer(server.client, toys, seen, ours)
          const next = await outcomeOf(step)
          if (!isGoing && next.ok && next.value !== seen) worked.add(seen.metadata.uid ?? '')
          views[which] = undefined
        } else if (act === 'delete') server.remove('a')
        else if (act === 'recreate' && toy === undefined) server.put({ metadata: { name: 'a' } })
        else if (act === 'add other' && toy !== undefined && toy.metadata.deletionTimestamp === undefined) {
          if (othersOf(uid).has(other)) continue
          othersOf(uid).add(other)
          server.put({ ...toy, metadata: { ...toy.metadata, finalizers: [...(toy.metadata.finalizers ?? []), other] } })
        } else if (act === 'remove other' && toy !== undefined && othersOf(uid).delete(other)) {
          const finalizers = (toy.metadata.finalizers ?? []).filter(name => name !== other)
          server.put({ ...toy, metadata: { ...toy.metadata, finalizers } })
          if (finalizers.length === 0) server.remove('a')
        }
        check()
      }
    }),
    { numRuns: 300 },
  )
})
