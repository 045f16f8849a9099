import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { UserInfo } from '../authn/user.ts'
import type { KubeObject } from '../object.ts'
import { StatusError } from '../status.ts'
import { aggregatedRules, outdatedAggregations } from './aggregation.ts'
import type { Attributes, ResourceAttributes } from './attributes.ts'
import { refuse } from './attributes.ts'
import { bootstrapObjects } from './bootstrap.ts'
import { checkBindingEscalation, checkRoleEscalation } from './escalation.ts'
import { createRBAC } from './rbac.ts'
import {
  answerLocalSubjectAccessReview,
  answerSelfSubjectAccessReview,
  answerSelfSubjectRulesReview,
  answerSubjectAccessReview,
} from './reviews.ts'
import type { PolicyRule } from './rule.ts'
import { allows, uncovered } from './rule.ts'

const apiVersion = 'rbac.authorization.k8s.io/v1'
const jane: UserInfo = { username: 'jane', groups: ['dev', 'system:authenticated'] }
const boss: UserInfo = { username: 'boss', groups: ['system:masters', 'system:authenticated'] }

const role = (name: string, rules: PolicyRule[], namespace = ''): KubeObject => ({
  apiVersion,
  kind: namespace === '' ? 'ClusterRole' : 'Role',
  metadata: { name, ...(namespace !== '' && { namespace }) },
  rules,
})
const binding = (
  name: string,
  roleKind: string,
  roleName: string,
  subjects: Record<string, string>[],
  namespace = '',
): KubeObject => ({
  apiVersion,
  kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
  metadata: { name, ...(namespace !== '' && { namespace }) },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: roleKind, name: roleName },
  subjects,
})
const want = (verb: string, resource: string, more: Partial<ResourceAttributes> = {}): ResourceAttributes => {
  const [plural = '', subresource = ''] = resource.split('/')
  const base = { type: 'resource', verb, group: '', version: 'v1', namespace: '', name: '' } as const
  return { ...base, resource: plural, subresource, ...more }
}
const wantPath = (verb: string, path: string): Attributes => ({ type: 'path', verb, path })

function anRBAC(...objects: KubeObject[]) {
  const rbac = createRBAC()
  for (const object of objects) rbac.keep(object)
  return rbac
}
function aCluster(...objects: KubeObject[]) {
  return anRBAC(...settled([...bootstrapObjects(), ...objects]))
}
function settled(objects: KubeObject[]): KubeObject[] {
  for (;;) {
    const outdated = outdatedAggregations(objects.filter(object => object.kind === 'ClusterRole'))
    if (outdated.length === 0) return objects
    objects = objects.map(
      object => outdated.find(o => o.kind === object.kind && o.metadata.name === object.metadata.name) ?? object,
    )
  }
}

describe('a rule', () => {
  const core = (resources: string[], verbs = ['get'], more: Partial<PolicyRule> = {}): PolicyRule => ({
    verbs,
    apiGroups: [''],
    resources,
    ...more,
  })

  it.each<[PolicyRule, Attributes, boolean]>([
    [core(['pods']), want('get', 'pods'), true],
    [core(['pods']), want('list', 'pods'), false],
    [core(['pods'], ['*']), want('deletecollection', 'pods'), true],
    [core(['pods']), want('get', 'pods/log'), false],
    [core(['pods/log']), want('get', 'pods/log'), true],
    [core(['pods/log']), want('get', 'pods'), false],
    [core(['*/scale']), want('get', 'deployments/scale'), true],
    [core(['*/scale']), want('get', 'deployments'), false],
    [core(['*']), want('get', 'pods/exec'), true],
    [core(['pods'], ['get'], { apiGroups: ['apps'] }), want('get', 'pods'), false],
    [core(['pods'], ['get'], { apiGroups: ['*'] }), want('get', 'pods', { group: 'metrics.k8s.io' }), true],
    [core(['pods'], ['get'], { resourceNames: ['a'] }), want('get', 'pods', { name: 'a' }), true],
    [core(['pods'], ['get'], { resourceNames: ['a'] }), want('get', 'pods', { name: 'b' }), false],
    [core(['pods'], ['get'], { resourceNames: ['a'] }), want('get', 'pods'), false],
    [core(['*'], ['*'], { apiGroups: ['*'] }), wantPath('get', '/healthz'), false],
    [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }, wantPath('get', '/healthz'), true],
    [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }, wantPath('get', '/healthz/etcd'), false],
    [{ verbs: ['get'], nonResourceURLs: ['/healthz/*'] }, wantPath('get', '/healthz/etcd'), true],
    [{ verbs: ['get'], nonResourceURLs: ['*'] }, wantPath('get', '/anything'), true],
    [{ verbs: ['get'], nonResourceURLs: ['*'] }, want('get', 'pods'), false],
  ])('%j asked for %j answers %s', (rule, attributes, expected) => {
    expect(allows(rule, attributes)).toBe(expected)
  })

  const words = fc.subarray(['a', 'b', 'c', '*'], { minLength: 1 })
  const anyRule = fc.record({
    verbs: words,
    apiGroups: words,
    resources: fc.subarray(['a', 'b', 'a/x', '*/x', '*'], { minLength: 1 }),
    resourceNames: fc.subarray(['n', 'm']),
  })
  it('covers itself, and what covers a rule allows what that rule allows', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 3 }), anyRule, words, (held, wanted, probe) => {
        expect(uncovered([wanted], [wanted], 1_000)).toEqual([])
        if (uncovered(held, [wanted], 1_000)?.length !== 0) return
        for (const letter of probe) {
          for (const name of ['n', 'm', '']) {
            for (const resource of ['a', 'b/x', 'a/x']) {
              const attributes = want(letter, resource, { group: letter, name })
              if (allows(wanted, attributes)) expect(held.some(rule => allows(rule, attributes))).toBe(true)
            }
          }
        }
      }),
    )
  })
})

