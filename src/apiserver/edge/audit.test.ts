import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aConfigMap, configMaps } from '../../../test/harness/objects.ts'
import { aWorld, type World } from '../../../test/harness/world.ts'

interface Event {
  readonly [field: string]: unknown
}

async function anAuditedWorld(): Promise<{ world: World; events: Event[] }> {
  const events: Event[] = []
  const world = await aWorld({ onAudit: event => events.push(event as Event) })
  events.length = 0
  return { world, events }
}

describe('the audit log', () => {
  test('has one record for each request: which user, what, about which object, with which answer', async () => {
    const { world, events } = await anAuditedWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    await world.admin.get('/version')
    await world.as('ann', ['team-a']).get(`${configMaps()}/one`)
    await world.withToken('nonsense').delete(`${configMaps()}/one`)
    const admin = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }
    const one = { resource: 'configmaps', namespace: 'default', name: 'one', apiVersion: 'v1' }
    const at = '2030-01-01T00:00:00.000000Z'
    const same = { kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'Metadata', stage: 'ResponseComplete' }
    const path = '/api/v1/namespaces/default/configmaps'
    const answer = (code: number) => ({ responseStatus: { metadata: {}, code } })
    const each = {
      ...same,
      userAgent: 'test',
      auditID: expect.any(String),
      requestReceivedTimestamp: at,
      stageTimestamp: at,
    }
    expect(events).toEqual([
      { ...each, verb: 'create', requestURI: path, user: admin, objectRef: one, ...answer(201) },
      { ...each, verb: 'get', requestURI: '/version', user: admin, ...answer(200) },
      {
        ...each,
        verb: 'get',
        requestURI: `${path}/one`,
        user: admin,
        impersonatedUser: { username: 'ann', groups: ['team-a', 'system:authenticated'] },
        objectRef: one,
        ...answer(403),
      },
      { ...each, verb: 'delete', requestURI: `${path}/one`, user: {}, objectRef: one, ...answer(401) },
    ])
  })

  test('names the kind with its group, the subresource, and the id that the client was told', async () => {
    const { world, events } = await anAuditedWorld()
    const { headers } = await world.server.handler({
      method: 'PATCH',
      target: '/apis/apps/v1/namespaces/default/deployments/web/scale',
      headers: { 'audit-id': ['from-the-client'], 'user-agent': ['kubectl/v1.35'] },
      body: Buffer.from('{}'),
      remoteAddress: '192.0.2.7',
      signal: new AbortController().signal,
    })
    expect(headers['audit-id']).toBe('from-the-client')
    expect(events).toMatchObject([
      {
        auditID: 'from-the-client',
        userAgent: 'kubectl/v1.35',
        sourceIPs: ['192.0.2.7'],
        user: { username: 'system:anonymous' },
        objectRef: { apiGroup: 'apps', apiVersion: 'v1', resource: 'deployments', name: 'web', subresource: 'scale' },
      },
    ])
  })

  test('has a record of a watch when it begins', async () => {
    const { world, events } = await anAuditedWorld()
    const watch = await world.admin.watch(configMaps())
    watch.stop()
    expect(events).toMatchObject([{ verb: 'watch', stage: 'ResponseStarted', responseStatus: { code: 200 } }])
  })

  test('has no token, no body, and no secret that a client puts into the query', async () => {
    const { world, events } = await anAuditedWorld()
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'canary-1' } }
    ok(await world.admin.create('/api/v1/namespaces/default/secrets', secret))
    await world.withToken('canary-2').get('/version')
    await world.admin.get('/version?access_token=canary-3&to%6ben=canary-4&limit=5')
    await world.admin.get(`/version?${'x'.repeat(10_000)}`)
    const text = JSON.stringify(events)
    expect(events).toHaveLength(4)
    expect(text).not.toContain('canary')
    expect(text).toContain('/version?access_token=REDACTED&to%6ben=REDACTED&limit=5')
    expect(text.length).toBeLessThan(6_000)
  })
})
