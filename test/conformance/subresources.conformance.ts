// Subresources with a meaning of their own: what webhooks are shown of them, and what they do.

import { afterAll, beforeAll, describe, expect } from 'vitest'
import { type Body, strategicPatch } from './client.ts'
import { type Handler, type Review, serveWebhooks, type Webhooks } from './webhook.ts'
import {
  configMap,
  configMaps,
  conforms,
  customKind,
  eventually,
  made,
  namespace,
  namespaceForPods,
  ok,
  pod,
  server,
  unique,
} from './world.ts'

let hooks: Webhooks
beforeAll(async () => {
  hooks = await serveWebhooks()
})
afterAll(() => hooks.close())

const registrations = '/apis/admissionregistration.k8s.io/v1'
const pods = (ns: string) => `/api/v1/namespaces/${ns}/pods`
const budgets = (ns: string) => `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`

/** Registers a webhook for these resources of the namespace and waits until it is called; answers what it is asked. */
async function ask(
  type: 'mutating' | 'validating',
  ns: string,
  resources: string[],
  handler: Handler = () => ({ allowed: true }),
): Promise<Review[]> {
  const name = unique('hook')
  const reviews: Review[] = []
  let isArmed = false
  hooks.handle(`/${name}`, review => {
    if (review.kind.kind !== 'ConfigMap') {
      // What controllers write to the same objects meanwhile is not what a test is about.
      if (!review.userInfo.username.startsWith('system:')) reviews.push(review)
      return handler(review)
    }
    isArmed ||= review.name === 'probe'
    return { allowed: true }
  })
  const path = `${registrations}/${type}webhookconfigurations`
  const kind = type === 'mutating' ? 'MutatingWebhookConfiguration' : 'ValidatingWebhookConfiguration'
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: hooks.clientConfig(`/${name}`),
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    rules: [
      // What has no namespace would pass any selector of namespaces.
      { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources, scope: 'Namespaced' },
      { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
    ],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': ns } },
    timeoutSeconds: 5,
  }
  const apiVersion = 'admissionregistration.k8s.io/v1'
  ok(await server.create(path, { apiVersion, kind, metadata: { name }, webhooks: [webhook] }))
  made.push(`${path}/${name}`)
  await eventually(async () => {
    await server.create(`${configMaps(ns)}?dryRun=All`, configMap('probe'))
    if (!isArmed) throw new Error('the webhook has not been asked yet')
  })
  return reviews
}

function eviction(name: string, deleteOptions?: object): object {
  return { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...(deleteOptions && { deleteOptions }) }
}

const evict = (ns: string, name: string, deleteOptions?: object, query = '') =>
  server.create(`${pods(ns)}/${name}/eviction${query}`, eviction(name, deleteOptions))

/** A pod that runs on a node, ready or not. */
async function running(ns: string, name: string, app: string, isReady = true): Promise<void> {
  ok(await server.create(pods(ns), pod(name, { nodeName: 'some-node' }, { labels: { app } })))
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  ok(await server.merge(`${pods(ns)}/${name}/status`, { status: { phase: 'Running', conditions } }))
}

async function budget(ns: string, name: string, spec: object): Promise<void> {
  const selector = { matchLabels: { app: 'x' } }
  const body = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name }, spec: { selector, ...spec } }
  ok(await server.create(budgets(ns), body))
}

