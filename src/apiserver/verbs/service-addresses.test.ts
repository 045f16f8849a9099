import { describe, expect, test } from 'vitest'
import { type Client, ok } from '../../../test/harness/client.ts'
import { aWorld } from '../../../test/harness/world.ts'
import type { KubeObject } from '../object.ts'

const services = '/api/v1/namespaces/default/services'

function aService(name: string, spec: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }
}

const addressOf = (service: KubeObject) => (service.spec as { clusterIP: string }).clusterIP
const portsOf = (service: KubeObject) => (service.spec as { ports: { nodePort?: number }[] }).ports

async function change(admin: Client, name: string, spec: object): Promise<KubeObject> {
  return ok(await admin.request('PATCH', `${services}/${name}`, { spec }, 'application/merge-patch+json'))
}

describe('a service', () => {
  test('that asks for no address gets one of its own, also when many are made at once', async () => {
    const { admin } = await aWorld()
    const names = Array.from({ length: 40 }, (_, i) => `s${i}`)
    const made = await Promise.all(names.map(name => admin.create(services, aService(name, { type: 'NodePort' }))))
    const addresses = made.map(reply => addressOf(ok(reply)))
    expect(new Set(addresses).size).toBe(40)
    for (const address of addresses) expect(address).toMatch(/^10\.96\.\d+\.\d+$/)
    const ports = made.flatMap(reply => portsOf(ok(reply)).map(port => port.nodePort ?? 0))
    expect(new Set(ports).size).toBe(40)
    for (const port of ports) {
      expect(port).toBeGreaterThanOrEqual(30_000)
      expect(port).toBeLessThanOrEqual(32_767)
    }
  })

  test('is the only one with its address, also when two ask for it at once', async () => {
    const { admin } = await aWorld()
    const asked = ['one', 'two'].map(name => admin.create(services, aService(name, { clusterIP: '10.96.5.5' })))
    const codes = (await Promise.all(asked)).map(reply => reply.code)
    expect(codes.toSorted((one, other) => one - other)).toEqual([201, 422])
  })

  test('keeps its address and ports when an update leaves them out', async () => {
    const { admin } = await aWorld()
    const made = ok(await admin.create(services, aService('one', { type: 'NodePort' })))
    const replaced = ok(await admin.request('PUT', `${services}/one`, aService('one', { type: 'NodePort' })))
    expect(addressOf(replaced)).toBe(addressOf(made))
    expect(portsOf(replaced)).toEqual(portsOf(made))
  })

  test.each([
    ['an address that is taken', { clusterIP: '10.96.5.5' }, 'failed to allocate IP 10.96.5.5: provided IP is already'],
    ['an address of elsewhere', { clusterIP: '10.97.0.1' }, 'does not match the current range'],
    ['a port that is taken', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_099 }] }, 'already allocated'],
    ['a port out of range', { type: 'NodePort', ports: [{ port: 80, nodePort: 99 }] }, 'is 30000-32767'],
  ])('may not have %s', async (_, spec, message) => {
    const { admin } = await aWorld()
    const first = { type: 'NodePort', clusterIP: '10.96.5.5', ports: [{ port: 80, nodePort: 30_099 }] }
    ok(await admin.create(services, aService('first', first)))
    const reply = await admin.create(services, aService('second', spec))
    expect(reply).toMatchObject({ code: 422, body: { message: expect.stringContaining(message) } })
  })

  test('gives its ports back when its type has no use for them', async () => {
    const { admin } = await aWorld()
    const first = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_099 }] }
    ok(await admin.create(services, aService('first', first)))
    expect(portsOf(await change(admin, 'first', { type: 'ClusterIP' }))[0]).not.toHaveProperty('nodePort')
    ok(await admin.create(services, aService('second', first)))
  })

  test('that is deleted leaves its address to others', async () => {
    const { admin } = await aWorld()
    ok(await admin.create(services, aService('first', { clusterIP: '10.96.5.5' })))
    ok(await admin.request('DELETE', `${services}/first`))
    ok(await admin.create(services, aService('second', { clusterIP: '10.96.5.5' })))
  })

  test.each([
    ['no head', { clusterIP: 'None' }, 'None'],
    ['another name', { type: 'ExternalName', externalName: 'example.com' }, undefined],
  ])('with %s needs no address', async (_, spec, address) => {
    const { admin } = await aWorld()
    expect(addressOf(ok(await admin.create(services, aService('one', spec))))).toBe(address)
  })

  test('that is only rehearsed takes nothing', async () => {
    const { admin } = await aWorld()
    const rehearsed = await admin.create(`${services}?dryRun=All`, aService('one', { clusterIP: '10.96.5.5' }))
    expect(addressOf(ok(rehearsed))).toBe('10.96.5.5')
    ok(await admin.create(services, aService('two', { clusterIP: '10.96.5.5' })))
  })
})
