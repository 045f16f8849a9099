// Admission webhooks: which are called, in which order, what they may change, and what happens when they do not answer.

import { afterAll, beforeAll, describe, expect } from 'vitest'
import { type Handler, neverAnswer, serveWebhooks, type Webhooks } from './webhook.ts'
import { configMap, configMaps, conforms, eventually, made, namespace, ok, server, unique } from './world.ts'

let hooks: Webhooks
beforeAll(async () => {
  hooks = await serveWebhooks()
})
afterAll(() => hooks.close())

const registrations = {
  mutating: {
    path: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
    kind: 'MutatingWebhookConfiguration',
  },
  validating: {
    path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    kind: 'ValidatingWebhookConfiguration',
  },
}

interface Registered {
  readonly ns: string
  readonly at: string
  /** The path under which the hook is served; reviews carry the namespace. */
  readonly hook: string
}

/** Registers one webhook for config maps of a fresh namespace and waits until it is called. */
async function register(
  type: 'mutating' | 'validating',
  handler: Handler,
  more: object = {},
  ns?: string,
): Promise<Registered> {
  const target = ns ?? (await namespace())
  const name = unique('hook')
  const hook = `/${name}`
  let armed = false
  hooks.handle(hook, review => {
    if (review.name === 'probe') {
      armed = true
      return { allowed: true }
    }
    return handler(review)
  })
  const probe = async (): Promise<void> => {
    await server.create(`${configMaps(target)}?dryRun=All`, configMap('probe', {}, { labels: { probe: 'yes' } }))
    if (!armed) throw new Error('the webhook has not been asked yet')
  }
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: hooks.clientConfig(hook),
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': target } },
    timeoutSeconds: 5,
    ...more,
  }
  const { path, kind } = registrations[type]
  const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name }, webhooks: [webhook] }
  ok(await server.create(path, body))
  made.push(`${path}/${name}`)
  await eventually(probe)
  return { ns: target, at: configMaps(target), hook }
}

/** The server creates objects in every new namespace, and webhooks are called for those as well, at any time. */
const ownObjects = new Set(['probe', 'kube-root-ca.crt'])

const reviewsOf = (ns: string) =>
  hooks.reviews.filter(review => review.namespace === ns && !ownObjects.has(review.name))

