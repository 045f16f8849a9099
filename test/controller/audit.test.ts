// No permission is shipped that the controller does not use: the audit log of the API server, kept while every kind of pool was
// used and left again, is compared with the roles. Only where there is such a log, which is on a real server.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { plainInstall, toRBAC } from '../../scripts/config/manifests.ts'
import { permissionSets, singlePermissions } from '../../src/cli/permissions.ts'
import { pools } from '../../src/controllers/office/kinds.ts'
import { refOf } from '../../src/kube/object.ts'
import { aClaim, addressOf, aGround, aNamespace, type Ground, kindNamed, until } from './ground.ts'
import { aReplica } from './replica.ts'

const options = { ...plainInstall, namespace: 'audit-system', namePrefix: 'audit-' }
const home = 'audit-home'
const audit = inject('controller')?.audit

/** Used when something goes wrong or twice, or asked about by the server itself. */
const seldom: Readonly<Record<string, string>> = {
  'get holds.mooring.dev': 'when a hold is there already',
  'get ipaddressclaims.ipam.cluster.x-k8s.io': 'when a claim has changed meanwhile, or seems to be gone',
  'get namespaces': 'when a pool is offered to namespaces by their labels',
  'patch events.events.k8s.io': 'when the same event happens again',
  'create subjectaccessreviews.authorization.k8s.io': 'when metrics are read',
  'create tokenreviews.authentication.k8s.io': 'when metrics are read',
}
const isAskedByServer = (permission: string) => permission.endsWith('/finalizers')

let ground: Ground
beforeAll(async () => {
  if (audit === undefined) return
  ground = await aGround()
  await ground.apply(aNamespace(options.namespace), aNamespace(home), ...toRBAC(options))
})
afterAll(async () => {
  if (audit === undefined) return
  await ground.remove(...toRBAC(options).filter(({ kind }) => String(kind).startsWith('Cluster')))
  await ground.stop()
})

describe.skipIf(audit === undefined)('the permissions that are shipped', () => {
  test('are used, every one of them', async () => {
    const replica = await aReplica(await ground.kubeconfigOf(options.namespace, 'audit-controller'))
    await replica.untilReady()
    const drafts = pools.map(({ kind, group, versions: [version], namespaced }, at) => ({
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name: `audit-${at}`, ...(namespaced && { namespace: home }) },
      spec: kind.includes('Prefix')
        ? { prefixes: [`fd00:${at}::/48`], allocationPrefixLength: 64 }
        : { addresses: [`10.${100 + at}.0.0/24`], prefix: 24 },
    }))
    const claims = drafts.map((pool, at) => {
      const claim = aClaim(home, `audit-${at}`, pool)
      const { poolRef } = claim.spec
      return { ...claim, spec: { poolRef: { ...poolRef, apiGroup: pool.apiVersion.split('/')[0] } } }
    })
    await ground.apply(...drafts, ...claims)
    for (const claim of claims) expect(await addressOf(ground.admin, claim)).not.toBe('')
    await ground.remove(...claims)
    await until('all claims are gone', async () => {
      const left = await Promise.all(claims.map(claim => ground.admin.get(kindNamed('IPAddressClaim'), refOf(claim))))
      return left.every(claim => claim === undefined)
    })
    await ground.remove(...drafts)
    await until('all pools are gone', async () => {
      const left = await Promise.all(drafts.map(pool => ground.admin.get(kindNamed(pool.kind), refOf(pool))))
      return left.every(pool => pool === undefined)
    })
    await replica.stop()
    expect(replica.lines.filter(({ level }) => level === 'error')).toEqual([])

    const shipped = singlePermissions({
      sets: permissionSets(options.desks, options.on),
      watchedNamespace: '',
      ownNamespace: options.namespace,
      isElecting: true,
      isDiagnosing: true,
      isAnswering: false,
    }).map(({ verb, group, resource, subresource }) => toText(verb, group, resource, subresource))
    const expected = shipped.filter(permission => !isAskedByServer(permission) && !Object.hasOwn(seldom, permission))
    const used = usedBy(`system:serviceaccount:${options.namespace}:audit-controller`)
    expect(expected.filter(permission => !used.has(permission))).toEqual([])
  })
})

function toText(verb: string, group: string, resource: string, subresource?: string): string {
  return `${verb} ${[group === '' ? resource : `${resource}.${group}`, subresource].filter(Boolean).join('/')}`
}

interface Entry {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string }
}

function usedBy(user: string): Set<string> {
  const entries = readFileSync(audit ?? '', 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Entry)
  return new Set(
    entries
      .filter(entry => entry.user.username === user && entry.objectRef !== undefined)
      .map(({ verb, objectRef }) =>
        toText(verb, objectRef?.apiGroup ?? '', objectRef?.resource ?? '', objectRef?.subresource),
      ),
  )
}
