// What of a changed virtual machine reaches the instance that runs: interfaces that come and go, and the network that one is on.
// Anything else waits for the next start. Pure.
//
//   in the template                         in the instance
//   a new bridge or SR-IOV interface        added, with its network
//   the interface is `absent`               `absent` too; gone when the pod has let go of it
//   the network names another NAD           the same

import { networksAnnotation } from '../../api/names.ts'
import { parseNetworkSelections } from '../../api/network-selection.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { podInterfaceName } from '../interface-names.ts'
import {
  type Instance,
  type InstanceSpec,
  type Interface,
  interfacesOf,
  isSame,
  type Machine,
  type Network,
  networksOf,
  type Pod,
} from '../shapes.ts'
import { toElements } from './launcher.ts'

/** A part of a spec, to be merged into it. */
export interface Devices {
  readonly domain: { readonly devices: { readonly interfaces: readonly Interface[] } }
  readonly networks: readonly Network[]
}

const toDevices = (interfaces: readonly Interface[], networks: readonly Network[]): Devices => ({
  domain: { devices: { interfaces } },
  networks,
})

/** What the instance is to have; undefined where it has it. */
export function liveDevices({ spec }: Machine, { spec: running }: Instance): Devices | undefined {
  const wanted = new Map(interfacesOf(spec?.template?.spec).map(one => [one.name, one]))
  const wantedNetworks = new Map(networksOf(spec?.template?.spec).map(one => [one.name, one]))
  const there = new Set(interfacesOf(running).map(({ name }) => name))
  const kept = interfacesOf(running).map(one => {
    const state = wanted.get(one.name)?.state
    return state === 'absent' && one.state !== state ? { ...one, state } : one
  })
  const added = [...wanted.values()].filter(one => !there.has(one.name) && isPluggable(one, wantedNetworks))
  const networks = networksOf(running).map(one => {
    const multus = wantedNetworks.get(one.name)?.multus
    const isMoved = multus !== undefined && one.multus !== undefined && multus.networkName !== one.multus.networkName
    return isMoved ? { ...one, multus } : one
  })
  const more = added.flatMap(({ name }) => [wantedNetworks.get(name)].filter(network => network !== undefined))
  const before = toDevices(interfacesOf(running), networksOf(running))
  const next = toDevices([...kept, ...added], [...networks, ...more])
  return isSame(before, next) ? undefined : next
}

function isPluggable({ name, bridge, sriov, state }: Interface, networks: ReadonlyMap<string, Network>): boolean {
  const isOfSuchKind = bridge !== undefined || sriov !== undefined
  return isOfSuchKind && state !== 'absent' && networks.get(name)?.multus !== undefined
}

/** Without the interfaces that are `absent` and that neither the instance shows nor a pod has; undefined where there are none. */
export function remainingDevices({ spec, status }: Instance, pods: readonly Pod[]): Devices | undefined {
  const shown = new Set((status?.interfaces ?? []).map(({ name }) => name))
  const attached = new Set(pods.flatMap(interfacesAskedFor))
  return without(spec, ({ name, state }) => {
    return state === 'absent' && !shown.has(name) && !attached.has(podInterfaceName(name))
  })
}

/** The template without interfaces that are `absent` and that no instance has any more. */
export function templateDevices({ spec }: Machine, instance: Instance | undefined): Devices | undefined {
  const running = new Set(interfacesOf(instance?.spec).map(({ name }) => name))
  return without(spec?.template?.spec, ({ name, state }) => state === 'absent' && !running.has(name))
}

function without(spec: InstanceSpec | undefined, isGone: (one: Interface) => boolean): Devices | undefined {
  const gone = new Set(
    interfacesOf(spec)
      .filter(isGone)
      .map(({ name }) => name),
  )
  if (gone.size === 0) return undefined
  const stays = ({ name }: { readonly name: string }) => !gone.has(name)
  return toDevices(interfacesOf(spec).filter(stays), networksOf(spec).filter(stays))
}

function interfacesAskedFor({ metadata }: Pod): readonly string[] {
  const selections = parseNetworkSelections(metadata.annotations?.[networksAnnotation], metadata.namespace ?? '')
  return isMalformed(selections) ? [] : selections.map(({ interface: device }) => device)
}

/**
 * The annotation that a running pod is to have; undefined where its interfaces are the wanted ones. It is made anew, as KubeVirt
 * does: what a webhook has put into it, that webhook puts there again.
 */
export function liveNetworks(instance: Instance, pod: Pod): string | undefined {
  const elements = toElements(instance.spec, instance.metadata.namespace ?? '')
  const wanted = elements.map(element => element.interface)
  const there = interfacesAskedFor(pod)
  return isSame(wanted.toSorted(), there.toSorted()) ? undefined : JSON.stringify(elements)
}
