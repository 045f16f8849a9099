// The life of an object: what the server fills in, what it refuses to change, and when the object is really gone.

import { describe, expect } from 'vitest'
import { jsonPatch } from './client.ts'
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
  specSchema,
  unique,
} from './world.ts'

describe('create', () => {
  conforms('answers 201 with identity, time and version filled in', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), configMap('one', { a: '1' }))
    expect(answer.code).toBe(201)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.body).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      data: { a: '1' },
      metadata: {
        name: 'one',
        namespace: ns,
        uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        resourceVersion: expect.stringMatching(/^[1-9]\d*$/),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    })
    expect(answer.body.metadata.generation).toBeUndefined()
  })

  conforms('refuses a second object of the same name', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const again = await server.create(configMaps(ns), configMap('one'))
    expect(again.code).toBe(409)
    expect(again.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "one" already exists',
      reason: 'AlreadyExists',
      details: { name: 'one', kind: 'configmaps' },
      code: 409,
    })
  })

  conforms('makes up a name from generateName with five more characters', async () => {
    const ns = await namespace()
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'made-' } }
    const first = ok(await server.create(configMaps(ns), body))
    const second = ok(await server.create(configMaps(ns), body))
    expect(first.metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    expect(first.metadata.generateName).toBe('made-')
    expect(second.metadata.name).not.toBe(first.metadata.name)
  })

  conforms('shortens a long generateName so that the name stays legal', async () => {
    const ns = await namespace()
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a'.repeat(200) } }
    const made = ok(await server.create(configMaps(ns), body))
    expect(made.metadata.name).toMatch(/^a{58}[a-z0-9]{5}$/)
  })

  conforms('refuses an object without any name', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    )
    expect(answer.body.details.causes).toEqual([
      {
        reason: 'FieldValueRequired',
        message: 'Required value: name or generateName is required',
        field: 'metadata.name',
      },
    ])
  })

  for (const [name, complaint] of [
    ['UPPER', 'a lowercase RFC 1123 subdomain'],
    ['under_score', 'a lowercase RFC 1123 subdomain'],
    ['-lead', 'a lowercase RFC 1123 subdomain'],
    ['trail.', 'a lowercase RFC 1123 subdomain'],
    ['a'.repeat(254), 'must be no more than 253'],
  ] as const) {
    conforms(`refuses the name ${name.slice(0, 20)} with the rule it breaks`, async () => {
      const ns = await namespace()
      const answer = await server.create(configMaps(ns), configMap(name))
      expect(answer.code).toBe(422)
      expect(answer.body.reason).toBe('Invalid')
      expect(answer.body.details.causes?.[0]?.field).toBe('metadata.name')
      expect(answer.body.message).toContain(complaint)
    })
  }

  conforms('words the rule for names exactly', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), configMap('UPPER'))
    expect(answer.body.message).toBe(
      'ConfigMap "UPPER" is invalid: metadata.name: Invalid value: "UPPER": a lowercase RFC 1123 subdomain must consist of ' +
        "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
        "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )
  })

  conforms('lists all faults of metadata at once', async () => {
    const ns = await namespace()
    const body = configMap(
      'one',
      {},
      { labels: { 'bad key!': 'v', ok: 'bad value!' }, annotations: { 'also bad!': '' } },
    )
    const answer = await server.create(configMaps(ns), body)
    expect(answer.code).toBe(422)
    expect(answer.body.details.causes?.map(cause => cause.field)).toEqual([
      'metadata.labels',
      'metadata.labels',
      'metadata.annotations',
    ])
  })

  conforms('refuses a body whose namespace is not that of the path', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), configMap('one', {}, { namespace: 'other' }))
    expect(answer.code).toBe(400)
    expect(answer.body).toMatchObject({
      reason: 'BadRequest',
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    })
  })

  conforms('passes over the namespace in the body of a cluster-scoped object', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
    const name = unique('placeless')
    const answer = await server.create(path, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name, namespace: 'other' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ['none.example'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['none'] },
          ],
        },
        validations: [{ expression: 'true' }],
      },
    })
    expect(answer.code).toBe(201)
    expect(answer.body.metadata).not.toHaveProperty('namespace')
    await server.delete(`${path}/${name}`)
  })

  conforms('refuses a body of another kind', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' } })
    expect(answer.code).toBe(400)
    expect(answer.body).toMatchObject({
      reason: 'BadRequest',
      message:
        'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    })
  })

  conforms('refuses a body of another version', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), {
      apiVersion: 'v2',
      kind: 'ConfigMap',
      metadata: { name: 'one' },
    })
    expect(answer.code).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
  })

  conforms('fills in kind and version that a body leaves out', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), { metadata: { name: 'one' }, data: { a: '1' } })
    expect(answer.code).toBe(201)
    expect(answer.body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
  })

  conforms('refuses a body that brings a resourceVersion', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), configMap('one', {}, { resourceVersion: '5' }))
    // kube-apiserver has no reason for it and says 500; what matters to a client is the refusal and its words.
    expect(answer.code).toBeGreaterThanOrEqual(400)
    expect(answer.body.message).toBe('resourceVersion should not be set on objects to be created')
  })

  conforms('ignores identity and times that a body brings', async () => {
    const ns = await namespace()
    const made = ok(
      await server.create(
        configMaps(ns),
        configMap(
          'one',
          {},
          {
            uid: 'mine',
            creationTimestamp: '2001-01-01T00:00:00Z',
            deletionTimestamp: '2001-01-01T00:00:00Z',
            deletionGracePeriodSeconds: 5,
            selfLink: '/mine',
          },
        ),
      ),
    )
    expect(made.metadata.uid).not.toBe('mine')
    expect(made.metadata.creationTimestamp).not.toMatch(/^2001/)
    expect(made.metadata.deletionTimestamp).toBeUndefined()
    expect(made.metadata.selfLink).toBeUndefined()
  })

  conforms('answers 404 in a namespace that does not exist', async () => {
    const answer = await server.create(configMaps('no-such-namespace'), configMap('one'))
    expect(answer.code).toBe(404)
    expect(answer.body).toMatchObject({
      reason: 'NotFound',
      message: 'namespaces "no-such-namespace" not found',
      details: { name: 'no-such-namespace', kind: 'namespaces' },
    })
  })

  conforms('answers a get of an absent object with 404 and names it', async () => {
    const ns = await namespace()
    const answer = await server.get(`${configMaps(ns)}/nothing`)
    expect(answer.code).toBe(404)
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "nothing" not found',
      reason: 'NotFound',
      details: { name: 'nothing', kind: 'configmaps' },
      code: 404,
    })
  })

  conforms('starts a custom object at generation 1', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const made = ok(await server.create(kind.at(), kind.object('one', { spec: { a: 1 } }, { generation: 7 })))
    expect(made.metadata.generation).toBe(1)
  })

  conforms('refuses POST to a named object with 405', async () => {
    const ns = await namespace()
    const answer = await server.create(`${configMaps(ns)}/one`, configMap('one'))
    expect(answer.code).toBe(405)
    expect(answer.body).toMatchObject({
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
    })
  })
})

