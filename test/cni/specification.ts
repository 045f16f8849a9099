// What the newest version of the specification brings, by the library of runtimes: a list whose only plugin is ours, since Debian's
// plugins are of the version before.

import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import { failureOf, same } from './forwarder.ts'
import { addNetwork, deletePod, Guest, heldOn, type World } from './world.ts'

const network = 'newest'

export async function checkSpecification(sentences: Sentences, world: World): Promise<void> {
  const [agent] = world.agents
  const { node } = agent
  await addNetwork(world, network, {
    cniVersion: '1.1.0',
    plugins: [
      { type: 'mooring', ipam: { type: 'mooring', ranges: [{ subnet: '10.83.0.0/24', gateway: '10.83.0.1' }] } },
    ],
  })
  const [stays, goes] = [await Guest.make(world, agent, network), await Guest.make(world, agent, network)]
  const call = async (verb: 'add' | 'check' | 'del' | 'gc' | 'status', guest: Guest) => {
    const { code, out, err } = await node.cni(verb, guest.attachment)
    if (code !== 0) throw new Error(`cnitool ${verb}: ${err}${out}`)
    return out
  }

  await sentences.it('STATUS is ready', async () => void (await call('status', stays)))

  await sentences.it('ADD is answered in the version that was asked for', async () => {
    const result = JSON.parse(await call('add', stays)) as { cniVersion: string; ips: { address: string }[] }
    same([result.cniVersion, result.ips.length], ['1.1.0', 1])
    await call('add', goes)
  })

  await sentences.it('CHECK passes', async () => void (await call('check', stays)))

  await sentences.it('GC lets go of a pod that was deleted by force, and of no other', async () => {
    await deletePod(world, goes.pod)
    await world.namespaces.remove(goes.netns)
    const config = { cniVersion: '1.1.0', name: network, type: 'mooring', 'cni.dev/valid-attachments': [] }
    const { code, out } = await node.plugin('GC', config)
    if (code !== 0) throw new Error(out)
    await until('one is left', async () => {
      const held = await heldOn(world, network)
      return held.length === 1 && held[0]?.includes(stays.pod.metadata.name ?? '') ? undefined : held.join('; ')
    })
    await call('check', stays)
  })

  await sentences.it('GC without its list is refused: it would be taken for an empty one', async () => {
    same(failureOf(await node.plugin('GC', { cniVersion: '1.1.0', name: network, type: 'mooring' })).code, 7)
  })

  for (const [what, stdin, env, code] of [
    ['a version that there is not', { cniVersion: '9.0.0', name: network, type: 'mooring' }, {}, 1],
    ['no container', { cniVersion: '1.1.0', name: network, type: 'mooring' }, { CNI_CONTAINERID: '' }, 4],
    ['what is no JSON', 'no', {}, 6],
    ['no name', { cniVersion: '1.1.0', type: 'mooring' }, {}, 7],
  ] as const) {
    await sentences.it(`ADD with ${what} is answered with code ${code}`, async () => {
      const all = { CNI_CONTAINERID: 'c', CNI_NETNS: '/run/netns/x', CNI_IFNAME: 'net1', ...env }
      same(failureOf(await node.plugin('ADD', stdin, all)).code, code)
    })
  }

  await sentences.it('GC of a runtime that has nothing any more ends well, by whichever words it says so', async () => {
    for (const none of [[], null]) {
      const config = { cniVersion: '1.1.0', name: network, type: 'mooring', 'cni.dev/valid-attachments': none }
      const { code, out } = await node.plugin('GC', config)
      if (code !== 0) throw new Error(out)
    }
    await call('check', stays)
  })

  await sentences.it(
    'GC by cnitool, which has no list, ends by DEL what it knew, and is told what is missing',
    async () => {
      const { code, err } = await node.cni('gc', stays.attachment)
      if (code === 0 || !err.includes('valid-attachments')) throw new Error(`ended with ${code}: ${err}`)
      const checked = await node.cni('check', stays.attachment)
      if (checked.code === 0) throw new Error('CHECK finds an interface that is gone')
    },
  )

  await stays.end()
}
