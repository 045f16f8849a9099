// A network for live migrations on a real wire: three nodes on the trunk ports of a switch, each with a bridge that keeps VLANs apart, and the
// NetworkAttachmentDefinition as the migration desk writes it. virt-operator, which rolls pods of virt-handler, is played here; the
// interface of each such pod is made by Debian's plugins and our own.

import { kubeVirts, migrationNetworks } from '../../src/controllers/migration/kinds.ts'
import { attachments, holds, namespaces as namespaceKind, pods } from '../../src/controllers/office/kinds.ts'
import { defineKind, type KubeObject, refOf } from '../../src/kube/object.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import { same } from './forwarder.ts'
import { kernelWithVLANs } from './kernel.ts'
import { addressesIn, mustRunIn, Namespaces, Node, pathOf, socketOf } from './nodes.ts'
import { type Agent, nextName, nodeKind, type Stored, untilPodsMayCome, type World } from './world.ts'

const [home, vlan, otherVLAN] = ['kubevirt', 100, 200]
const [name, uplink, bridge, interfaceName] = ['vm-migration-network', 'up0', 'migration-br', 'migration0']
const labels = { 'mooring.dev/lab': 'migration', 'kubevirt.io/schedulable': 'true' }
/** Of six addresses three are excluded: just enough for three nodes. */
const [range, exclude] = ['10.94.0.0/29', ['10.94.0.1', '10.94.0.4', '10.94.0.6']]
const usable = ['10.94.0.2', '10.94.0.3', '10.94.0.5']

const eventKind = defineKind<KubeObject>({
  group: 'events.k8s.io',
  versions: ['v1'],
  plural: 'events',
  kind: 'Event',
  namespaced: true,
})

export async function checkMigrationNetwork(sentences: Sentences, world: World): Promise<void> {
  const { client } = world
  const lab = await makeLab(world)
  console.log(`  on ${lab.kernel.name}`)
  for (const node of ['rack-1', 'rack-2', 'rack-3']) await lab.addNode(node)
  await client.create(migrationNetworks, {
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'MigrationNetwork',
    metadata: { name },
    spec: { bridge, vlan, range, exclude, ipam: 'mooring', nodeSelector: { 'mooring.dev/lab': 'migration' } },
  } as KubeObject)

  let held = new Map<string, string>()
  await sentences.it(
    'every node holds an address of the range before KubeVirt is told, and none is excluded',
    async () => {
      await until('KubeVirt is told', async () => ((await lab.network()) === '' ? lab.says() : undefined))
      held = await lab.held()
      same([...held.keys()].sort(), ['rack-1', 'rack-2', 'rack-3'])
      same([...held.values()].sort(), usable)
    },
  )

  await sentences.it(
    'virt-handler of every node has the address of its node, on the VLAN, and all is configured',
    async () => {
      const config = await lab.roll()
      same([config.type, config.bridge, config.vlan], ['bridge', bridge, vlan])
      for (const { node, addresses } of lab.handlers()) same(addresses, [`${held.get(node)}/29`])
      await lab.untilSays('Completed')
    },
  )

  await sentences.it('every node reaches every other over the VLAN', async () => {
    for (const { netns } of lab.handlers()) await lab.reaches(netns, lab.all())
  })

  await sentences.it(
    'a host on another VLAN, or untagged, reaches none of them; one on that VLAN reaches all',
    async () => {
      const host = await lab.addHost('10.94.0.6/29')
      await lab.reaches(host.netns, [])
      await host.moveTo(vlan)
      await lab.reaches(host.netns, lab.all())
      await host.moveTo(otherVLAN)
      await lab.reaches(host.netns, [])
      await lab.namespaces.remove(host.netns)
    },
  )

  await sentences.it(
    'the frames have the tag: a switch that does not let the VLAN through to a node cuts it off',
    async () => {
      const [one] = lab.handlers()
      await lab.trunk('rack-3', 'del')
      await lab.reaches(one?.netns ?? '', ['rack-1', 'rack-2'])
      await lab.trunk('rack-3', 'add')
      await lab.reaches(one?.netns ?? '', lab.all())
    },
  )

  await sentences.it('a pod of virt-handler that is replaced has the address of its node again', async () => {
    await lab.endHandler('rack-2')
    const { addresses } = await lab.startHandler('rack-2')
    same(addresses, [`${held.get('rack-2')}/29`])
    await lab.untilSays('Completed')
  })

  await sentences.it('host-local of Debian, which knows its own node alone, gives two nodes one address', async () => {
    const ipam = { type: 'host-local', ranges: [[{ subnet: '10.95.0.0/29' }]] }
    const config = { cniVersion: '0.3.1', name: 'local', plugins: [{ type: 'bridge', bridge, vlan: otherVLAN, ipam }] }
    const given: string[][] = []
    for (const node of ['rack-1', 'rack-2']) given.push(await lab.attachOnce(node, config))
    same([given[0]?.length, given[1]], [1, given[0]])
  })

  await sentences.it('a fourth node is told that the range is used up, by name, and the others go on', async () => {
    await lab.addNode('rack-4')
    await lab.untilSays('NodesNotReady', /rack-4: no address of \S+ is free: widen its range, or exclude less of it/)
    await lab.untilSays('RangeUsedUp', /4 of 3 addresses are needed/, 'addressesSufficient')
    await until('a warning names it', async () => {
      const { items } = await client.list(eventKind, { namespace: 'default' })
      const notes = (items as Stored[]).filter(({ type }) => type === 'Warning').map(({ note }) => String(note))
      return notes.some(note => note.includes('rack-4: no address')) ? undefined : notes.join('; ')
    })
    const [one] = lab.handlers()
    await lab.reaches(one?.netns ?? '', ['rack-1', 'rack-2', 'rack-3'])
  })

  await sentences.it('ADD on the fourth node is refused with a sentence, and leaves no interface', async () => {
    const { said, netns } = await lab.tryHandler('rack-4')
    if (said.code === 0 || !/node rack-4 has no address on network/.test(said.err))
      throw new Error(`${said.code}: ${said.err}`)
    same(await addressesIn(netns, interfaceName, lab.kernel), [])
    await lab.endHandler('rack-4')
  })

  await sentences.it(
    'with less excluded it has the address that came free, on the same network, and all reach it',
    async () => {
      const [[one], network] = [lab.handlers(), await lab.network()]
      await client.mergePatch(migrationNetworks, { name }, { spec: { exclude: exclude.slice(0, 2) } })
      await until('it holds one', async () =>
        (await lab.held()).get('rack-4') === '10.94.0.6' ? undefined : lab.says(),
      )
      const { addresses } = await lab.startHandler('rack-4')
      same(addresses, ['10.94.0.6/29'])
      await lab.untilSays('Completed', /^4 of 4 nodes/)
      same(await lab.network(), network)
      await lab.reaches(one?.netns ?? '', lab.all())
    },
  )

  await sentences.it('taken back, KubeVirt is on the management network, and no address is held', async () => {
    await client.delete(migrationNetworks, { name })
    await until('KubeVirt is told', async () => ((await lab.network()) === '' ? undefined : lab.says()))
    await lab.roll()
    await until('nothing is left', async () => {
      const left = [...(await lab.held()).keys(), ...((await client.get(migrationNetworks, { name })) ? [name] : [])]
      return left.length === 0 ? undefined : left.join(', ')
    })
  })

  await lab.end()
}

