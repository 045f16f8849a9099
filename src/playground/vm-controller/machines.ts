// machine.life - a virtual machine has an instance when its run strategy says so, and none when it is deleted. An instance that a
// deleted machine left behind belongs to the next machine of its name.

import { ApiError } from '../../kube/api-error.ts'
import { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from '../../kube/finalizers.ts'
import { refOf } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../runtime/reconciler.ts'
import { instances, machines } from '../kinds.ts'
import { instanceFinalizer, machineFinalizer } from '../names.ts'
import {
  controllerOf,
  type Instance,
  type InstanceSpec,
  interfacesOf,
  isFinal,
  isSame,
  type Machine,
  networksOf,
} from '../shapes.ts'
import { liveDevices, templateDevices } from './live-update.ts'
import { toStatus } from './machine-status.ts'
import { type Act, decide, openRequests, requestsOf } from './strategy.ts'
import { type ControllerWorld, decidedOn } from './world.ts'

export async function liveMachine(key: string, world: ControllerWorld): Promise<PassResult> {
  const machine = world.caches.machines.get(key)
  if (machine === undefined) return done()
  const namesake = world.caches.instances.get(key)
  if (namesake !== undefined && isAdoptable(namesake) && !isDeleting(machine)) {
    await adopt(machine, namesake, world)
    return done()
  }
  const isOwn = namesake !== undefined && controllerOf(namesake)?.uid === machine.metadata.uid
  const instance = isOwn ? namesake : undefined
  if (instance !== undefined) await letGo(instance, world)
  if (isDeleting(machine)) return end(machine, instance, world)
  if (!hasFinalizer(machine, machineFinalizer)) {
    world.caches.machines.learn(await addFinalizer(world.client, machines, machine, machineFinalizer))
    return done()
  }
  // The name is taken by what another machine has left: its end wakes this one.
  if (namesake !== undefined && !isOwn) return done()
  const act = decide(machine, instance)
  const waitMs = await carryOut(act, machine, instance, world)
  await followTemplate(machine, instance, world)
  await showStatus(machine, act.kind === 'start' ? world.caches.instances.get(key) : instance, world)
  return waitMs === undefined ? done() : requeueAfter(waitMs)
}

const isAdoptable = (instance: Instance): boolean => controllerOf(instance) === undefined && !isDeleting(instance)

async function adopt(machine: Machine, instance: Instance, { client, caches }: ControllerWorld): Promise<void> {
  const { ownerReferences = [], finalizers = [] } = instance.metadata
  const metadata = {
    ownerReferences: [...ownerReferences, ownerOf(machine)],
    finalizers: [...new Set([...finalizers, machineFinalizer])],
  }
  caches.instances.learn(await client.mergePatch(instances, refOf(instance), { metadata }, decidedOn(instance)))
}

/** An instance that has ended and is deleted does not wait for its machine any longer. */
async function letGo(instance: Instance, { client, caches }: ControllerWorld): Promise<void> {
  if (!isDeleting(instance) || !isFinal(instance) || !hasFinalizer(instance, machineFinalizer)) return
  const left = await removeFinalizer(client, instances, instance, machineFinalizer)
  if (left !== undefined && (left.metadata.finalizers ?? []).length > 0) caches.instances.learn(left)
}

async function end(machine: Machine, instance: Instance | undefined, world: ControllerWorld): Promise<PassResult> {
  const { client } = world
  if (instance === undefined || hasFinalizer(machine, 'orphan')) {
    await removeFinalizer(client, machines, machine, machineFinalizer)
    return done()
  }
  // Under its version: the garbage collector may just have taken it away from this machine.
  if (!isDeleting(instance)) await client.delete(instances, refOf(instance), decidedOn(instance))
  await showStatus(machine, instance, world)
  return done()
}

/** Answers how long to wait before it is tried again. */
async function carryOut(
  act: Act,
  machine: Machine,
  instance: Instance | undefined,
  world: ControllerWorld,
): Promise<number | undefined> {
  const { client, clock, caches } = world
  switch (act.kind) {
    case 'nothing':
      return undefined
    case 'start': {
      const retryAfter = machine.status?.startFailure?.retryAfterTimestamp
      const waitMs = retryAfter === undefined ? 0 : Date.parse(retryAfter) - clock.now()
      if (waitMs > 0) return waitMs
      caches.instances.learn(await createInstance(machine, world))
      return undefined
    }
    case 'stop':
      if (instance === undefined || isDeleting(instance)) return undefined
      if (act.isAgain) await askForStart(machine, world)
      // What is to be remembered about its end is written before it goes.
      await showStatus(
        caches.machines.get(`${machine.metadata.namespace}/${machine.metadata.name}`) ?? machine,
        instance,
        world,
      )
      await client.delete(instances, refOf(instance), decidedOn(instance))
      return undefined
    case 'switch on': {
      const spec = machine.spec?.runStrategy === undefined ? { running: true } : { runStrategy: 'Always' }
      caches.machines.learn(await client.mergePatch(machines, refOf(machine), { spec }, decidedOn(machine)))
      return undefined
    }
  }
}

async function askForStart(machine: Machine, { client, caches }: ControllerWorld): Promise<void> {
  const requests = requestsOf(machine)
  if (requests.some(({ action }) => action === 'Start')) return
  const status = { stateChangeRequests: [...requests, { action: 'Start' }] }
  const options = { subresource: 'status', ...decidedOn(machine) } as const
  caches.machines.learn(await client.mergePatch(machines, refOf(machine), { status }, options))
}

async function createInstance(machine: Machine, { client }: ControllerWorld): Promise<Instance> {
  try {
    return await client.create(instances, toInstance(machine))
  } catch (error) {
    const isThere = error instanceof ApiError && error.reason === 'AlreadyExists'
    const found = isThere ? await client.get(instances, refOf(machine)) : undefined
    if (found === undefined) throw error
    return found
  }
}

const ownerOf = ({ metadata: { name = '', uid = '' } }: Machine) => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
})

