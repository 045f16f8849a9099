import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aWorld } from '../../../test/harness/world.ts'
import { reach } from './reach.ts'

const reference = { namespace: 'default', name: 'ext', port: 443 }
const services = '/api/v1/namespaces/default/services'
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

async function aService() {
  const world = await aWorld()
  const ports = [
    { name: 'metrics', port: 9090, targetPort: 9091 },
    { name: 'api', port: 443, targetPort: 8443 },
  ]
  ok(
    await world.admin.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'ext' },
      spec: { ports },
    }),
  )
  return world
}

const portsThere = [
  { name: 'metrics', port: 9091 },
  { name: 'api', port: 8443 },
]

describe('the Service of an APIService', () => {
  test('is reached at an endpoint that is ready, on the port of its name', async () => {
    const world = await aService()
    const endpoints = [
      { addresses: ['192.0.2.1'], conditions: { ready: false } },
      { addresses: ['192.0.2.2'], conditions: { ready: true } },
    ]
    const metadata = { name: 'ext-1', labels: { 'kubernetes.io/service-name': 'ext' } }
    const slice = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: 'IPv4' }
    ok(await world.admin.create(slices, { ...slice, endpoints, ports: portsThere }))
    expect(reach(world.server.world, reference)).toEqual({ host: '192.0.2.2', port: 8443 })
  })

  test('is reached through Endpoints too, which no controller here turns into slices', async () => {
    const world = await aService()
    const subsets = [{ addresses: [{ ip: '192.0.2.3' }], ports: portsThere }]
    const endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'ext' }, subsets }
    ok(await world.admin.create('/api/v1/namespaces/default/endpoints', endpoints))
    expect(reach(world.server.world, reference)).toEqual({ host: '192.0.2.3', port: 8443 })
  })

  test('is not reached through the endpoints of another Service', async () => {
    const world = await aService()
    const metadata = { name: 'ext-1', labels: { 'kubernetes.io/service-name': 'other' } }
    const slice = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: 'IPv4' }
    ok(await world.admin.create(slices, { ...slice, endpoints: [{ addresses: ['192.0.2.1'] }], ports: portsThere }))
    expect(reach(world.server.world, reference)).toMatchObject({ reason: 'EndpointsNotFound' })
  })
})