describe('a webhook for an eviction', () => {
  conforms('is shown the Eviction, and one for deletes of pods is not asked', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' })))
    const mutating = await ask('mutating', ns, ['pods', 'pods/*'])
    const validating = await ask('validating', ns, ['pods', 'pods/*'])
    expect((await evict(ns, 'one')).code).toBe(201)
    for (const reviews of [mutating, validating]) {
      expect(reviews).toHaveLength(1)
      expect(reviews[0]).toMatchObject({
        operation: 'CREATE',
        kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
        resource: { group: '', version: 'v1', resource: 'pods' },
        subResource: 'eviction',
        name: 'one',
        namespace: ns,
        object: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one', namespace: ns } },
        oldObject: null,
        dryRun: false,
      })
      expect(reviews[0]?.options).toEqual({ kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' })
    }
  })

  conforms('refuses with its own code, and the pod stays', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' })))
    const status = { code: 429, reason: 'TooManyRequests', message: 'it moves away first' }
    await ask('validating', ns, ['pods/eviction'], () => ({ allowed: false, status }))
    const answer = await evict(ns, 'one')
    expect(answer.code).toBe(429)
    expect(answer.body).toMatchObject({ reason: 'TooManyRequests', code: 429 })
    expect(answer.body.message).toMatch(
      /^admission webhook "hook-[0-9a-f]+\.example\.com" denied the request: it moves away first$/,
    )
    const { metadata, status: left } = ok(await server.get(`${pods(ns)}/one`))
    expect(metadata.deletionTimestamp).toBeUndefined()
    expect(left).not.toHaveProperty('conditions')
  })

  conforms('may change how the pod is deleted', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' })))
    const patch = [{ op: 'add', path: '/deleteOptions', value: { gracePeriodSeconds: 7 } }]
    await ask('mutating', ns, ['pods/eviction'], () => ({ allowed: true, patch }))
    expect((await evict(ns, 'one')).code).toBe(201)
    expect(ok(await server.get(`${pods(ns)}/one`)).metadata.deletionGracePeriodSeconds).toBe(7)
  })

  conforms('is asked before the pod is looked for', async () => {
    const ns = await namespaceForPods()
    const reviews = await ask('validating', ns, ['pods/eviction'])
    expect((await evict(ns, 'none')).code).toBe(404)
    expect(reviews.map(({ name }) => name)).toEqual(['none'])
  })
})

describe('an evicted pod', () => {
  conforms('says why it goes', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' })))
    expect((await evict(ns, 'one')).code).toBe(201)
    const { metadata, status } = ok(await server.get(`${pods(ns)}/one`))
    expect(metadata.deletionTimestamp).toBeTruthy()
    expect(status).toMatchObject({
      conditions: [
        {
          type: 'DisruptionTarget',
          status: 'True',
          lastProbeTime: null,
          reason: 'EvictionByEvictionAPI',
          message: 'Eviction API: evicting',
        },
      ],
    })
    expect(metadata.managedFields.map(({ subresource }) => subresource)).toEqual([undefined])
  })

  conforms('stays in a dry run, of the request or of the Eviction', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' })))
    const { metadata } = ok(await server.get(`${pods(ns)}/one`))
    expect((await evict(ns, 'one', undefined, '?dryRun=All')).code).toBe(201)
    expect((await evict(ns, 'one', { dryRun: ['All'] })).code).toBe(201)
    const mixed = await evict(ns, 'one', { dryRun: ['Some'] }, '?dryRun=All')
    expect(mixed.code).toBe(500)
    expect(mixed.body.message).toBe('Non-matching dry-run options in request and content: [All] and [Some]')
    expect(ok(await server.get(`${pods(ns)}/one`)).metadata).toEqual(metadata)
  })

  conforms('is the one that was meant', async () => {
    const ns = await namespaceForPods()
    await running(ns, 'one', 'x')
    const answer = await evict(ns, 'one', { preconditions: { uid: 'another' } })
    expect(answer.code).toBe(409)
    expect(answer.body.message).toMatch(
      /^Operation cannot be fulfilled on Pod "one": the UID in the precondition \(another\) does not match the UID in record/,
    )
    expect(ok(await server.get(`${pods(ns)}/one`)).status).toMatchObject({ conditions: [{ type: 'Ready' }] })
  })

  conforms('is not counted by its budget before it runs', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' }, { labels: { app: 'x' } })))
    await budget(ns, 'keep', { minAvailable: 1 })
    expect((await evict(ns, 'one')).code).toBe(201)
  })

  conforms('that is not ready goes while enough others are, or when the budget says so', async () => {
    const ns = await namespaceForPods()
    await running(ns, 'good', 'x')
    await running(ns, 'bad', 'x', false)
    await budget(ns, 'keep', { minAvailable: 1 })
    await eventually(async () => {
      const refused = await evict(ns, 'good')
      expect(refused.code).toBe(429)
      expect(refused.body.details.causes).toEqual([
        { reason: 'DisruptionBudget', message: 'The disruption budget keep needs 1 healthy pods and has 1 currently' },
      ])
    })
    expect((await evict(ns, 'bad')).code).toBe(201)

    const other = await namespaceForPods()
    await running(other, 'bad', 'x', false)
    await budget(other, 'keep', { minAvailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' })
    expect((await evict(other, 'bad')).code).toBe(201)
  })

  conforms('may have only one budget', async () => {
    const ns = await namespaceForPods()
    await running(ns, 'one', 'x')
    await budget(ns, 'first', { minAvailable: 0 })
    await budget(ns, 'second', { minAvailable: 0 })
    const answer = await evict(ns, 'one')
    expect(answer.code).toBe(500)
    expect(answer.body.message).toBe(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
    expect(answer.body.reason).toBeUndefined()
  })

  conforms('leaves as many as its budget needs, however many are evicted at once', async () => {
    const ns = await namespaceForPods()
    const names = ['a', 'b', 'c', 'd']
    for (const name of names) await running(ns, name, 'x')
    await budget(ns, 'keep', { minAvailable: 3 })
    await eventually(async () => expect((await evict(ns, 'a', undefined, '?dryRun=All')).code).toBe(201))
    const codes = await Promise.all(names.map(async name => (await evict(ns, name)).code))
    expect(codes.filter(code => code === 201)).toHaveLength(1)
    expect(codes.filter(code => code === 429)).toHaveLength(3)
  })

  conforms('cannot be of a namespace that ends', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node' })))
    ok(await server.delete(`/api/v1/namespaces/${ns}`))
    const answer = await evict(ns, 'one')
    expect(answer.code).toBe(403)
    expect(answer.body.message).toBe(
      `pods "one" is forbidden: unable to create new content in namespace ${ns} because it is being terminated`,
    )
    await server.delete(`${pods(ns)}/one?gracePeriodSeconds=0`)
  })
})

