// Many clients at once: exactly one of them wins where only one may, and no client's write is lost where all may.

import { describe, expect } from 'vitest'
import { mergePatch } from './client.ts'
import { configMap, configMaps, conforms, customKind, namespace, ok, server } from './world.ts'

const many = Array.from({ length: 30 }, (_, i) => i)

const count = (codes: number[], code: number): number => codes.filter(one => one === code).length

describe('races', () => {
  conforms('let exactly one of many creates of a name win', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const answers = await Promise.all(many.map(i => server.create(kind.at(), kind.object('one', { spec: { by: i } }))))
    const codes = answers.map(answer => answer.code)
    expect(count(codes, 201)).toBe(1)
    expect(count(codes, 409)).toBe(many.length - 1)
    const winner = answers.find(answer => answer.code === 201)
    expect(ok(await server.get(`${kind.at()}/one`))).toEqual(winner?.body)
  })

  conforms('let exactly one of many updates of a version win', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one')))
    const answers = await Promise.all(
      many.map(i => server.update(`${configMaps(ns)}/one`, { ...made, data: { by: `${i}` } })),
    )
    const codes = answers.map(answer => answer.code)
    expect(count(codes, 200)).toBe(1)
    expect(count(codes, 409)).toBe(many.length - 1)
  })

  conforms('lose none of many patches to different fields', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const answers = await Promise.all(
      many.map(i => server.patch(`${configMaps(ns)}/one`, mergePatch, { data: { [`k${i}`]: `${i}` } })),
    )
    expect(answers.map(answer => answer.code)).toEqual(many.map(() => 200))
    const { data } = ok(await server.get(`${configMaps(ns)}/one`))
    expect(Object.keys(data)).toHaveLength(many.length)
  })

  conforms('let exactly one of many deletes find the object', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    const codes = (await Promise.all(many.map(() => server.delete(`${kind.at()}/one`)))).map(answer => answer.code)
    expect(count(codes, 200)).toBeGreaterThanOrEqual(1)
    expect(count(codes, 200) + count(codes, 404) + count(codes, 409)).toBe(many.length)
    expect((await server.get(`${kind.at()}/one`)).code).toBe(404)
  })

  conforms('never delete another incarnation under a uid', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const first = ok(await server.create(kind.at(), kind.object('one')))
    const guarded = { preconditions: { uid: first.metadata.uid } }
    ok(await server.delete(`${kind.at()}/one`))
    const second = ok(await server.create(kind.at(), kind.object('one')))
    const codes = (await Promise.all(many.map(() => server.delete(`${kind.at()}/one`, guarded)))).map(one => one.code)
    expect(new Set(codes)).toEqual(new Set([409]))
    expect(ok(await server.get(`${kind.at()}/one`)).metadata.uid).toBe(second.metadata.uid)
  })

  conforms('show every reader its own writes', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    await Promise.all(
      many.map(async i => {
        const made = ok(await server.create(kind.at(), kind.object(`n${i}`, { spec: { v: 1 } })))
        expect(ok(await server.get(`${kind.at()}/n${i}`))).toEqual(made)
        const list = ok(await server.get(kind.at()))
        expect(list.items.some(item => item.metadata.name === `n${i}`)).toBe(true)
        expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(made.metadata.resourceVersion))
      }),
    )
  })
})
