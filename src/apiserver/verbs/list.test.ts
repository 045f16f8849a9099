import { describe, expect, test } from 'vitest'
import { type Client, ok } from '../../../test/harness/client.ts'
import { aConfigMap, aWidget, configMaps, define, widgets } from '../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../test/harness/world.ts'

interface ListMeta {
  resourceVersion: string
  continue?: string
  remainingItemCount?: number
}

const names = (items: readonly { metadata: { name?: string } }[]) => items.map(item => item.metadata.name)

async function page(client: Client, path: string) {
  const body = ok(await client.get(path))
  return { names: names(body.items), meta: body.metadata as unknown as ListMeta }
}

async function aWorldOfNine(): Promise<World> {
  const world = await aWorld()
  await define(world)
  for (let i = 1; i <= 9; i++) {
    ok(await world.admin.create(widgets(), aWidget(`w${i}`, { i }, { labels: { odd: String(i % 2 === 1) } })))
  }
  return world
}

describe('listing', () => {
  test('pages show one moment, whatever is written between them', async () => {
    const world = await aWorldOfNine()
    const first = await page(world.admin, `${widgets()}?limit=4`)
    expect(first).toMatchObject({ names: ['w1', 'w2', 'w3', 'w4'], meta: { remainingItemCount: 5 } })
    ok(await world.admin.delete(`${widgets()}/w5`))
    ok(await world.admin.create(widgets(), aWidget('w41')))
    ok(await world.admin.patch(`${widgets()}/w6`, { spec: { i: 600 } }))
    const second = ok(await world.admin.get(`${widgets()}?limit=4&continue=${first.meta.continue}`))
    expect(names(second.items)).toEqual(['w5', 'w6', 'w7', 'w8'])
    expect(second.items[1]?.spec).toEqual({ i: 6 })
    expect(second.metadata.resourceVersion).toBe(first.meta.resourceVersion)
    const token = (second.metadata as unknown as ListMeta).continue
    const third = await page(world.admin, `${widgets()}?limit=4&continue=${token}`)
    expect(third.names).toEqual(['w9'])
    expect(third.meta.continue).toBe('')
  })

  test('pages under a selector are full pages and do not say how many follow', async () => {
    const world = await aWorldOfNine()
    const first = await page(world.admin, `${widgets()}?limit=2&labelSelector=odd%3Dtrue`)
    expect(first.names).toEqual(['w1', 'w3'])
    expect(first.meta.remainingItemCount).toBeUndefined()
    const second = await page(
      world.admin,
      `${widgets()}?limit=9&labelSelector=odd%3Dtrue&continue=${first.meta.continue}`,
    )
    expect(second.names).toEqual(['w5', 'w7', 'w9'])
  })

  test('a token whose moment is no longer kept is answered with 410 and a token to go on with', async () => {
    const world = await aWorldOfNine()
    const first = await page(world.admin, `${widgets()}?limit=4`)
    ok(await world.admin.create(widgets(), aWidget('w41')))
    await world.store.compact(world.store.revision)
    const refused = await world.admin.get(`${widgets()}?limit=4&continue=${first.meta.continue}`)
    expect(refused).toMatchObject({ code: 410, body: { reason: 'Expired' } })
    const token = (refused.body.metadata as unknown as ListMeta).continue
    const rest = await page(world.admin, `${widgets()}?continue=${token}`)
    expect(rest.names).toEqual(['w41', 'w5', 'w6', 'w7', 'w8', 'w9'])
    expect(Number(rest.meta.resourceVersion)).toBe(world.store.revision)
  })

  test('the past is shown as it was, and refused when it is gone', async () => {
    const world = await aWorldOfNine()
    const before = world.store.revision
    ok(await world.admin.delete(`${widgets()}/w1`))
    const asked = `${widgets()}?resourceVersion=${before}&resourceVersionMatch=Exact`
    expect((await page(world.admin, asked)).names).toHaveLength(9)
    await world.store.compact(world.store.revision)
    expect(await world.admin.get(asked)).toMatchObject({ code: 410, body: { reason: 'Expired' } })
  })

  test('the future is answered with 504, and says how far we are', async () => {
    const world = await aWorld()
    const reply = await world.admin.get(`${configMaps()}?resourceVersion=999999`)
    expect(reply).toMatchObject({ code: 504, body: { message: expect.stringContaining('Too large resource version') } })
  })

  test('of an empty collection has items, and a version to watch from', async () => {
    const world = await aWorld()
    await define(world)
    const body = ok(await world.admin.get(widgets()))
    expect(body).toMatchObject({ kind: 'WidgetList', apiVersion: 'example.com/v1', items: [] })
    expect(body.metadata.resourceVersion).toBe(String(world.store.revision))
  })

  test('one namespace does not see another, nor one whose name begins the same', async () => {
    const world = await aWorld()
    for (const name of ['team', 'team-b']) {
      ok(await world.admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
      ok(await world.admin.create(configMaps(name), aConfigMap(`of-${name}`)))
    }
    const mine = await page(world.admin, `${configMaps('team')}?fieldSelector=metadata.name!%3Dkube-root-ca.crt`)
    expect(mine.names).toEqual(['of-team'])
    const all = ok(await world.admin.get('/api/v1/configmaps'))
    expect(names(all.items)).toEqual(expect.arrayContaining(['of-team', 'of-team-b']))
  })

  test('items of built-in lists do not repeat kind and version, custom ones do', async () => {
    const world = await aWorldOfNine()
    expect(ok(await world.admin.get(widgets())).items[0]).toMatchObject({
      kind: 'Widget',
      apiVersion: 'example.com/v1',
    })
    expect(ok(await world.admin.get(configMaps())).items[0]).not.toHaveProperty('kind')
  })
})

describe('a continue token', () => {
  const token = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const v = 'meta.k8s.io/v1'
  test.each([
    ['nothing readable', 'x'],
    ['JSON that is no object', token(null)],
    ['another format', token({ v: 'meta.k8s.io/v2', rv: 1, start: 'a' })],
    ['a format that is no text', token({ v: { toString: 1 }, rv: 1, start: 'a\u0000' })],
    ['no version', token({ v, start: 'a\u0000' })],
    ['version zero', token({ v, rv: 0, start: 'a\u0000' })],
    ['a fraction', token({ v, rv: 1.5, start: 'a\u0000' })],
    ['no place', token({ v, rv: 1 })],
    ['a place outside', token({ v, rv: 1, start: '../secrets/a\u0000' })],
    ['the future', token({ v, rv: 9_000_000, start: 'a\u0000' })],
  ])('that says %s is refused', async (_, forged) => {
    const world = await aWorld()
    const reply = await world.admin.get(`${configMaps()}?limit=1&continue=${forged}`)
    expect(reply).toMatchObject({ code: 400, body: { reason: 'BadRequest' } })
    expect(world.faults).toEqual([])
  })

  test('of one namespace opens no other', async () => {
    const world = await aWorld()
    for (const name of ['a', 'b']) ok(await world.admin.create(configMaps(), aConfigMap(name)))
    ok(await world.admin.create(configMaps('kube-system'), aConfigMap('hidden')))
    const first = await page(world.admin, `${configMaps()}?limit=1`)
    const stolen = await page(world.admin, `${configMaps('kube-public')}?continue=${first.meta.continue}`)
    expect(stolen.names).toEqual(['kube-root-ca.crt'])
  })
})
