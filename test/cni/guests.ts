// What a guest gets, whom it reaches, and what stays its own when it moves.

import { spawn } from 'node:child_process'
import { pods } from '../../src/controllers/office/kinds.ts'
import type { Sentences } from '../capi/sentences.ts'
import { run } from '../install/run.ts'
import { same } from './forwarder.ts'
import { addressesIn, answersPing, pathOf, ping } from './nodes.ts'
import { addNetwork, claimedIPs, Guest, makeMachine, restartMachine, type World } from './world.ts'

const mac = '02:00:00:00:77:01'

export async function checkGuests(sentences: Sentences, world: World): Promise<void> {
  const [a, b] = world.agents
  await addNetwork(world, 'vms', {
    plugins: [
      {
        type: 'bridge',
        bridge: 'br0',
        capabilities: { mac: true },
        ipam: {
          type: 'mooring',
          ranges: [{ subnet: '10.77.0.0/24', gateway: '10.77.0.1' }, 'fd77::/64'],
          routes: [{ dst: '10.99.0.0/16', gw: '10.77.0.1' }],
        },
      },
    ],
  })
  let machine = await makeMachine(world, 'vm1', 'vms', mac)
  const ips = await claimedIPs(world, machine.claim)
  let guest = await Guest.make(world, a, 'vms', { machine, capabilities: { mac } })
  const neighbour = await Guest.make(world, b, 'vms')

  await sentences.it('a guest has the addresses of its claim, of both families, and its routes', async () => {
    same([...(await guest.add())].sort(), [...ips].sort())
    const { out } = await run('ip', ['-n', guest.netns, 'route', 'show', '10.99.0.0/16'])
    if (!out.includes('via 10.77.0.1')) throw new Error(out || 'there is no such route')
  })

  await sentences.it('CHECK finds it as it was left', () => guest.check())

  await sentences.it('a pod without a claim has addresses too, and reaches the guest on the other node', async () => {
    same((await neighbour.add()).length, 2)
    for (const ip of ips) await ping(neighbour.netns, ip)
  })

  await sentences.it('stopped and started on the other node, the guest answers on the same addresses', async () => {
    await guest.end()
    if (await answersPing(neighbour.netns, ips[0] ?? '')) throw new Error('something answers while it is stopped')
    machine = await restartMachine(world, machine, 'vms', mac)
    guest = await Guest.make(world, b, 'vms', { machine, capabilities: { mac } })
    same([...(await guest.add())].sort(), [...ips].sort())
    for (const ip of ips) await ping(neighbour.netns, ip)
  })

  await sentences.it(
    'migrated while it runs, both of its pods have the same addresses, and then the target alone',
    async () => {
      const target = await Guest.make(world, a, 'vms', { machine, capabilities: { mac } })
      same([...(await target.add())].sort(), [...ips].sort())
      await guest.end()
      guest = target
      for (const ip of ips) await ping(neighbour.netns, ip)
    },
  )

  await sentences.it('an address that a pod asks for is given, and refused to a second one with a reason', async () => {
    const first = await Guest.make(world, a, 'vms', { element: { ips: ['10.77.0.50'] } })
    const given = await first.add()
    if (!given.includes('10.77.0.50/24')) throw new Error(given.join(', '))
    const second = await Guest.make(world, b, 'vms', { element: { ips: ['10.77.0.50'] } })
    const { code, err } = await b.node.cni('add', second.attachment)
    if (code === 0 || !/10\.77\.0\.50|IPAddressConflict|held/.test(err)) throw new Error(`ended with ${code}: ${err}`)
    await second.end()
    await first.end()
  })

  await sentences.it('two interfaces of one pod on one network have different addresses', async () => {
    const element = { name: 'vms', namespace: 'lab', interface: 'net1' }
    const two = await Guest.make(world, a, 'vms', { element })
    const networks = JSON.stringify([element, { ...element, interface: 'net2' }])
    const { name = '', namespace = '' } = two.pod.metadata
    const annotations = { 'k8s.v1.cni.cncf.io/networks': networks }
    await world.client.mergePatch(pods, { namespace, name }, { metadata: { annotations } })
    const first = await two.add()
    const { code, err } = await a.node.cni('add', { ...two.attachment, ifname: 'net2' })
    if (code !== 0) throw new Error(err)
    const second = await addressesIn(two.netns, 'net2')
    same([first.length, second.length, new Set([...first, ...second]).size], [2, 2, 4])
    await a.node.cni('del', { ...two.attachment, ifname: 'net2' })
    await two.end()
  })

  await sentences.it('with macvlan, guests of both nodes reach each other', async () => {
    await addNetwork(world, 'lan', {
      plugins: [{ type: 'macvlan', master: 'up0', ipam: { type: 'mooring', ranges: ['10.79.0.0/24', 'fd79::/64'] } }],
    })
    const [one, other] = [await Guest.make(world, a, 'lan'), await Guest.make(world, b, 'lan')]
    await one.add()
    for (const ip of await other.add()) await ping(one.netns, ip)
    await one.end()
    await other.end()
  })

  await sentences.it('with ptp, guests of a node reach its end of the wire, and each other', async () => {
    const ipam = { type: 'mooring', ranges: [{ subnet: '10.80.0.0/24', gateway: '10.80.0.1' }] }
    await addNetwork(world, 'wires', { plugins: [{ type: 'ptp', ipam }] })
    const [one, other] = [await Guest.make(world, a, 'wires'), await Guest.make(world, a, 'wires')]
    await one.add()
    const [ip = ''] = await other.add()
    await ping(one.netns, '10.80.0.1')
    await ping(one.netns, ip)
    await one.end()
    await other.end()
  })

  await sentences.it('in a list with tuning and portmap, each does its part', async () => {
    const ipam = { type: 'mooring', ranges: [{ subnet: '10.81.0.0/24', gateway: '10.81.0.1' }] }
    await addNetwork(world, 'published', {
      plugins: [
        { type: 'bridge', bridge: 'br1', isGateway: true, ipam },
        { type: 'tuning', sysctl: { 'net.core.somaxconn': '777' } },
        { type: 'portmap', capabilities: { portMappings: true } },
      ],
    })
    const portMappings = [{ hostPort: 18080, containerPort: 8080, protocol: 'tcp' }]
    const one = await Guest.make(world, a, 'published', { capabilities: { portMappings } })
    await one.add()
    const sysctl = await run('ip', ['netns', 'exec', one.netns, 'cat', '/proc/sys/net/core/somaxconn'])
    same(sysctl.out.trim(), '777')
    const server = `require('net').createServer(s => s.end('hello')).listen(8080, () => console.log('listens'))`
    const client = `require('net').connect(18080, '10.81.0.1').on('data', d => { process.stdout.write(d); process.exit() })`
    const child = spawn('ip', ['netns', 'exec', one.netns, process.execPath, '-e', server])
    try {
      await new Promise<void>(done => child.stdout.once('data', () => done()))
      const said = await run('ip', ['netns', 'exec', a.node.netns, 'timeout', '10', process.execPath, '-e', client])
      same(said.out, 'hello')
    } finally {
      child.kill('SIGKILL')
    }
    await one.end()
  })

  await sentences.it('nothing is left in a namespace after DEL, which may be said twice', async () => {
    await neighbour.del()
    await neighbour.del()
    same(await addressesIn(neighbour.netns), [])
    const { code } = await b.node.cni('del', { ...neighbour.attachment, netns: pathOf('never-was') })
    same(code, 0)
    await neighbour.end()
  })

  await guest.end()
}