describe('update', () => {
  conforms('replaces the object and takes a new version', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    const answer = await server.update(`${configMaps(ns)}/one`, { ...made, data: { b: '2' } })
    expect(answer.code).toBe(200)
    expect(answer.body.data).toEqual({ b: '2' })
    expect(Number(answer.body.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
  })

  conforms('that changes nothing keeps the version', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    const same = ok(await server.update(`${configMaps(ns)}/one`, made))
    expect(same.metadata.resourceVersion).toBe(made.metadata.resourceVersion)
  })

  conforms('without a resourceVersion overwrites whatever is there', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    const answer = await server.update(`${configMaps(ns)}/one`, configMap('one', { a: '2' }))
    expect(answer.code).toBe(200)
    expect(answer.body.data).toEqual({ a: '2' })
  })

  conforms('with an outdated resourceVersion is a conflict', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    ok(await server.update(`${configMaps(ns)}/one`, { ...made, data: { a: '2' } }))
    const late = await server.update(`${configMaps(ns)}/one`, { ...made, data: { a: '3' } })
    expect(late.code).toBe(409)
    expect(late.body).toMatchObject({
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'one', kind: 'configmaps' },
    })
  })

  conforms('with a resourceVersion that is no number is refused', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const answer = await server.update(`${configMaps(ns)}/one`, configMap('one', {}, { resourceVersion: 'abc' }))
    expect(answer.code).toBeGreaterThanOrEqual(400)
    expect(answer.body.message).toContain('abc')
  })

  conforms('of a config map that is not there answers 404', async () => {
    const ns = await namespace()
    const answer = await server.update(`${configMaps(ns)}/none`, configMap('none'))
    expect(answer.code).toBe(404)
    expect(answer.body.message).toBe('configmaps "none" not found')
  })

  conforms('of a lease that is not there creates it', async () => {
    const ns = await namespace()
    const path = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases/one`
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'one' } }
    const answer = await server.update(path, body)
    expect(answer.code).toBe(201)
    const blind = await server.update(path, body)
    expect(blind.code).toBe(422)
    expect(blind.body.message).toBe(
      'leases.coordination.k8s.io "one" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )
  })

  conforms('of a custom object that is not there answers 404 and names group and plural', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const answer = await server.update(`${kind.at()}/none`, kind.object('none'))
    expect(answer.code).toBe(404)
    expect(answer.body.message).toBe(`${kind.plural}.${kind.group} "none" not found`)
  })

  conforms('of a custom object insists on a resourceVersion', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    const answer = await server.update(`${kind.at()}/one`, kind.object('one'))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      `${kind.plural}.${kind.group} "one" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
    )
  })

  conforms('refuses another uid as a conflict', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const answer = await server.update(`${configMaps(ns)}/one`, configMap('one', {}, { uid: 'another-uid' }))
    expect(answer.code).toBe(409)
    expect(answer.body.message).toMatch(
      /^Operation cannot be fulfilled on configmaps "one": StorageError: invalid object, Code: 4, .*Precondition failed: UID in precondition: another-uid, UID in object meta: /,
    )
  })

  conforms('refuses a name that is not that of the path', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const answer = await server.update(`${configMaps(ns)}/one`, configMap('two'))
    expect(answer.code).toBe(400)
    expect(answer.body.message).toBe('the name of the object (two) does not match the name on the URL (one)')
  })

  conforms('keeps creationTimestamp and generateName whatever the body says', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one')))
    const changed = {
      ...made,
      metadata: { ...made.metadata, creationTimestamp: '2001-01-01T00:00:00Z' },
      data: { a: '1' },
    }
    const after = ok(await server.update(`${configMaps(ns)}/one`, changed))
    expect(after.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp)
  })

  conforms('raises the generation for a change of spec, not of labels or status', async () => {
    const kind = await customKind({ scope: 'Cluster', subresources: { status: {} } })
    const path = `${kind.at()}/one`
    ok(await server.create(kind.at(), kind.object('one', { spec: { a: 1 } })))
    expect(ok(await server.merge(path, { metadata: { labels: { x: 'y' } } })).metadata.generation).toBe(1)
    expect(ok(await server.merge(`${path}/status`, { status: { ready: true } })).metadata.generation).toBe(1)
    expect(ok(await server.merge(path, { spec: { a: 2 } })).metadata.generation).toBe(2)
  })
})

