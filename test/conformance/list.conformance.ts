// Lists: selectors, pages that stay true while others write, and the revision that a list shows.

import { describe, expect } from 'vitest'
import { configMap, configMaps, conforms, customKind, eventually, namespace, ok, server } from './world.ts'

const named = (body: { items: { metadata: { name: string } }[] }): string[] =>
  body.items.map(item => item.metadata.name)

async function ten(): Promise<string> {
  const ns = await namespace()
  const names = Array.from({ length: 10 }, (_, i) => `n${i}`)
  await Promise.all(
    names.map(async (name, i) => {
      const labels = { parity: i % 2 === 0 ? 'even' : 'odd', number: `${i}`, ...(i > 7 && { big: '' }) }
      ok(await server.create(configMaps(ns), configMap(name, {}, { labels })))
    }),
  )
  return `${configMaps(ns)}?fieldSelector=metadata.name%21%3Dkube-root-ca.crt`
}

describe('list', () => {
  conforms('answers a list of the kind, ordered by name, with a version of its own', async () => {
    const path = await ten()
    const answer = await server.get(path)
    expect(answer.code).toBe(200)
    expect(answer.body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMapList' })
    expect(answer.body.metadata.resourceVersion).toMatch(/^[1-9]\d*$/)
    expect(named(answer.body)).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9'])
    expect(answer.body.items[0]?.kind).toBeUndefined()
  })

  conforms('of custom objects keeps kind and apiVersion on every item', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    const list = ok(await server.get(kind.at()))
    expect(list.items[0]).toMatchObject({ apiVersion: kind.apiVersion, kind: 'Widget' })
  })

  conforms('without anything in it has an empty array of items', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    expect(ok(await server.get(kind.at())).items).toEqual([])
    expect(ok(await server.get('/api/v1/namespaces/no-such-namespace/secrets')).items).toEqual([])
  })

  conforms('orders namespaces before names when it spans them', async () => {
    const kind = await customKind()
    const [a, b] = [await namespace(), await namespace()].toSorted()
    for (const ns of [b, a]) for (const name of ['y', 'x']) ok(await server.create(kind.at(ns), kind.object(name)))
    const list = ok(await server.get(`/apis/${kind.group}/v1/${kind.plural}`))
    expect(list.items.map(item => `${item.metadata.namespace}/${item.metadata.name}`)).toEqual([
      `${a}/x`,
      `${a}/y`,
      `${b}/x`,
      `${b}/y`,
    ])
  })

  for (const [selector, expected] of [
    ['parity=even', ['n0', 'n2', 'n4', 'n6', 'n8']],
    ['parity==odd,number!=1', ['n3', 'n5', 'n7', 'n9']],
    ['number in (1, 2,3)', ['n1', 'n2', 'n3']],
    ['number notin (0,1,2,3,4,5,6,7)', ['n8', 'n9']],
    ['big', ['n8', 'n9']],
    ['!big,parity=even', ['n0', 'n2', 'n4', 'n6']],
    ['big=', ['n8', 'n9']],
    ['number>7', ['n8', 'n9']],
    ['number<2', ['n0', 'n1']],
    ['nothing!=x,number=5', ['n5']],
  ] as const) {
    conforms(`understands the label selector ${selector}`, async () => {
      const path = await ten()
      expect(named(ok(await server.get(`${path}&labelSelector=${encodeURIComponent(selector)}`)))).toEqual(expected)
    })
  }

  conforms('explains a label selector it cannot read', async () => {
    const ns = await namespace()
    const answer = await server.get(`${configMaps(ns)}?labelSelector=${encodeURIComponent('a in (b')}`)
    expect(answer.code).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
    expect(answer.body.message).toContain('unable to parse requirement')
  })

  conforms('selects by name and namespace fields', async () => {
    const path = (await ten()).split('?')[0] ?? ''
    expect(named(ok(await server.get(`${path}?fieldSelector=metadata.name%3Dn3`)))).toEqual(['n3'])
    expect(named(ok(await server.get(`${path}?fieldSelector=metadata.namespace%3Delsewhere`)))).toEqual([])
  })

  conforms('refuses a field selector it does not know', async () => {
    const ns = await namespace()
    const answer = await server.get(`${configMaps(ns)}?fieldSelector=data.x%3Dy`)
    expect(answer.code).toBe(400)
    expect(answer.body).toMatchObject({
      reason: 'BadRequest',
      message: '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    })
  })

  conforms('selects pods by node and phase', async () => {
    const list = await server.get('/api/v1/pods?fieldSelector=spec.nodeName%3Dnone-such%2Cstatus.phase%3DRunning')
    expect(list.code).toBe(200)
    expect(list.body.items).toEqual([])
  })

  conforms('gives pages that continue exactly, and counts what remains', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    for (let i = 0; i < 7; i++) ok(await server.create(kind.at(), kind.object(`n${i}`)))
    const first = ok(await server.get(`${kind.at()}?limit=3`))
    expect(named(first)).toEqual(['n0', 'n1', 'n2'])
    expect(first.metadata.remainingItemCount).toBe(4)
    const second = ok(await server.get(`${kind.at()}?limit=3&continue=${encodeURIComponent(first.metadata.continue)}`))
    expect(named(second)).toEqual(['n3', 'n4', 'n5'])
    expect(second.metadata.remainingItemCount).toBe(1)
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const third = ok(await server.get(`${kind.at()}?limit=3&continue=${encodeURIComponent(second.metadata.continue)}`))
    expect(named(third)).toEqual(['n6'])
    expect(third.metadata.continue ?? '').toBe('')
    expect(third.metadata.remainingItemCount).toBeUndefined()
  })

  conforms('keeps later pages as they were when the first was read', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    for (let i = 0; i < 6; i++) ok(await server.create(kind.at(), kind.object(`n${i}`)))
    const first = ok(await server.get(`${kind.at()}?limit=2`))
    ok(await server.create(kind.at(), kind.object('n2a')))
    ok(await server.delete(`${kind.at()}/n4`))
    ok(await server.merge(`${kind.at()}/n5`, { metadata: { labels: { changed: 'yes' } } }))
    const rest = ok(await server.get(`${kind.at()}?continue=${encodeURIComponent(first.metadata.continue)}`))
    expect(named(rest)).toEqual(['n2', 'n3', 'n4', 'n5'])
    expect(rest.items[3]?.metadata.labels).toBeUndefined()
  })

  conforms('does not guess what remains when a selector filters', async () => {
    const path = await ten()
    const first = ok(await server.get(`${path}&labelSelector=parity%3Deven&limit=2`))
    expect(named(first)).toEqual(['n0', 'n2'])
    expect(first.metadata.remainingItemCount).toBeUndefined()
    const rest = ok(
      await server.get(`${path}&labelSelector=parity%3Deven&continue=${encodeURIComponent(first.metadata.continue)}`),
    )
    expect(named(rest)).toEqual(['n4', 'n6', 'n8'])
  })

  for (const token of ['garbage', Buffer.from('{"v":"v9","rv":5,"start":"x"}').toString('base64url'), 'e30']) {
    conforms(`refuses the continue token ${token.slice(0, 12)}`, async () => {
      const ns = await namespace()
      const answer = await server.get(`${configMaps(ns)}?limit=2&continue=${token}`)
      expect(answer.code).toBe(400)
      expect(answer.body.reason).toBe('BadRequest')
      expect(answer.body.message).toMatch(/^invalid continue token: continue key is not valid: /)
    })
  }

  conforms('refuses a continue token that leads out of the collection', async () => {
    const kind = await customKind()
    const [a, b] = [await namespace(), await namespace()].toSorted()
    for (const ns of [a, b]) for (const name of ['x', 'y']) ok(await server.create(kind.at(ns), kind.object(name)))
    const first = ok(await server.get(`${kind.at(a)}?limit=1`))
    const parts = Buffer.from(first.metadata.continue, 'base64url').toString('utf8')
    const forged = Buffer.from(parts.replace(/"start":"[^"]*"/, '"start":"../../secrets/"')).toString('base64url')
    const answer = await server.get(`${kind.at(a)}?limit=1&continue=${forged}`)
    expect(answer.code).toBe(400)
  })

  conforms('refuses continue together with a resourceVersion', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    for (let i = 0; i < 3; i++) ok(await server.create(kind.at(), kind.object(`n${i}`)))
    const first = ok(await server.get(`${kind.at()}?limit=1`))
    const answer = await server.get(
      `${kind.at()}?limit=1&resourceVersion=5&continue=${encodeURIComponent(first.metadata.continue)}`,
    )
    expect(answer.code).toBe(400)
    expect(answer.body.message).toBe('specifying resource version is not allowed when using continue')
  })

  conforms('answers 410 to a continue token whose revision is compacted, with a fresh token', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    for (let i = 0; i < 3; i++) ok(await server.create(kind.at(), kind.object(`n${i}`)))
    const first = ok(await server.get(`${kind.at()}?limit=1`))
    const answer = await eventually(async () => {
      ok(await server.merge(`${kind.at()}/n0`, { spec: { at: Date.now() } }))
      const late = await server.get(`${kind.at()}?limit=1&continue=${encodeURIComponent(first.metadata.continue)}`)
      expect(late.code).toBe(410)
      return late
    }, 55_000)
    expect(answer.body).toMatchObject({
      reason: 'Expired',
      message: expect.stringContaining('The provided continue parameter is too old'),
    })
    const fresh = ok(await server.get(`${kind.at()}?continue=${encodeURIComponent(answer.body.metadata.continue)}`))
    expect(named(fresh)).toEqual(['n1', 'n2'])
  })

  conforms('at version 0 answers what it has', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    await eventually(async () => expect(named(ok(await server.get(`${kind.at()}?resourceVersion=0`)))).toEqual(['one']))
  })

  conforms('at an exact version shows the past', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    const then = ok(await server.get(kind.at())).metadata.resourceVersion
    ok(await server.create(kind.at(), kind.object('two')))
    ok(await server.delete(`${kind.at()}/one`))
    const past = ok(await server.get(`${kind.at()}?resourceVersion=${then}&resourceVersionMatch=Exact`))
    expect(named(past)).toEqual(['one'])
    expect(past.metadata.resourceVersion).toBe(then)
    const newer = ok(await server.get(`${kind.at()}?resourceVersion=${then}&resourceVersionMatch=NotOlderThan`))
    expect(Number(newer.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(then))
  })

  conforms('at a version of the future says so', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const answer = await server.get(`${kind.at()}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`)
    expect(answer.code).toBe(504)
    expect(answer.body.reason).toBe('Timeout')
    expect(answer.body.message).toContain('Too large resource version: 999999999, current: ')
    expect(answer.body.details.causes?.[0]).toMatchObject({ reason: 'ResourceVersionTooLarge' })
  })

  for (const [query, message] of [
    [
      'resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      'resourceVersion=0&resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      'resourceVersion=5&resourceVersionMatch=Odd',
      'resourceVersionMatch: Unsupported value: "Odd": supported values: "Exact", "NotOlderThan", ""',
    ],
  ] as const) {
    conforms(`refuses ${query}`, async () => {
      const ns = await namespace()
      const answer = await server.get(`${configMaps(ns)}?${query}`)
      expect(answer.code).toBe(422)
      expect(answer.body.message).toBe(`ListOptions.meta.k8s.io "" is invalid: ${message}`)
    })
  }

  conforms('refuses a resourceVersion that is no number', async () => {
    const ns = await namespace()
    const answer = await server.get(`${configMaps(ns)}?resourceVersion=abc`)
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('Invalid value: "abc"')
  })

  conforms('of one object at version 0 answers it', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    await eventually(async () => ok(await server.get(`${configMaps(ns)}/one?resourceVersion=0`)))
  })
})