describe('a webhook for another subresource', () => {
  const binding = (name: string, labels?: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name, ...(labels && { labels }) },
    target: { kind: 'Node', name: 'first' },
  })

  conforms('is shown a Binding, and may change it', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one', {}, { labels: { app: 'x' } })))
    const patch = [
      { op: 'replace', path: '/target/name', value: 'second' },
      { op: 'add', path: '/metadata/annotations', value: { by: 'webhook' } },
    ]
    const mutating = await ask('mutating', ns, ['pods', 'pods/*'], () => ({ allowed: true, patch }))
    const validating = await ask('validating', ns, ['pods', 'pods/*'])
    ok(await server.create(`${pods(ns)}/one/binding`, binding('one', { app: 'y', zone: 'z' })))
    expect(mutating).toHaveLength(1)
    expect(mutating[0]).toMatchObject({
      operation: 'CREATE',
      kind: { group: '', version: 'v1', kind: 'Binding' },
      resource: { resource: 'pods' },
      subResource: 'binding',
      name: 'one',
      object: { kind: 'Binding', metadata: { name: 'one', namespace: ns }, target: { kind: 'Node', name: 'first' } },
      oldObject: null,
      options: { kind: 'CreateOptions' },
    })
    expect(mutating[0]?.object.metadata.managedFields).toMatchObject([{ operation: 'Update', subresource: 'binding' }])
    expect(validating).toHaveLength(1)
    expect(validating[0]).toMatchObject({ object: { target: { name: 'second' } } })
    const bound = ok(await server.get(`${pods(ns)}/one`))
    expect(bound.spec.nodeName).toBe('second')
    expect(bound.metadata).toMatchObject({ annotations: { by: 'webhook' }, labels: { app: 'y', zone: 'z' } })
  })

  conforms('is shown a Binding of the old path as what it is', async () => {
    const ns = await namespaceForPods()
    ok(await server.create(pods(ns), pod('one')))
    const reviews = await ask('validating', ns, ['bindings', 'pods/binding'])
    ok(await server.create(`/api/v1/namespaces/${ns}/bindings`, binding('one')))
    expect(reviews).toMatchObject([
      { operation: 'CREATE', kind: { kind: 'Binding' }, resource: { resource: 'bindings' }, name: 'one' },
    ])
    expect(reviews[0]?.subResource).toBeUndefined()
  })

  conforms('is shown a TokenRequest, and may change or refuse it', async () => {
    const ns = await namespaceForPods()
    const patch = [{ op: 'replace', path: '/spec/expirationSeconds', value: 1200 }]
    const mutating = await ask('mutating', ns, ['serviceaccounts/token'], () => ({ allowed: true, patch }))
    let isAllowed = true
    const validating = await ask('validating', ns, ['serviceaccounts/token'], () =>
      isAllowed ? { allowed: true } : { allowed: false, status: { message: 'no more' } },
    )
    const path = `/api/v1/namespaces/${ns}/serviceaccounts/default/token`
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const granted = ok(await server.create(path, request))
    expect(granted.spec).toMatchObject({ expirationSeconds: 1200 })
    expect(mutating[0]).toMatchObject({
      operation: 'CREATE',
      kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
      resource: { group: '', resource: 'serviceaccounts' },
      subResource: 'token',
      name: 'default',
      object: {
        metadata: { namespace: ns },
        spec: { audiences: null, expirationSeconds: 3600, boundObjectRef: null },
        status: { token: '', expirationTimestamp: null },
      },
    })
    expect(mutating[0]?.object.metadata.name).toBeUndefined()
    expect(validating[0]).toMatchObject({
      object: {
        metadata: { name: 'default', namespace: ns, uid: granted.metadata.uid },
        spec: { audiences: granted.spec.audiences, expirationSeconds: 1200 },
        status: { token: '' },
      },
    })
    isAllowed = false
    const refused = await server.create(path, request)
    expect(refused.code).toBe(400)
    expect(refused.body.message).toMatch(/denied the request: no more$/)
  })

  const scales = async (ns: string, collection: string, object: object, field: string) => {
    ok(await server.create(collection, object))
    const patch = [{ op: 'add', path: '/spec/replicas', value: 4 }]
    const mutating = await ask('mutating', ns, ['*/scale'], () => ({ allowed: true, patch }))
    const validating = await ask('validating', ns, ['*/scale'])
    const path = `${collection}/one`
    const scaled = ok(await server.merge(`${path}/scale`, { spec: { replicas: 2 } }))
    expect(scaled.spec).toEqual({ replicas: 4 })
    expect(ok(await server.get(path)).spec[field]).toBe(4)
    const shown = {
      operation: 'UPDATE',
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      subResource: 'scale',
      name: 'one',
      oldObject: { kind: 'Scale', metadata: { name: 'one', uid: scaled.metadata.uid }, spec: { replicas: 1 } },
      options: { kind: 'UpdateOptions' },
    }
    // A controller may write to the parent meanwhile; then the server starts over and asks again.
    expect(mutating.at(-1)).toMatchObject({ ...shown, object: { kind: 'Scale', spec: { replicas: 2 } } })
    expect(validating.at(-1)).toMatchObject({
      ...shown,
      object: { kind: 'Scale', metadata: { uid: scaled.metadata.uid }, spec: { replicas: 4 } },
    })
  }

  conforms('is shown the Scale of a built-in kind, and may change it', async () => {
    const ns = await namespace()
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x' }] } }
    await scales(
      ns,
      `/apis/apps/v1/namespaces/${ns}/statefulsets`,
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'one' },
        spec: { replicas: 1, serviceName: 's', selector: { matchLabels: { a: 'b' } }, template },
      },
      'replicas',
    )
  })

  conforms('is shown the Scale of a custom kind, and may change it', async () => {
    const ns = await namespace()
    const scale = { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' }
    const kind = await customKind({ subresources: { status: {}, scale } })
    await scales(ns, kind.at(ns), { ...kind.object('one'), spec: { count: 1 } }, 'count')
  })

  conforms('is not asked to see a negative Scale', async () => {
    const ns = await namespace()
    const scale = { specReplicasPath: '.spec.count', statusReplicasPath: '.status.count' }
    const kind = await customKind({ subresources: { status: {}, scale } })
    ok(await server.create(kind.at(ns), kind.object('one', { spec: { count: 1 } })))
    const validating = await ask('validating', ns, ['*/scale'])
    const answer = await server.merge(`${kind.at(ns)}/one/scale`, { spec: { replicas: -1 } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      `Widget.${kind.group} "one" is invalid: .spec.count: Invalid value: -1: should be a non-negative integer`,
    )
    expect(validating).toEqual([])
  })

  conforms('is told the options of an update also for a patch, and only what the client said', async () => {
    const ns = await namespace()
    const reviews = await ask('validating', ns, ['secrets'])
    const path = `/api/v1/namespaces/${ns}/secrets`
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' } }
    ok(await server.apply(`${path}/one`, 'me', secret, '&force=true'))
    ok(await server.merge(`${path}/one`, { metadata: { labels: { a: 'b' } } }))
    ok(await server.apply(`${path}/one`, 'me', { ...secret, type: 'Opaque' }, '&fieldValidation=Strict'))
    const apiVersion = 'meta.k8s.io/v1'
    expect(reviews.map(({ options }) => options)).toEqual([
      { kind: 'CreateOptions', apiVersion, fieldManager: 'me' },
      { kind: 'UpdateOptions', apiVersion },
      { kind: 'UpdateOptions', apiVersion, fieldManager: 'me', fieldValidation: 'Strict' },
    ])
  })
})

