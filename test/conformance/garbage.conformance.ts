// What happens to the objects of an owner that goes away, and to everything in a namespace that does.

import { describe, expect } from 'vitest'
import type { Body } from './client.ts'
import {
  configMap,
  configMaps,
  conforms,
  customKind,
  eventually,
  namespace,
  namespaceForPods,
  ok,
  pod,
  server,
  unique,
} from './world.ts'

function owned(by: Body, more: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', name: by.metadata.name, uid: by.metadata.uid, ...more }
}

async function gone(path: string, withinMs = 120_000): Promise<void> {
  await eventually(async () => {
    const { code, body } = await server.get(path)
    // A namespace that does not end says why.
    expect(code, JSON.stringify(body.status)).toBe(404)
  }, withinMs)
}

describe.concurrent('garbage collection', () => {
  conforms('deletes dependents after their owner by default', async () => {
    const at = configMaps(await namespace())
    const owner = ok(await server.create(at, configMap('owner')))
    ok(await server.create(at, configMap('child', {}, { ownerReferences: [owned(owner)] })))
    ok(await server.delete(`${at}/owner`))
    await gone(`${at}/child`)
  })

  conforms('deletes dependents before their owner in the foreground', async () => {
    const at = configMaps(await namespace())
    const owner = ok(await server.create(at, configMap('owner')))
    const reference = owned(owner, { blockOwnerDeletion: true })
    ok(
      await server.create(
        at,
        configMap('child', {}, { ownerReferences: [reference], finalizers: ['example.com/hold'] }),
      ),
    )
    // The collector must have seen the child before it can wait for it.
    await eventually(async () => expect(ok(await server.get(`${at}/child`)).metadata.name).toBe('child'))
    const answer = await server.delete(`${at}/owner`, { propagationPolicy: 'Foreground' })
    expect(answer.code).toBe(200)
    expect(answer.body.metadata.finalizers).toEqual(['foregroundDeletion'])
    await eventually(async () => expect(ok(await server.get(`${at}/child`)).metadata.deletionTimestamp).toBeTruthy())
    expect((await server.get(`${at}/owner`)).code).toBe(200)
    ok(await server.merge(`${at}/child`, { metadata: { finalizers: null } }))
    await gone(`${at}/owner`)
  })

  conforms('does not let a dependent hold its owner without blockOwnerDeletion', async () => {
    const at = configMaps(await namespace())
    const owner = ok(await server.create(at, configMap('owner')))
    ok(
      await server.create(
        at,
        configMap('child', {}, { ownerReferences: [owned(owner)], finalizers: ['example.com/hold'] }),
      ),
    )
    ok(await server.delete(`${at}/owner`, { propagationPolicy: 'Foreground' }))
    await gone(`${at}/owner`)
    await eventually(async () => expect(ok(await server.get(`${at}/child`)).metadata.deletionTimestamp).toBeTruthy())
    ok(await server.merge(`${at}/child`, { metadata: { finalizers: null } }))
    await gone(`${at}/child`)
  })

  conforms('orphans dependents on request and removes the reference', async () => {
    const at = configMaps(await namespace())
    const owner = ok(await server.create(at, configMap('owner')))
    ok(await server.create(at, configMap('child', {}, { ownerReferences: [owned(owner)] })))
    // Deleting too early would orphan before the collector knows the child; its graph follows a watch.
    await eventually(async () => ok(await server.get(`${at}/child`)))
    const answer = ok(await server.delete(`${at}/owner`, { propagationPolicy: 'Orphan' }))
    expect(answer.metadata.finalizers).toEqual(['orphan'])
    await gone(`${at}/owner`)
    expect(ok(await server.get(`${at}/child`)).metadata.ownerReferences).toBeUndefined()
  })

  conforms('deletes an object whose owner never existed', async () => {
    const at = configMaps(await namespace())
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'never',
      uid: '11111111-1111-4111-8111-111111111111',
    }
    ok(await server.create(at, configMap('child', {}, { ownerReferences: [reference] })))
    await gone(`${at}/child`)
  })

  conforms('deletes an object whose owner is another incarnation', async () => {
    const at = configMaps(await namespace())
    const owner = ok(await server.create(at, configMap('owner')))
    const reference = { ...owned(owner), uid: '22222222-2222-4222-8222-222222222222' }
    ok(await server.create(at, configMap('child', {}, { ownerReferences: [reference] })))
    await gone(`${at}/child`)
    expect((await server.get(`${at}/owner`)).code).toBe(200)
  })

  conforms('does not look for an owner in another namespace', async () => {
    const [here, there] = [configMaps(await namespace()), configMaps(await namespace())]
    const owner = ok(await server.create(there, configMap('owner')))
    ok(await server.create(here, configMap('child', {}, { ownerReferences: [owned(owner)] })))
    await gone(`${here}/child`)
  })

  conforms('lets an object of a namespace belong to one of the cluster', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const at = configMaps(await namespace())
    const owner = ok(await server.create(kind.at(), kind.object('owner')))
    const reference = { apiVersion: kind.apiVersion, kind: 'Widget', name: 'owner', uid: owner.metadata.uid }
    ok(await server.create(at, configMap('child', {}, { ownerReferences: [reference] })))
    ok(await server.delete(`${kind.at()}/owner`))
    // A collector may learn of new kinds every half minute only.
    await gone(`${at}/child`, 58_000)
  })

  conforms('keeps an object while one of two owners lives, without the reference to the other', async () => {
    const at = configMaps(await namespace())
    const [a, b] = [ok(await server.create(at, configMap('a'))), ok(await server.create(at, configMap('b')))]
    ok(await server.create(at, configMap('child', {}, { ownerReferences: [owned(a), owned(b)] })))
    ok(await server.delete(`${at}/a`))
    await eventually(async () => {
      expect(ok(await server.get(`${at}/child`)).metadata.ownerReferences).toMatchObject([{ name: 'b' }])
    })
    ok(await server.delete(`${at}/b`))
    await gone(`${at}/child`)
  })

  conforms('frees an owner that waits from a dependent that another owner keeps', async () => {
    const at = configMaps(await namespace())
    const [a, b] = [ok(await server.create(at, configMap('a'))), ok(await server.create(at, configMap('b')))]
    const ownerReferences = [owned(a, { blockOwnerDeletion: true }), owned(b)]
    ok(await server.create(at, configMap('child', {}, { ownerReferences })))
    ok(await server.delete(`${at}/a`, { propagationPolicy: 'Foreground' }))
    await gone(`${at}/a`)
    const child = ok(await server.get(`${at}/child`))
    expect(child.metadata.deletionTimestamp).toBeUndefined()
    expect(child.metadata.ownerReferences).toMatchObject([{ name: 'b' }])
  })

  conforms('ends a circle of owners that one deletion starts', async () => {
    const at = configMaps(await namespace())
    const a = ok(await server.create(at, configMap('a')))
    const b = ok(
      await server.create(at, configMap('b', {}, { ownerReferences: [owned(a, { blockOwnerDeletion: true })] })),
    )
    const c = ok(
      await server.create(at, configMap('c', {}, { ownerReferences: [owned(b, { blockOwnerDeletion: true })] })),
    )
    ok(await server.merge(`${at}/a`, { metadata: { ownerReferences: [owned(c, { blockOwnerDeletion: true })] } }))
    ok(await server.delete(`${at}/a`, { propagationPolicy: 'Foreground' }))
    for (const name of ['a', 'b', 'c']) await gone(`${at}/${name}`)
  })

  conforms('refuses two controllers, and owners without identity', async () => {
    const at = configMaps(await namespace())
    const owner = ok(await server.create(at, configMap('owner')))
    const two = [owned(owner, { controller: true }), { ...owned(owner, { controller: true }), uid: 'other' }]
    const answer = await server.create(at, configMap('child', {}, { ownerReferences: two }))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('Only one reference can have Controller set to true')
    const empty = await server.create(
      at,
      configMap('child', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'X' }] }),
    )
    expect(empty.code).toBe(422)
    expect(empty.body.details.causes?.map(cause => cause.field)).toEqual([
      'metadata.ownerReferences.name',
      'metadata.ownerReferences.uid',
    ])
  })
})

