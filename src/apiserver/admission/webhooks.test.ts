import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueCA, issueServerCertificate } from '../certificates/issue.ts'
import type { GroupVersionKind, KubeObject } from '../object.ts'
import { StatusError } from '../status.ts'
import type { AdmissionAttributes } from './attributes.ts'
import { createWebhookAdmission } from './webhooks.ts'
import type { WebhookWire } from './wire.ts'
import { createWebhookWire } from './wire.ts'

type Question = {
  apiVersion: string
  kind: string
  request: Record<string, unknown> & { uid: string; object: KubeObject | null; oldObject: KubeObject | null }
}
type Handler = (question: Question, req: IncomingMessage, res: ServerResponse) => unknown

const now = Date.now()
const life = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) }
const ca = issueCA('webhook-ca', life)
const stranger = issueCA('stranger-ca', life)
const names = { dns: ['hook.team-a.svc'], ips: ['127.0.0.1'] }
const certificate = issueServerCertificate(ca, 'hook', names, life)

let server: Server
let port: number
const handlers = new Map<string, Handler>()
const asked: { path: string; question: Question }[] = []

beforeAll(async () => {
  server = createServer({ cert: certificate.certificate, key: certificate.key }, (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const question = JSON.parse(Buffer.concat(chunks).toString()) as Question
      const path = (req.url ?? '').split('?')[0] ?? ''
      asked.push({ path, question })
      const handler = handlers.get(path)
      if (handler === undefined) return void res.writeHead(501).end()
      const answer = handler(question, req, res)
      if (answer === undefined || res.writableEnded) return
      res.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const patience = { controller: new AbortController() }
let wire: WebhookWire
beforeEach(() => {
  handlers.clear()
  asked.length = 0
  patience.controller = new AbortController()
  wire = createWebhookWire({
    resolveService: (namespace, name) => {
      if (name === 'broken') throw new Error('no endpoints available for service "broken"')
      return ['hook', 'other'].includes(name) && namespace === 'team-a' ? { host: '127.0.0.1', port } : undefined
    },
    timeout: () => patience.controller.signal,
  })
})
afterEach(() => wire.close())

const review = (question: Question, response: Record<string, unknown>) => ({
  apiVersion: question.apiVersion,
  kind: question.kind,
  response: { uid: question.request.uid, ...response },
})
const allow: Handler = question => review(question, { allowed: true })
const patching =
  (...patch: unknown[]): Handler =>
  question =>
    review(question, {
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    })
const label = (key: string, value: string) => patching({ op: 'add', path: `/metadata/labels/${key}`, value })
const hooks = (...paths: string[]) =>
  asked.map(({ path }) => path).filter(path => paths.length === 0 || paths.includes(path))

const everything = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*', '*'] }
const hook = (name: string, more: Record<string, unknown> = {}) => ({
  name,
  clientConfig: { url: `https://127.0.0.1:${port}/${name}`, caBundle: base64(ca.certificate) },
  rules: [everything],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
})
const configuration = (name: string, ...webhooks: Record<string, unknown>[]): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'WebhookConfiguration',
  metadata: { name },
  webhooks,
})
const base64 = (text: string) => Buffer.from(text).toString('base64')

const kind: GroupVersionKind = { group: 'example.com', version: 'v2', kind: 'Boat' }
const resource = { group: 'example.com', version: 'v2', resource: 'boats' }
const boat = (more: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: 'example.com/v2',
  kind: 'Boat',
  metadata: { name: 'b', namespace: 'team-a', labels: { color: 'red' } },
  spec: { berths: 9007199254740993n },
  ...more,
})
const aWrite = (more: Partial<AdmissionAttributes> = {}): AdmissionAttributes => ({
  operation: 'CREATE',
  kind,
  resource,
  subresource: '',
  name: 'b',
  namespace: 'team-a',
  object: boat(),
  dryRun: false,
  user: { username: 'jane', groups: ['dev'] },
  options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
  ...more,
})

function admission(type: 'mutating' | 'validating', ...configurations: KubeObject[]) {
  const namespaces: Record<string, Record<string, string>> = { 'team-a': { tier: 'gold' } }
  return createWebhookAdmission({
    configurations: wanted => (wanted === type ? configurations : []),
    namespaceLabels: name => namespaces[name],
    authorize: ({ username }, asked) => ({
      allowed: username === 'jane' && asked.type === 'resource' && asked.resource === 'oars' && asked.verb === 'create',
      reason: '',
    }),
    equivalents: ({ group }) =>
      group === 'example.com'
        ? ['v1', 'v2'].map(version => ({ resource: { ...resource, version }, kind: { ...kind, version } }))
        : [],
    convert: async (object, to) => ({
      ...object,
      apiVersion: `${to.group}/${to.version}`,
      convertedFrom: object.apiVersion,
    }),
    post: wire.post,
    randomUUID: () => crypto.randomUUID(),
  })
}
const mutate = (attributes: AdmissionAttributes, ...configurations: KubeObject[]) =>
  admission('mutating', ...configurations).mutate(attributes)
const validate = (attributes: AdmissionAttributes, ...configurations: KubeObject[]) =>
  admission('validating', ...configurations).validate(attributes)

async function refusalOf(act: Promise<unknown>): Promise<StatusError> {
  const error = await act.then(
    () => undefined,
    (refusal: unknown) => refusal,
  )
  expect(error).toBeInstanceOf(StatusError)
  return error as StatusError
}

describe('what a webhook is sent', () => {
  it('describes the whole write', async () => {
    handlers.set('/a', allow)
    const old = boat({ spec: { berths: 1 } })
    await validate(
      aWrite({ operation: 'UPDATE', oldObject: old, subresource: 'status', dryRun: true }),
      configuration('c', hook('a')),
    )
    const [{ question } = { question: undefined }] = asked
    expect(question).toMatchObject({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind,
        resource,
        subResource: 'status',
        requestKind: kind,
        requestResource: resource,
        requestSubResource: 'status',
        name: 'b',
        namespace: 'team-a',
        operation: 'UPDATE',
        userInfo: { username: 'jane', groups: ['dev'] },
        oldObject: old,
        dryRun: true,
        options: { kind: 'CreateOptions' },
      },
    })
  })

  it('has nothing where there is no object, and no namespace at the cluster scope', async () => {
    handlers.set('/a', allow)
    await validate(aWrite({ operation: 'DELETE', object: undefined, namespace: '' }), configuration('c', hook('a')))
    expect(asked[0]?.question.request.object).toBeNull()
    expect(asked[0]?.question.request).not.toHaveProperty('namespace')
  })

  it('shows what travels through a subresource as it is', async () => {
    handlers.set('/a', allow)
    const scale: KubeObject = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'b' },
      spec: { replicas: 2 },
    }
    await validate(aWrite({ operation: 'UPDATE', subresource: 'scale', object: scale }), configuration('c', hook('a')))
    expect(asked[0]?.question.request.object).toEqual(scale)
  })

  it('is in the old format only for a webhook that knows no other', async () => {
    handlers.set('/a', ({ request }) => ({ response: { allowed: request.uid !== '' } }))
    await validate(aWrite(), configuration('c', hook('a', { admissionReviewVersions: ['v9', 'v1beta1'] })))
    expect(asked[0]?.question.apiVersion).toBe('admission.k8s.io/v1beta1')
  })

  it('names the timeout', async () => {
    let url: string | undefined
    handlers.set('/a', (question, req) => {
      url = req.url
      return allow(question, req, {} as ServerResponse)
    })
    await validate(aWrite(), configuration('c', hook('a', { timeoutSeconds: 7 })))
    expect(url).toBe('/a?timeout=7s')
  })
})