describe('other representations', () => {
  conforms('answers a table with columns and rows', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one', { a: '1', b: '2' })))
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
    const answer = await server.get(`${configMaps(ns)}?fieldSelector=metadata.name%3Done`, { accept })
    expect(answer.code).toBe(200)
    expect(answer.body).toMatchObject({ apiVersion: 'meta.k8s.io/v1', kind: 'Table' })
    expect(answer.body.columnDefinitions.map(column => column.name)).toEqual(['Name', 'Data', 'Age'])
    expect(answer.body.columnDefinitions[0]).toMatchObject({ type: 'string', format: 'name', priority: 0 })
    expect(answer.body.rows).toHaveLength(1)
    expect(answer.body.rows[0]?.cells.slice(0, 2)).toEqual(['one', 2])
    expect(answer.body.rows[0]?.object).toMatchObject({
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadata',
      metadata: { name: 'one' },
    })
  })

  conforms('answers a table of one object, with whole objects or none on request', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const whole = ok(await server.get(`${configMaps(ns)}/one?includeObject=Object`, { accept }))
    expect(whole.rows[0]?.object).toMatchObject({ kind: 'ConfigMap', data: { a: '1' } })
    const none = ok(await server.get(`${configMaps(ns)}/one?includeObject=None`, { accept }))
    expect(none.rows[0]?.object ?? null).toBeNull()
    const odd = await server.get(`${configMaps(ns)}/one?includeObject=Some`, { accept })
    expect(odd.code).toBe(400)
    expect(odd.body.message).toContain(
      `includeObject: Invalid value: "Some": must be 'Metadata', 'Object', 'None', or empty`,
    )
  })

  conforms('answers metadata alone', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one', { a: '1' }, { labels: { x: 'y' } })))
    const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
    const one = ok(await server.get(`${configMaps(ns)}/one`, { accept }))
    expect(one).toEqual({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: made.metadata })
    const listAccept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    const list = ok(await server.get(`${configMaps(ns)}?labelSelector=x`, { accept: listAccept }))
    expect(list).toMatchObject({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' })
    expect(list.items).toHaveLength(1)
    expect(list.items[0]?.metadata).toEqual(made.metadata)
    expect(list.items[0]?.data).toBeUndefined()
  })

  conforms('answers 406 to representations it does not have', async () => {
    const ns = await namespace()
    const answer = await server.get(configMaps(ns), { accept: 'text/html' })
    expect(answer.code).toBe(406)
    expect(answer.body).toMatchObject({
      reason: 'NotAcceptable',
      message: expect.stringContaining('Available representations: application/json'),
    })
    expect((await server.get(configMaps(ns), { accept: 'application/json;as=Poem;v=v1;g=meta.k8s.io' })).code).toBe(406)
  })

  conforms('answers JSON to clients that accept anything or send no Accept header', async () => {
    const ns = await namespace()
    for (const accept of [
      '*/*',
      'text/html;q=0.1,*/*;q=0.2',
      'application/json;as=Table;v=v9;g=meta.k8s.io,application/json',
    ]) {
      const answer = await server.get(configMaps(ns), { accept })
      expect(answer.code).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json')
    }
  })

  conforms('answers YAML when asked', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    const answer = await server.get(`${configMaps(ns)}/one`, { accept: 'application/yaml' })
    expect(answer.code).toBe(200)
    expect(answer.headers['content-type']).toBe('application/yaml')
    expect(answer.text).toContain('kind: ConfigMap\n')
    expect(answer.text).toContain('a: "1"')
  })

  conforms('answers protobuf for built-in kinds, and JSON for custom ones to clients that take both', async () => {
    const protobuf = 'application/vnd.kubernetes.protobuf'
    const builtIn = await server.get('/api/v1/namespaces/default', { accept: protobuf })
    expect(builtIn.code).toBe(200)
    expect(builtIn.headers['content-type']).toBe(protobuf)
    expect(builtIn.text.startsWith('k8s\u0000')).toBe(true)
    const kind = await customKind({ scope: 'Cluster' })
    const custom = await server.get(kind.at(), { accept: `${protobuf},application/json` })
    expect(custom.code).toBe(200)
    expect(custom.headers['content-type']).toBe('application/json')
    expect((await server.get(kind.at(), { accept: protobuf })).code).toBe(406)
  })

  conforms('compresses a long answer for clients that accept it', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one', { long: 'x'.repeat(300_000) })))
    const answer = await server.get(`${configMaps(ns)}/one`, { headers: { 'accept-encoding': 'gzip' } })
    expect(answer.code).toBe(200)
    expect(answer.headers['content-encoding']).toBe('gzip')
    expect(Number(answer.text.length)).toBeLessThan(100_000)
    const plain = await server.get(`${configMaps(ns)}/one`)
    expect(plain.headers['content-encoding']).toBeUndefined()
  })
})