interface Handler {
  readonly node: string
  readonly pod: Stored
  readonly netns: string
  readonly addresses: readonly string[]
}

/** A switch, and what virt-operator, the kubelet and multus would do. */
async function makeLab(world: World) {
  const { client, tools, processes, agentOf } = world
  const kernel = await kernelWithVLANs(tools.dir, processes)
  const namespaces = new Namespaces(kernel)
  processes.keep(async () => namespaces.removeAll())
  /** Lines for `ip` and `bridge`, each one program for all of its lines. */
  const inside = async (netns: string, program: 'ip' | 'bridge', ...lines: readonly string[]) => {
    const { code, err } = await kernel.run(program, ['-n', netns, '-batch', '-'], { input: lines.join('\n') })
    if (code !== 0) throw new Error(`${program} in ${netns}: ${lines.join('; ')}: ${err}`)
  }
  const nodes = new Map<string, { readonly node: Node; readonly agent: Agent }>()
  const handlers = new Map<string, Handler>()
  const rack = await namespaces.add('switch')
  await inside(rack, 'ip', 'link add sw0 type bridge vlan_filtering 1', 'link set sw0 up')

  await client.create(namespaceKind, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } })
  if (world.server === 'cluster') await untilPodsMayCome(client, home)
  const ref = { namespace: home, name: 'kubevirt' }
  await client.create(kubeVirts, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'KubeVirt',
    metadata: ref,
    spec: { configuration: {} },
  } as KubeObject)

  /** A port of the switch, and its other end in the namespace. */
  async function plugIn(port: string, netns: string, link: string): Promise<void> {
    const wire = `link add ${port} type veth peer name ${link} netns ${netns}`
    await inside(rack, 'ip', wire, `link set ${port} master sw0 up`)
  }

  const lab = {
    kernel,
    namespaces,
    handlers: () => [...handlers.values()],
    /** Names of nodes with a pod of virt-handler. */
    all: () => [...handlers.keys()].sort(),

    /**
     * Those, and no others, answer a ping: these within a minute, since a kernel may take a neighbour for reachable under its former card
     * for 45 seconds; others not within 3.
     */
    async reaches(netns: string, expected: readonly string[]): Promise<void> {
      const targets = lab.handlers().map(({ node, addresses: [address = ''] }) => [node, address.replace(/\/.*/, '')])
      const words = targets.flatMap(([node = '', ip = '']) => [node, ip, expected.includes(node) ? '60' : '3'])
      const answers = 'for second in $(seq $3); do ping -n -c 1 -w 1 $2 >/dev/null && echo $1 && break; done'
      const script = `while [ $# -gt 0 ]; do (${answers}) & shift 3; done; wait`
      const out = await mustRunIn(kernel, 'ip', ['netns', 'exec', netns, 'sh', '-c', script, 'sh', ...words])
      same(out.trim().split(/\s+/).filter(Boolean).sort(), [...expected].sort())
    },

    /** On which a VLAN is let through, tagged. */
    trunk: (node: string, verb: 'add' | 'del') => inside(rack, 'bridge', `vlan ${verb} dev ${node} vid ${vlan}`),

    async addNode(nodeName: string): Promise<void> {
      const netns = await namespaces.add('node')
      await plugIn(nodeName, netns, uplink)
      const added = `link add ${bridge} type bridge vlan_filtering 1`
      await inside(netns, 'ip', added, `link set ${uplink} master ${bridge} up`, `link set ${bridge} up`)
      const both = (link: string) => [vlan, otherVLAN].map(vid => `vlan add dev ${link} vid ${vid}`)
      await inside(rack, 'bridge', ...both(nodeName))
      await inside(netns, 'bridge', ...both(uplink))
      await client.create(nodeKind, { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, labels } })
      const conditions = [{ type: 'Ready', status: 'True' }]
      await client.mergePatch(nodeKind, { name: nodeName }, { status: { conditions } }, { subresource: 'status' })
      const reached = await kernel.reach(socketOf(nodeName, tools))
      const node = new Node(nodeName, netns, tools, { kernel, reached })
      const agent = await agentOf(node, ['--wait=2'])
      nodes.set(nodeName, { node, agent })
      await agent.start()
      processes.keep(() => agent.end('SIGTERM'))
      await agent.ready()
    },

    /** A host on an access port of the switch, untagged at first. */
    async addHost(address: string) {
      const [netns, port] = [await namespaces.add('host'), 'host']
      await plugIn(port, netns, 'eth0')
      await inside(netns, 'ip', `address add ${address} dev eth0`, 'link set eth0 up')
      let on = 1
      const moveTo = async (vid: number) => {
        await inside(rack, 'bridge', `vlan del dev ${port} vid ${on}`, `vlan add dev ${port} vid ${vid} pvid untagged`)
        on = vid
      }
      return { netns, moveTo }
    },

    async network(): Promise<string> {
      const { spec } = (await client.get(kubeVirts, ref)) as Stored
      return spec?.configuration?.migrations?.network ?? ''
    },

    /** Addresses by node. */
    async held(): Promise<Map<string, string>> {
      const { items } = await client.list(holds)
      const own = (items as Stored[]).filter(
        ({ spec, status }) => spec.claimRef.kind === 'Node' && status?.state === 'held',
      )
      return new Map(own.map(({ spec }) => [spec.claimRef.name, spec.address]))
    },

    async says(type = 'configured'): Promise<string> {
      const { status } = ((await client.get(migrationNetworks, { name })) ?? {}) as Stored
      const own = (status?.conditions ?? []).find((one: { type: string }) => one.type === type)
      return own === undefined ? 'it says nothing' : `${own.reason}: ${own.message}`
    },

    async untilSays(reason: string, message = /./, type = 'configured'): Promise<void> {
      await until(`${type} is ${reason}`, async () => {
        const [said, ...words] = (await lab.says(type)).split(': ')
        return said === reason && message.test(words.join(': ')) ? undefined : lab.says(type)
      })
    },

    /** As virt-operator does when the network has changed: every pod is replaced, then all is ready. Answers the configuration. */
    async roll(): Promise<Readonly<Record<string, unknown>>> {
      for (const node of nodes.keys()) {
        await lab.endHandler(node)
        await lab.startHandler(node)
      }
      const { metadata } = (await client.get(kubeVirts, ref)) as Stored
      const conditions = [{ type: 'Available', status: 'True', reason: 'AllComponentsReady', message: '' }]
      const status = { conditions, observedGeneration: metadata.generation }
      await client.mergePatch(kubeVirts, ref, { status }, { subresource: 'status' })
      const network = await lab.network()
      return network === '' ? {} : configOf(network)
    },

    /** A pod of virt-handler, and ADD for its interface. */
    async tryHandler(nodeName: string) {
      const { node } = lab.nodeCalled(nodeName)
      const network = await lab.network()
      const annotations = network === '' ? {} : { 'k8s.v1.cni.cncf.io/networks': `${network}@${interfaceName}` }
      const pod = (await client.create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: nextName('virt-handler'),
          namespace: home,
          labels: { 'kubevirt.io': 'virt-handler' },
          annotations,
        },
        spec: { nodeName, containers: [{ name: 'virt-handler', image: 'virt-handler' }] },
      } as KubeObject)) as Stored
      const netns = await namespaces.add('handler')
      handlers.set(nodeName, { node: nodeName, pod, netns, addresses: [] })
      if (network === '') return { said: { code: 0, out: '', err: '' }, netns, pod, network }
      const { cniVersion, ...plugin } = await configOf(network)
      node.configure(network, { cniVersion, name: network, plugins: [plugin] })
      return { said: await node.cni('add', attachmentOf(pod, netns, network)), netns, pod, network }
    },

    async startHandler(nodeName: string): Promise<Handler> {
      const { said, netns, pod, network } = await lab.tryHandler(nodeName)
      if (said.code !== 0) throw new Error(`cnitool add: ${said.err}${said.out}`)
      const addresses = network === '' ? [] : await addressesIn(netns, interfaceName, kernel)
      const handler = { node: nodeName, pod, netns, addresses }
      handlers.set(nodeName, handler)
      // What multus and the kubelet write.
      const ips = addresses.map(address => address.replace(/\/.*/, ''))
      const status = JSON.stringify([{ name: `${home}/${network}`, interface: interfaceName, ips, dns: {} }])
      const annotations = network === '' ? {} : { 'k8s.v1.cni.cncf.io/network-status': status }
      await client.mergePatch(pods, refOf(pod), { metadata: { annotations } })
      const conditions = [{ type: 'Ready', status: 'True' }]
      await client.mergePatch(pods, refOf(pod), { status: { phase: 'Running', conditions } }, { subresource: 'status' })
      return handler
    },

    async endHandler(nodeName: string): Promise<void> {
      const handler = handlers.get(nodeName)
      if (handler === undefined) return
      const { pod, netns } = handler
      const network = String(pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? '').split('@')[0] ?? ''
      if (network !== '') {
        const { code, err } = await lab.nodeCalled(nodeName).node.cni('del', attachmentOf(pod, netns, network))
        if (code !== 0) throw new Error(`cnitool del: ${err}`)
      }
      await namespaces.remove(netns)
      await client.delete(pods, refOf(pod), { graceSeconds: 0 })
      handlers.delete(nodeName)
    },

    /** An interface of another network, for as long as its address is read. */
    async attachOnce(nodeName: string, config: { readonly name: string }): Promise<string[]> {
      const { node } = lab.nodeCalled(nodeName)
      node.configure(config.name, config)
      const netns = await namespaces.add('other')
      const attachment = { netns: pathOf(netns), network: config.name }
      const { code, err } = await node.cni('add', attachment)
      if (code !== 0) throw new Error(err)
      const addresses = await addressesIn(netns, 'net1', kernel)
      await node.cni('del', attachment)
      await namespaces.remove(netns)
      return addresses
    },

    nodeCalled(nodeName: string) {
      const found = nodes.get(nodeName)
      if (found === undefined) throw new Error(`there is no node ${nodeName}`)
      return found
    },

    async end(): Promise<void> {
      for (const [nodeName, { agent }] of nodes) {
        await lab.endHandler(nodeName)
        await agent.end('SIGTERM')
        await client.delete(nodeKind, { name: nodeName })
      }
      await client.delete(kubeVirts, ref)
    },
  }

  async function configOf(network: string): Promise<Readonly<Record<string, unknown>>> {
    const { spec } = (await client.get(attachments, { namespace: home, name: network })) as Stored
    return JSON.parse(spec.config)
  }

  return lab
}

const attachmentOf = ({ metadata }: Stored, netns: string, network: string) => ({
  netns: pathOf(netns),
  network,
  ifname: interfaceName,
  pod: { name: metadata.name ?? '', namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' },
})