describe('a decision', () => {
  const reader = role('reader', [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }])

  it('lets system:masters do everything, even with no roles at all', () => {
    expect(anRBAC().authorize(boss, want('delete', 'nodes'))).toEqual({ allowed: true, reason: '' })
    expect(anRBAC().authorize(boss, wantPath('get', '/metrics'))).toEqual({ allowed: true, reason: '' })
  })

  it.each([
    [{ kind: 'User', name: 'jane' }, 'User "jane"'],
    [{ kind: 'Group', name: 'dev' }, 'Group "dev"'],
  ])('names the binding that allowed it: %j', (subject, shown) => {
    const rbac = anRBAC(reader, binding('b', 'ClusterRole', 'reader', [subject]))
    expect(rbac.authorize(jane, want('list', 'pods', { namespace: 'x' }))).toEqual({
      allowed: true,
      reason: `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to ${shown}`,
    })
  })

  it('lets a role binding allow in its own namespace only', () => {
    const rbac = anRBAC(reader, binding('b', 'ClusterRole', 'reader', [{ kind: 'User', name: 'jane' }], 'team-a'))
    expect(rbac.authorize(jane, want('list', 'pods', { namespace: 'team-a' }))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/team-a" of ClusterRole "reader" to User "jane"',
    })
    expect(rbac.authorize(jane, want('list', 'pods', { namespace: 'team-b' })).allowed).toBe(false)
    expect(rbac.authorize(jane, want('list', 'pods')).allowed).toBe(false)
  })

  it('takes a service account without namespace to be in the namespace of its binding', () => {
    const robot = { username: 'system:serviceaccount:team-a:robot', groups: [] }
    const local = role('local', [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }], 'team-a')
    const rbac = anRBAC(local, binding('b', 'Role', 'local', [{ kind: 'ServiceAccount', name: 'robot' }], 'team-a'))
    expect(rbac.authorize(robot, want('get', 'secrets', { namespace: 'team-a' })).reason).toBe(
      'RBAC: allowed by RoleBinding "b/team-a" of Role "local" to ServiceAccount "robot/team-a"',
    )
    const global = anRBAC(reader, binding('b', 'ClusterRole', 'reader', [{ kind: 'ServiceAccount', name: 'robot' }]))
    expect(global.authorize(robot, want('get', 'pods', { namespace: 'team-a' })).allowed).toBe(false)
  })

  it('names the absent role of a binding', () => {
    const subject = [{ kind: 'User', name: 'jane' }]
    const rbac = anRBAC(
      binding('b', 'ClusterRole', 'gone', subject),
      binding('c', 'Role', 'lost', subject, 'team-a'),
      binding('d', 'ClusterRole', 'gone', subject),
    )
    expect(rbac.authorize(jane, want('get', 'pods', { namespace: 'team-a' }))).toEqual({
      allowed: false,
      reason:
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
    })
  })

  it('follows every change of roles and bindings', () => {
    const bound = binding('b', 'ClusterRole', 'reader', [{ kind: 'User', name: 'jane' }])
    const rbac = anRBAC(reader, bound)
    const isAllowed = (user = jane) => rbac.authorize(user, want('get', 'pods')).allowed
    expect(isAllowed()).toBe(true)
    rbac.keep(binding('b', 'ClusterRole', 'reader', [{ kind: 'User', name: 'john' }]))
    expect(isAllowed()).toBe(false)
    expect(isAllowed({ username: 'john', groups: [] })).toBe(true)
    rbac.keep(bound)
    rbac.keep(role('reader', []))
    expect(isAllowed()).toBe(false)
    rbac.keep(reader)
    rbac.forget(bound)
    expect(isAllowed()).toBe(false)
    rbac.keep(bound)
    rbac.forget(reader)
    expect(isAllowed()).toBe(false)
  })

  it('does not depend on the order in which roles and bindings were learnt', () => {
    const objects = [reader, binding('b', 'ClusterRole', 'reader', [{ kind: 'Group', name: 'dev' }])]
    for (const order of [objects, [...objects].reverse()]) {
      expect(anRBAC(...order).authorize(jane, want('get', 'pods')).allowed).toBe(true)
    }
  })

  it('is refused with the message of kube-apiserver', () => {
    const text = (attributes: Attributes, reason = '') => refuse(jane, attributes, reason).message
    expect(text(want('list', 'pods', { namespace: 'y' }))).toBe(
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "y"',
    )
    expect(text(want('get', 'deployments/scale', { group: 'apps', name: 'web' }))).toBe(
      'deployments.apps "web" is forbidden: User "jane" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
    )
    expect(text(wantPath('get', '/foo?<b>'))).toBe('forbidden: User "jane" cannot get path "/foo?&lt;b&gt;"')
    expect(text(want('get', 'pods', { name: 'p' }), 'RBAC: why')).toMatch(/at the cluster scope: RBAC: why$/)
    expect(refuse(jane, wantPath('get', '/foo'), '').status).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      details: {},
    })
  })
})