describe('a resize', () => {
  const resize = (ns: string, spec: object) =>
    server.patch(`${pods(ns)}/one/resize`, strategicPatch, { spec, metadata: { labels: { new: 'label' } } })
  const of = (resources: object) => ({ containers: [{ name: 'main', resources }] })
  const messageOf = (answer: { code: number; body: Body }) => `${answer.code} ${answer.body.message}`

  async function burstable(): Promise<string> {
    const ns = await namespaceForPods()
    const resources = { requests: { cpu: '1', memory: '1Gi' } }
    const containers = [{ name: 'main', image: 'example.com/main:1', resources }]
    const initContainers = [{ name: 'first', image: 'example.com/main:1', resources: { requests: { cpu: '1' } } }]
    ok(await server.create(pods(ns), pod('one', { nodeName: 'some-node', containers, initContainers })))
    return ns
  }

  conforms('changes cpu and memory, and passes over all else', async () => {
    const ns = await burstable()
    const container = { name: 'main', image: 'example.com/other:2', resources: { requests: { cpu: '2' } } }
    const { spec, metadata } = ok(await resize(ns, { containers: [container], nodeName: 'other-node' }))
    expect(spec).toMatchObject({
      nodeName: 'some-node',
      containers: [{ image: 'example.com/main:1', resources: { requests: { cpu: '2', memory: '1Gi' } } }],
    })
    expect(metadata.labels).toBeUndefined()
    expect(metadata.generation).toBe(2)
  })

  conforms('cannot change the quality of service', async () => {
    const ns = await burstable()
    const amounts = { cpu: '1', memory: '1Gi' }
    const initContainers = [{ name: 'first', resources: { requests: null } }]
    const answer = await resize(ns, { ...of({ requests: null }), initContainers })
    expect(answer.code).toBe(422)
    expect(answer.body.details.causes?.[0]).toEqual({
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
      field: 'spec',
    })
    const other = await namespaceForPods()
    ok(await server.create(pods(other), pod('one', { nodeName: 'some-node' })))
    expect(messageOf(await resize(other, of({ requests: amounts })))).toBe(
      '422 Pod "one" is invalid: spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing',
    )
  })

  conforms('changes neither other resources nor containers', async () => {
    const ns = await burstable()
    const refused = async (spec: object) => messageOf(await resize(ns, spec))
    const prefix = '422 Pod "one" is invalid: '
    expect(await refused(of({ requests: { 'ephemeral-storage': '1Gi' } }))).toBe(
      `${prefix}spec: Forbidden: only cpu and memory resources are mutable`,
    )
    expect(await refused(of({ requests: { cpu: null } }))).toBe(
      `${prefix}spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed`,
    )
    expect(await refused({ containers: [{ name: 'more', image: 'x' }] })).toBe(
      `${prefix}spec.containers: Forbidden: containers may not be added or removed on resize`,
    )
    expect(await refused({ initContainers: [{ name: 'first', resources: { requests: { cpu: '2' } } }] })).toBe(
      `${prefix}spec: Forbidden: resources for non-sidecar init containers are immutable`,
    )
    expect(await refused(of({ limits: { cpu: '500m' } }))).toBe(
      `${prefix}spec.containers[0].resources.requests: Invalid value: "1": must be less than or equal to cpu limit of 500m`,
    )
  })
})