describe('which webhooks are called', () => {
  const only = (rule: Record<string, unknown>) => ({ rules: [{ ...everything, ...rule }] })

  it.each<[string, Record<string, unknown>, Partial<AdmissionAttributes>, boolean]>([
    ['its operation', only({ operations: ['CREATE'] }), {}, true],
    ['another operation', only({ operations: ['DELETE'] }), {}, false],
    ['its group', only({ apiGroups: ['example.com'] }), {}, true],
    ['another group', only({ apiGroups: ['apps'] }), {}, false],
    ['another version', { ...only({ apiVersions: ['v7'] }) }, {}, false],
    ['an equivalent version', only({ apiVersions: ['v1'] }), {}, true],
    [
      'an equivalent version, but wanting it exactly',
      { ...only({ apiVersions: ['v1'] }), matchPolicy: 'Exact' },
      {},
      false,
    ],
    ['the resource when a subresource is written', only({ resources: ['boats'] }), { subresource: 'status' }, false],
    ['the subresource', only({ resources: ['boats/status'] }), { subresource: 'status' }, true],
    ['all subresources', only({ resources: ['boats/*'] }), { subresource: 'status' }, true],
    ['this subresource of everything', only({ resources: ['*/status'] }), { subresource: 'status' }, true],
    ['namespaced things', only({ scope: 'Namespaced' }), {}, true],
    ['cluster-wide things', only({ scope: 'Cluster' }), {}, false],
    ['cluster-wide things, given one', only({ scope: 'Cluster' }), { namespace: '' }, true],
    ['labelled namespaces', { namespaceSelector: { matchLabels: { tier: 'gold' } } }, {}, true],
    ['otherwise labelled namespaces', { namespaceSelector: { matchLabels: { tier: 'tin' } } }, {}, false],
    [
      'otherwise labelled namespaces, but at the cluster scope',
      { namespaceSelector: { matchLabels: { tier: 'tin' } } },
      { namespace: '' },
      true,
    ],
    ['labelled objects', { objectSelector: { matchExpressions: [{ key: 'color', operator: 'Exists' }] } }, {}, true],
    ['otherwise labelled objects', { objectSelector: { matchLabels: { color: 'blue' } } }, {}, false],
    [
      'objects that were labelled so',
      { objectSelector: { matchLabels: { color: 'blue' } } },
      { oldObject: { ...boat(), metadata: { labels: { color: 'blue' } } } },
      true,
    ],
    [
      'a condition that holds',
      { matchConditions: [{ name: 'n', expression: 'request.userInfo.username == "jane"' }] },
      {},
      true,
    ],
    [
      'users who may do something else, and this one may',
      {
        matchConditions: [
          { name: 'n', expression: "authorizer.group('a').resource('oars').check('create').allowed()" },
        ],
      },
      {},
      true,
    ],
    [
      'users who may do something else, and this one may not',
      {
        matchConditions: [
          { name: 'n', expression: "authorizer.group('a').resource('oars').check('create').allowed()" },
        ],
      },
      { user: { username: 'joe', groups: [] } },
      false,
    ],
    [
      'a condition that does not',
      { matchConditions: [{ name: 'n', expression: 'object.metadata.name == "z"' }] },
      {},
      false,
    ],
  ])('those that want %s', async (_, more, change, expected) => {
    handlers.set('/a', allow)
    await validate(aWrite(change), configuration('c', hook('a', more)))
    expect(hooks()).toEqual(expected ? ['/a'] : [])
  })

  it('goes by the labels a namespace is about to have', async () => {
    handlers.set('/a', allow)
    const selecting = configuration('c', hook('a', { namespaceSelector: { matchLabels: { tier: 'new' } } }))
    const space: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'team-a', labels: { tier: 'new' } },
    }
    const write = aWrite({
      kind: { group: '', version: 'v1', kind: 'Namespace' },
      resource: { group: '', version: 'v1', resource: 'namespaces' },
      name: 'team-a',
    })
    await validate({ ...write, object: space, operation: 'UPDATE' }, selecting)
    expect(hooks()).toEqual(['/a'])
    await validate({ ...write, object: undefined, operation: 'DELETE' }, selecting)
    expect(hooks()).toEqual(['/a'])
  })

  it('refuses a write to a namespace that does not exist', async () => {
    const selecting = configuration('c', hook('a', { namespaceSelector: { matchLabels: { tier: 'gold' } } }))
    const refusal = await refusalOf(validate(aWrite({ namespace: 'gone' }), selecting))
    expect(refusal.message).toBe('namespaces "gone" not found')
  })

  it('calls none for webhook configurations themselves', async () => {
    const kindOfConfiguration = {
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      kind: 'ValidatingWebhookConfiguration',
    }
    await validate(aWrite({ kind: kindOfConfiguration }), configuration('c', hook('a')))
    await mutate(aWrite({ kind: kindOfConfiguration }), configuration('c', hook('a')))
    expect(hooks()).toEqual([])
  })

  it.each([
    ['Fail', 403],
    ['Ignore', 200],
  ])('treats a failing condition by the policy %s', async (failurePolicy, code) => {
    const failing = { failurePolicy, matchConditions: [{ name: 'n', expression: 'object.spec.nothing.here == 1' }] }
    const outcome = await validate(aWrite(), configuration('c', hook('a', failing))).then(
      () => 200,
      (error: StatusError) => error.status.code,
    )
    expect(outcome).toBe(code)
    expect(hooks()).toEqual([])
  })
})

