// Every role that is shipped, asked about every verb on every kind and subresource, in its own namespace, in another and in all of
// them. What it may do is the table of docs/reference/roles.md, which this file reads.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainInstall, toRBAC, toUserRoles } from '../../scripts/config/manifests.ts'
import { leaseName } from '../../src/cli/permissions.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import { defineKind, type KubeObject } from '../../src/kube/object.ts'
import { aGround, aNamespace, type Ground, until } from './ground.ts'

const prefix = 'matrix-'
const options = { ...plainInstall, namespace: 'matrix-system', namePrefix: prefix }
const [own, other, everywhere] = ['matrix-own', 'matrix-other', '']

const read = ['get', 'list', 'watch']
const write = ['create', 'update', 'patch', 'delete', 'deletecollection']
const verbs = [...read, ...write]

interface Row {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** Verbs, by role. */
  readonly allowed: ReadonlyMap<string, readonly string[]>
}

const page = readFileSync('docs/reference/roles.md', 'utf8')
const [roles, rows] = readMatrix(page)
const ofNamespace = ['view', 'edit', 'admin']

function readMatrix(text: string): [roles: string[], rows: Row[]] {
  const lines = text.split('## The matrix')[1]?.split('\n## ')[0]?.split('\n') ?? []
  const cells = lines.filter(line => line.startsWith('|')).map(line => line.split('|').slice(1, -1))
  const [[, ...names] = [], , ...body] = cells.map(row => row.map(cell => cell.trim()))
  return [names, body.map(row => toRow(names, row))]
}

function toRow(names: readonly string[], [name = '', ...cells]: readonly string[]): Row {
  const [whole = '', subresource = ''] = name.replaceAll('`', '').split('/')
  const [resource = '', ...group] = whole.split('.')
  const words = (cell = '') => cell.split(' ').filter(word => word !== '')
  const toVerbs = (word: string) => (word === 'read' ? read : word === 'write' ? write : [word])
  const allowed = new Map(names.map((role, at) => [role, words(cells[at]).flatMap(toVerbs)]))
  return { group: group.join('.'), resource, subresource, allowed }
}

const reviews = defineKind<KubeObject>({
  group: 'authorization.k8s.io',
  versions: ['v1'],
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
})

interface Asked {
  readonly user: string
  readonly verb: string
  readonly namespace: string
  readonly name?: string
}

let ground: Ground
async function mayDo({ user, verb, namespace, name }: Asked, row: Omit<Row, 'allowed'>): Promise<boolean> {
  const { group, resource, subresource } = row
  const attributes = { verb, namespace, group, resource, subresource, ...(name !== undefined && { name }) }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {} }
  const spec = { user, resourceAttributes: attributes }
  const answer = await ground.admin.create(reviews, { ...review, spec } as KubeObject)
  return (answer as unknown as { status: { allowed: boolean } }).status.allowed
}

/** The account of the controller, and for each other role a user. Of the roles for a namespace a second one by Kubernetes' own. */
const userOf = (role: string) =>
  role === 'controller' ? `system:serviceaccount:${options.namespace}:${prefix}controller` : `matrix-user-${role}`
const byKubernetes = (role: string) => `matrix-kubernetes-${role}`

