// Four ways to change a part of an object, and what each refuses.

import { describe, expect } from 'vitest'
import { applyPatch, jsonPatch, mergePatch, strategicPatch } from './client.ts'
import { configMap, configMaps, conforms, customKind, namespace, namespaceForPods, ok, pod, server } from './world.ts'

async function one(data: Record<string, string> = { a: '1', b: '2' }): Promise<string> {
  const ns = await namespace()
  ok(await server.create(configMaps(ns), configMap('one', data)))
  return `${configMaps(ns)}/one`
}

describe('JSON patch', () => {
  conforms('adds, replaces, removes, moves, copies and tests', async () => {
    const path = await one()
    const answer = await server.patch(path, jsonPatch, [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'add', path: '/data/c', value: '3' },
      { op: 'replace', path: '/data/a', value: 'new' },
      { op: 'move', from: '/data/b', path: '/data/moved' },
      { op: 'copy', from: '/data/c', path: '/data/with~1slash' },
    ])
    // A key with a slash is no legal key of a config map; the patch itself worked.
    expect(answer.code).toBe(422)
    const fine = ok(
      await server.patch(path, jsonPatch, [
        { op: 'add', path: '/data/c', value: '3' },
        { op: 'move', from: '/data/b', path: '/data/moved' },
        { op: 'copy', from: '/data/c', path: '/data/copied' },
        { op: 'remove', path: '/data/a' },
      ]),
    )
    expect(fine.data).toEqual({ c: '3', moved: '2', copied: '3' })
  })

  conforms('does nothing at all when a test fails', async () => {
    const path = await one()
    const answer = await server.patch(path, jsonPatch, [
      { op: 'replace', path: '/data/a', value: 'new' },
      { op: 'test', path: '/data/b', value: 'wrong' },
    ])
    expect(answer.code).toBe(422)
    expect(answer.body.reason).toBe('Invalid')
    expect(answer.body.message).toContain('the server rejected our request due to an error in our request')
    expect(ok(await server.get(path)).data).toEqual({ a: '1', b: '2' })
  })

  conforms('refuses to remove what is not there', async () => {
    const path = await one()
    const answer = await server.patch(path, jsonPatch, [{ op: 'remove', path: '/data/none' }])
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('the server rejected our request due to an error in our request')
  })

  conforms('refuses a body that is no patch', async () => {
    const path = await one()
    expect((await server.patch(path, jsonPatch, { op: 'add' })).code).toBe(400)
    expect((await server.patch(path, jsonPatch, '[{"op":')).code).toBe(400)
  })

  conforms('refuses more than ten thousand steps', async () => {
    const path = await one()
    const steps = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' }))
    const answer = await server.patch(path, jsonPatch, steps)
    expect(answer.code).toBe(413)
    expect(answer.body).toMatchObject({
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    })
  })
})

