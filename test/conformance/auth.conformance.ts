// Authentication and authorization: tokens, anonymous users, roles, access reviews, service accounts and impersonation.

import { describe, expect } from 'vitest'
import { configMap, configMaps, conforms, eventually, made, namespace, ok, server, unique } from './world.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const rbacVersion = 'rbac.authorization.k8s.io/v1'

interface Rule {
  apiGroups?: string[]
  resources?: string[]
  resourceNames?: string[]
  nonResourceURLs?: string[]
  verbs: string[]
}

/** Grants a user rules within a namespace. */
async function grant(ns: string, user: string, rules: Rule[]): Promise<void> {
  const name = unique('grant')
  ok(
    await server.create(`${rbac}/namespaces/${ns}/roles`, {
      apiVersion: rbacVersion,
      kind: 'Role',
      metadata: { name },
      rules,
    }),
  )
  ok(
    await server.create(`${rbac}/namespaces/${ns}/rolebindings`, {
      apiVersion: rbacVersion,
      kind: 'RoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    }),
  )
}

describe('credentials', () => {
  conforms('that are wrong are answered 401', async () => {
    const answer = await server.withToken('wrong').get('/api/v1/namespaces')
    expect(answer.code).toBe(401)
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Unauthorized',
      reason: 'Unauthorized',
      code: 401,
    })
  })

  conforms('are not needed for health and version, but for everything else', async () => {
    const anonymous = server.withToken(undefined)
    for (const path of ['/healthz', '/livez', '/readyz', '/version']) expect((await anonymous.get(path)).code).toBe(200)
    const answer = await anonymous.get('/api/v1/namespaces/default/configmaps')
    expect(answer.code).toBe(403)
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
      reason: 'Forbidden',
      details: { kind: 'configmaps' },
      code: 403,
    })
    const path = await anonymous.get('/metrics')
    expect(path.code).toBe(403)
    expect(path.body.message).toBe('forbidden: User "system:anonymous" cannot get path "/metrics"')
  })
})

