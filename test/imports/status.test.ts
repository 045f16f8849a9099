// `mooring import status`, on the API server of the product.

import { describe, expect, test } from 'vitest'
import { exitCodes } from '../../src/cli/failure.ts'
import { statusWith } from '../../src/cli/import.ts'
import type { CardStatus } from '../../src/imports/status.ts'
import {
  aClaim,
  aClusterUDN,
  aNamespace,
  anEvent,
  aPod,
  aServer,
  aVM,
  aVMI,
  forPrimary,
  type Server,
  type Thing,
} from './server.ts'

const mac = '00:50:56:00:00:05'
const imported = { mac, ip: '10.0.0.5', source: 'vc-1/vm-web' }
const running = (interfaces: readonly object[]) => ({ phase: 'Running', interfaces })

const condition = (status: 'True' | 'False', reason: string, message = 'no') => ({
  ips: [],
  conditions: [{ type: 'IPsAllocated', status, reason, message, lastTransitionTime: '2026-01-02T03:04:05Z' }],
})
const served = { ...condition('True', 'SuccessfulAllocation'), ips: ['10.0.0.5/24'] }

async function aCluster(...things: readonly Thing[]): Promise<Server> {
  const server = await aServer()
  await server.put(aNamespace('shop', forPrimary))
  await server.put(aNamespace('lab'))
  for (const thing of [aVM('shop', 'web', imported), ...things]) await server.put(thing)
  return server
}

async function status({ client }: Server, output = 'json') {
  let text = ''
  const code = await statusWith({ client, namespace: 'shop' }, { namespace: 'shop', output }, line => {
    text += line
  })
  const cards: readonly CardStatus[] = output === 'json' ? JSON.parse(text).cards : []
  return { code, text, cards, said: cards.map(({ state, message }) => `${state}: ${message}`) }
}