describe('the roles a cluster starts with', () => {
  const cluster = aCluster(
    binding('viewers', 'ClusterRole', 'view', [{ kind: 'User', name: 'viewer' }], 'team-a'),
    binding('editors', 'ClusterRole', 'edit', [{ kind: 'User', name: 'editor' }], 'team-a'),
    binding('admins', 'ClusterRole', 'admin', [{ kind: 'User', name: 'admin' }], 'team-a'),
  )
  const may = (username: string, attributes: Attributes, groups = ['system:authenticated']) =>
    cluster.authorize({ username, groups }, attributes).allowed
  const inTeam = { namespace: 'team-a' }

  it('have unique names, the label and the annotation', () => {
    const objects = bootstrapObjects()
    const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
    for (const { metadata } of objects) {
      expect(metadata.labels?.['kubernetes.io/bootstrapping']).toBe('rbac-defaults')
      expect(metadata.annotations?.['rbac.authorization.kubernetes.io/autoupdate']).toBe('true')
    }
  })

  it('bind only roles that exist', () => {
    const objects = bootstrapObjects()
    const rbac = anRBAC(...objects)
    for (const { kind, roleRef, metadata } of objects) {
      if (!kind.endsWith('Binding')) continue
      expect(rbac.rulesOf(roleRef as { kind: string; name: string }, metadata.namespace ?? '')).toBeDefined()
    }
  })

  it.each([
    ['viewer', want('list', 'pods', inTeam), true],
    ['viewer', want('get', 'secrets', inTeam), false],
    ['viewer', want('delete', 'pods', inTeam), false],
    ['editor', want('get', 'secrets', inTeam), true],
    ['editor', want('list', 'pods', inTeam), true],
    ['editor', want('create', 'rolebindings', { ...inTeam, group: 'rbac.authorization.k8s.io' }), false],
    ['admin', want('create', 'rolebindings', { ...inTeam, group: 'rbac.authorization.k8s.io' }), true],
    ['admin', want('delete', 'pods', inTeam), true],
    ['admin', want('list', 'pods', { namespace: 'team-b' }), false],
    ['any user', want('create', 'selfsubjectaccessreviews', { group: 'authorization.k8s.io' }), true],
    ['any user', wantPath('get', '/apis/apps/v1'), true],
    ['any user', wantPath('get', '/metrics'), false],
  ])('let %s ask %j: %s', (username, attributes, expected) => {
    expect(may(username, attributes)).toBe(expected)
  })

  it('let anonymous users see the version and the health, nothing else', () => {
    const stranger = ['system:unauthenticated']
    expect(may('system:anonymous', wantPath('get', '/version'), stranger)).toBe(true)
    expect(may('system:anonymous', wantPath('get', '/healthz'), stranger)).toBe(true)
    expect(may('system:anonymous', wantPath('get', '/api'), stranger)).toBe(false)
  })
})

