import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aConfigMap, aNamespace, configMaps, namespaces } from '../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../test/harness/world.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const apiVersion = 'rbac.authorization.k8s.io/v1'

function aRole(name: string, rules: readonly object[]) {
  return { apiVersion, kind: 'Role', metadata: { name }, rules }
}

function aBinding(name: string, role: string, user: string, kind = 'Role') {
  return {
    apiVersion,
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  }
}

const inDefault = (plural: string) => `${rbac}/namespaces/default/${plural}`

async function grant(world: World, user: string, ...rules: object[]): Promise<void> {
  ok(await world.admin.create(inDefault('roles'), aRole(`${user}-role`, rules)))
  ok(await world.admin.create(inDefault('rolebindings'), aBinding(`${user}-binding`, `${user}-role`, user)))
}

const on = (verbs: string[], resources: string[], more: object = {}) => ({ apiGroups: [''], resources, verbs, ...more })
const onRBAC = (verbs: string[], resources: string[]) => ({
  apiGroups: ['rbac.authorization.k8s.io'],
  resources,
  verbs,
})

describe('authorization', () => {
  test('a grant holds from the answer to it, and ends with the answer to its removal', async () => {
    const world = await aWorld()
    const ann = world.as('ann')
    expect(await ann.get(configMaps())).toMatchObject({
      code: 403,
      body: {
        message:
          'configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "default"',
      },
    })
    await grant(world, 'ann', on(['list'], ['configmaps']))
    expect((await ann.get(configMaps())).code).toBe(200)
    expect((await ann.get(configMaps('kube-system'))).code).toBe(403)
    expect((await ann.get('/api/v1/configmaps')).code).toBe(403)
    ok(await world.admin.delete(`${inDefault('rolebindings')}/ann-binding`))
    expect((await ann.get(configMaps())).code).toBe(403)
  })

  test('a namespace is not found inside of a namespace, not even inside of itself', async () => {
    const world = await aWorld()
    await grant(world, 'ann', on(['*'], ['*']))
    const ann = world.as('ann')
    expect((await ann.get(`${namespaces}/default`)).code).toBe(200)
    for (const path of ['namespaces', 'namespaces/default', 'namespaces/kube-system', 'namespaces/default/status']) {
      expect((await ann.get(`${namespaces}/default/${path}`)).code, path).toBe(404)
      expect((await world.admin.get(`/api/v1/watch/namespaces/default/${path}`)).code, path).toBe(404)
    }
    expect((await ann.delete(`${namespaces}/default/namespaces`)).code).toBe(404)
    expect((await ann.get(`${namespaces}/kube-system/namespaces/default`)).code).toBe(403)
  })

  test('a rule that names an object allows to list and watch that one', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('mine')))
    await grant(world, 'ann', on(['get', 'list', 'watch'], ['configmaps'], { resourceNames: ['mine'] }))
    const ann = world.as('ann')
    expect((await ann.get(`${configMaps()}/mine`)).code).toBe(200)
    expect((await ann.get(`${configMaps()}?fieldSelector=metadata.name%3Dmine`)).code).toBe(200)
    expect((await ann.get(`${configMaps()}?fieldSelector=metadata.name%3Dother`)).code).toBe(403)
    expect((await ann.get(`${configMaps()}?fieldSelector=metadata.name!%3Dmine`)).code).toBe(403)
    expect((await ann.get(configMaps())).code).toBe(403)
    const watch = await ann.watch(`${configMaps()}?fieldSelector=metadata.name%3Dmine`)
    expect((await watch.next())?.object.metadata.name).toBe('mine')
  })

  test('a user does not learn whether an object exists that they may not see', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('there')))
    const [there, absent] = await Promise.all(
      ['there', 'gone'].map(name => world.as('ann').get(`${configMaps()}/${name}`)),
    )
    expect(there?.code).toBe(403)
    expect(absent?.text).toBe(there?.text.replaceAll('there', 'gone'))
  })

  test('a path that pretends to be another one is judged as what is served', async () => {
    const world = await aWorld()
    await grant(world, 'ann', on(['get', 'list'], ['configmaps']))
    const ann = world.as('ann')
    for (const path of [
      `${namespaces}/default/configmaps/../../kube-system/configmaps`,
      `${namespaces}/default%2F..%2Fkube-system/configmaps`,
      `${namespaces}//configmaps`,
      `//api/v1/namespaces/kube-system/configmaps`,
      `${namespaces}/default/configmaps/..%2F..%2Fkube-system%2Fkube-root-ca.crt`,
    ]) {
      expect([400, 403, 404], path).toContain((await ann.get(path)).code)
    }
  })
})