describe('mutating webhooks', () => {
  it('are called by configuration name, then as listed, each seeing what came before', async () => {
    handlers.set('/a1', label('a1', 'x'))
    handlers.set('/a2', label('a2', 'x'))
    handlers.set('/b1', label('b1', 'x'))
    const object = await mutate(aWrite(), configuration('b', hook('b1')), configuration('a', hook('a1'), hook('a2')))
    expect(hooks()).toEqual(['/a1', '/a2', '/b1'])
    expect(asked[2]?.question.request.object?.metadata.labels).toEqual({ color: 'red', a1: 'x', a2: 'x' })
    expect(object?.metadata.labels).toEqual({ color: 'red', a1: 'x', a2: 'x', b1: 'x' })
  })

  it('leave what they do not touch as it was, big numbers and all', async () => {
    handlers.set('/a', label('a', 'x'))
    const write = aWrite()
    const object = await mutate(write, configuration('c', hook('a')))
    expect(object?.spec).toEqual({ berths: 9007199254740993n })
    expect(write.object?.metadata.labels).toEqual({ color: 'red' })
  })

  it('get the version they want, and the result is the version that was asked for', async () => {
    handlers.set('/a', label('a', 'x'))
    const rules = [{ ...everything, apiVersions: ['v1'] }]
    const object = await mutate(aWrite(), configuration('c', hook('a', { rules })))
    expect(asked[0]?.question.request).toMatchObject({ kind: { version: 'v1' }, requestKind: { version: 'v2' } })
    expect(asked[0]?.question.request.object?.apiVersion).toBe('example.com/v1')
    expect(object).toMatchObject({ apiVersion: 'example.com/v2', convertedFrom: 'example.com/v1' })
  })

  it('are called once more if they asked for it and a later webhook changed the object', async () => {
    handlers.set('/first', allow)
    handlers.set('/never', allow)
    handlers.set('/changes', label('late', 'x'))
    handlers.set('/last', allow)
    const again = { reinvocationPolicy: 'IfNeeded' }
    await mutate(
      aWrite(),
      configuration('c', hook('first', again), hook('never'), hook('changes', again), hook('last', again)),
    )
    expect(hooks()).toEqual(['/first', '/never', '/changes', '/last', '/first'])
  })

  it('are not called again when nothing changed', async () => {
    handlers.set('/a', allow)
    handlers.set('/b', patching({ op: 'add', path: '/metadata/labels/color', value: 'red' }))
    await mutate(aWrite(), configuration('c', hook('a', { reinvocationPolicy: 'IfNeeded' }), hook('b')))
    expect(hooks()).toEqual(['/a', '/b'])
  })

  it('are called again when built-in rules changed what they made', async () => {
    handlers.set('/a', label('a', 'x'))
    const mutating = admission('mutating', configuration('c', hook('a', { reinvocationPolicy: 'IfNeeded' })))
    const object = await mutating.mutate(aWrite(), async made => ({ ...made, spec: { built: 'in' } }))
    expect(hooks()).toEqual(['/a', '/a'])
    expect(object?.spec).toEqual({ built: 'in' })
  })

  it('stop at the first refusal', async () => {
    handlers.set('/a', question =>
      review(question, { allowed: false, status: { message: 'no', code: 403, reason: 'Forbidden' } }),
    )
    const refusal = await refusalOf(mutate(aWrite(), configuration('c', hook('a'), hook('b'))))
    expect(refusal.status).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: 'admission webhook "a" denied the request: no',
    })
    expect(hooks()).toEqual(['/a'])
  })

  it('cannot change what is being deleted', async () => {
    handlers.set('/a', label('a', 'x'))
    const deletion = aWrite({ operation: 'DELETE', object: undefined, oldObject: boat() })
    const refusal = await refusalOf(mutate(deletion, configuration('c', hook('a', { failurePolicy: 'Ignore' }))))
    expect(refusal.message).toBe(
      'Internal error occurred: admission webhook "a" attempted to modify the object, which is not supported for this operation',
    )
  })

  it.each([
    ['a patch that does not apply', [{ op: 'remove', path: '/spec/nothing' }]],
    ['a patch that makes it another kind', [{ op: 'replace', path: '/kind', value: 'Car' }]],
    ['a patch that makes it no object', [{ op: 'replace', path: '', value: [] }]],
  ])('refuse the write with %s', async (_, patch) => {
    handlers.set('/a', patching(...patch))
    const refusal = await refusalOf(mutate(aWrite(), configuration('c', hook('a'))))
    expect(refusal.status.code).toBe(500)
  })
})

