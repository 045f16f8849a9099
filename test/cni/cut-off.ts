// A node that cannot reach the API server: what it has given goes on to work, what it knows it answers, and the rest waits with a reason.

import { createHash } from 'node:crypto'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import { failureOf, same } from './forwarder.ts'
import { addNetwork, Guest, heldOn, makePod, type Stored, type World } from './world.ts'

const network = 'cut'

export async function checkCutOff(sentences: Sentences, world: World): Promise<void> {
  const [agent] = world.agents
  const { node } = agent
  await addNetwork(world, network, {
    plugins: [{ type: 'bridge', bridge: 'br0', ipam: { type: 'mooring', ranges: ['10.82.0.0/24'] } }],
  })
  const running = await Guest.make(world, agent, network)
  const prepared = await Guest.make(world, agent, network)
  const given = await running.add()
  await until('the second pod is prepared', async () =>
    (await heldOn(world, network)).length === 2 ? undefined : 'it has no address',
  )
  // What the node was told of the address, it keeps: one call shows that it has it.
  await prepared.add()
  await prepared.del()

  world.gate.cut()
  // Of a pod that the node has never seen.
  const unknown = await makePod(world, agent, network)
  await sentences.it('STATUS says that nothing new can be given, and why', async () => {
    await until('it is noticed', async () => {
      const { code, out } = await node.plugin('STATUS', { cniVersion: '1.1.0', name: network, type: 'mooring' })
      return code !== 0 && (JSON.parse(out) as { code: number }).code === 50 ? undefined : `ended with ${code}: ${out}`
    })
  })

  await sentences.it('CHECK is answered', () => running.check())

  await sentences.it('ADD answers what the interface has, once more, also after a kill of mooring node', async () => {
    await agent.end('SIGKILL')
    await agent.start()
    const config = { cniVersion: '1.0.0', name: network, type: 'bridge', ipam: { type: 'mooring' } }
    await until('it answers', async () => {
      const { code, out } = await node.plugin('ADD', config, environmentOf(running))
      const { ips = [] } = code === 0 ? (JSON.parse(out) as { ips: { address: string }[] }) : {}
      return ips.some(({ address }) => given.includes(address)) ? undefined : out
    })
  })

  await sentences.it('ADD answers a pod whose addresses it knows', async () => {
    same((await prepared.add()).length, 1)
  })

  await sentences.it('ADD of what it does not know waits, and says why', async () => {
    const config = { cniVersion: '1.0.0', name: network, type: 'bridge', ipam: { type: 'mooring' } }
    const env = { ...environmentOf(running), CNI_CONTAINERID: 'unknown', CNI_ARGS: argsFor(unknown) }
    const { code, msg, details = '' } = failureOf(await node.plugin('ADD', config, env))
    same(code, 11)
    if (`${msg}${details}`.length < 20) throw new Error(`${msg} ${details}`)
  })

  await sentences.it('DEL succeeds, also for what it has never heard of', async () => {
    await running.del()
    const config = { cniVersion: '1.0.0', name: network, type: 'bridge', ipam: { type: 'mooring' } }
    const { code, out } = await node.plugin('DEL', config, { ...environmentOf(running), CNI_CONTAINERID: 'never' })
    if (code !== 0) throw new Error(out)
  })

  await sentences.it(
    'what ended meanwhile is given back when the API is there again, and what waited is served',
    async () => {
      await running.end()
      world.gate.mend()
      await agent.ready()
      const late = new Guest(world, agent, unknown, await world.namespaces.add('guest'), network, 'net1')
      same((await late.add()).length, 1)
      await late.end()
      await prepared.end()
      await until('all is given back', async () => {
        const held = await heldOn(world, network)
        return held.length === 0 ? undefined : held.join('; ')
      })
    },
  )
}

/** As cnitool names it. */
const containerOf = (netns: string): string =>
  `cnitool-${createHash('sha512').update(netns).digest('hex').slice(0, 20)}`

const environmentOf = ({ attachment, pod }: Guest): Record<string, string> => ({
  CNI_CONTAINERID: containerOf(attachment.netns),
  CNI_NETNS: attachment.netns,
  CNI_IFNAME: attachment.ifname ?? '',
  CNI_ARGS: argsFor(pod),
})

const argsFor = ({ metadata: { namespace = '', name = '', uid = '' } }: Stored): string =>
  `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=${uid}`