const rbac = 'rbac.authorization.k8s.io'
function binding(user: string, role: string, namespace?: string) {
  return {
    apiVersion: `${rbac}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name: user, ...(namespace !== undefined && { namespace }) },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', apiGroup: rbac, name: user }],
  }
}

const ofCluster = roles.filter(role => !ofNamespace.includes(role) && role !== 'controller')
const made = [
  ...toRBAC(options),
  ...toUserRoles(options),
  ...ofNamespace.map(role => binding(userOf(role), `${prefix}${role}`, own)),
  ...ofNamespace.map(role => binding(byKubernetes(role), role, own)),
  ...ofCluster.map(role => binding(userOf(role), `${prefix}${role}`)),
]

beforeAll(async () => {
  ground = await aGround()
  for (const name of [options.namespace, own, other]) await ground.apply(aNamespace(name))
  await ground.apply(...made)
  const pools = { group: 'mooring.dev', resource: 'addresspools', subresource: '' }
  await until('Kubernetes has made our roles a part of its own', () =>
    mayDo({ user: byKubernetes('admin'), verb: 'create', namespace: own }, pools),
  )
  await until('the last binding counts', () =>
    mayDo({ user: userOf(ofCluster.at(-1) ?? ''), verb: 'list', namespace: everywhere }, pools),
  )
})
afterAll(async () => {
  await ground.remove(...made.filter(({ kind }) => String(kind).startsWith('Cluster')))
  await ground.stop()
})

/** Sentences about every answer that is not the one of the table. */
async function unlikeTheTable(user: string, role: string, about: readonly Row[], among = verbs): Promise<string[]> {
  const places = ofNamespace.includes(role) ? [own, other, everywhere] : [own, everywhere]
  const questions = about.flatMap(row => among.flatMap(verb => places.map(namespace => ({ row, verb, namespace }))))
  const wrong: string[] = []
  const next = questions.values()
  const ask = async () => {
    for (const { row, verb, namespace } of next) {
      const isReached = !ofNamespace.includes(role) || namespace === own
      const expected = isReached && (row.allowed.get(role) ?? []).includes(verb)
      if ((await mayDo({ user, verb, namespace }, row)) === expected) continue
      const what = [row.resource, row.group].filter(Boolean).join('.')
      wrong.push(`${user} ${expected ? 'may not' : 'may'} ${verb} ${what} ${row.subresource} in "${namespace}"`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, ask))
  return wrong
}

describe('the table of the roles', () => {
  test('has every role for users, and the controller', () => {
    const shipped = toUserRoles(options).map(({ metadata }) => (metadata as { name: string }).name.slice(prefix.length))
    expect(roles).toEqual([...shipped, 'controller'])
  })

  test('has every kind that the office and the desks use, with its status and its finalizers', () => {
    const kinds = componentsOf(options.desks, options.on).flatMap(({ kinds }) => kinds.map(({ kind }) => kind))
    const known = new Set(rows.map(({ resource, group, subresource }) => `${resource}.${group}/${subresource}`))
    const wanted = kinds.flatMap(({ plural, group }) =>
      ['', 'status', group === '' ? 'finalize' : 'finalizers'].map(part => `${plural}.${group}/${part}`),
    )
    expect(wanted.filter(name => !known.has(name))).toEqual([])
  })
})

describe('a shipped role', () => {
  test.each(roles)('%s may do what the table says, and nothing else', async role => {
    expect(await unlikeTheTable(userOf(role), role, rows)).toEqual([])
  })

  test.each(ofNamespace)('%s of Kubernetes includes ours', async role => {
    const ours = rows.filter(({ group }) => group === 'mooring.dev' || group === 'ipam.cluster.x-k8s.io')
    expect(ours.length).toBeGreaterThan(20)
    expect(await unlikeTheTable(byKubernetes(role), role, ours)).toEqual([])
  })

  // Labels of namespaces decide which pools they may use.
  test.each(ofNamespace)('%s of Kubernetes may not label its own namespace', async role => {
    const namespaces = rows.filter(({ resource }) => resource === 'namespaces')
    expect(await unlikeTheTable(byKubernetes(role), role, namespaces, write)).toEqual([])
  })

  test('controller may use its own lease, and no other', async () => {
    const leases = { group: 'coordination.k8s.io', resource: 'leases', subresource: '' }
    const asked = verbs.flatMap(verb =>
      [options.namespace, own].flatMap(namespace => [leaseName, 'another'].map(name => ({ verb, namespace, name }))),
    )
    const allowed: string[] = []
    for (const one of asked) {
      // A name cannot be asked for while there is no object of that name.
      const question = one.verb === 'create' ? { verb: one.verb, namespace: one.namespace } : one
      if (await mayDo({ user: userOf('controller'), ...question }, leases))
        allowed.push(Object.values(question).join(' '))
    }
    expect([...new Set(allowed)]).toEqual([
      `get ${options.namespace} ${leaseName}`,
      `create ${options.namespace}`,
      `update ${options.namespace} ${leaseName}`,
    ])
  })
})
