// `mooring migration-network`, said to a cluster: what it shows and writes, and its exit codes.

import { describe, expect, test } from 'vitest'
import {
  askedBy,
  type NetworkOptions,
  planWith,
  resetWith,
  setWith,
  statusWith,
} from '../../src/cli/migration-network.ts'
import { migrationNetworks, migrations } from '../../src/controllers/migration/kinds.ts'
import { events, nodes } from './kinds.ts'
import { aFleet, aMigration, type Fleet, settingName } from './migration-fleet.ts'
import type { Stored } from './world.ts'

const refused = 5

interface Said {
  readonly code: number
  readonly text: string
}

const flags = (more: Partial<NetworkOptions> = {}): NetworkOptions => ({
  clusterNetwork: 'mgmt',
  vlan: '100',
  range: '10.1.2.0/24',
  exclude: [],
  output: 'table',
  ...more,
})

async function say(command: (print: (text: string) => void) => Promise<number>): Promise<Said> {
  const lines: string[] = []
  const code = await command(text => lines.push(text))
  return { code, text: lines.join('\n') }
}

const commandsOn = ({ world: { client } }: Fleet) => ({
  plan: (options = flags()) => say(print => planWith(client, askedBy(options), options, print)),
  set: (options = flags()) => say(print => setWith(client, askedBy(options), options, print)),
  status: (output = 'table') => say(print => statusWith(client, { output }, print)),
  reset: (output = 'table') => say(print => resetWith(client, { output }, print)),
})