describe('delete', () => {
  conforms('answers a Status with the uid of what it deleted', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one')))
    const answer = await server.delete(`${configMaps(ns)}/one`)
    expect(answer.code).toBe(200)
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'one', kind: 'configmaps', uid: made.metadata.uid },
    })
    expect((await server.get(`${configMaps(ns)}/one`)).code).toBe(404)
  })

  conforms('of nothing answers 404', async () => {
    const ns = await namespace()
    const answer = await server.delete(`${configMaps(ns)}/none`)
    expect(answer.code).toBe(404)
    expect(answer.body.reason).toBe('NotFound')
  })

  conforms('with the uid of another incarnation is a conflict', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one')))
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'another' } }
    const answer = await server.delete(`${configMaps(ns)}/one`, options)
    expect(answer.code).toBe(409)
    expect(answer.body.message).toBe(
      `Operation cannot be fulfilled on ConfigMap "one": the UID in the precondition (another) does not match the UID in record (${made.metadata.uid}). The object might have been deleted and then recreated`,
    )
    expect((await server.delete(`${configMaps(ns)}/one`, { preconditions: { uid: made.metadata.uid } })).code).toBe(200)
  })

  conforms('with an outdated resourceVersion is a conflict', async () => {
    const ns = await namespace()
    const made = ok(await server.create(configMaps(ns), configMap('one')))
    const now = ok(await server.merge(`${configMaps(ns)}/one`, { data: { a: '1' } }))
    const old = { preconditions: { resourceVersion: made.metadata.resourceVersion } }
    const answer = await server.delete(`${configMaps(ns)}/one`, old)
    expect(answer.code).toBe(409)
    expect(answer.body.message).toBe(
      `Operation cannot be fulfilled on ConfigMap "one": the ResourceVersion in the precondition (${made.metadata.resourceVersion}) does not match the ResourceVersion in record (${now.metadata.resourceVersion}). The object might have been modified`,
    )
  })

  conforms('refuses an unknown propagation policy', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    const answer = await server.delete(`${configMaps(ns)}/one`, { propagationPolicy: 'Sideways' })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
    )
  })

  conforms('waits for finalizers and keeps the first time of deletion', async () => {
    const ns = await namespace()
    const path = `${configMaps(ns)}/one`
    ok(await server.create(configMaps(ns), configMap('one', {}, { finalizers: ['example.com/hold'] })))
    const answer = await server.delete(path)
    expect(answer.code).toBe(200)
    expect(answer.body.kind).toBe('ConfigMap')
    expect(answer.body.metadata.deletionTimestamp).toMatch(/Z$/)
    expect(answer.body.metadata.deletionGracePeriodSeconds).toBe(0)
    const again = ok(await server.delete(path))
    expect(again.metadata.deletionTimestamp).toBe(answer.body.metadata.deletionTimestamp)
    expect(again.metadata.resourceVersion).toBe(answer.body.metadata.resourceVersion)
  })

  conforms('happens when the last finalizer is removed', async () => {
    const ns = await namespace()
    const path = `${configMaps(ns)}/one`
    ok(await server.create(configMaps(ns), configMap('one', {}, { finalizers: ['example.com/a', 'example.com/b'] })))
    ok(await server.delete(path))
    const guarded = ok(await server.merge(path, { metadata: { finalizers: ['example.com/b'] } }))
    expect((await server.get(path)).code).toBe(200)
    const last = ok(await server.merge(path, { metadata: { finalizers: null } }))
    expect(last.metadata.resourceVersion).toBe(guarded.metadata.resourceVersion)
    expect((await server.get(path)).code).toBe(404)
  })

  conforms('may not be hindered by a new finalizer', async () => {
    const ns = await namespace()
    const path = `${configMaps(ns)}/one`
    ok(await server.create(configMaps(ns), configMap('one', {}, { finalizers: ['example.com/a'] })))
    ok(await server.delete(path))
    const answer = await server.merge(path, { metadata: { finalizers: ['example.com/a', 'example.com/b'] } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      'ConfigMap "one" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
    )
  })

  conforms('raises the generation of a custom object that has to wait', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one', {}, { finalizers: ['example.com/hold'] })))
    const gone = ok(await server.delete(`${kind.at()}/one`))
    expect(gone.metadata.generation).toBe(2)
    ok(await server.merge(`${kind.at()}/one`, { metadata: { finalizers: [] } }))
  })

  conforms('refuses a finalizer without a domain on a custom object', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const answer = await server.create(kind.at(), kind.object('one', {}, { finalizers: ['nodomain', 'with spaces/x'] }))
    expect(answer.code).toBe(422)
    expect(answer.body.details.causes?.every(cause => cause.field?.startsWith('metadata.finalizers'))).toBe(true)
  })

  conforms('of a scheduled pod waits for its grace period, and force ends it', async () => {
    const ns = await namespaceForPods()
    const pods = `/api/v1/namespaces/${ns}/pods`
    ok(await server.create(pods, pod('one', { nodeName: 'no-such-node' })))
    const answer = await server.delete(`${pods}/one`)
    expect(answer.code).toBe(200)
    expect(answer.body.kind).toBe('Pod')
    expect(answer.body.metadata.deletionGracePeriodSeconds).toBe(30)
    const due = Date.parse(answer.body.metadata.deletionTimestamp) - Date.parse(answer.body.metadata.creationTimestamp)
    expect(due).toBeGreaterThanOrEqual(30_000)
    const shorter = ok(await server.delete(`${pods}/one`, { gracePeriodSeconds: 5 }))
    expect(shorter.metadata.deletionGracePeriodSeconds).toBe(5)
    expect((await server.delete(`${pods}/one?gracePeriodSeconds=0`)).code).toBe(200)
    expect((await server.get(`${pods}/one`)).code).toBe(404)
  })

  conforms('of a pod that no node has yet is immediate', async () => {
    const ns = await namespaceForPods()
    const pods = `/api/v1/namespaces/${ns}/pods`
    ok(await server.create(pods, pod('one')))
    ok(await server.delete(`${pods}/one`))
    expect((await server.get(`${pods}/one`)).code).toBe(404)
  })

  conforms('of a collection deletes what the selectors match and answers the list', async () => {
    const ns = await namespace()
    for (const [name, colour] of [
      ['a', 'red'],
      ['b', 'blue'],
      ['c', 'red'],
    ] as const) {
      ok(await server.create(configMaps(ns), configMap(name, {}, { labels: { colour } })))
    }
    const answer = await server.delete(`${configMaps(ns)}?labelSelector=colour%3Dred`)
    expect(answer.code).toBe(200)
    expect(answer.body.kind).toBe('ConfigMapList')
    expect(answer.body.items.map(item => item.metadata.name)).toEqual(['a', 'c'])
    await eventually(async () => {
      const left = ok(await server.get(`${configMaps(ns)}?labelSelector=colour`))
      expect(left.items.map(item => item.metadata.name)).toEqual(['b'])
    })
  })
})

