// A virtual machine as the API server has it now: gone is what the API server answers, never what a cache does not know.

import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { launcherLabel } from '../../../api/names.ts'
import type { Client } from '../../../kube/client.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { refresh } from '../../../kube/refresh.ts'
import { sharedRead } from '../../../kube/shared-read.ts'
import { type Clock, pause } from '../../../runtime/clock.ts'
import { readable } from '../../office/kept.ts'
import { pods, virtualMachineInstances, virtualMachines } from '../kinds.ts'
import { podOf, vmiOf, vmOf } from '../parsed.ts'
import type { Caches, VMWorld } from '../world.ts'
import type { EndSeen } from './end.ts'

export type Asked = Pick<EndSeen, 'vm' | 'vmi' | 'pods'>

type World = Pick<VMWorld, 'client' | 'launchersOf'> & { readonly caches: Pick<Caches, 'vms' | 'vmis'> }

/** Undefined where one of them is there and cannot be read: then nothing is known, and nothing is to end. */
export async function askMachine(
  { client, caches, launchersOf }: World,
  namespace: string,
  name: string,
): Promise<Asked | undefined> {
  const ref = { namespace, name }
  const [vm, vmi, launchers] = await Promise.all([
    refresh(client, virtualMachines, caches.vms, ref),
    refresh(client, virtualMachineInstances, caches.vmis, ref),
    launchersOf(namespace),
  ])
  const seen = { vm: readable(vm, vmOf), vmi: readable(vmi, vmiOf) }
  if ((vm !== undefined && seen.vm === undefined) || (vmi !== undefined && seen.vmi === undefined)) return undefined
  // The label is no proof of a name, so the annotation of each is read.
  return launchers && { ...seen, pods: launchers.get(name) ?? [] }
}

/** Every launcher pod of a namespace, by the virtual machine that it says it runs. */
export type Launchers = ReadonlyMap<string, readonly LauncherPod[]>

/**
 * A list costs by the number of its pods, and would be made for each of them where all machines of a namespace end at once. So
 * the next one comes later the longer it is, and answers all that waited.
 */
const restMsOfPod = 0.2
const restMsMin = 20

/** Undefined where one cannot be read. */
export function createLaunchersOf(
  client: Pick<Client, 'list'>,
  clock: Clock,
): (namespace: string) => Promise<Launchers | undefined> {
  const list = async (namespace: string) => {
    const { items } = await client.list(pods, { namespace, labelSelector: `${launcherLabel}=virt-launcher` })
    return { count: items.length, launchers: byNameOf(items) }
  }
  const read = sharedRead(list, ({ count }) => {
    const restMs = count * restMsOfPod
    return restMs < restMsMin ? undefined : pause(clock, restMs)
  })
  return async namespace => (await read(namespace)).launchers
}

function byNameOf(items: readonly KubeObject[]): Launchers | undefined {
  const byName = new Map<string, LauncherPod[]>()
  for (const item of items) {
    const pod = readable<LauncherPod>(item, podOf)
    if (pod === undefined) return undefined
    const others = byName.get(pod.domain)
    if (others === undefined) byName.set(pod.domain, [pod])
    else others.push(pod)
  }
  return byName
}
