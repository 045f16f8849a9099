// Calls of the CNI plugin: the configuration is what any tenant may have written, the variables are what any runtime may set. Each is
// answered by a result or by an error with a code, and nothing is thrown.

import { ApiError } from '../../src/kube/api-error.ts'
import { answer } from '../../src/node/answer.ts'
import { requestOf } from '../../src/node/call.ts'
import { CNIError, codes, verbs } from '../../src/node/spec.ts'
import { State } from '../../src/node/state.ts'
import { createNodeCaches, type NodeWorld } from '../../src/node/world.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { silentLog } from '../harness/silent-log.ts'
import { type FuzzTarget, must } from './target.ts'

const away = () => Promise.reject(new ApiError('no answer', { reason: 'Unreachable', code: 0 }))

function aNode(): NodeWorld {
  const client = { get: away, list: away, create: away, mergePatch: away, withPass: () => client }
  const state = new State({ read: () => [], write: () => {}, remove: () => {} }, 'boot', silentLog)
  const given = { ips: [{ address: '10.0.0.5/24' }], routes: [], dns: {} }
  const pod = {
    podUID: 'u',
    namespace: 'red',
    pod: 'web-0',
    network: 'blue',
    attachment: 'red/blue',
    claim: 'c',
    given,
  }
  state.attach(state.prepare({ ...pod, ifname: 'net1' }), 'abc', '/run/netns/abc')
  return {
    node: 'one',
    client: client as unknown as NodeWorld['client'],
    clock: realClock,
    random: Math.random,
    log: silentLog,
    caches: createNodeCaches(),
    state,
    waitMs: 10,
    asked: new Set(),
    making: new Map(),
    problem: () => undefined,
    hasNetns: () => false,
    detached: () => {},
  }
}

const env = {
  CNI_CONTAINERID: 'abc',
  CNI_NETNS: '/run/netns/abc',
  CNI_IFNAME: 'net1',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=red;K8S_POD_NAME=web-0;K8S_POD_UID=u',
}
const stdin = JSON.stringify({
  cniVersion: '1.1.0',
  name: 'blue',
  type: 'bridge',
  ipam: { type: 'mooring', ranges: ['10.0.0.0/24'] },
  prevResult: { ips: [{ address: '10.0.0.5/24' }] },
  'cni.dev/valid-attachments': [{ containerID: 'abc', ifname: 'net1' }],
})

const known = new Set<number>(Object.values(codes))

export const cniCalls: FuzzTarget = {
  name: 'CNI calls',
  corpus: verbs.map(verb => JSON.stringify({ env: { CNI_COMMAND: verb, ...env }, stdin })),
  dictionary: ['CNI_COMMAND', 'ADD', 'DEL', 'CNI_ARGS', 'K8S_POD_UID=', '0.3.1', 'prevResult', '__proto__', 'ips', ';'],
  async run(input) {
    let request: ReturnType<typeof requestOf>
    try {
      request = requestOf(input.toString('utf8'))
    } catch (error) {
      must(error instanceof CNIError, 'what is no call is refused with a code')
      return
    }
    const { exit, stdout, code } = await answer(request, aNode())
    const printed = stdout === '' ? undefined : JSON.parse(stdout)
    must(code !== codes.internal, `nothing is a fault of ours: ${stdout.slice(0, 300)}`)
    if (exit === 0) return must(code === 0, 'a success has no code')
    must(known.has(printed.code) && printed.code === code, 'an error has a code of the specification, or of ours')
    must(typeof printed.msg === 'string' && printed.msg !== '', 'an error says what it is')
    must(stdout.length < 20_000, 'an answer has an end')
  },
}