describe('mooring migration-network', () => {
  test('plans, sets, shows and resets the network of a cluster with Harvester', async () => {
    const fleet = await aFleet()
    const mooring = commandsOn(fleet)
    expect(await mooring.status()).toMatchObject({
      code: 0,
      text: expect.stringContaining('in use: the management network'),
    })

    const planned = await mooring.plan()
    expect(planned.code).toBe(0)
    expect(planned.text).toMatch(
      /^NetworkAttachmentDefinition harvester-system\/vm-migration-network-\w{10}: is made$/m,
    )
    expect(planned.text).toContain('  + ipam: {"type":"whereabouts","range":"10.1.2.0/24"}')
    expect(planned.text).toContain('addresses: 3 needed, 254 can be given out, 251 to spare')
    expect(planned.text).toMatch(/^3 pods restart: virt-handler-\w+, virt-handler-\w+, virt-handler-\w+$/m)
    expect(await fleet.attachments()).toEqual([])

    const written = await mooring.set()
    expect(written).toMatchObject({ code: 0, text: expect.stringContaining(`Setting ${settingName} is written`) })
    const network = await fleet.works()
    const shown = await mooring.status()
    expect(shown).toMatchObject({ code: 0, text: expect.stringContaining(`in use: ${network}`) })
    for (const node of ['node-1', 'node-2', 'node-3']) {
      expect(shown.text).toMatch(new RegExp(`^${node} +yes +- +- +ready +10\\.1\\.2\\.\\d+$`, 'm'))
    }

    // The condition is still that of the value before.
    await fleet.set({ clusterNetwork: 'mgmt', vlan: 200, range: '10.1.2.0/24' })
    expect(await mooring.status()).toMatchObject({ code: refused })
    await fleet.set({ clusterNetwork: 'mgmt', vlan: 100, range: '10.1.2.0/24' })
    await fleet.works()
    const again = await mooring.plan(flags({ exclude: ['10.1.2.250'] }))
    expect(again.text).toContain('is changed where it is\n  + ipam.exclude: ["10.1.2.250/32"]')
    expect(again.text).toContain('no pod restarts')

    expect(await mooring.reset()).toMatchObject({
      code: 0,
      text: expect.stringContaining(`Setting ${settingName} is reset`),
    })
    expect((await fleet.setting()).value).toBe('')
    await fleet.world.eventually(async () => expect(await fleet.attachments()).toEqual([]), 300_000)
    expect(await mooring.reset()).toMatchObject({ code: 0, text: expect.stringContaining('nothing is set') })
  })

  test('says all that is wrong before anything is written, each with where and what instead', async () => {
    const fleet = await aFleet()
    const wrong = flags({ clusterNetwork: 'nowhere', range: '10.1.2.0/30', exclude: ['x'] })
    for (const command of [commandsOn(fleet).plan, commandsOn(fleet).set]) {
      const { code, text } = await command(wrong)
      expect(code).toBe(refused)
      expect(text).toContain('refused, with 2 errors:')
      expect(text).toContain('/exclude/0: invalid CIDR address: x: write a CIDR such as 10.1.2.0/28')
      expect(text).toContain('/clusterNetwork: cluster network nowhere not found because')
    }
    expect((await fleet.setting()).value).toBe('')
  })

  test('says what the change waits for, and how far it is while it is under way', async () => {
    const fleet = await aFleet()
    const mooring = commandsOn(fleet)
    const { client } = fleet.world
    const ref = { name: 'm', namespace: 'default' }
    await client.create(migrations, { ...aMigration('m'), metadata: ref })
    await client.mergePatch(migrations, ref, { status: { phase: 'Running' } }, { subresource: 'status' })
    expect((await mooring.plan()).text).toContain('waits: the migration of default/web')
    await fleet.set({ clusterNetwork: 'mgmt', vlan: 100, range: '10.1.2.0/24' })
    await fleet.says({ reason: 'WaitingForMigrations' })
    expect(await mooring.status()).toMatchObject({
      code: refused,
      text: expect.stringContaining('configured: False (WaitingForMigrations)'),
    })
  })

  test('says of a node whose pod does not start what the pod waits for', async () => {
    const fleet = await aFleet()
    const { client } = fleet.world
    const annotations = { 'playground.mooring.dev/fail-virt-handler': 'its card is broken' }
    await client.mergePatch(nodes, { name: 'node-2' }, { metadata: { annotations } })
    await fleet.set({ clusterNetwork: 'mgmt', vlan: 100, range: '10.1.2.0/24' })
    await fleet.world.eventually(async () => {
      const { text } = await commandsOn(fleet).status()
      expect(text).toMatch(/^node-2 +yes +- +- +not ready: its card is broken +-$/m)
    }, 60_000)
  })

  test('shows of the last migrations over which network they went, and each is announced when it ends', async () => {
    const fleet = await aFleet()
    await fleet.set({ clusterNetwork: 'mgmt', vlan: 100, range: '10.1.2.0/24' })
    await fleet.works()
    const { world } = fleet
    const end = async (name: string, targetNodeAddress: string, endTimestamp: string) => {
      const made = await world.create(aMigration(name))
      await world.patch(made, { status: { phase: 'Running' } }, 'status')
      await world.heard(made)
      const migrationState = { targetNode: 'node-2', targetNodeAddress, endTimestamp }
      await world.patch(made, { status: { phase: 'Succeeded', migrationState } }, 'status')
    }
    await end('over-it', '10.1.2.7', '2026-01-01T00:00:00Z')
    await end('beside-it', '10.42.0.9', '2026-01-02T00:00:00Z')
    const said = async (name: string) => {
      const { items } = await world.client.list(events, { namespace: world.home })
      const own = (items as Stored[]).filter(({ regarding }) => regarding?.name === name)
      return own.map(({ type, reason }) => `${type} ${reason}`)
    }
    await world.eventually(async () => {
      expect(await said('over-it')).toEqual(['Normal MigrationNetworkUsed'])
      expect(await said('beside-it')).toEqual(['Warning MigrationNetworkNotUsed'])
    })
    const mooring = commandsOn(fleet)
    expect((await mooring.status()).text.split('\n').slice(-3)).toEqual([
      expect.stringMatching(/^LAST MIGRATIONS +TO +BY +NETWORK +ENDED$/),
      expect.stringMatching(/^\S+\/web +node-2 +10\.42\.0\.9 +Pod +2026-01-02T00:00:00Z$/),
      expect.stringMatching(/^\S+\/web +node-2 +10\.1\.2\.7 +Migration +2026-01-01T00:00:00Z$/),
    ])
    expect(JSON.parse((await mooring.status('json')).text).lastMigrations).toMatchObject([
      { targetAddress: '10.42.0.9', network: 'Pod' },
      { targetAddress: '10.1.2.7', network: 'Migration' },
    ])
  })

  test('answers in JSON, with numbers of addresses as texts', async () => {
    const fleet = await aFleet()
    const mooring = commandsOn(fleet)
    const options = flags({ bridge: 'br0', rangeV6: 'fd00::/64', output: 'json' })
    const { clusterNetwork: _, range: __, ...v6 } = options
    const planned = JSON.parse((await mooring.plan(v6)).text)
    expect(planned).toMatchObject({
      attachment: { action: 'make' },
      addresses: { needed: 3, usable: '18446744073709551614', spare: '18446744073709551611' },
      problems: [],
    })
    const wrong = JSON.parse((await mooring.plan(flags({ vlan: '1', output: 'json' }))).text)
    expect(wrong.problems).toEqual([
      expect.objectContaining({ pointer: '/vlan', message: 'network with vlan id 1 not allowed on mgmt cluster' }),
    ])
    expect(JSON.parse((await mooring.status('json')).text)).toMatchObject({
      by: '',
      isDone: true,
      nodes: [{ node: 'node-1', addresses: [] }, { node: 'node-2' }, { node: 'node-3' }],
    })
  })

  test('writes a MigrationNetwork for a bridge or an interface, replaces it whole, and deletes it', async () => {
    const fleet = await aFleet()
    const mooring = commandsOn(fleet)
    const { clusterNetwork: _, ...plain } = flags()
    const stored = async () =>
      (await fleet.world.client.get(migrationNetworks, { name: settingName })) as { spec?: object } | undefined
    const kubevirt = 'harvester-system/kubevirt'
    const first = await mooring.set({ ...plain, bridge: 'br0', exclude: ['10.1.2.9'], kubevirt })
    expect(first.text).toContain(`MigrationNetwork ${settingName} is written`)
    expect((await stored())?.spec).toMatchObject({ bridge: 'br0', exclude: ['10.1.2.9'] })
    await fleet.world.eventually(async () => expect((await mooring.status()).code).toBe(0), 300_000)
    await mooring.set({ ...plain, parent: 'eth1', kubevirt })
    expect((await stored())?.spec).toEqual({
      parent: 'eth1',
      vlan: 100,
      range: '10.1.2.0/24',
      ipam: 'mooring',
      kubevirt: { namespace: 'harvester-system', name: 'kubevirt' },
    })
    expect((await mooring.reset()).text).toContain(`MigrationNetwork ${settingName} is deleted`)
    await fleet.world.eventually(async () => expect(await stored()).toBeUndefined(), 300_000)
  })

  test.each<[string, Partial<NetworkOptions>, RegExp]>([
    ['no network', { clusterNetwork: undefined }, /no network is named/],
    ['two networks', { bridge: 'br0' }, /more than one of --cluster-network, --bridge and --parent/],
    ['a VLAN that is no number', { vlan: '1e3' }, /--vlan is "1e3"/],
    ['an MTU with Harvester', { mtu: '9000' }, /--mtu is not for --cluster-network/],
    ['half of the name of KubeVirt', { clusterNetwork: undefined, bridge: 'br0', kubevirt: 'x' }, /--kubevirt is "x"/],
  ] as [string, Partial<NetworkOptions>, RegExp][])('does not take %s', (_, more, message) => {
    expect(() => askedBy(flags(more))).toThrow(message)
  })
})
