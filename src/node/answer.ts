// What a CNI call is answered. Nothing that a caller, a tenant or the API server can do makes it throw: what goes wrong is an error
// of the specification, with a sentence.
//
//   verb      without the API
//   ADD       what was prepared, or given to the pod before; else: try again later, and why
//   DEL       always; what is unknown is success. The claim of a pod goes later, when the API is there
//   CHECK     always, from what is kept
//   GC        what the runtime has no more, if its pod is gone: that is asked of the API
//   STATUS    says that nothing new can be given

import { randomUUID } from 'node:crypto'
import { readable } from '../controllers/office/kept.ts'
import { isMalformed } from '../ip/malformed.ts'
import { Cancelled } from '../runtime/retry-policy.ts'
import { describeError } from '../telemetry/log.ts'
import { asking } from './ask.ts'
import { type Call, type Request, readCall, versionIn } from './call.ts'
import { podNamed, waitForGiven } from './given.ts'
import { pods } from './kinds.ts'
import { selectedAt } from './selected.ts'
import { CNIError, codes, toErrorText, toResultText, toVersionText, type Verb } from './spec.ts'
import type { Attachment } from './state.ts'
import { type NodeWorld, type Pod, podOf } from './world.ts'

/** What the forwarder prints, and ends with. */
export interface Answer {
  readonly exit: 0 | 1
  readonly stdout: string
}

/** What became of a call, for logs and metrics. */
export interface Outcome extends Answer {
  readonly verb: Verb | 'unknown'
  /** 0 for a success. */
  readonly code: number
  readonly about: Readonly<Record<string, unknown>>
}

export async function answer(request: Request, world: NodeWorld): Promise<Outcome> {
  let verb: Outcome['verb'] = 'unknown'
  let about: Outcome['about'] = {}
  try {
    const call = readCall(request)
    verb = call.verb
    if (call.verb === 'VERSION') return { exit: 0, stdout: toVersionText(call.asked), verb, code: 0, about }
    about = aboutCall(call)
    return { exit: 0, stdout: await toAnswer(call, world), verb, code: 0, about }
  } catch (error) {
    const known = error instanceof CNIError ? error : internal(error, world)
    const why = { error: known.message, ...(known.details !== '' && { details: known.details }) }
    const stdout = toErrorText(versionIn(request), known)
    return { exit: 1, stdout, verb, code: known.code, about: { ...about, ...why } }
  }
}

function internal(error: unknown, { log }: NodeWorld): CNIError {
  log.error('a CNI call met a fault of ours', { error })
  return new CNIError(codes.internal, 'this is a fault of Mooring', describeError(error))
}

function aboutCall({ pod, ifname, containerID, network }: Call): Outcome['about'] {
  return {
    ...(pod && { pod: `${pod.namespace}/${pod.name}` }),
    ...(ifname !== '' && { interface: ifname }),
    ...(containerID !== '' && { container: containerID }),
    ...(network !== '' && { network }),
  }
}

function toAnswer(call: Call, world: NodeWorld): Promise<string> | string {
  switch (call.verb) {
    case 'ADD':
      return add(call, world)
    case 'DEL':
      return del(call, world)
    case 'CHECK':
      return check(call, world)
    case 'GC':
      return collect(call, world)
    case 'STATUS':
      return status(world)
  }
}

async function add(call: Call, world: NodeWorld): Promise<string> {
  const { containerID, ifname, netns, network, version } = call
  const { state } = world
  const found = known(call, world) ?? (await ask(call, world))
  if (found.network !== network) {
    const how =
      'the NetworkAttachmentDefinition was changed meanwhile, or the plugin was called with another configuration'
    const what = `interface ${ifname} of pod ${found.namespace}/${found.pod} is on network ${found.network}`
    throw new CNIError(codes.network, `${what}, and the call is for ${network}`, how)
  }
  // Before it is answered: from here on the address stays until this sandbox has gone.
  state.attach(found, containerID, netns)
  return toResultText(version, found.given)
}