describe('validating webhooks', () => {
  it('are all called, and the client gets the first refusal in order', async () => {
    const deny =
      (message: string): Handler =>
      question =>
        review(question, { allowed: false, status: { message } })
    handlers.set('/a', allow)
    handlers.set('/b', deny('b says no'))
    handlers.set('/c', deny('c says no'))
    const refusal = await refusalOf(validate(aWrite(), configuration('x', hook('a'), hook('b'), hook('c'))))
    expect(refusal.message).toBe('admission webhook "b" denied the request: b says no')
    expect(hooks().sort()).toEqual(['/a', '/b', '/c'])
  })

  it.each([
    [undefined, 'admission webhook "a" denied the request without explanation', 400],
    [{ reason: 'Conflict', code: 409 }, 'admission webhook "a" denied the request: Conflict', 409],
    [{ message: 'why', code: 200 }, 'admission webhook "a" denied the request: why', 400],
  ])('refuse with %j in these words', async (status, message, code) => {
    handlers.set('/a', question => review(question, { allowed: false, status }))
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a', { failurePolicy: 'Ignore' }))))
    expect(refusal.status).toMatchObject({ message, code, status: 'Failure' })
  })

  it('pass warnings on, also of a write they refuse', async () => {
    const warnings: string[] = []
    handlers.set('/a', question => review(question, { allowed: false, warnings: ['careful', 'old'] }))
    await refusalOf(validate(aWrite({ warn: text => warnings.push(text) }), configuration('c', hook('a'))))
    expect(warnings).toEqual(['careful', 'old'])
  })

  it.each(['Some', 'Unknown', undefined])('with side effects %s are not for dry runs', async sideEffects => {
    handlers.set('/a', allow)
    const effective = configuration('c', hook('a', { sideEffects, failurePolicy: 'Ignore' }))
    const refusal = await refusalOf(validate(aWrite({ dryRun: true }), effective))
    expect(refusal.status).toMatchObject({ code: 400, message: 'admission webhook "a" does not support dry run' })
    await validate(aWrite(), effective)
  })
})

