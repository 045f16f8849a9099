import { describe, expect, test } from 'vitest'
import { type Body, ok } from '../../../../test/harness/client.ts'
import { aPod, namespaces, pods } from '../../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../../test/harness/world.ts'
import type { AdmissionRequest } from '../../call.ts'
import { StatusError } from '../../status.ts'

const budgets = `/apis/policy/v1/namespaces/default/poddisruptionbudgets`

const evict = ({ admin }: World, name: string, deleteOptions?: object, query = '') =>
  admin.create(`${pods()}/${name}/eviction${query}`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    ...(deleteOptions && { deleteOptions }),
  })

async function running({ admin }: World, name: string, isReady = true): Promise<void> {
  ok(await admin.create(pods(), aPod(name, { nodeName: 'node' }, { labels: { app: 'x' } })))
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }]
  ok(await admin.patch(`${pods()}/${name}/status`, { status: { phase: 'Running', conditions } }))
}

async function aBudget({ admin }: World, spec: object, status?: object): Promise<void> {
  const selector = { matchLabels: { app: 'x' } }
  ok(
    await admin.create(budgets, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'keep' },
      spec: { selector, ...spec },
    }),
  )
  if (status !== undefined) ok(await admin.patch(`${budgets}/keep/status`, { status }))
}

/** Everything that admission is asked from now on. */
function asked({ server }: World, refuse: (request: AdmissionRequest) => boolean = () => false): string[] {
  const { admission } = server.world
  const validate = admission.validate.bind(admission)
  const seen: string[] = []
  const watching: typeof validate = async request => {
    const { operation, object, oldObject, call } = request
    seen.push(`${operation} ${(object ?? oldObject)?.kind} ${call.request.plural}/${call.request.subresource}`)
    if (refuse(request)) throw new StatusError(429, 'TooManyRequests', 'moving away')
    return validate(request)
  }
  Object.assign(admission, { validate: watching })
  return seen
}

const conditionsOf = (pod: Body) => (pod.status as { conditions?: { type: string }[] }).conditions ?? []

describe('an eviction', () => {
  test('asks webhooks about itself and not about the delete of the pod, which says why it goes', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one', { nodeName: 'node' })))
    const seen = asked(world)
    expect((await evict(world, 'one')).code).toBe(201)
    expect(seen).toEqual(['CREATE Eviction pods/eviction'])
    const pod = ok(await world.admin.get(`${pods()}/one`))
    expect(pod.metadata.deletionTimestamp).toBeTruthy()
    expect(conditionsOf(pod)).toEqual([
      {
        type: 'DisruptionTarget',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2030-01-01T00:00:00Z',
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
      },
    ])
  })

  test('that is refused leaves the pod as it was', async () => {
    const world = await aWorld()
    const before = ok(await world.admin.create(pods(), aPod('one', { nodeName: 'node' })))
    asked(world, ({ call }) => call.request.subresource === 'eviction')
    expect(await evict(world, 'one')).toMatchObject({ code: 429, body: { message: 'moving away' } })
    expect(ok(await world.admin.get(`${pods()}/one`))).toEqual(before)
  })

  test.each([
    ['the request', undefined, '?dryRun=All'],
    ['its delete options', { dryRun: ['All'] }, ''],
  ])('is only tried when %s says so', async (_, deleteOptions, query) => {
    const world = await aWorld()
    const before = ok(await world.admin.create(pods(), aPod('one', { nodeName: 'node' })))
    expect((await evict(world, 'one', deleteOptions, query)).code).toBe(201)
    expect(ok(await world.admin.get(`${pods()}/one`))).toEqual(before)
  })

  test('of another incarnation is refused, and the condition is not written', async () => {
    const world = await aWorld()
    const before = ok(await world.admin.create(pods(), aPod('one', { nodeName: 'node' })))
    expect(await evict(world, 'one', { preconditions: { uid: 'other' } })).toMatchObject({ code: 409 })
    expect(ok(await world.admin.get(`${pods()}/one`))).toEqual(before)
  })

  test('of a pod that changes meanwhile is decided anew', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one', { nodeName: 'node' })))
    world.meanwhile(
      ({ call }) => call.request.subresource === 'eviction',
      () => world.admin.patch(`${pods()}/one`, { metadata: { labels: { a: 'b' } } }),
    )
    expect((await evict(world, 'one')).code).toBe(201)
    const { metadata } = ok(await world.admin.get(`${pods()}/one`))
    expect(metadata).toMatchObject({ labels: { a: 'b' }, deletionTimestamp: expect.anything() })
  })
})