describe('subresources', () => {
  conforms('keep status out of ordinary writes and spec out of status writes', async () => {
    const kind = await customKind({ scope: 'Cluster', subresources: { status: {} } })
    const path = `${kind.at()}/one`
    const made = ok(await server.create(kind.at(), kind.object('one', { spec: { a: 1 }, status: { b: 1 } })))
    expect(made.status).toBeUndefined()
    const changed = ok(await server.update(path, { ...made, spec: { a: 2 }, status: { b: 2 } }))
    expect(changed.status).toBeUndefined()
    expect(changed.spec).toEqual({ a: 2 })
    const reported = ok(
      await server.update(`${path}/status`, {
        ...changed,
        spec: { a: 3 },
        status: { b: 3 },
        metadata: { ...changed.metadata, labels: { from: 'status' } },
      }),
    )
    expect(reported.status).toEqual({ b: 3 })
    expect(reported.spec).toEqual({ a: 2 })
    expect(reported.metadata.labels).toBeUndefined()
    expect(ok(await server.get(`${path}/status`)).status).toEqual({ b: 3 })
  })

  conforms('that a kind does not have answer 404', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one', { status: { kept: true } })))
    expect(ok(await server.get(`${kind.at()}/one`)).status).toEqual({ kept: true })
    const answer = await server.get(`${kind.at()}/one/status`)
    expect(answer.code).toBe(404)
  })

  conforms('scale a custom object through its own paths', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema(
        { properties: { replicas: { type: 'integer' } } },
        { properties: { replicas: { type: 'integer' }, selector: { type: 'string' } } },
      ),
      subresources: {
        status: {},
        scale: {
          specReplicasPath: '.spec.replicas',
          statusReplicasPath: '.status.replicas',
          labelSelectorPath: '.status.selector',
        },
      },
    })
    const path = `${kind.at()}/one`
    ok(await server.create(kind.at(), kind.object('one', { spec: { replicas: 3 } })))
    ok(await server.merge(`${path}/status`, { status: { replicas: 2, selector: 'app=x' } }))
    const scale = ok(await server.get(`${path}/scale`))
    expect(scale).toMatchObject({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'one' },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=x' },
    })
    const scaled = ok(await server.update(`${path}/scale`, { ...scale, spec: { replicas: 5 } }))
    expect(scaled.spec).toEqual({ replicas: 5 })
    expect(ok(await server.get(path)).spec).toEqual({ replicas: 5 })
    const negative = await server.merge(`${path}/scale`, { spec: { replicas: -1 } })
    expect(negative.code).toBe(422)
  })

  conforms('scale a deployment', async () => {
    const ns = await namespace()
    const path = `/apis/apps/v1/namespaces/${ns}/deployments`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x' }] } }
    ok(
      await server.create(path, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'one' },
        spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
      }),
    )
    const scale = ok(await server.get(`${path}/one/scale`))
    expect(scale).toMatchObject({ kind: 'Scale', spec: {}, status: { replicas: 0, selector: 'a=b' } })
    const after = ok(await server.merge(`${path}/one/scale`, { spec: { replicas: 0 } }))
    expect(after.metadata.name).toBe('one')
  })

  conforms('refuse verbs they do not have with 405', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(`/api/v1/namespaces/${ns}/pods`, pod('one')))
    expect((await server.delete(`/api/v1/namespaces/${ns}/pods/one/status`)).code).toBe(405)
  })
})

