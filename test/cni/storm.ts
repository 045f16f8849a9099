// Many calls in random order while `mooring node` and the API server are killed: no address is ever in two pods at once, and none is
// left when all pods are gone. What is in use is what a successful ADD answered, until the DEL of that pod is called.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ipamClaims, pods } from '../../src/controllers/office/kinds.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { type Agent, addNetwork, deletePod, heldOn, home, makePod, nextName, type Stored, type World } from './world.ts'

const network = 'storm'
const callers = 6

export interface StormOptions {
  /** ADDs and DELs that succeed, together. */
  readonly calls: number
  readonly seed: number
}

export async function checkStorm(sentences: Sentences, world: World, { calls, seed }: StormOptions): Promise<void> {
  await addNetwork(world, network, {
    plugins: [{ type: 'mooring', ipam: { type: 'mooring', ranges: ['10.84.0.0/24'] } }],
  })
  const random = seededRandom(seed)
  const inUse = new Map<string, string>()
  const twice: string[] = []
  const count = { add: 0, del: 0, refused: 0, killed: 0, served: 0 }
  let isOver = false

  const call = async (verb: 'ADD' | 'DEL', agent: Agent, pod: Stored): Promise<string> => {
    const { name = '', namespace = '', uid = '' } = pod.metadata
    const env = {
      CNI_CONTAINERID: `sandbox-${name}`,
      CNI_NETNS: `/run/netns/${name}`,
      CNI_IFNAME: 'net1',
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_UID=${uid}`,
    }
    // As a runtime does: again, until it succeeds.
    for (const deadline = Date.now() + 120_000; ; ) {
      const { code, out } = await agent.node.plugin(verb, { cniVersion: '1.0.0', name: network, type: 'mooring' }, env)
      if (code === 0) return out
      count.refused++
      if (Date.now() > deadline) throw new Error(`${verb} of ${name} never succeeds: ${out}`)
      await delay(100)
    }
  }

  const caller = async (): Promise<void> => {
    const mine: { pod: Stored; agent: Agent; address: string }[] = []
    while (count.add + count.del < calls) {
      if (mine.length < 3 && (mine.length === 0 || random() < 0.5)) {
        const agent = world.agents[random() < 0.5 ? 0 : 1]
        const pod = await makePodOnce(world, agent)
        const { ips } = JSON.parse(await call('ADD', agent, pod)) as { ips: { address: string }[] }
        const address = ips[0]?.address ?? ''
        const name = pod.metadata.name ?? ''
        const other = inUse.get(address)
        if (other !== undefined) twice.push(`${address} is in ${other} and in ${name}`)
        inUse.set(address, name)
        mine.push({ pod, agent, address })
        count.add++
        // A runtime that lost the answer asks again, and hears the same.
        if (random() < 0.1) {
          const again = JSON.parse(await call('ADD', agent, pod)) as { ips: { address: string }[] }
          if (again.ips[0]?.address !== address) twice.push(`${name} has ${address} and ${again.ips[0]?.address}`)
        }
      } else {
        const [one] = mine.splice(Math.floor(random() * mine.length), 1)
        if (one !== undefined) await leave(one)
      }
    }
    for (const one of mine) await leave(one)
  }

  const leave = async ({ pod, agent, address }: { pod: Stored; agent: Agent; address: string }): Promise<void> => {
    inUse.delete(address)
    // By force, now and then: then the object goes before the sandbox, and only DEL or the node know.
    const isForced = random() < 0.3
    if (isForced) {
      inUse.set(address, pod.metadata.name ?? '')
      await persist(() => deletePod(world, pod))
      inUse.delete(address)
    }
    await call('DEL', agent, pod)
    if (!isForced) await persist(() => deletePod(world, pod))
    count.del++
  }

  const trouble = async (): Promise<void> => {
    for (let next = 5; ; next += 5 + random() * 40) {
      // By calls and not by time: on a slow machine nothing else would come of it.
      while (!isOver && count.add + count.del < next) await delay(20)
      if (isOver) return
      await delay(random() * 200)
      const what = random()
      if (what < 0.6) {
        const agent = world.agents[random() < 0.5 ? 0 : 1]
        await agent.end('SIGKILL')
        await agent.start()
        count.killed++
      } else if (what < 0.8 || world.server === 'cluster') {
        world.gate.cut()
        await delay(random() * 1500)
        world.gate.mend()
        count.served++
      } else {
        await world.restartServer()
        count.served++
      }
    }
  }

  await sentences.it(`${calls} calls in random order hand nothing out twice (seed ${seed})`, async () => {
    const troubled = trouble()
    try {
      await Promise.all(Array.from({ length: callers }, caller))
    } finally {
      isOver = true
      await troubled
    }
    console.log(
      `          ${count.add} ADD, ${count.del} DEL, ${count.refused} refused and said again; mooring node killed ${count.killed} times, the API server killed or cut off ${count.served} times`,
    )
    if (twice.length > 0) throw new Error(twice.join('\n'))
  })

  await sentences.it('nothing leaks: no claim, no hold and nothing on the disks of the nodes is left', async () => {
    for (const agent of world.agents) await agent.ready()
    await until(
      'nothing is left',
      async () => {
        const { items } = await world.client.list(ipamClaims, { namespace: home })
        const claims = (items as Stored[])
          .filter(({ spec }) => spec.network === network)
          .map(({ metadata }) => metadata.name)
        const kept = world.agents.flatMap(({ node }) => keptBy(join(node.dir, 'state')))
        const left = [...(await heldOn(world, network)), ...claims, ...kept]
        return left.length === 0 ? undefined : `${left.length} left, such as ${left.slice(0, 3).join('; ')}`
      },
      120_000,
    )
  })
}

/** Files about interfaces of this chapter. */
const keptBy = (dir: string): readonly string[] =>
  readdirSync(dir).filter(file => readFileSync(join(dir, file), 'utf8').includes(`"network":"${network}"`))

/** By one name: the answer to the first request may have been lost. */
async function makePodOnce(world: World, agent: Agent): Promise<Stored> {
  const name = nextName('pod')
  return persist(async () => {
    const known = (await world.client.get(pods, { namespace: home, name })) as Stored | undefined
    return known ?? makePod(world, agent, network, { name })
  })
}

/** While the API server is away, a client asks again. */
async function persist<T>(act: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 120_000; ; ) {
    try {
      return await act()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(200)
    }
  }
}