describe('a disruption budget that no controller keeps', () => {
  test('lets as many go as it can spare, however many are evicted at once', async () => {
    const world = await aWorld()
    for (const name of ['a', 'b', 'c']) await running(world, name)
    await aBudget(world, { minAvailable: 2 })
    const codes = await Promise.all(['a', 'b', 'c'].map(async name => (await evict(world, name)).code))
    expect(codes.filter(code => code === 201)).toHaveLength(1)
    expect(codes.filter(code => code === 429)).toHaveLength(2)
  })

  test.each([
    ['one that is not ready stays', {}, false, 429],
    [
      'one that is not ready goes where the budget always allows it',
      { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      false,
      201,
    ],
    ['one that is ready stays also then', { unhealthyPodEvictionPolicy: 'AlwaysAllow' }, true, 429],
  ])('says of the last pod: %s', async (_, spec, isReady, code) => {
    const world = await aWorld()
    await running(world, 'one', isReady)
    await aBudget(world, { minAvailable: 1, ...spec })
    expect((await evict(world, 'one')).code).toBe(code)
  })

  test('lets one that is not ready go while there are enough others', async () => {
    const world = await aWorld()
    await running(world, 'good')
    await running(world, 'bad', false)
    await aBudget(world, { minAvailable: 1 })
    expect((await evict(world, 'bad')).code).toBe(201)
    expect((await evict(world, 'good')).code).toBe(429)
  })

  test('does not count a pod that never ran', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one', {}, { labels: { app: 'x' } })))
    await aBudget(world, { minAvailable: 1 })
    expect((await evict(world, 'one')).code).toBe(201)
  })
})

describe('a disruption budget whose status a controller keeps', () => {
  const status = { observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 }

  test('is counted down with each eviction, until it says no more', async () => {
    const world = await aWorld()
    for (const name of ['a', 'b']) await running(world, name)
    await aBudget(world, { minAvailable: 1 }, { ...status, disruptionsAllowed: 1 })
    expect((await evict(world, 'a', undefined, '?dryRun=All')).code).toBe(201)
    expect((await evict(world, 'a')).code).toBe(201)
    expect(ok(await world.admin.get(`${budgets}/keep`)).status).toMatchObject({
      disruptionsAllowed: 0,
      disruptedPods: { a: '2030-01-01T00:00:00Z' },
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', observedGeneration: 1 }],
    })
    expect(await evict(world, 'b')).toMatchObject({
      code: 429,
      body: {
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: { causes: [{ message: 'The disruption budget keep does not allow evicting pods currently' }] },
      },
    })
  })

  test('that makes no sense refuses all', async () => {
    const world = await aWorld()
    await running(world, 'a')
    await aBudget(world, { minAvailable: 1 })
    // The check of the status would refuse a negative number from a client.
    const { registry, store } = world.server.world
    const key = `${registry.find('policy', 'poddisruptionbudgets')?.keyPrefix}default/keep`
    const entry = store.get(key)
    const budget = JSON.parse(String(entry?.value)) as Body
    const value = Buffer.from(JSON.stringify({ ...budget, status: { ...status, disruptionsAllowed: -1 } }))
    await store.update(key, entry?.revision ?? 0, () => value)
    expect(await evict(world, 'a')).toMatchObject({
      code: 403,
      body: { message: 'poddisruptionbudget.policy "keep" is forbidden: pdb disruptions allowed is negative' },
    })
  })
})

test('a pod of a namespace that ends is not evicted', async () => {
  const world = await aWorld()
  ok(await world.admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } }))
  await world.settled()
  ok(await world.admin.create(pods('team'), aPod('one', { nodeName: 'node' })))
  ok(await world.admin.delete(`${namespaces}/team`))
  const answer = await world.admin.create(`${pods('team')}/one/eviction`, { metadata: { name: 'one' } })
  expect(answer).toMatchObject({ code: 403, body: { details: { causes: [{ reason: 'NamespaceTerminating' }] } } })
})