/** What the interface has already, or was prepared; a pod that ends gets nothing new. */
function known({ containerID, ifname, pod, network }: Call, { state, caches }: NodeWorld): Attachment | undefined {
  const attached = state.ofContainer(containerID, ifname)
  if (attached !== undefined && (pod === undefined || pod.name === attached.pod)) return attached
  if (pod === undefined) throw noPod()
  const { namespace, name } = pod
  const seen = readable<Pod>(caches.pods.get(`${namespace}/${name}`), podOf)
  const isSeen = seen !== undefined && [seen.metadata.uid, seen.mirrored, ''].includes(pod.uid)
  if (isSeen && (seen.isDeleting || seen.isCompleted)) {
    throw new CNIError(codes.tryAgainLater, `pod ${namespace}/${name} ends`)
  }
  const found = state.ofPod(isSeen ? seen.metadata.uid : pod.uid, ifname)
  return found?.namespace === namespace && found.pod === name && found.network === network ? found : undefined
}

async function ask({ pod: name, ifname }: Call, world: NodeWorld): Promise<Attachment> {
  if (name === undefined) throw noPod()
  const problem = world.problem()
  const stop = new AbortController()
  const cancel = world.clock.setTimer(world.waitMs, () => stop.abort(new Cancelled('deadline')))
  let asked = ''
  try {
    const inTime = { ...world, client: world.client.withPass({ id: randomUUID(), signal: stop.signal }) }
    const pod = await podNamed(name, inTime)
    asked = `${pod.metadata.uid} ${ifname}`
    world.asked.add(asked)
    return await waitForGiven(pod, selectedAt(pod, ifname), inTime)
  } catch (error) {
    if (!(error instanceof CNIError) || error.code !== codes.tryAgainLater || problem === undefined) throw error
    throw new CNIError(error.code, error.message, `${error.details}; ${problem}`, { cause: error })
  } finally {
    world.asked.delete(asked)
    cancel()
  }
}

const noPod = (): CNIError =>
  new CNIError(codes.environment, 'CNI_ARGS names no pod', 'the runtime sets K8S_POD_NAMESPACE and K8S_POD_NAME')

/** A stale DEL, for a sandbox that was replaced, finds nothing and lets go of nothing. */
function del({ containerID, ifname }: Call, { state, detached }: NodeWorld): string {
  const found = state.ofContainer(containerID, ifname)
  if (found === undefined) return ''
  state.detach(found)
  detached(found.podUID)
  return ''
}

function check({ containerID, ifname, previousIPs = [] }: Call, { state }: NodeWorld): string {
  const found = state.ofContainer(containerID, ifname)
  if (found === undefined) {
    throw new CNIError(codes.unknownContainer, `interface ${ifname} of container ${containerID} has no addresses here`)
  }
  const missing = found.given.ips.find(({ address }) => !previousIPs.includes(address))
  if (missing === undefined) return ''
  const what = `interface ${ifname} of container ${containerID} was given ${missing.address}`
  throw new CNIError(codes.unknownContainer, `${what}, which is not in prevResult`, `it has ${previousIPs.join(', ')}`)
}

/**
 * Networks of two namespaces may have one name, of which the runtime lists one. So what is let go of here is what no running pod
 * can have: its pod is gone, and its network namespace too.
 */
async function collect({ network, valid }: Call, world: NodeWorld): Promise<string> {
  const { state, client, hasNetns, detached } = world
  const isValid = ({ containerID, ifname }: Attachment) =>
    valid.some(one => one.containerID === containerID && one.ifname === ifname)
  const left = [...state.values()].filter(
    one => one.network === network && one.containerID !== '' && !isValid(one) && !hasNetns(one.netns),
  )
  for (const one of left) {
    const { namespace, pod: name, podUID } = one
    const object = await asking(`pod ${namespace}/${name}`, () => client.get(pods, { namespace, name }))
    const pod = object && podOf(object)
    const isThere = pod !== undefined && (isMalformed(pod) || (pod.metadata.uid === podUID && !pod.isCompleted))
    if (isThere || state.ofPod(podUID, one.ifname) !== one) continue
    state.detach(one)
    detached(podUID)
  }
  return ''
}

function status(world: NodeWorld): string {
  const problem = world.problem()
  if (problem === undefined) return ''
  throw new CNIError(codes.notAvailable, 'no addresses can be given to new pods now', problem)
}
