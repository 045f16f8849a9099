import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answerConversionReview, type Conversion } from './conversion.ts'

/** Boats say their length in feet, and since v2 in metres. */
const boats: Conversion = {
  group: 'sea.example',
  kinds: ['Boat'],
  convert({ length, ...boat }, wanted) {
    if (wanted !== 'sea.example/v2') return undefined
    if (length === 'broken') throw new Error('broken')
    return typeof length === 'number'
      ? { ...boat, apiVersion: wanted, length: length * 0.3 }
      : { malformed: 'no length' }
  },
}

const boat = { apiVersion: 'sea.example/v1', kind: 'Boat', length: 10 }

async function convert(request: object | string, errors: unknown[] = []) {
  const body = typeof request === 'string' ? request : JSON.stringify({ kind: 'ConversionReview', request })
  const onError = (error: unknown) => errors.push(error)
  return JSON.parse(await answerConversionReview(body, { conversions: [boats], onError })).response
}

describe('a ConversionReview', () => {
  test('is answered with its uid and with the objects in their order', async () => {
    const same = { ...boat, apiVersion: 'sea.example/v2', length: 7 }
    expect(await convert({ uid: 'c-1', desiredAPIVersion: 'sea.example/v2', objects: [same, boat] })).toEqual({
      uid: 'c-1',
      convertedObjects: [same, { ...boat, apiVersion: 'sea.example/v2', length: 3 }],
      result: { status: 'Success' },
    })
  })

  test.each<[string, object, string]>([
    ['another kind', { ...boat, kind: 'Raft' }, '"Raft" is not converted from "sea.example/v1" to "sea.example/v2"'],
    ['another group', { ...boat, apiVersion: 'land.example/v1' }, '"Boat" is not converted from "land.example/v1"'],
    ['an object that its conversion refuses', { ...boat, length: 'long' }, 'no length'],
  ])('fails as a whole for %s', async (_, object, message) => {
    const response = await convert({ uid: 'c-1', desiredAPIVersion: 'sea.example/v2', objects: [boat, object] })
    expect(response).toMatchObject({ uid: 'c-1', convertedObjects: [], result: { status: 'Failure' } })
    expect(response.result.message).toContain(message)
  })

  test('fails where the versions do not lead to each other, and where the conversion does', async () => {
    const errors: unknown[] = []
    const back = { desiredAPIVersion: 'sea.example/v1', objects: [{ ...boat, apiVersion: 'sea.example/v2' }] }
    expect((await convert(back, errors)).result.message).toContain('is not converted')
    const broken = { desiredAPIVersion: 'sea.example/v2', objects: [{ ...boat, length: 'broken' }] }
    expect((await convert(broken, errors)).result).toMatchObject({ status: 'Failure' })
    expect(errors).toEqual([new Error('broken')])
  })

  test('of anything is answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async body => {
        expect((await convert(body)).result.status).toBe('Failure')
      }),
    )
  })

  test('of an object whose kind is no text is refused as any other, and is no fault of ours', async () => {
    const errors: unknown[] = []
    const objects = [{ kind: { toString: 1 }, apiVersion: { toString: 1 } }]
    const { result } = await convert({ desiredAPIVersion: 'sea.example/v2', objects }, errors)
    expect(result.message).toBe('"" is not converted from "" to "sea.example/v2"')
    expect(errors).toEqual([])
  })

  test('of many objects lets other work of the process be done in between', async () => {
    const slow: Conversion = {
      ...boats,
      convert(object, wanted) {
        const end = performance.now() + 2
        while (performance.now() < end);
        return { ...object, apiVersion: wanted }
      },
    }
    let turns = 0
    const turning = setInterval(() => turns++, 0)
    const request = { desiredAPIVersion: 'sea.example/v2', objects: Array.from({ length: 50 }, () => boat) }
    const text = await answerConversionReview(JSON.stringify({ request }), { conversions: [slow], onError: () => {} })
    clearInterval(turning)
    expect(JSON.parse(text).response.convertedObjects).toHaveLength(50)
    expect(turns).toBeGreaterThan(3)
  })
})
