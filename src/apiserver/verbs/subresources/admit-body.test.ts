import { describe, expect, test } from 'vitest'
import { ok } from '../../../../test/harness/client.ts'
import { aPod, aWidget, define, namespaces, pods, widgets } from '../../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../../test/harness/world.ts'
import type { AdmissionRequest } from '../../call.ts'
import type { KubeObject } from '../../object.ts'

interface Seen {
  readonly mutating: AdmissionRequest[]
  readonly validating: AdmissionRequest[]
}

/** What admission is asked from now on; `change` is what a mutating webhook makes of an object. */
function asked({ server }: World, change: (object: KubeObject) => KubeObject = object => object): Seen {
  const { admission } = server.world
  const mutate = admission.mutate.bind(admission)
  const validate = admission.validate.bind(admission)
  const seen: Seen = { mutating: [], validating: [] }
  const watching: typeof admission = {
    mutate: async request => {
      seen.mutating.push(structuredClone({ ...request, call: null }) as unknown as AdmissionRequest)
      await mutate(request)
      return request.object && change(request.object)
    },
    validate: async request => {
      seen.validating.push(structuredClone({ ...request, call: null }) as unknown as AdmissionRequest)
      return validate(request)
    },
  }
  Object.assign(admission, watching)
  return seen
}

describe('admission is shown', () => {
  test('a Binding, and the pod goes where a webhook sends it', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one', {}, { labels: { app: 'x' } })))
    const seen = asked(world, object => ({ ...object, target: { kind: 'Node', name: 'second' } }))
    const metadata = { name: 'one', labels: { zone: 'z' } }
    ok(await world.admin.create(`${pods()}/one/binding`, { metadata, target: { kind: 'Node', name: 'first' } }))
    expect(seen.mutating).toMatchObject([
      {
        operation: 'CREATE',
        object: { kind: 'Binding', target: { name: 'first' } },
        options: { kind: 'CreateOptions' },
      },
    ])
    expect(seen.validating).toMatchObject([{ operation: 'CREATE', object: { target: { name: 'second' } } }])
    const pod = ok(await world.admin.get(`${pods()}/one`))
    expect(pod).toMatchObject({ spec: { nodeName: 'second' }, metadata: { labels: { app: 'x', zone: 'z' } } })
  })

  test('a TokenRequest with what it left out, and then with what the server fills in', async () => {
    const world = await aWorld()
    const seen = asked(world, object => ({ ...object, spec: { ...(object.spec as object), expirationSeconds: 1200 } }))
    const path = `${namespaces}/default/serviceaccounts/default/token`
    const granted = ok(await world.admin.create(path, { spec: {} }))
    expect(granted.spec).toMatchObject({ expirationSeconds: 1200 })
    expect(seen.mutating).toMatchObject([
      { object: { kind: 'TokenRequest', spec: { audiences: null, expirationSeconds: 3600 }, status: { token: '' } } },
    ])
    expect(seen.validating).toMatchObject([
      { object: { metadata: { name: 'default', uid: granted.metadata.uid }, spec: { expirationSeconds: 1200 } } },
    ])
    expect(seen.validating[0]?.object?.status).toEqual({ token: '', expirationTimestamp: null })
  })

  test('a Scale, before and after, and what a webhook makes of it is written', async () => {
    const world = await aWorld()
    const scale = { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' }
    await define(world, { subresources: { status: {}, scale } })
    ok(await world.admin.create(widgets(), aWidget('one', { count: 1 })))
    const seen = asked(world, object => (object.kind === 'Scale' ? { ...object, spec: { replicas: 4 } } : object))
    expect(ok(await world.admin.patch(`${widgets()}/one/scale`, { spec: { replicas: 2 } })).spec).toEqual({
      replicas: 4,
    })
    const oldObject = { kind: 'Scale', spec: { replicas: 1 } }
    const shown = { operation: 'UPDATE', oldObject, options: { kind: 'UpdateOptions' } }
    expect(seen.mutating).toMatchObject([{ ...shown, object: { kind: 'Scale', spec: { replicas: 2 } } }])
    expect(seen.validating).toMatchObject([{ ...shown, object: { kind: 'Scale', spec: { replicas: 4 } } }])
    expect(ok(await world.admin.get(`${widgets()}/one`)).spec).toEqual({ count: 4 })
  })

  test('a patch as an update, with only the options that the client gave', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('one')))
    const seen = asked(world)
    ok(await world.admin.patch(`${widgets()}/one`, { spec: { a: 1 } }))
    ok(await world.admin.patch(`${widgets()}/one?fieldManager=me&fieldValidation=Strict`, { spec: { a: 2 } }))
    const apiVersion = 'meta.k8s.io/v1'
    expect(seen.validating.map(({ options }) => options)).toEqual([
      { kind: 'UpdateOptions', apiVersion },
      { kind: 'UpdateOptions', apiVersion, fieldManager: 'me', fieldValidation: 'Strict' },
    ])
  })
})