function toInstance(machine: Machine): Instance {
  const { name = '', namespace = '' } = machine.metadata
  const { metadata: { labels = {}, annotations = {} } = {}, spec } = machine.spec?.template ?? {}
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: {
      name,
      namespace,
      labels,
      annotations,
      ownerReferences: [ownerOf(machine)],
      finalizers: [machineFinalizer, instanceFinalizer],
    },
    spec: withDefaults({ ...spec, ...templateDevices(machine, undefined) }),
  }
}

/** A machine of which no network is said is on the pod network. */
export function withDefaults(spec: InstanceSpec): InstanceSpec {
  const { domain } = spec
  const isTold = interfacesOf(spec).length > 0 || networksOf(spec).length > 0
  if (isTold || domain?.devices?.autoattachPodInterface === false) return spec
  const devices = { ...domain?.devices, interfaces: [{ name: 'default', bridge: {} }] }
  return { ...spec, domain: { ...domain, devices }, networks: [{ name: 'default', pod: {} }] }
}

/** Interfaces come and go while it runs. */
async function followTemplate(
  machine: Machine,
  instance: Instance | undefined,
  { client, caches }: ControllerWorld,
): Promise<void> {
  const gone = templateDevices(machine, instance)
  if (gone !== undefined) {
    const patch = { spec: { template: { spec: gone } } }
    caches.machines.learn(await client.mergePatch(machines, refOf(machine), patch, decidedOn(machine)))
  }
  if (instance === undefined || isFinal(instance) || isDeleting(instance)) return
  const devices = liveDevices(machine, instance)
  if (devices === undefined) return
  const patched = await client.mergePatch(instances, refOf(instance), { spec: devices }, decidedOn(instance))
  caches.instances.learn(patched)
}

async function showStatus(
  machine: Machine,
  instance: Instance | undefined,
  { client, clock, caches }: ControllerWorld,
): Promise<void> {
  const status = toStatus(machine, instance, timestamp(clock))
  if (isSame(status, machine.status ?? {})) return
  const { uid = '' } = machine.metadata
  // Requests may have been added since: then this is a conflict, and the next pass knows them.
  const isTrimmed = openRequests(machine, instance).length < requestsOf(machine).length
  const options = { subresource: 'status', ...(isTrimmed ? decidedOn(machine) : { uid }) } as const
  const { stateChangeRequests, ...rest } = status
  const patch = { status: isTrimmed ? { ...rest, stateChangeRequests } : rest }
  caches.machines.learn(await client.mergePatch(machines, refOf(machine), patch, options))
}