describe('roles', () => {
  conforms('allow what they list and nothing else', async () => {
    const ns = await namespace()
    const user = unique('user')
    const visitor = server.impersonating(user)
    ok(await server.create(configMaps(ns), configMap('one')))
    const before = await visitor.get(`${configMaps(ns)}/one`)
    expect(before.code).toBe(403)
    expect(before.body).toMatchObject({
      reason: 'Forbidden',
      message: `configmaps "one" is forbidden: User "${user}" cannot get resource "configmaps" in API group "" in the namespace "${ns}"`,
      details: { name: 'one', kind: 'configmaps' },
    })
    await grant(ns, user, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }])
    await eventually(async () => expect((await visitor.get(`${configMaps(ns)}/one`)).code).toBe(200))
    expect((await visitor.get(configMaps(ns))).code).toBe(200)
    expect((await visitor.get('/api/v1/configmaps')).code).toBe(403)
    const cluster = await visitor.get('/api/v1/configmaps')
    expect(cluster.body.message).toBe(
      `configmaps is forbidden: User "${user}" cannot list resource "configmaps" in API group "" at the cluster scope`,
    )
    const remove = await visitor.delete(`${configMaps(ns)}/one`)
    expect(remove.code).toBe(403)
    expect(remove.body.message).toContain('cannot delete resource "configmaps"')
    const watch = await visitor.get(`${configMaps(ns)}?watch=true`)
    expect(watch.code).toBe(403)
    expect(watch.body.message).toContain('cannot watch resource "configmaps"')
  })

  conforms('can name single objects and subresources', async () => {
    const ns = await namespace()
    const user = unique('user')
    const visitor = server.impersonating(user)
    await grant(ns, user, [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] },
    ])
    ok(await server.create(configMaps(ns), configMap('mine')))
    ok(await server.create(configMaps(ns), configMap('other')))
    await eventually(async () => expect((await visitor.get(`${configMaps(ns)}/mine`)).code).toBe(200))
    expect((await visitor.get(`${configMaps(ns)}/other`)).code).toBe(403)
    const pods = `/api/v1/namespaces/${ns}/pods/none`
    expect((await visitor.merge(`${pods}/status`, {})).code).toBe(404)
    const whole = await visitor.merge(pods, {})
    expect(whole.code).toBe(403)
    const eviction = await visitor.create(`${pods}/eviction`, {})
    expect(eviction.body.message).toContain('cannot create resource "pods/eviction"')
  })

  conforms('of the whole cluster reach paths and all namespaces', async () => {
    const user = unique('user')
    const visitor = server.impersonating(user, ['testers'])
    const name = unique('cluster-grant')
    ok(
      await server.create(`${rbac}/clusterroles`, {
        apiVersion: rbacVersion,
        kind: 'ClusterRole',
        metadata: { name },
        rules: [
          { apiGroups: ['*'], resources: ['configmaps'], verbs: ['list'] },
          { nonResourceURLs: ['/metrics', '/logs/*'], verbs: ['get'] },
        ],
      }),
    )
    ok(
      await server.create(`${rbac}/clusterrolebindings`, {
        apiVersion: rbacVersion,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'testers' }],
      }),
    )
    made.push(`${rbac}/clusterroles/${name}`, `${rbac}/clusterrolebindings/${name}`)
    await eventually(async () => expect((await visitor.get('/api/v1/configmaps?limit=1')).code).toBe(200))
    expect((await visitor.get('/metrics')).code).toBe(200)
  })

  conforms('cannot be used to grant more permissions than the user has', async () => {
    const ns = await namespace()
    const user = unique('user')
    const visitor = server.impersonating(user)
    await grant(ns, user, [
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create', 'get'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    ])
    const roles = `${rbac}/namespaces/${ns}/roles`
    const role = (name: string, verbs: string[]) => ({
      apiVersion: rbacVersion,
      kind: 'Role',
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs }],
    })
    await eventually(async () =>
      expect((await visitor.create(`${roles}?dryRun=All`, role('modest', ['get']))).code).toBe(201),
    )
    const answer = await visitor.create(roles, role('greedy', ['get', 'delete']))
    expect(answer.code).toBe(403)
    expect(answer.body.message).toContain(
      `roles.rbac.authorization.k8s.io "greedy" is forbidden: user "${user}" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}`,
    )
    const binding = await visitor.create(`${rbac}/namespaces/${ns}/rolebindings`, {
      apiVersion: rbacVersion,
      kind: 'RoleBinding',
      metadata: { name: 'greedy' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    })
    expect(binding.code).toBe(403)
  })

  conforms('cannot be exchanged in a binding', async () => {
    const ns = await namespace()
    await grant(ns, 'jane', [])
    const bindings = `${rbac}/namespaces/${ns}/rolebindings`
    const name = ok(await server.get(bindings)).items[0]?.metadata.name
    const answer = await server.merge(`${bindings}/${name}`, { roleRef: { name: 'other' } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('roleRef: Invalid value: ')
    expect(answer.body.message).toContain('cannot change roleRef')
  })

  conforms('that every cluster has are there', async () => {
    for (const name of [
      'cluster-admin',
      'admin',
      'edit',
      'view',
      'system:discovery',
      'system:basic-user',
      'system:public-info-viewer',
    ]) {
      expect((await server.get(`${rbac}/clusterroles/${name}`)).code).toBe(200)
    }
  })
})

describe('reviews', () => {
  conforms('say what the user of the request may do', async () => {
    const ns = await namespace()
    const user = unique('user')
    const visitor = server.impersonating(user)
    await grant(ns, user, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }])
    const ask = async (verb: string) => {
      const answer = await visitor.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { namespace: ns, verb, resource: 'configmaps' } },
      })
      expect(answer.code).toBe(201)
      return answer.body.status
    }
    await eventually(async () =>
      expect(await ask('get')).toMatchObject({
        allowed: true,
        reason: expect.stringContaining('RBAC: allowed by RoleBinding'),
      }),
    )
    expect(await ask('delete')).toMatchObject({ allowed: false })
  })

  conforms('say what another user may do', async () => {
    const answer = await server.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'x', groups: ['system:masters'], nonResourceAttributes: { path: '/anything', verb: 'get' } },
    })
    expect(answer.code).toBe(201)
    expect(answer.body.status).toMatchObject({ allowed: true })
  })

  conforms('list the rules of a namespace', async () => {
    const ns = await namespace()
    const user = unique('user')
    await grant(ns, user, [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }])
    await eventually(async () => {
      const answer = await server.impersonating(user).create('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectRulesReview',
        spec: { namespace: ns },
      })
      expect(answer.code).toBe(201)
      expect(answer.body.status).toMatchObject({
        incomplete: false,
        resourceRules: expect.arrayContaining([{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'] }]),
      })
    })
  })

  conforms('say which user sends the request', async () => {
    const answer = await server
      .impersonating('jane', ['doers'])
      .create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
      })
    expect(answer.code).toBe(201)
    expect(answer.body.status).toEqual({ userInfo: { username: 'jane', groups: ['doers', 'system:authenticated'] } })
  })

  conforms('check tokens', async () => {
    const answer = await server.create('/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 'wrong' },
    })
    expect(answer.code).toBe(201)
    expect((answer.body.status as { authenticated?: boolean }).authenticated ?? false).toBe(false)
  })
})

