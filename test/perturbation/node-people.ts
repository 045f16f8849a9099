// Runtimes on nodes in a perturbed world: each calls the plugin until it is answered well, as a kubelet does. What is in a sandbox is
// written down here: no two users have one address, and each is held for as long as its sandbox is there.

import { createHash } from 'node:crypto'
import type { People } from '../scenarios/scenario.ts'
import type { Ways } from './machine-people.ts'
import type { PerturbedWorld } from './world.ts'

type NodePeople = Pick<People, 'makeNode' | 'makePlainPod' | 'forcePodAway' | 'attach' | 'detach' | 'untilNoPodClaims'>

const podsPath = '/api/v1/namespaces/default/pods'
/** A kubelet waits before it tries again. */
const againMs = 2_000
const triesMax = 450
/** Longer than a call is answered in. */
const answerMs = 60_000

interface PodObject {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
  readonly spec: { readonly nodeName: string }
}

export function nodePeopleOf(world: PerturbedWorld, { create, send, wait }: Ways): NodePeople {
  const { machines } = world.observer
  const pods = new Map<string, PodObject>()

  async function podNamed(name: string): Promise<PodObject | undefined> {
    const reply = await world.server.admin.request('GET', `${podsPath}/${name}`)
    if (reply.code === 200) pods.set(name, JSON.parse(reply.text) as PodObject)
    return pods.get(name)
  }

  /** One call; undefined where the agent has died over it. */
  async function call(verb: 'ADD' | 'DEL', pod: PodObject, ifname: string): Promise<Called | undefined> {
    const agent = world.nodeAgent(pod.spec.nodeName)
    if (agent === undefined) return undefined
    const { name, uid } = pod.metadata
    const env = {
      CNI_COMMAND: verb,
      CNI_CONTAINERID: `sandbox-${uid}`,
      CNI_NETNS: `/run/netns/${uid}`,
      CNI_IFNAME: ifname,
      CNI_ARGS: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_UID=${uid}`,
    }
    let answered: Called | undefined
    const stdin = JSON.stringify({ cniVersion: '1.1.0', name: 'lan', type: 'bridge', ipam: { type: 'mooring' } })
    agent.answer(JSON.stringify({ env, stdin })).then(
      answer => {
        answered = answer
      },
      () => {},
    )
    await world.until(() => answered !== undefined || world.nodeAgent(pod.spec.nodeName) !== agent, answerMs)
    return answered
  }

  async function untilAnswered(verb: 'ADD' | 'DEL', name: string, device?: string): Promise<void> {
    const pod = await podNamed(name)
    if (pod === undefined) return
    const ifname = device ?? interfaceOf(pod)
    let last: Called | undefined
    world.note('people', `${verb} for ${name}`)
    if (verb === 'DEL') world.sandboxes.delete(name)
    // Longer than a stream may be silent before it is given up.
    for (let tries = 0; tries < triesMax; tries++) {
      last = await call(verb, pod, ifname)
      if (last?.exit === 0) break
      await world.pass(againMs)
    }
    if (last?.exit !== 0) return world.say(`${verb} for ${name} was never answered well: ${last?.stdout}`)
    if (verb === 'DEL') return
    const { ips } = JSON.parse(last.stdout) as { ips: readonly { readonly address: string }[] }
    const user = pod.metadata.ownerReferences?.[0]?.uid ?? pod.metadata.uid
    world.enterSandbox(name, ips[0]?.address.split('/')[0] ?? '', user)
  }

  return {
    makeNode: name => create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } }),
    makePlainPod: (name, nodeName, attachment) =>
      create(podsPath, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'default', annotations: { 'k8s.v1.cni.cncf.io/networks': attachment } },
        spec: { nodeName, containers: [{ name: 'main', image: 'main' }] },
      }),
    async forcePodAway(name) {
      await podNamed(name)
      await send('DELETE', `${podsPath}/${name}`, { gracePeriodSeconds: 0 })
    },
    attach: (pod, ifname) => untilAnswered('ADD', pod, ifname),
    detach: (pod, ifname) => untilAnswered('DEL', pod, ifname),
    untilNoPodClaims: () =>
      wait('no claim of a node is left', () =>
        [...machines.claims.values()].every(({ metadata }) => metadata.labels?.['mooring.dev/node'] === undefined),
      ),
  }
}

interface Called {
  readonly exit: number
  readonly stdout: string
}

const interfaceOf = ({ metadata }: PodObject): string =>
  metadata.annotations?.['kubevirt.io/domain'] === undefined
    ? 'net1'
    : `pod${createHash('sha256').update('net1').digest('hex').slice(0, 11)}`
