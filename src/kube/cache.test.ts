import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Cache } from './cache.ts'
import { isOlder, type KubeObject, keyOf } from './object.ts'

interface Toy extends KubeObject {
  readonly colours?: readonly string[]
}

function aToy(name: string, version: number, { uid = `uid-${name}`, colours = [] as readonly string[] } = {}): Toy {
  return { metadata: { namespace: 'box', name, uid, resourceVersion: String(version) }, colours }
}

function aCache() {
  const errors: unknown[] = []
  const cache = new Cache<Toy, 'colour'>({
    isFrozen: true,
    indexes: { colour: toy => toy.colours?.map(colour => colour.toLowerCase()) ?? [] },
    onError: error => errors.push(error),
  })
  const changes: string[] = []
  cache.subscribe(change => {
    changes.push(`${change.old?.metadata.resourceVersion ?? '-'} > ${change.new?.metadata.resourceVersion ?? '-'}`)
  })
  return { cache, changes, errors }
}

const namesOf = (toys: readonly Toy[]) => toys.map(toy => toy.metadata.name ?? '')

describe('a cache', () => {
  test('finds objects by the values their index function names', () => {
    const { cache } = aCache()
    cache.replace([aToy('a', 1, { colours: ['red', 'blue'] }), aToy('b', 2, { colours: ['red'] })], '2')
    expect(namesOf(cache.byIndex('colour', 'red'))).toEqual(['a', 'b'])
    cache.put(aToy('a', 3, { colours: ['green'] }))
    expect(namesOf(cache.byIndex('colour', 'red'))).toEqual(['b'])
    expect(namesOf(cache.byIndex('colour', 'green'))).toEqual(['a'])
    cache.remove(aToy('b', 4, { colours: ['red'] }))
    expect([cache.countByIndex('colour', 'red'), cache.byIndex('colour', '__proto__')]).toEqual([0, []])
  })

  test('finds one object under a value as well as several, through all that comes and goes', () => {
    const { cache } = aCache()
    const red = () => namesOf(cache.byIndex('colour', 'red'))
    const seen: string[][] = [red()]
    for (const name of ['a', 'b', 'c']) {
      cache.put(aToy(name, 1, { colours: ['red'] }))
      seen.push(red())
    }
    cache.put(aToy('b', 2, { colours: ['red'] }))
    for (const name of ['a', 'c', 'b']) {
      cache.remove(aToy(name, 3))
      seen.push(red())
    }
    expect(seen).toEqual([[], ['a'], ['a', 'b'], ['a', 'b', 'c'], ['c', 'b'], ['b'], []])
    expect(cache.countByIndex('colour', 'red')).toBe(0)
  })

  test('shows readers, subscribers and indexes what it keeps of an object, however it came in', () => {
    const shown: unknown[] = []
    const cache = new Cache<Toy, 'colour'>({
      keep: ({ metadata: { namespace = '', name = '', uid = '', resourceVersion = '' }, colours = [] }) => ({
        metadata: { namespace, name, uid, resourceVersion },
        colours: colours.slice(0, 1),
      }),
      indexes: { colour: ({ colours = [] }) => colours },
    })
    cache.subscribe(change => shown.push(change.new))
    const painted = (name: string, version: number): Toy => {
      const toy = aToy(name, version, { colours: ['red', 'blue'] })
      return { ...toy, metadata: { ...toy.metadata, annotations: { note: 'long' } } }
    }
    cache.replace([painted('a', 1)], '1')
    cache.put(painted('b', 2))
    cache.learn(painted('c', 3))
    expect([...cache.values()]).toEqual(['a', 'b', 'c'].map((name, i) => aToy(name, i + 1, { colours: ['red'] })))
    expect(shown).toEqual([...cache.values()])
    expect([cache.countByIndex('colour', 'red'), cache.countByIndex('colour', 'blue')]).toEqual([3, 0])
  })

  test('keeps an object that an index function cannot read', () => {
    const { cache, errors } = aCache()
    cache.put({ ...aToy('a', 1), colours: [7 as unknown as string] })
    expect(cache.countByIndex('colour', 'red')).toBe(0)
    expect([cache.size, errors.length]).toEqual([1, 1])
    cache.put({ ...aToy('b', 2), colours: [7 as unknown as string] })
    expect([cache.size, errors.length]).toEqual([2, 2])
  })

  test('keeps the highest version of one uid', () => {
    const { cache, changes } = aCache()
    for (const version of [9, 10, 9, 10, 100]) cache.put(aToy('a', version))
    expect(changes).toEqual(['- > 9', '9 > 10', '10 > 100'])
  })

  test('does not take a namesake away', () => {
    const { cache } = aCache()
    cache.put(aToy('a', 5, { uid: 'new' }))
    cache.remove(aToy('a', 6, { uid: 'old' }))
    expect(cache.get('box/a')?.metadata.uid).toBe('new')
  })

  test('learns from an answer at once, keeps it through an older list, and drops the same from the stream', () => {
    const { cache, changes } = aCache()
    cache.replace([], '5')
    cache.learn(aToy('a', 7))
    expect(cache.version).toBe('5')
    cache.replace([], '6')
    cache.put(aToy('a', 7))
    expect([changes, cache.version]).toEqual([['- > 7'], '7'])
    cache.replace([], '8')
    expect(cache.size).toBe(0)
  })

  test('does not bring back an object by an answer that came late', () => {
    const { cache } = aCache()
    cache.put(aToy('a', 5))
    cache.remove(aToy('a', 8))
    cache.learn(aToy('a', 7))
    expect(cache.size).toBe(0)
  })

  test('learns from an answer what the stream passed and lost: a newer version of what is known, and what was not known', () => {
    const { cache } = aCache()
    cache.put(aToy('a', 5))
    cache.put(aToy('c', 9))
    cache.learn(aToy('a', 7))
    expect(cache.get('box/a')?.metadata.resourceVersion).toBe('7')
    cache.learn(aToy('b', 8), cache.version)
    expect(cache.get('box/b')?.metadata.resourceVersion).toBe('8')
  })

  test('does not learn what the stream reached while it was read, and may have seen going', () => {
    const { cache } = aCache()
    cache.put(aToy('a', 5))
    const askedAt = cache.version
    cache.put(aToy('b', 7))
    cache.remove(aToy('b', 8))
    cache.learn(aToy('b', 7), askedAt)
    expect(cache.get('box/b')).toBeUndefined()
  })

  test('learns from a list what the stream lost; what is not known of a list that the stream is ahead of may be gone, and is told', () => {
    const { cache } = aCache()
    cache.replace([], '9')
    expect(cache.learnAll([aToy('a', 5), aToy('b', 10)], '10')).toEqual([])
    expect([...cache.keys()]).toEqual(['box/a', 'box/b'])
    cache.put(aToy('d', 12))
    cache.remove(aToy('d', 13))
    const items = [aToy('a', 5), aToy('d', 12)]
    expect(cache.learnAll(items, '12')).toEqual([items[1]])
    expect(cache.get('box/d')).toBeUndefined()
  })

  test('does not put an object in the place of the one that was made after it', () => {
    const { cache } = aCache()
    cache.learn(aToy('a', 9, { uid: 'new' }))
    cache.learn(aToy('a', 7, { uid: 'old' }))
    expect(cache.get('box/a')?.metadata.uid).toBe('new')
  })

  test('unlearns what a read did not find, but not what was made again meanwhile', () => {
    const { cache } = aCache()
    cache.put(aToy('a', 5))
    const seen = cache.get('box/a')
    cache.put(aToy('a', 9, { uid: 'new' }))
    cache.unlearn('box/a', seen)
    expect(cache.size).toBe(1)
    cache.unlearn('box/a', cache.get('box/a'))
    expect(cache.size).toBe(0)
  })

  test('keeps what was made while a read was under way, also where nothing was known before', () => {
    const { cache } = aCache()
    const seen = cache.get('box/a')
    cache.put(aToy('a', 5))
    cache.unlearn('box/a', seen)
    expect(cache.size).toBe(1)
  })

  test('does not bring back what was ended by an older event that came late, nor end another in its place', () => {
    const { cache } = aCache()
    cache.learn(aToy('a', 7, { uid: 'old' }))
    cache.ended('box/a', 'old')
    cache.put(aToy('a', 7, { uid: 'old' }))
    expect([cache.size, cache.version]).toEqual([0, '7'])
    cache.learn(aToy('a', 9, { uid: 'new' }))
    cache.ended('box/a', 'old')
    cache.remove(aToy('a', 8, { uid: 'old' }))
    expect(cache.get('box/a')?.metadata.uid).toBe('new')
  })

  test('takes back what it unlearned wrongly, until the stream has confirmed that it is gone', () => {
    const { cache } = aCache()
    cache.put(aToy('a', 5))
    cache.bookmark('9')
    cache.unlearn('box/a', cache.get('box/a'))
    cache.learn(aToy('a', 5))
    expect(cache.size).toBe(1)
    cache.unlearn('box/a', cache.get('box/a'))
    cache.remove(aToy('a', 10))
    cache.learn(aToy('a', 5))
    expect(cache.size).toBe(0)
  })

  test('lets callers wait until it is complete, or until their signal is aborted', async () => {
    const { cache } = aCache()
    const abort = new AbortController()
    const [patient, hasty] = [cache.synced(), cache.synced(abort.signal)]
    abort.abort(new Error('enough'))
    await expect(hasty).rejects.toThrow('enough')
    cache.replace([], '1')
    await patient
    expect(cache.hasSynced).toBe(true)
  })
})