describe.concurrent('namespaces', () => {
  conforms('start active, with a label of their name and a finalizer', async () => {
    const ns = await namespace()
    const body = ok(await server.get(`/api/v1/namespaces/${ns}`))
    expect(body.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': ns })
    expect(body.spec).toEqual({ finalizers: ['kubernetes'] })
    expect(body.status).toEqual({ phase: 'Active' })
  })

  conforms('bring a default service account and the root certificate', async () => {
    const ns = await namespace()
    await eventually(async () => ok(await server.get(`/api/v1/namespaces/${ns}/serviceaccounts/default`)))
    const root = await eventually(async () => ok(await server.get(`${configMaps(ns)}/kube-root-ca.crt`)))
    expect(root.data['ca.crt']).toContain('BEGIN CERTIFICATE')
  })

  conforms('take everything in them along when deleted', async () => {
    const ns = await namespace()
    const kind = await customKind()
    ok(await server.create(configMaps(ns), configMap('one')))
    ok(await server.create(kind.at(ns), kind.object('two')))
    const answer = await server.delete(`/api/v1/namespaces/${ns}`)
    expect(answer.code).toBe(200)
    expect(answer.body.kind).toBe('Namespace')
    expect(answer.body.status).toEqual({ phase: 'Terminating' })
    await gone(`/api/v1/namespaces/${ns}`)
    expect((await server.get(`${configMaps(ns)}/one`)).code).toBe(404)
    expect((await server.get(`${kind.at(ns)}/two`)).code).toBe(404)
  })

  conforms('refuse new objects while they end', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('held', {}, { finalizers: ['example.com/hold'] })))
    ok(await server.delete(`/api/v1/namespaces/${ns}`))
    const answer = await eventually(async () => {
      const refused = await server.create(configMaps(ns), configMap(`late-${Date.now()}`))
      expect(refused.code).toBe(403)
      return refused
    })
    const name = answer.body.details.name ?? ''
    expect(answer.body).toMatchObject({
      reason: 'Forbidden',
      message: `configmaps "${name}" is forbidden: unable to create new content in namespace ${ns} because it is being terminated`,
      details: {
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${ns} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      },
    })
    await eventually(async () => {
      const { status } = ok(await server.get(`/api/v1/namespaces/${ns}`))
      expect(status).toMatchObject({
        conditions: expect.arrayContaining([
          expect.objectContaining({ type: 'NamespaceFinalizersRemaining', status: 'True' }),
        ]),
      })
    })
    await eventually(async () =>
      expect(ok(await server.get(`${configMaps(ns)}/held`)).metadata.deletionTimestamp).toBeTruthy(),
    )
    ok(await server.merge(`${configMaps(ns)}/held`, { metadata: { finalizers: null } }))
    await gone(`/api/v1/namespaces/${ns}`)
  })

  conforms('end at once when the finalize subresource lets them', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('held', {}, { finalizers: ['example.com/hold'] })))
    ok(await server.delete(`/api/v1/namespaces/${ns}`))
    await eventually(async () => {
      const body = ok(await server.get(`/api/v1/namespaces/${ns}`))
      const answer = await server.update(`/api/v1/namespaces/${ns}/finalize`, { ...body, spec: { finalizers: [] } })
      expect(answer.code).toBe(200)
      expect(answer.body.spec).toEqual({})
    })
    await gone(`/api/v1/namespaces/${ns}`)
  })

  conforms('that everything needs may not be deleted', async () => {
    for (const ns of ['default', 'kube-system', 'kube-public']) {
      const answer = await server.delete(`/api/v1/namespaces/${ns}`)
      expect(answer.code).toBe(403)
      expect(answer.body.message).toBe(`namespaces "${ns}" is forbidden: this namespace may not be deleted`)
    }
  })

  conforms('end with their pods first, and keep all else until those are gone', async () => {
    const ns = await namespaceForPods()
    const at = `/api/v1/namespaces/${ns}`
    ok(await server.create(`${at}/pods`, pod('held', {}, { finalizers: ['example.com/hold'] })))
    ok(await server.create(`${at}/pods`, pod('running', { nodeName: 'some-node' })))
    ok(await server.create(`${at}/configmaps`, configMap('used')))
    ok(await server.delete(at))
    const status = await eventually(async () => {
      for (const name of ['held', 'running']) {
        expect(ok(await server.get(`${at}/pods/${name}`)).metadata.deletionTimestamp).toBeTruthy()
      }
      const { status } = ok(await server.get(at))
      expect(status).toHaveProperty('conditions')
      return status
    })
    // What is said of content is about the rest, which is not looked at yet.
    expect(status).toMatchObject({
      phase: 'Terminating',
      conditions: [
        { type: 'NamespaceDeletionDiscoveryFailure', status: 'False' },
        { type: 'NamespaceDeletionGroupVersionParsingFailure', status: 'False' },
        { type: 'NamespaceDeletionContentFailure', status: 'False', reason: 'ContentDeleted' },
        { type: 'NamespaceContentRemaining', status: 'False', reason: 'ContentRemoved' },
        { type: 'NamespaceFinalizersRemaining', status: 'False', reason: 'ContentHasNoFinalizers' },
      ],
    })
    ok(await server.delete(`${at}/pods/running?gracePeriodSeconds=0`))
    expect((await server.get(`${at}/configmaps/used`)).code).toBe(200)
    ok(await server.merge(`${at}/pods/held`, { metadata: { finalizers: null } }))
    await gone(at, 60_000)
  })

  conforms('have names that are DNS labels', async () => {
    const answer = await server.create('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'a.b' },
    })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('metadata.name: Invalid value: "a.b": must not contain dots')
  })
})