describe('a user cannot grant permissions that they do not have', () => {
  test.each([
    ['a role with more than one’s own', 'roles', aRole('more', [on(['delete'], ['secrets'])]), 403],
    ['a role with as much as one’s own', 'roles', aRole('same', [on(['get'], ['configmaps'])]), 201],
    ['a binding to a role with more', 'rolebindings', aBinding('up', 'powerful', 'ann'), 403],
    ['a binding to the administrators', 'rolebindings', aBinding('top', 'cluster-admin', 'ann', 'ClusterRole'), 403],
  ])('%s', async (_, plural, object, code) => {
    const world = await aWorld()
    ok(await world.admin.create(inDefault('roles'), aRole('powerful', [on(['*'], ['*'])])))
    const all = ['create', 'get', 'update', 'patch']
    await grant(world, 'ann', on(['get'], ['configmaps']), onRBAC(all, ['roles', 'rolebindings']))
    expect((await world.as('ann').create(inDefault(plural), object)).code).toBe(code)
  })

  test('nor by widening a role that they may edit', async () => {
    const world = await aWorld()
    await grant(world, 'ann', on(['get'], ['configmaps']), onRBAC(['get', 'update', 'patch'], ['roles']))
    const path = `${inDefault('roles')}/ann-role`
    const widen = { rules: [on(['*'], ['*'])] }
    expect((await world.as('ann').patch(path, widen)).code).toBe(403)
    expect((await world.as('ann').patch(path, { metadata: { labels: { a: 'b' } } })).code).toBe(200)
  })

  test('a user without the permission cannot impersonate', async () => {
    const world = await aWorld()
    const reply = await world.as('ann').request('GET', configMaps(), undefined, 'application/json', {
      'impersonate-user': ['ann'],
    })
    expect(reply.code).toBe(403)
    const token = await aToken(world)
    const forged = await world.withToken(token).request('GET', configMaps(), undefined, 'application/json', {
      'impersonate-user': ['kubernetes-admin'],
      'impersonate-group': ['system:masters'],
    })
    expect(forged).toMatchObject({ code: 403, body: { message: expect.stringContaining('cannot impersonate') } })
  })
})

const accounts = (namespace: string) => `${namespaces}/${namespace}/serviceaccounts`

async function aToken(world: World, namespace = 'default', name = 'robot'): Promise<string> {
  ok(await world.admin.create(accounts(namespace), { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }))
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status } = ok(await world.admin.create(`${accounts(namespace)}/${name}/token`, asked))
  return (status as { token: string }).token
}

describe('the token of a service account', () => {
  const self = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const question = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }

  test('speaks for it until the account is deleted, and not a moment longer', async () => {
    const world = await aWorld()
    const robot = world.withToken(await aToken(world))
    expect(ok(await robot.create(self, question)).status).toMatchObject({
      userInfo: { username: 'system:serviceaccount:default:robot' },
    })
    ok(await world.admin.delete(`${accounts('default')}/robot`))
    expect((await robot.create(self, question)).code).toBe(401)
    // Another account of the same name is another account.
    await aToken(world)
    expect((await robot.create(self, question)).code).toBe(401)
  })

  test('ends when its time is over', async () => {
    const world = await aWorld()
    const robot = world.withToken(await aToken(world))
    await world.pass(59 * 60 * 1000)
    expect((await robot.create(self, question)).code).toBe(201)
    await world.pass(3 * 60 * 1000)
    expect((await robot.create(self, question)).code).toBe(401)
  })

  test('ends with its namespace', async () => {
    const world = await aWorld()
    ok(await world.admin.create(namespaces, aNamespace('team')))
    const robot = world.withToken(await aToken(world, 'team'))
    expect((await robot.create(self, question)).code).toBe(201)
    ok(await world.admin.delete(`${namespaces}/team`))
    await world.settled()
    expect((await robot.create(self, question)).code).toBe(401)
  })
})

describe('when the limits are reached', () => {
  const none = { reads: 1, writes: 1, watches: 1 }

  test('a client beyond the limit is told when to retry, and all is well afterwards', async () => {
    const world = await aWorld({ inFlight: none })
    const replies = await Promise.all(
      Array.from({ length: 5 }, (_, i) => world.admin.create(configMaps(), aConfigMap(`c${i}`))),
    )
    const refused = replies.filter(reply => reply.code === 429)
    expect(refused).toHaveLength(4)
    expect(refused[0]).toMatchObject({
      headers: { 'retry-after': '1' },
      body: { reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } },
    })
    expect((await world.admin.create(configMaps(), aConfigMap('later'))).code).toBe(201)
  })

  test('reads, writes and watches do not take each other’s places', async () => {
    const world = await aWorld({ inFlight: none })
    const watch = await world.admin.watch(configMaps())
    const [read, written] = await Promise.all([
      world.admin.get(configMaps()),
      world.admin.create(configMaps(), aConfigMap('one')),
    ])
    expect([read.code, written.code]).toEqual([200, 201])
    watch.stop()
  })

  test('a refused request and a failed one give their places back', async () => {
    const world = await aWorld({ inFlight: none })
    for (let i = 0; i < 3; i++) {
      expect((await world.admin.create(configMaps(), '{')).code).toBe(400)
      expect((await world.admin.get(`${configMaps()}?watch=1&labelSelector=!!`)).code).toBe(400)
    }
    const watch = await world.admin.watch(configMaps())
    expect(watch.arrived()).not.toEqual([])
  })
})