describe('service accounts', () => {
  conforms('get tokens that work until they are deleted', async () => {
    const ns = await namespace()
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`
    ok(await server.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } }))
    const answer = await server.create(`${accounts}/robot/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600 },
    })
    expect(answer.code).toBe(201)
    const status = answer.body.status as { token: string; expirationTimestamp: string }
    expect(status.token.split('.')).toHaveLength(3)
    expect(Date.parse(status.expirationTimestamp)).toBeGreaterThan(Date.now())
    const robot = server.withToken(status.token)
    const self = ok(
      await robot.create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
      }),
    )
    expect(self.status).toMatchObject({
      userInfo: {
        username: `system:serviceaccount:${ns}:robot`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${ns}`, 'system:authenticated'],
      },
    })
    expect((await robot.get(configMaps(ns))).code).toBe(403)
    const review = ok(
      await server.create('/apis/authentication.k8s.io/v1/tokenreviews', {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token: status.token },
      }),
    )
    expect(review.status).toMatchObject({
      authenticated: true,
      user: { username: `system:serviceaccount:${ns}:robot` },
    })
    const claims = JSON.parse(Buffer.from(status.token.split('.')[1] ?? '', 'base64url').toString('utf8')) as {
      sub: string
    }
    expect(claims.sub).toBe(`system:serviceaccount:${ns}:robot`)
    ok(await server.delete(`${accounts}/robot`))
    await eventually(async () => expect((await robot.get(configMaps(ns))).code).toBe(401))
  })

  conforms('do not get tokens for less than ten minutes', async () => {
    const ns = await namespace()
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`
    ok(await server.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } }))
    const answer = await server.create(`${accounts}/robot/token`, { spec: { expirationSeconds: 60 } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain(
      'spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes',
    )
  })
})

describe('impersonation', () => {
  conforms('needs permission', async () => {
    const user = unique('user')
    const answer = await server.impersonating(user).request('GET', '/api/v1/namespaces')
    expect(answer.code).toBe(403)
    expect(answer.body.message).toContain(`User "${user}" cannot list resource "namespaces"`)
    const ns = await namespace()
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`
    ok(await server.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } }))
    const token = ok(await server.create(`${accounts}/robot/token`, { spec: {} })).status as { token: string }
    const refused = await server.withToken(token.token).impersonating('admin').get('/api/v1/namespaces')
    expect(refused.code).toBe(403)
    expect(refused.body.message).toContain(
      `users "admin" is forbidden: User "system:serviceaccount:${ns}:robot" cannot impersonate resource "users" in API group "" at the cluster scope`,
    )
  })

  conforms('of a service account brings its groups', async () => {
    const answer = ok(
      await server
        .impersonating('system:serviceaccount:some:robot')
        .create('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'SelfSubjectReview',
        }),
    )
    expect(answer.status).toMatchObject({
      userInfo: { groups: ['system:serviceaccounts', 'system:serviceaccounts:some', 'system:authenticated'] },
    })
  })

  conforms('takes each header of a repeated name as a value of its own', async () => {
    const headers = { 'impersonate-extra-scopes': ['view', 'edit, delete'] }
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const answer = ok(
      await server
        .impersonating('ann', ['blue', 'red, green'])
        .create('/apis/authentication.k8s.io/v1/selfsubjectreviews', body, { headers }),
    )
    expect(answer.status).toMatchObject({
      userInfo: { groups: ['blue', 'red, green', 'system:authenticated'], extra: { scopes: ['view', 'edit, delete'] } },
    })
  })

  conforms('of groups without a user is refused', async () => {
    const answer = await server.get('/api/v1/namespaces', { headers: { 'impersonate-group': 'system:masters' } })
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('without impersonating a user')
  })
})