describe('a validating webhook', () => {
  conforms('refuses with its own words', async () => {
    const { at } = await register('validating', () => ({ allowed: false, status: { message: 'not today' } }))
    const answer = await server.create(at, configMap('one'))
    expect(answer.code).toBe(400)
    expect(answer.body.message).toMatch(
      /^admission webhook "hook-[0-9a-f]+\.example\.com" denied the request: not today$/,
    )
    expect((await server.get(`${at}/one`)).code).toBe(404)
  })

  conforms('refuses with its own code and reason', async () => {
    const status = { code: 422, reason: 'Invalid', message: 'spec is odd' }
    const { at } = await register('validating', () => ({ allowed: false, status }))
    const answer = await server.create(at, configMap('one'))
    expect(answer.code).toBe(422)
    expect(answer.body.reason).toBe('Invalid')
    expect(answer.body.message).toContain('denied the request: spec is odd')
  })

  conforms('refuses without an explanation', async () => {
    const { at } = await register('validating', () => ({ allowed: false }))
    const answer = await server.create(at, configMap('one'))
    expect(answer.code).toBe(400)
    expect(answer.body.message).toMatch(/denied the request without explanation$/)
  })

  conforms('is sent everything about the request', async () => {
    const { at, ns } = await register('validating', () => ({ allowed: true }))
    ok(await server.create(at, configMap('one', { a: '1' })))
    ok(await server.merge(`${at}/one`, { data: { a: '2' } }))
    ok(await server.delete(`${at}/one`))
    const [create, update, remove] = reviewsOf(ns).filter(review => review.name === 'one')
    expect(create).toMatchObject({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      requestResource: { group: '', version: 'v1', resource: 'configmaps' },
      name: 'one',
      namespace: ns,
      operation: 'CREATE',
      userInfo: { groups: expect.arrayContaining(['system:authenticated']) },
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: ns }, data: { a: '1' } },
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
    })
    expect(create?.object.metadata.uid).toBeTruthy()
    expect(update).toMatchObject({ operation: 'UPDATE', object: { data: { a: '2' } }, oldObject: { data: { a: '1' } } })
    expect(remove).toMatchObject({ operation: 'DELETE', object: null, oldObject: { data: { a: '2' } } })
  })

  conforms('sends warnings to the client', async () => {
    const { at } = await register('validating', () => ({
      allowed: true,
      warnings: ['mind the gap', 'and the "quotes"'],
    }))
    const answer = await server.create(at, configMap('one'))
    expect(answer.code).toBe(201)
    expect(answer.warnings).toEqual(['mind the gap', 'and the "quotes"'])
  })

  conforms('may not patch', async () => {
    const { at } = await register('validating', () => ({
      allowed: true,
      patch: [{ op: 'add', path: '/data/x', value: 'y' }],
    }))
    const answer = await server.create(at, configMap('one', { a: '1' }))
    expect(answer.code).toBe(500)
    expect(answer.body.message).toContain('failed calling webhook')
  })

  conforms('that does not answer in time refuses or is ignored, as its policy says', async () => {
    const failing = await register('validating', () => neverAnswer, { timeoutSeconds: 1, failurePolicy: 'Fail' })
    const refused = await server.create(failing.at, configMap('one'))
    expect(refused.code).toBe(500)
    expect(refused.body.reason).toBe('InternalError')
    expect(refused.body.message).toMatch(
      /^Internal error occurred: failed calling webhook "hook-[0-9a-f]+\.example\.com": failed to call webhook: Post "https:\/\/127\.0\.0\.1:\d+\/hook-[0-9a-f]+\?timeout=1s": context deadline exceeded/,
    )
    const ignored = await register('validating', () => neverAnswer, { timeoutSeconds: 1, failurePolicy: 'Ignore' })
    expect((await server.create(ignored.at, configMap('one'))).code).toBe(201)
  })

  conforms('whose answer is invalid counts as failed', async () => {
    const { at } = await register('validating', () => ({ raw: '{"hello":"world"}' }))
    const answer = await server.create(at, configMap('one'))
    expect(answer.code).toBe(500)
    expect(answer.body.message).toContain('failed calling webhook')
  })

  conforms('is called only for objects that its selectors match', async () => {
    const { at, ns } = await register('validating', () => ({ allowed: false }), {
      objectSelector: { matchExpressions: [{ key: 'probe', operator: 'In', values: ['yes'] }] },
    })
    expect((await server.create(at, configMap('one'))).code).toBe(201)
    expect((await server.create(at, configMap('two', {}, { labels: { probe: 'yes' } }))).code).toBe(400)
    // A change away from the selector is shown as well.
    expect(reviewsOf(ns).map(review => review.name)).toEqual(['two'])
  })

  conforms('is called when its match conditions hold', async () => {
    const matchConditions = [
      { name: 'not-quiet', expression: 'object == null || !object.metadata.name.startsWith("quiet")' },
      { name: 'create', expression: 'request.operation == "CREATE"' },
    ]
    const { at } = await register('validating', () => ({ allowed: false }), { matchConditions })
    expect((await server.create(at, configMap('quiet-one'))).code).toBe(201)
    expect((await server.create(at, configMap('loud'))).code).toBe(400)
    expect((await server.merge(`${at}/quiet-one`, { data: { a: '1' } })).code).toBe(200)
  })

  conforms('is called for a dry run', async () => {
    const quiet = await register('validating', () => ({ allowed: true }))
    ok(await server.create(`${quiet.at}?dryRun=All`, configMap('one')))
    expect(reviewsOf(quiet.ns)[0]).toMatchObject({ dryRun: true, options: { dryRun: ['All'] } })
  })

  conforms('that is stored shows its defaults', async () => {
    const { hook } = await register('validating', () => ({ allowed: true }))
    const name = hook.slice(1)
    const list = ok(await server.get(registrations.validating.path))
    expect(list.items.find(item => item.metadata.name === name)?.webhooks).toMatchObject([
      { failurePolicy: 'Fail', matchPolicy: 'Equivalent', objectSelector: {}, timeoutSeconds: 5 },
    ])
  })

  conforms('that refuses deletes keeps its kind in a namespace that ends, and no other', async () => {
    let isKept = true
    const { ns } = await register('validating', ({ operation }) =>
      operation === 'DELETE' && isKept ? { allowed: false, status: { message: 'in use' } } : { allowed: true },
    )
    ok(await server.create(configMaps(ns), configMap('kept')))
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`
    ok(await server.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } }))
    ok(await server.delete(`/api/v1/namespaces/${ns}`))
    await eventually(async () => {
      expect((await server.get(`${accounts}/robot`)).code).toBe(404)
      expect(ok(await server.get(`/api/v1/namespaces/${ns}`)).status).toMatchObject({
        phase: 'Terminating',
        conditions: expect.arrayContaining([
          expect.objectContaining({
            type: 'NamespaceDeletionContentFailure',
            status: 'True',
            reason: 'ContentDeletionFailed',
            message: expect.stringMatching(
              /^Failed to delete all resource types, 1 remaining: .*admission webhook ".*" denied the request: in use$/,
            ),
          }),
        ]),
      })
    })
    isKept = false
    await eventually(async () => expect((await server.get(`/api/v1/namespaces/${ns}`)).code).toBe(404))
  })

  conforms('must say whether it has side effects', async () => {
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: unique('bad') },
      webhooks: [
        {
          name: 'x',
          clientConfig: { url: 'http://127.0.0.1/x' },
          admissionReviewVersions: ['v1'],
          sideEffects: 'Some',
          timeoutSeconds: 99,
        },
      ],
    }
    const answer = await server.create(registrations.validating.path, body)
    expect(answer.code).toBe(422)
    expect(answer.body.details.causes?.map(cause => cause.field).toSorted()).toEqual([
      'webhooks[0].clientConfig.url',
      'webhooks[0].name',
      'webhooks[0].sideEffects',
      'webhooks[0].timeoutSeconds',
    ])
  })
})

describe('a mutating webhook', () => {
  conforms('changes the object before it is stored', async () => {
    const { at } = await register('mutating', () => ({
      allowed: true,
      patch: [{ op: 'add', path: '/data/b', value: '2' }],
    }))
    const body = ok(await server.create(at, configMap('one', { a: '1' })))
    expect(body.data).toEqual({ a: '1', b: '2' })
    expect(ok(await server.get(`${at}/one`)).data).toEqual({ a: '1', b: '2' })
  })

  conforms('is seen by validating ones with its change', async () => {
    const { at, ns } = await register('mutating', () => ({
      allowed: true,
      patch: [{ op: 'add', path: '/data/b', value: '2' }],
    }))
    await register(
      'validating',
      review => ({ allowed: review.object.data.b === '2', status: { message: 'no b' } }),
      {},
      ns,
    )
    expect((await server.create(at, configMap('one', { a: '1' }))).code).toBe(201)
  })

  conforms('works after another in the order of names of their configurations', async () => {
    const append =
      (letter: string): Handler =>
      review => ({
        allowed: true,
        patch: [{ op: 'replace', path: '/data/seen', value: `${review.object.data.seen}${letter}` }],
      })
    const first = await register('mutating', append('x'))
    await register('mutating', append('x'), {}, first.ns)
    const body = ok(await server.create(first.at, configMap('one', { seen: '' })))
    expect(body.data.seen).toBe('xx')
  })

  conforms('is called again when a later one changed the object, if it asks for that', async () => {
    const ns = await namespace()
    // The first only marks what the second adds, so it can only do so when it is called a second time.
    const mark: Handler = review =>
      review.object.data.added && !review.object.data.marked
        ? { allowed: true, patch: [{ op: 'add', path: '/data/marked', value: 'yes' }] }
        : { allowed: true }
    const add: Handler = review =>
      review.object.data.added
        ? { allowed: true }
        : { allowed: true, patch: [{ op: 'add', path: '/data/added', value: 'yes' }] }
    const name = unique('aaa')
    hooks.handle(`/${name}/mark`, mark)
    hooks.handle(`/${name}/add`, add)
    const webhook = (id: string, reinvocationPolicy: string) => ({
      name: `${id}.example.com`,
      clientConfig: hooks.clientConfig(`/${name}/${id}`),
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      reinvocationPolicy,
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': ns } },
    })
    const { path, kind } = registrations.mutating
    ok(
      await server.create(path, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name },
        webhooks: [webhook('mark', 'IfNeeded'), webhook('add', 'Never')],
      }),
    )
    made.push(`${path}/${name}`)
    await eventually(async () => {
      const body = ok(await server.create(`${configMaps(ns)}?dryRun=All`, configMap('one', { a: '1' })))
      expect(body.data).toEqual({ a: '1', added: 'yes', marked: 'yes' })
    })
  })

  conforms('may not make the object invalid', async () => {
    const { at } = await register('mutating', () => ({
      allowed: true,
      patch: [{ op: 'add', path: '/data/bad~1key', value: 'x' }],
    }))
    const answer = await server.create(at, configMap('one', { a: '1' }))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('data[bad/key]: Invalid value')
  })

  conforms('whose patch does not apply fails the request', async () => {
    const { at } = await register('mutating', () => ({ allowed: true, patch: [{ op: 'remove', path: '/data/none' }] }))
    const answer = await server.create(at, configMap('one', { a: '1' }))
    expect(answer.code).toBe(500)
    expect(answer.body.reason).toBe('InternalError')
  })

  conforms('refuses before any validating one is called', async () => {
    const { at, ns } = await register('mutating', () => ({ allowed: false, status: { message: 'stop' } }))
    const answer = await server.create(at, configMap('one'))
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('denied the request: stop')
    expect(reviewsOf(ns)).toHaveLength(1)
  })
})