describe('An imported machine', () => {
  test('B70: that runs with its MAC and its address, held by its claim, has kept them', async () => {
    const shown = running([{ name: 'net-0', mac: mac.toUpperCase(), ipAddress: '10.0.0.5', ipAddresses: ['10.0.0.5'] }])
    const server = await aCluster(aClaim('shop', 'web.net-0', 'web', served), aVMI('shop', 'web', imported, shown))
    const { code, said, cards } = await status(server)
    expect(said).toEqual(['kept: it runs with what it had; 10.0.0.5/24 is held for it'])
    expect(cards[0]).toMatchObject({ machine: 'shop/web', interface: 'net-0', wanted: `${mac} 10.0.0.5` })
    expect(code).toBe(0)
    expect((await status(server, 'table')).text).toContain('shop/web  net-0      kept')
  })

  test.each([
    [
      'another MAC',
      '02:00:00:00:00:01',
      '10.0.0.5',
      `failed: it runs with the MAC 02:00:00:00:00:01, and not with ${mac}`,
    ],
    ['another address', mac, '10.0.0.9', 'waiting: it runs and shows 10.0.0.9, and not 10.0.0.5'],
  ])('B70: that runs with %s has not', async (_, itsMAC, ip, expected) => {
    const shown = running([{ name: 'net-0', mac: itsMAC, ipAddresses: [ip] }])
    const server = await aCluster(aClaim('shop', 'web.net-0', 'web', served), aVMI('shop', 'web', imported, shown))
    expect((await status(server)).said).toEqual([expected])
  })

  test('B70: whose claim has another address than the source has failed', async () => {
    const server = await aCluster(aClaim('shop', 'web.net-0', 'web', { ips: ['10.0.0.9/24'] }))
    const { said, code } = await status(server)
    expect(said).toEqual(['failed: IPAMClaim shop/web.net-0 has 10.0.0.9/24, and not 10.0.0.5'])
    expect(code).toBe(exitCodes.refused)
  })

  test('that does not run yet is ready, or waits', async () => {
    const server = await aCluster()
    expect((await status(server)).said).toEqual(['waiting: it has no IPAMClaim yet'])
    await server.put(aClaim('shop', 'web.net-0', 'web', served))
    expect((await status(server)).said).toEqual(['ready: 10.0.0.5/24 is held for it; it does not run'])
  })

  test('B66: whose address is in use is told which claim holds it', async () => {
    const server = await aCluster(
      aClaim('shop', 'web.net-0', 'web', condition('False', 'IPAddressConflict')),
      aClaim('lab', 'old.net1', 'old', { ips: ['10.0.0.5/24'] }),
    )
    const { said, code } = await status(server)
    expect(said).toEqual(['failed: 10.0.0.5 is asked for, and IPAMClaim lab/old.net1 holds it'])
    expect(code).toBe(exitCodes.refused)
  })

  test('B66: whose address is the gateway of the network is told so, and where none is found, that', async () => {
    const server = await aCluster(aClaim('shop', 'web.net-0', 'web', condition('False', 'IPAddressConflict')))
    expect((await status(server)).said).toEqual([
      'failed: 10.0.0.5 is asked for, and is in use; no claim or pod shows it',
    ])
    await server.put(aClusterUDN('blue', 'shop', { defaultGatewayIPs: ['10.0.0.5'] }))
    expect((await status(server)).said).toEqual(['failed: 10.0.0.5 is asked for, and is the gateway of the network'])
  })

  test('B68: whose MAC is in use is told by which instance and pod', async () => {
    const server = await aCluster(
      aClaim('shop', 'web.net-0', 'web', condition('False', 'MACAddressConflict')),
      aVMI('lab', 'old', { mac: '00-50-56-00-00-05' }),
      aPod('lab', 'box', { 'lab/net': { mac_address: mac, ip_addresses: [] } }),
    )
    expect((await status(server)).said).toEqual([
      `failed: the MAC ${mac} is that of Pod lab/box and VirtualMachineInstance lab/old`,
    ])
  })

  test('whose claim is refused for another reason is told the reason', async () => {
    const server = await aCluster(
      aClaim('shop', 'web.net-0', 'web', condition('False', 'InternalError', 'not contained')),
    )
    expect((await status(server)).said).toEqual(['failed: InternalError: not contained'])
  })

  test('B69: whose pod was denied by a webhook is told its words', async () => {
    const note = 'Error creating pod: admission webhook "x" denied the request: not allowed on pod creation'
    const server = await aCluster(anEvent('shop', 'VirtualMachineInstance', 'web', 'FailedCreate', note))
    expect((await status(server)).said).toEqual([`failed: ${note}`])
  })

  test('B71: whose MAC collides with that of another is a warning that names both', async () => {
    const note = `MAC ${mac}: Collision between vmi/shop/web, vmi/lab/old`
    const server = await aCluster(
      aClaim('shop', 'web.net-0', 'web', served),
      anEvent('shop', 'VirtualMachineInstance', 'web', 'MACCollision', note),
    )
    const { said, code } = await status(server)
    expect(said[1]).toBe(`warning: the MAC ${mac} is that of vmi/shop/web and vmi/lab/old at the same time`)
    expect(code).toBe(0)
  })

  test('that asks for a MAC alone, on a network that gives out no addresses, needs no claim', async () => {
    const own = { mac: '02:00:00:00:00:07', source: 'vc-1/vm-lone' }
    const server = await aCluster(aVM('shop', 'lone', own))
    expect((await status(server)).said[0]).toBe('ready: it does not run')
    await server.put(aVMI('shop', 'lone', own, running([{ name: 'net-0', mac: own.mac }])))
    expect((await status(server)).said[0]).toBe('kept: it runs with what it had')
  })

  test('is the only kind of machine that is reported', async () => {
    const server = await aCluster(aVM('shop', 'own', { mac: '02:00:00:00:00:07', ip: '10.0.0.7' }))
    expect((await status(server)).cards.map(({ machine }) => machine)).toEqual(['shop/web'])
  })
})