describe('aggregation', () => {
  const part = (name: string, resource: string, labels: Record<string, string>): KubeObject => ({
    ...role(name, [{ verbs: ['get'], apiGroups: [''], resources: [resource] }]),
    metadata: { name, labels },
  })
  const sum: KubeObject = {
    ...role('sum', []),
    metadata: { name: 'sum', labels: { part: 'yes' } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }] },
  }

  it('gathers the rules of labelled roles by name, each once, and never its own', () => {
    const roles = [
      part('b', 'pods', { part: 'yes' }),
      part('a', 'nodes', { part: 'yes' }),
      part('c', 'pods', { part: 'yes' }),
      sum,
    ]
    const rules = aggregatedRules(sum, roles) as PolicyRule[]
    expect(rules.map(rule => rule.resources)).toEqual([['nodes'], ['pods']])
  })

  it('leaves other roles alone', () => {
    expect(aggregatedRules(part('a', 'pods', {}), [])).toBeUndefined()
    expect(outdatedAggregations([part('a', 'pods', { part: 'yes' })])).toEqual([])
  })

  it('comes to rest', () => {
    const [settledSum] = outdatedAggregations([part('a', 'pods', { part: 'yes' }), sum])
    expect(settledSum?.rules).toHaveLength(1)
    expect(outdatedAggregations([part('a', 'pods', { part: 'yes' }), settledSum ?? sum])).toEqual([])
  })
})

describe('granting permissions', () => {
  const podReader: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }
  const secretReader: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets'] }
  const rbacGroup = ['rbac.authorization.k8s.io']
  const toJane = [{ kind: 'User', name: 'jane' }]
  const objects = [
    role('pods', [podReader]),
    role('secrets', [secretReader]),
    binding('j', 'ClusterRole', 'pods', toJane),
  ]
  const rbac = anRBAC(...objects)
  const trusted = anRBAC(
    ...objects,
    role('trusted', [{ verbs: ['bind', 'escalate'], apiGroups: rbacGroup, resources: ['clusterroles', 'roles'] }]),
    binding('t', 'ClusterRole', 'trusted', toJane),
  )

  it('is allowed for permissions that the user has', () => {
    const write = { user: jane, namespace: 'x', object: role('new', [{ ...podReader, resourceNames: ['one'] }], 'x') }
    expect(checkRoleEscalation(rbac, write)).toBeUndefined()
    const bind = { user: jane, namespace: 'x', object: binding('n', 'ClusterRole', 'pods', [], 'x') }
    expect(checkBindingEscalation(rbac, bind)).toBeUndefined()
  })

  it('is refused for more, naming what is missing', () => {
    const object = role('new', [podReader, secretReader, { verbs: ['get'], nonResourceURLs: ['/metrics'] }])
    const refusal = checkRoleEscalation(rbac, { user: jane, namespace: '', object })
    expect(refusal?.message).toBe(
      'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "jane" (groups=["dev" "system:authenticated"]) ' +
        'is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}\n' +
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
    )
    const bind = { user: jane, namespace: 'x', object: binding('n', 'ClusterRole', 'secrets', [], 'x') }
    expect(checkBindingEscalation(rbac, bind)?.message).toMatch(
      /^rolebindings\.rbac\.authorization\.k8s\.io "n" is forbidden: user "jane"/,
    )
  })

  it('may grant more with the verbs escalate and bind, and as system:masters', () => {
    const write = { namespace: 'x', object: role('new', [secretReader], 'x') }
    const bind = { namespace: 'x', object: binding('n', 'ClusterRole', 'secrets', [], 'x') }
    expect(checkRoleEscalation(trusted, { ...write, user: jane })).toBeUndefined()
    expect(checkBindingEscalation(trusted, { ...bind, user: jane })).toBeUndefined()
    expect(checkRoleEscalation(rbac, { ...write, user: boss })).toBeUndefined()
    expect(checkBindingEscalation(rbac, { ...bind, user: boss })).toBeUndefined()
  })

  it('lets the garbage collector change owners and finalizers', () => {
    const old = role('new', [secretReader], 'x')
    const object = { ...old, metadata: { ...old.metadata, finalizers: [], ownerReferences: [] } }
    expect(checkRoleEscalation(rbac, { user: jane, namespace: 'x', object, old })).toBeUndefined()
    const grown = { ...object, rules: [secretReader, podReader] }
    expect(checkRoleEscalation(rbac, { user: jane, namespace: 'x', object: grown, old })).toBeInstanceOf(StatusError)
  })

  it('needs everything to write a role that gathers others', () => {
    const object = { ...role('sum', []), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
    expect(checkRoleEscalation(rbac, { user: jane, namespace: '', object })?.message).toContain(
      'must have cluster-admin privileges to use the aggregationRule',
    )
  })

  it('cannot bind a role that does not exist', () => {
    const bind = { user: jane, namespace: '', object: binding('n', 'ClusterRole', 'gone', []) }
    expect(checkBindingEscalation(rbac, bind)?.message).toBe(
      'clusterrolebindings.rbac.authorization.k8s.io "gone" not found',
    )
  })

  it('does not expand a rule of a trillion permissions', () => {
    const many = Array.from({ length: 1000 }, (_, i) => `n${i}`)
    const object = role('huge', [{ verbs: many, apiGroups: many, resources: many, resourceNames: many }])
    expect(checkRoleEscalation(rbac, { user: jane, namespace: '', object })?.message).toContain('permissions at once')
  })
})