describe('a webhook that cannot be called', () => {
  const failing: [string, Record<string, unknown>, Handler | undefined, RegExp][] = [
    [
      'answers 500',
      {},
      (_, __, res) => void res.writeHead(500, { 'content-type': 'text/plain' }).end('oh no'),
      /an error on the server \("oh no"\) has prevented the request from succeeding$/,
    ],
    [
      'answers 404',
      {},
      (_, __, res) => void res.writeHead(404).end(),
      /failed to call webhook: the server could not find the requested resource$/,
    ],
    [
      'redirects',
      {},
      (_, __, res) => void res.writeHead(307, { location: '/other' }).end(),
      /the server responded with the status code 307 but did not return more information$/,
    ],
    [
      'answers with a Status',
      {},
      (_, __, res) => void res.writeHead(418).end('{"kind":"Status","status":"Failure","message":"teapot"}'),
      /failed to call webhook: teapot$/,
    ],
    [
      'answers no JSON',
      {},
      (_, __, res) => void res.end('<html>'),
      /couldn't get version\/kind; json parse error: invalid character '<'/,
    ],
    ['hangs up', {}, (_, __, res) => void res.destroy(), /Post "https:\/\/127\.0\.0\.1:\d+\/a\?timeout=10s": EOF$/],
    ['answers nothing', {}, () => ({}), /received invalid webhook response: webhook response was absent$/],
    [
      'answers another request',
      {},
      question => ({ ...review(question, { uid: 'x', allowed: true }) }),
      /expected response\.uid="[0-9a-f-]{36}", got "x"$/,
    ],
    [
      'answers in another kind',
      {},
      ({ request: { uid } }) => ({ response: { uid, allowed: true } }),
      /expected webhook response of admission\.k8s\.io\/v1, Kind=AdmissionReview, got \/, Kind=$/,
    ],
    [
      'patches, though it may not',
      {},
      label('a', 'x'),
      /received invalid webhook response: validating webhook may not return response\.patch$/,
    ],
    [
      'speaks no known version',
      { admissionReviewVersions: ['v2'] },
      allow,
      /could not create admission objects: webhook does not accept known AdmissionReview versions \(v1, v1beta1\)$/,
    ],
    ['has no address', { clientConfig: {} }, allow, /webhook configuration must have either service or URL$/],
    [
      'is a service that is not there',
      { clientConfig: { service: { namespace: 'team-a', name: 'gone', path: '/x' } } },
      allow,
      /Post "https:\/\/gone\.team-a\.svc:443\/x\?timeout=10s": service "gone" not found$/,
    ],
    [
      'is a service without endpoints',
      { clientConfig: { service: { namespace: 'team-a', name: 'broken' } } },
      allow,
      /no endpoints available for service "broken"$/,
    ],
  ]

  const answering =
    (response: unknown): Handler =>
    question => ({ ...review(question, {}), response })
  failing.push(
    ['answers an array', {}, () => [], /json parse error: json: cannot unmarshal array into Go value of type struct/],
    [
      'answers with no byte',
      {},
      (_, __, res) => void res.end(),
      /0-length response with status code: 200 and content type: application\/json$/,
    ],
    [
      'allows in words',
      {},
      answering({ allowed: 'yes' }),
      /failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse\.response\.allowed of type bool$/,
    ],
    [
      'encodes its patch badly',
      {},
      answering({ allowed: true, patch: 'AAAA!' }),
      /failed to call webhook: illegal base64 data at input byte 4$/,
    ],
  )

  it.each(failing)('because it %s refuses the write, or is passed over', async (_, more, handler, message) => {
    if (handler) handlers.set('/a', handler)
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a', more))))
    expect(refusal.message).toMatch(/^Internal error occurred: failed calling webhook "a": /)
    expect(refusal.message).toMatch(message)
    expect(refusal.status.code).toBe(500)
    await validate(aWrite(), configuration('c', hook('a', { ...more, failurePolicy: 'Ignore' })))
  })

  it('because nothing listens there is refused as Go says it', async () => {
    const idle = createServer()
    await new Promise<void>(resolve => idle.listen(0, '127.0.0.1', resolve))
    const { port: closed } = idle.address() as AddressInfo
    await new Promise(resolve => idle.close(resolve))
    const clientConfig = { url: `https://127.0.0.1:${closed}/a` }
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a', { clientConfig }))))
    expect(refusal.message).toBe(
      `Internal error occurred: failed calling webhook "a": failed to call webhook: Post "https://127.0.0.1:${closed}/a?timeout=10s": dial tcp 127.0.0.1:${closed}: connect: connection refused`,
    )
  })

  it('because no trusted authority signed its certificate is refused', async () => {
    const clientConfig = { url: `https://127.0.0.1:${port}/a`, caBundle: base64(stranger.certificate) }
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a', { clientConfig }))))
    expect(refusal.message).toMatch(/tls: failed to verify certificate: x509: certificate signed by unknown authority$/)
  })

  it('because its certificate is for another is refused', async () => {
    const clientConfig = { service: { namespace: 'team-a', name: 'other' }, caBundle: base64(ca.certificate) }
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a', { clientConfig }))))
    expect(refusal.message).toMatch(/x509: certificate is valid for hook\.team-a\.svc, not other\.team-a\.svc$/)
  })

  it('in time is refused when its time is over', async () => {
    handlers.set('/a', () => void patience.controller.abort(new DOMException('late', 'TimeoutError')))
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a', { timeoutSeconds: 3 }))))
    expect(refusal.message).toMatch(/Post "https:\/\/127\.0\.0\.1:\d+\/a\?timeout=3s": context deadline exceeded$/)
  })

  it('because the client went away ends the write, whatever the policy', async () => {
    const client = new AbortController()
    handlers.set('/a', () => void client.abort())
    const refusal = await refusalOf(
      mutate(aWrite({ signal: client.signal }), configuration('c', hook('a', { failurePolicy: 'Ignore' }), hook('b'))),
    )
    expect(refusal.message).toBe('Timeout: request did not complete within requested timeout')
    expect(hooks()).toEqual(['/a'])
  })

  it('because its answer has no end is refused', async () => {
    handlers.set('/a', (_, __, res) => {
      const flood = () => {
        while (!res.destroyed && res.write('x'.repeat(65_536)));
      }
      res.on('drain', flood).on('error', () => undefined)
      flood()
    })
    const refusal = await refusalOf(validate(aWrite(), configuration('c', hook('a'))))
    expect(refusal.message).toMatch(/the answer is larger than \d+ bytes$/)
  })
})

describe('a webhook behind a service', () => {
  it('is reached where the service is, under its own name', async () => {
    let host: string | undefined
    handlers.set('/check', (question, req) => {
      host = req.headers.host
      return review(question, { allowed: true })
    })
    const clientConfig = {
      service: { namespace: 'team-a', name: 'hook', path: '/check', port: 8443 },
      caBundle: base64(ca.certificate),
    }
    await validate(aWrite(), configuration('c', hook('a', { clientConfig })))
    expect(host).toBe('hook.team-a.svc:8443')
  })

  it('keeps its connections between calls', async () => {
    const sockets = new Set<unknown>()
    handlers.set('/a', (question, req) => {
      sockets.add(req.socket)
      return review(question, { allowed: true })
    })
    for (let i = 0; i < 20; i++) await validate(aWrite(), configuration('c', hook('a')))
    // A second one may be opened while the first is still being handed back.
    expect(sockets.size).toBeLessThanOrEqual(2)
  })
})