test('versions are compared as the numbers they are, however large', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n }), fc.bigInt({ min: 0n, max: 2n ** 64n }), (one, other) => {
      expect(isOlder(String(one), String(other))).toBe(one < other)
    }),
  )
})

test('an index equals a search through everything', () => {
  const toys = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    colours: fc.uniqueArray(fc.constantFrom('red', 'blue', 'green'), { maxLength: 3 }),
    act: fc.constantFrom('put', 'remove', 'replace', 'learn', 'unlearn'),
  })
  fc.assert(
    fc.property(fc.array(toys, { maxLength: 30 }), story => {
      const { cache } = aCache()
      for (const [at, { name, colours, act }] of story.entries()) {
        const toy = aToy(name, at + 1, { colours })
        if (act === 'replace') cache.replace([toy], String(at + 1))
        else if (act === 'unlearn') cache.unlearn(keyOf(toy), cache.get(keyOf(toy)))
        else cache[act as 'put' | 'remove' | 'learn'](toy)
        for (const colour of ['red', 'blue', 'green']) {
          const searched = [...cache.values()].filter(one => one.colours?.includes(colour))
          expect(new Set(namesOf(cache.byIndex('colour', colour)))).toEqual(new Set(namesOf(searched)))
        }
      }
    }),
  )
})