describe('dry run', () => {
  conforms('of create, update, patch, apply and delete leaves nothing behind', async () => {
    const ns = await namespace()
    const path = `${configMaps(ns)}/one`
    const dry = '?dryRun=All'
    const created = await server.create(`${configMaps(ns)}${dry}`, configMap('one', { a: '1' }))
    expect(created.code).toBe(201)
    expect(created.body.metadata.uid).toBeTruthy()
    expect(created.body.metadata.resourceVersion).toBeUndefined()
    expect((await server.get(path)).code).toBe(404)

    const made = ok(await server.create(configMaps(ns), configMap('one', { a: '1' })))
    expect(ok(await server.update(`${path}${dry}`, { ...made, data: { a: '2' } })).data).toEqual({ a: '2' })
    expect(ok(await server.patch(`${path}${dry}`, jsonPatch, [{ op: 'remove', path: '/data/a' }])).data).toBeUndefined()
    expect(ok(await server.apply(path, 'me', configMap('one', { b: '1' }), '&dryRun=All')).data).toEqual({
      a: '1',
      b: '1',
    })
    expect((await server.request('DELETE', `${path}${dry}`)).code).toBe(200)
    expect((await server.delete(path, { dryRun: ['All'] })).code).toBe(200)
    expect((await server.delete(`${configMaps(ns)}${dry}`)).code).toBe(200)
    expect(ok(await server.get(path))).toEqual(made)
  })

  conforms('refuses values other than All', async () => {
    const ns = await namespace()
    const answer = await server.create(`${configMaps(ns)}?dryRun=Some`, configMap('one'))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    )
  })

  conforms('still refuses what a real write would', async () => {
    const ns = await namespace()
    ok(await server.create(configMaps(ns), configMap('one')))
    expect((await server.create(`${configMaps(ns)}?dryRun=All`, configMap('one'))).code).toBe(409)
    expect((await server.create(`${configMaps(ns)}?dryRun=All`, configMap('UPPER'))).code).toBe(422)
  })
})