describe('merge patch', () => {
  conforms('merges objects, replaces lists and removes nulls', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one', { spec: { a: { x: 1, y: 2 }, list: [1, 2], gone: true } })))
    const after = ok(await server.merge(`${kind.at()}/one`, { spec: { a: { y: 3 }, list: [9], gone: null } }))
    expect(after.spec).toEqual({ a: { x: 1, y: 3 }, list: [9] })
  })

  conforms('that changes nothing keeps the version', async () => {
    const path = await one()
    const before = ok(await server.get(path))
    const after = ok(await server.merge(path, { data: { a: '1' } }))
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
  })

  conforms('with an outdated resourceVersion is a conflict', async () => {
    const path = await one()
    const before = ok(await server.get(path))
    ok(await server.merge(path, { data: { a: 'newer' } }))
    const answer = await server.merge(path, {
      metadata: { resourceVersion: before.metadata.resourceVersion },
      data: { a: 'late' },
    })
    expect(answer.code).toBe(409)
    expect(answer.body.message).toBe(
      'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again',
    )
  })

  conforms('may not change name or uid', async () => {
    const path = await one()
    const name = await server.merge(path, { metadata: { name: 'two' } })
    expect(name.code).toBe(400)
    expect(name.body.message).toBe('the name of the object (two) does not match the name on the URL (one)')
    const uid = await server.merge(path, { metadata: { uid: 'other' } })
    expect(uid.code).toBe(422)
    expect(uid.body.message).toBe(
      'ConfigMap "one" is invalid: metadata.uid: Invalid value: "other": field is immutable',
    )
  })

  conforms('of nothing answers 404', async () => {
    const ns = await namespace()
    const answer = await server.merge(`${configMaps(ns)}/none`, { data: {} })
    expect(answer.code).toBe(404)
    expect(answer.body.message).toBe('configmaps "none" not found')
  })

  conforms('refuses a body that is not JSON', async () => {
    const path = await one()
    const answer = await server.patch(path, mergePatch, '{"data":')
    expect(answer.code).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
  })

  conforms('refuses a value of the wrong type with its path', async () => {
    const path = await one()
    const answer = await server.merge(path, { data: { a: 5 } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('cannot unmarshal number into Go struct field ConfigMap.data of type string')
  })
})

describe('strategic merge patch', () => {
  conforms('merges lists by their keys', async () => {
    const ns = await namespaceForPods()
    const pods = `/api/v1/namespaces/${ns}/pods`
    ok(
      await server.create(
        pods,
        pod('one', {
          containers: [
            { name: 'a', image: 'a:1' },
            { name: 'b', image: 'b:1' },
          ],
        }),
      ),
    )
    const after = ok(
      await server.patch(`${pods}/one`, strategicPatch, { spec: { containers: [{ name: 'b', image: 'b:2' }] } }),
    )
    expect(after.spec.containers).toMatchObject([
      { name: 'a', image: 'a:1' },
      { name: 'b', image: 'b:2' },
    ])
  })

  conforms('understands $patch: delete and $setElementOrder', async () => {
    const ns = await namespace()
    const path = `/api/v1/namespaces/${ns}/services`
    const ports = [
      { name: 'a', port: 1 },
      { name: 'b', port: 2 },
      { name: 'c', port: 3 },
    ]
    ok(await server.create(path, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'one' }, spec: { ports } }))
    const removed = ok(
      await server.patch(`${path}/one`, strategicPatch, { spec: { ports: [{ port: 2, $patch: 'delete' }] } }),
    )
    expect(removed.spec.ports).toMatchObject([{ name: 'a' }, { name: 'c' }])
    const ordered = ok(
      await server.patch(`${path}/one`, strategicPatch, {
        spec: { '$setElementOrder/ports': [{ port: 3 }, { port: 1 }], ports: [{ port: 1, name: 'z' }] },
      }),
    )
    expect(ordered.spec.ports).toMatchObject([{ port: 3 }, { port: 1, name: 'z' }])
  })

  conforms('replaces a map with $patch: replace', async () => {
    const path = await one()
    const after = ok(await server.patch(path, strategicPatch, { data: { $patch: 'replace', only: 'this' } }))
    expect(after.data).toEqual({ only: 'this' })
  })

  conforms('removes finalizers with $deleteFromPrimitiveList', async () => {
    const ns = await namespace()
    const finalizers = ['example.com/a', 'example.com/b']
    ok(await server.create(configMaps(ns), configMap('one', {}, { finalizers })))
    const after = ok(
      await server.patch(`${configMaps(ns)}/one`, strategicPatch, {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] },
      }),
    )
    expect(after.metadata.finalizers).toEqual(['example.com/b'])
  })

  conforms('is not for custom kinds', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    const answer = await server.patch(`${kind.at()}/one`, strategicPatch, { spec: { a: 1 } })
    expect(answer.code).toBe(415)
    expect(answer.body).toMatchObject({
      reason: 'UnsupportedMediaType',
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    })
  })
})

describe('any patch', () => {
  for (const type of ['application/json', 'text/plain', 'application/apply-patch+json']) {
    conforms(`of type ${type} is refused with 415`, async () => {
      const path = await one()
      const answer = await server.patch(path, type, { data: {} })
      expect(answer.code).toBe(415)
      expect(answer.body.reason).toBe('UnsupportedMediaType')
      expect(answer.body.message).toBe('415: Unsupported Media Type')
    })
  }

  conforms('that applies needs a field manager', async () => {
    const path = await one()
    const answer = await server.patch(path, applyPatch, configMap('one'))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )
  })

  conforms('that does not apply may not be forced', async () => {
    const path = await one()
    const answer = await server.patch(`${path}?force=true`, mergePatch, { data: {} })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('force: Forbidden: may not be specified for non-apply patch')
  })
})