describe('access reviews', () => {
  const cluster = aCluster(binding('viewers', 'ClusterRole', 'view', [{ kind: 'User', name: 'jane' }], 'team-a'))
  const review = (kind: string, spec: Record<string, unknown>, metadata = {}): KubeObject => ({
    apiVersion: 'authorization.k8s.io/v1',
    kind,
    metadata,
    spec,
  })
  const pods = { verb: 'list', resource: 'pods', namespace: 'team-a' }
  const reason = 'RBAC: allowed by RoleBinding "viewers/team-a" of ClusterRole "view" to User "jane"'

  it('answer for the user, for other users and within a namespace', () => {
    const self = review('SelfSubjectAccessReview', { resourceAttributes: pods })
    expect(answerSelfSubjectAccessReview(self, jane, cluster.authorize)).toEqual({
      ...self,
      status: { allowed: true, reason },
    })
    const other = review('SubjectAccessReview', { resourceAttributes: pods, user: 'john', groups: [] })
    expect(answerSubjectAccessReview(other, cluster.authorize).status).toEqual({ allowed: false })
    const local = review('LocalSubjectAccessReview', { resourceAttributes: pods, user: 'jane' })
    expect(answerLocalSubjectAccessReview(local, 'team-a', cluster.authorize)).toMatchObject({
      metadata: { namespace: 'team-a' },
      status: { allowed: true, reason },
    })
    const path = review('SubjectAccessReview', {
      nonResourceAttributes: { verb: 'get', path: '/api' },
      groups: ['system:authenticated'],
    })
    expect(answerSubjectAccessReview(path, cluster.authorize).status).toMatchObject({ allowed: true })
  })

  it.each([
    [
      'SubjectAccessReview',
      {},
      {},
      ['exactly one of nonResourceAttributes or resourceAttributes', 'at least one of user or group'],
    ],
    [
      'SubjectAccessReview',
      { user: 'x', resourceAttributes: {}, nonResourceAttributes: {} },
      {},
      ['cannot be specified in combination with resourceAttributes'],
    ],
    [
      'SubjectAccessReview',
      { user: 'x', resourceAttributes: {} },
      { name: 'n' },
      ['metadata: Invalid value', 'must be empty'],
    ],
    [
      'SubjectAccessReview',
      { user: 'x', resourceAttributes: { labelSelector: {} } },
      {},
      [
        'spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector',
      ],
    ],
    [
      'LocalSubjectAccessReview',
      { user: 'x', resourceAttributes: { namespace: 'b' } },
      {},
      ['must match metadata.namespace'],
    ],
    ['LocalSubjectAccessReview', { user: 'x', nonResourceAttributes: {} }, {}, ['disallowed on this kind of request']],
  ])('%s of %j is refused', (kind, spec, metadata, messages) => {
    const asked = review(kind, spec, metadata)
    const ask = () =>
      kind === 'LocalSubjectAccessReview'
        ? answerLocalSubjectAccessReview(asked, 'team-a', cluster.authorize)
        : answerSubjectAccessReview(asked, cluster.authorize)
    for (const message of messages) expect(ask).toThrow(message)
  })

  it('list what the user may do', () => {
    const asked = review('SelfSubjectRulesReview', { namespace: 'team-a' })
    const { status } = answerSelfSubjectRulesReview(asked, jane, cluster)
    expect(status).toMatchObject({ incomplete: false })
    const { resourceRules, nonResourceRules } = status as Record<string, PolicyRule[]>
    expect(resourceRules?.some(rule => rule.resources?.includes('pods') && rule.verbs.includes('list'))).toBe(true)
    expect(nonResourceRules?.some(rule => rule.nonResourceURLs?.includes('/healthz'))).toBe(true)
    expect(() => answerSelfSubjectRulesReview(review('SelfSubjectRulesReview', {}), jane, cluster)).toThrow(
      'no namespace on request',
    )
  })
})