describe('particular kinds', () => {
  conforms('keep secrets as base64 and take stringData as text', async () => {
    const ns = await namespace()
    const path = `/api/v1/namespaces/${ns}/secrets`
    const made = ok(
      await server.create(path, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'one' },
        data: { a: 'b2xk', b: 'a2VwdA==' },
        stringData: { a: 'new' },
      }),
    )
    expect(made.data).toEqual({ a: 'bmV3', b: 'a2VwdA==' })
    expect(made.stringData).toBeUndefined()
    expect(made.type).toBe('Opaque')
  })

  conforms('refuse secret data that is not base64', async () => {
    const ns = await namespace()
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' }, data: { a: '***' } }
    const answer = await server.create(`/api/v1/namespaces/${ns}/secrets`, body)
    expect(answer.code).toBe(400)
    expect(answer.body.message).toBe(
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
    )
  })

  conforms('refuse to change the type of a secret', async () => {
    const ns = await namespace()
    const path = `/api/v1/namespaces/${ns}/secrets`
    ok(await server.create(path, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' } }))
    const answer = await server.merge(`${path}/one`, { type: 'example.com/other' })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('type: Invalid value: "example.com/other": field is immutable')
  })

  conforms('refuse to change an immutable config map', async () => {
    const ns = await namespace()
    const path = `${configMaps(ns)}/one`
    ok(await server.create(configMaps(ns), { ...configMap('one', { a: '1' }), immutable: true }))
    const data = await server.merge(path, { data: { a: '2' } })
    expect(data.code).toBe(422)
    expect(data.body.message).toBe(
      'ConfigMap "one" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
    const flag = await server.merge(path, { immutable: false })
    expect(flag.code).toBe(422)
    expect(flag.body.message).toContain('immutable: Forbidden: field is immutable when `immutable` is set')
    expect((await server.merge(path, { metadata: { labels: { still: 'fine' } } })).code).toBe(200)
  })

  conforms('serve events of the core group in events.k8s.io and the other way round', async () => {
    const ns = await namespace()
    const core = `/api/v1/namespaces/${ns}/events`
    const modern = `/apis/events.k8s.io/v1/namespaces/${ns}/events`
    ok(
      await server.create(core, {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'one' },
        involvedObject: { kind: 'ConfigMap', namespace: ns, name: 'x' },
        reason: 'Because',
        message: 'said so',
        type: 'Normal',
        source: { component: 'tester' },
        count: 3,
        firstTimestamp: '2024-01-01T00:00:00Z',
        lastTimestamp: '2024-01-01T00:00:00Z',
      }),
    )
    expect(ok(await server.get(`${modern}/one`))).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      note: 'said so',
      regarding: { kind: 'ConfigMap', name: 'x' },
      deprecatedCount: 3,
      deprecatedSource: { component: 'tester' },
      deprecatedFirstTimestamp: '2024-01-01T00:00:00Z',
    })
    ok(
      await server.create(modern, {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: 'two' },
        eventTime: '2024-01-01T00:00:00.000000Z',
        regarding: { kind: 'ConfigMap', namespace: ns, name: 'y' },
        reason: 'Because',
        action: 'Testing',
        note: 'second',
        type: 'Normal',
        reportingController: 'example.com/tester',
        reportingInstance: 'tester-1',
      }),
    )
    expect(ok(await server.get(`${core}/two`))).toMatchObject({
      apiVersion: 'v1',
      message: 'second',
      involvedObject: { name: 'y' },
      reportingComponent: 'example.com/tester',
      eventTime: '2024-01-01T00:00:00.000000Z',
    })
    const found = ok(await server.get(`${core}?fieldSelector=involvedObject.name%3Dy`))
    expect(found.items.map(item => item.metadata.name)).toEqual(['two'])
    const regarding = ok(await server.get(`${modern}?fieldSelector=reason%3DBecause`))
    expect(regarding.items).toHaveLength(2)
  })

  conforms('refuse an event whose namespace is not that of what it is about', async () => {
    const ns = await namespace()
    const answer = await server.create(`/api/v1/namespaces/${ns}/events`, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'one' },
      involvedObject: { kind: 'ConfigMap', namespace: 'elsewhere', name: 'x' },
    })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain(
      'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace',
    )
  })

  conforms('bind a pod to a node once', async () => {
    const ns = await namespaceForPods()
    const pods = `/api/v1/namespaces/${ns}/pods`
    ok(await server.create(pods, pod('one')))
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'one' },
      target: { apiVersion: 'v1', kind: 'Node', name: 'some-node' },
    }
    const answer = await server.create(`${pods}/one/binding`, binding)
    expect(answer.code).toBe(201)
    expect(answer.body).toMatchObject({ kind: 'Status', status: 'Success', code: 201 })
    const bound = ok(await server.get(`${pods}/one`))
    expect(bound.spec.nodeName).toBe('some-node')
    expect(bound.status).toMatchObject({ conditions: [{ type: 'PodScheduled', status: 'True' }] })
    const again = await server.create(`${pods}/one/binding`, binding)
    expect(again.code).toBe(409)
    expect(again.body.message).toBe(
      'Operation cannot be fulfilled on pods/binding "one": pod one is already assigned to node "some-node"',
    )
  })

  conforms('evict a pod, unless a disruption budget forbids it', async () => {
    const ns = await namespaceForPods()
    const pods = `/api/v1/namespaces/${ns}/pods`
    const budgets = `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one' } }
    ok(await server.create(pods, pod('one', { nodeName: 'some-node' }, { labels: { app: 'x' } })))
    ok(
      await server.merge(`${pods}/one/status`, {
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    )
    ok(
      await server.create(budgets, {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'keep' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'x' } } },
      }),
    )
    const refused = await eventually(async () => {
      const answer = await server.create(`${pods}/one/eviction`, eviction)
      expect(answer.code).toBe(429)
      expect(answer.body.details.causes?.[0]?.message).toContain('needs 1 healthy pods')
      return answer
    })
    expect(refused.body).toMatchObject({
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
    })
    expect(refused.body.details.causes?.[0]?.reason).toBe('DisruptionBudget')
    ok(await server.delete(`${budgets}/keep`))
    const evicted = await server.create(`${pods}/one/eviction`, eviction)
    expect(evicted.code).toBe(201)
    expect(evicted.body).toMatchObject({ kind: 'Status', status: 'Success' })
    expect(ok(await server.get(`${pods}/one`)).metadata.deletionTimestamp).toBeTruthy()
  })

  conforms('give a service a cluster IP and keep it', async () => {
    const ns = await namespace()
    const path = `/api/v1/namespaces/${ns}/services`
    const made = ok(
      await server.create(path, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'one' },
        spec: { ports: [{ port: 80 }] },
      }),
    )
    expect(made.spec).toMatchObject({
      type: 'ClusterIP',
      clusterIP: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      sessionAffinity: 'None',
    })
  })

  conforms('fill in what a pod leaves out', async () => {
    const ns = await namespaceForPods()
    const made = ok(await server.create(`/api/v1/namespaces/${ns}/pods`, pod('one')))
    expect(made.spec).toMatchObject({
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      schedulerName: 'default-scheduler',
      securityContext: {},
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
      priority: 0,
    })
    expect(made.spec.containers).toMatchObject([
      { name: 'main', imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log', resources: {} },
    ])
    expect(made.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' })
  })

  conforms('refuse to change most of a pod', async () => {
    const ns = await namespaceForPods()
    const path = `/api/v1/namespaces/${ns}/pods`
    ok(await server.create(path, pod('one')))
    const answer = await server.merge(`${path}/one`, { spec: { hostNetwork: true } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('spec: Forbidden: pod updates may not change fields other than')
  })

  conforms('let a lease be renewed under its version', async () => {
    const ns = await namespace()
    const path = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`
    const made = ok(
      await server.create(path, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: unique('lease') },
        spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2024-01-01T00:00:00.123456Z' },
      }),
    )
    expect(made.spec.renewTime).toBe('2024-01-01T00:00:00.123456Z')
    const self = `${path}/${made.metadata.name}`
    ok(await server.update(self, { ...made, spec: { ...made.spec, holderIdentity: 'b' } }))
    expect((await server.update(self, { ...made, spec: { ...made.spec, holderIdentity: 'c' } })).code).toBe(409)
    const negative = await server.merge(self, { spec: { leaseDurationSeconds: 0 } })
    expect(negative.code).toBe(422)
    expect(negative.body.message).toContain('spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0')
  })
})
