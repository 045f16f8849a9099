// What is read of machines whose guests were told, over the API, what VMware Tools would see.

import { deepStrictEqual, ok, strictEqual } from 'node:assert'
import { readVSphere } from '../../src/sources/vsphere.ts'
import { connectVSphere } from '../../src/vsphere/client.ts'
import type { Sentences } from '../capi/sentences.ts'
import { addCard, listOf, machineNamed, readOne, runTask, setGuestNICs, setProperty, setRoutes } from './guest.ts'
import type { VCenter } from './vcenter.ts'

export async function checkMachines(sentences: Sentences, { options, thumbprint }: VCenter): Promise<void> {
  const client = await connectVSphere({ ...options, thumbprint })
  const vm = await machineNamed(client, 'DC0_H0_VM0')
  const [first] = (await readOne(client, vm)).nics
  const mac = first?.mac ?? ''

  await sentences.it(
    'B10 a card on a distributed port group has the name of the group, not the id of its switch',
    async () => {
      strictEqual(first?.network, 'DC0_DVPG0')
      ok(first?.networkId?.startsWith('dvportgroup-'))
    },
  )

  await sentences.it('B26 a card that is added with a MAC, not connected at the start, is read so', async () => {
    await addCard(client, vm, { mac: '00:50:56:AB:CD:EF', network: 'VM Network', startConnected: false })
    const { nics } = await readOne(client, vm)
    strictEqual(nics.length, 2)
    strictEqual(nics[1]?.mac, '00:50:56:ab:cd:ef')
    strictEqual(nics[1]?.network, 'VM Network')
    strictEqual(nics[1]?.startConnected, false)
    strictEqual(nics[1]?.model, 'vmxnet3')
  })

  await sentences.it(
    'B12, B14, B17 addresses are joined to cards; bridges in the guest and link-local ones are left out',
    async () => {
      await setGuestNICs(client, vm, [
        {
          mac: mac.toUpperCase(),
          key: 4000,
          addresses: ['10.0.0.5/24 manual', '2001:db8::5/64 manual', 'fe80::1/64 linklayer'],
          dns: ['10.0.0.53'],
        },
        { mac: '02:42:00:00:00:01', key: -1, addresses: ['172.17.0.1/16 manual'] },
        { mac: '00:50:56:ab:cd:ef', key: -1, addresses: ['10.1.0.5/16 dhcp'] },
      ])
      const { nics, addressesFrom } = await readOne(client, vm)
      deepStrictEqual(nics[0]?.ips, [
        { address: '10.0.0.5', prefix: 24, origin: 'manual' },
        { address: '2001:db8::5', prefix: 64, origin: 'manual' },
      ])
      deepStrictEqual(nics[0]?.dns, ['10.0.0.53'])
      deepStrictEqual(nics[1]?.ips, [{ address: '10.1.0.5', prefix: 16, origin: 'dhcp' }])
      strictEqual(addressesFrom, 'guest-agent')
    },
  )

  await sentences.it(
    'B19, B22 each card has the default route of its own interface; a router of the link is no fixed gateway',
    async () => {
      await setRoutes(client, vm, [
        '0.0.0.0/0 via 10.0.0.1 on 0',
        '0.0.0.0/0 via 10.1.0.1 on 2',
        '::/0 via fe80::9 on 0',
        '192.168.0.0/16 via 10.0.0.2 on 0',
      ])
      const { nics } = await readOne(client, vm)
      deepStrictEqual(nics[0]?.gateways, [
        { address: '10.0.0.1', origin: 'fixed' },
        { address: 'fe80::9', origin: 'router-advertised' },
      ])
      deepStrictEqual(nics[0]?.routes, [{ destination: '192.168.0.0/16', gateway: '10.0.0.2' }])
      deepStrictEqual(nics[1]?.gateways, [{ address: '10.1.0.1', origin: 'fixed' }])
    },
  )

  await sentences.it(
    'B13, B20 a MAC that the guest changed, and a gateway in no subnet of the card, are noted',
    async () => {
      await setGuestNICs(client, vm, [{ mac: '02:00:00:00:00:99', key: 4000, addresses: ['10.0.0.5/24 manual'] }])
      await setRoutes(client, vm, ['0.0.0.0/0 via 10.99.0.1 on 0'])
      const { nics, notes } = await readOne(client, vm)
      deepStrictEqual(nics[0]?.gateways, [{ address: '10.99.0.1', origin: 'fixed' }])
      deepStrictEqual(
        notes.map(({ reason, nic }) => ({ reason, nic })),
        [
          { reason: 'MACMismatch', nic: '4000' },
          { reason: 'GatewayOutsideSubnet', nic: '4000' },
        ],
      )
    },
  )

  await sentences.it('B15, B16 what has no prefix, or the prefix 0, is of unknown prefix', async () => {
    await setGuestNICs(client, vm, [{ mac, key: 4000, flat: ['10.0.0.7'] }])
    deepStrictEqual((await readOne(client, vm)).nics[0]?.ips, [{ address: '10.0.0.7' }])
    await setGuestNICs(client, vm, [{ mac, key: 4000, addresses: ['10.0.0.7/0 manual'] }])
    deepStrictEqual((await readOne(client, vm)).nics[0]?.ips, [{ address: '10.0.0.7', origin: 'manual' }])
  })

  await sentences.it(
    'a machine that is off, and of which the tools tell nothing, has cards and no addresses',
    async () => {
      await runTask(client, 'PowerOffVM_Task', vm)
      await setProperty(client, vm, 'guest.net', listOf('GuestNicInfo', []))
      await setProperty(client, vm, 'guest.ipStack', listOf('GuestStackInfo', []))
      const machine = await readOne(client, vm)
      strictEqual(machine.powerState, 'off')
      strictEqual(machine.addressesFrom, 'none')
      strictEqual(machine.nics[0]?.mac, mac)
      deepStrictEqual(machine.nics[0]?.ips, [])
    },
  )

  await sentences.it('B24 a template is left out, and named', async () => {
    await client.call('MarkAsTemplate', vm)
    const { machines, leftOut } = await readVSphere(client, { asOf: '' })
    strictEqual(machines.length, 3)
    deepStrictEqual(leftOut, [{ name: 'DC0_H0_VM0', reason: 'Template' }])
  })

  await client.close()
}