describe('a claim to a volume', () => {
  const claims = (ns: string) => `/api/v1/namespaces/${ns}/persistentvolumeclaims`
  const claim = (name: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' },
  })
  const user = (name: string, of: string, fields: object = {}) =>
    pod(name, { volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: of } }], ...fields })
  const protection = 'kubernetes.io/pvc-protection'

  conforms('is protected from the start, and goes when no pod uses it', async () => {
    const ns = await namespace()
    const made = ok(await server.create(claims(ns), claim('one')))
    expect(made.metadata.finalizers).toEqual([protection])
    expect(JSON.stringify(made.metadata.managedFields)).not.toContain('finalizers')
    const other = ok(await server.create(claims(ns), claim('two', { finalizers: ['example.com/own'] })))
    expect(other.metadata.finalizers).toEqual(['example.com/own', protection])
    ok(await server.delete(`${claims(ns)}/one`))
    await gone(`${claims(ns)}/one`)
  })

  conforms('is protected again when its finalizer is taken off', async () => {
    const ns = await namespace()
    ok(await server.create(claims(ns), claim('one')))
    ok(await server.merge(`${claims(ns)}/one`, { metadata: { finalizers: null } }))
    await eventually(async () => {
      expect(ok(await server.get(`${claims(ns)}/one`)).metadata.finalizers).toEqual([protection])
    })
  })

  conforms('stays while there is a pod on a node that names it, even one that has ended', async () => {
    const ns = await namespaceForPods()
    const pods = `/api/v1/namespaces/${ns}/pods`
    ok(await server.create(claims(ns), claim('used')))
    ok(await server.create(claims(ns), claim('waiting')))
    ok(await server.create(pods, user('runs', 'used', { nodeName: 'some-node' })))
    ok(await server.create(pods, user('waits', 'waiting')))
    ok(await server.merge(`${pods}/runs/status`, { status: { phase: 'Succeeded' } }))
    ok(await server.delete(`${claims(ns)}/used`))
    // A pod that no node has seen will not start with a claim that is on its way out.
    ok(await server.delete(`${claims(ns)}/waiting`))
    await gone(`${claims(ns)}/waiting`)
    expect(ok(await server.get(`${claims(ns)}/used`)).metadata.finalizers).toEqual([protection])
    ok(await server.delete(`${pods}/runs?gracePeriodSeconds=0`))
    await gone(`${claims(ns)}/used`)
  })

  conforms('has a volume that is protected alike', async () => {
    const name = unique('volume')
    const path = '/api/v1/persistentvolumes'
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } }
    const volume = ok(
      await server.create(path, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec }),
    )
    expect(volume.metadata.finalizers).toEqual(['kubernetes.io/pv-protection'])
    ok(await server.delete(`${path}/${name}`))
    await gone(`${path}/${name}`)
  })
})
