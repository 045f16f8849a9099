// What the status of an IPPool is made from, gathered from caches. Nothing is asked or written.

import type { IPPool } from '../../../api/ip-pool.ts'
import type { Lock } from '../../../api/lock.ts'
import { identityKey } from '../../../api/object.ts'
import { compareIP, type IP } from '../../../ip/address.ts'
import type { MACText } from '../../../ip/mac.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { type Network, networkNamed } from '../../../networks/network.ts'
import { readable } from '../../office/kept.ts'
import { ipPoolOfNetwork } from '../../office/networks.ts'
import { holdOf, macHoldOf } from '../../office/parsed.ts'
import type { NetworkSeen, Seen, Use } from './plan.ts'
import type { PoolsWorld } from './world.ts'

type World = Pick<PoolsWorld, 'views' | 'networks' | 'sources'>

export function observe(pool: IPPool, world: World): Seen {
  const { networkName } = pool
  const { views, networks } = world
  const found = views.attachments.byIndex('network', networkName).flatMap(({ metadata }) => {
    const key = `${metadata.namespace}/${metadata.name}`
    const judged = networks.attachment(key)
    return judged !== undefined && 'network' in judged ? [{ key, network: judged.network }] : []
  })
  const served = found.filter(({ network }) => network.ovn !== undefined)
  return {
    pool,
    counts: ipPoolOfNetwork(views, networkName)?.metadata.name ?? pool.metadata.name,
    network: networkSeen(served[0]?.network, found[0]?.network, networks),
    attachments: served.map(({ key }) => key).toSorted(),
    uses: usesOf(networkName, world),
    isOffered(namespace) {
      const network = served[0]?.network
      return network !== undefined && !('kind' in networks.poolsFor(network, namespace))
    },
  }
}

function networkSeen(
  served: Network | undefined,
  other: Network | undefined,
  networks: PoolsWorld['networks'],
): NetworkSeen {
  if (served !== undefined) return { kind: 'served', network: served, isObserved: networks.isObserved(served) }
  return other === undefined ? { kind: 'none' } : { kind: 'other', network: other }
}

/** By what is held in the space of the network, from the network or from a pool that shares it. */
function usesOf(networkName: string, { views, sources }: World): Use[] {
  const uses = new Map<string, { use: Lock; mac: MACText | undefined; ips: IP[] }>()
  const of = (lock: Lock) => {
    const known = uses.get(lock.claim.uid) ?? { use: lock, mac: undefined, ips: [] }
    uses.set(lock.claim.uid, known)
    return known
  }
  const pools = [networkNamed(networkName), ...[...sources.poolsIn(networkName)].map(({ identity }) => identity)]
  for (const pool of new Set(pools.map(identityKey))) {
    for (const object of views.holds.byIndex('pool', pool)) {
      const hold = readable(object, holdOf)
      if (hold?.state === 'held' && hold.space === networkName) of(hold).ips.push(hold.ip)
    }
  }
  for (const object of views.macHolds.byIndex('space', networkName)) {
    const hold = macHoldOf(object)
    if (!isMalformed(hold) && hold.state === 'held') of(hold).mac = hold.mac
  }
  const all = [...uses.values()].map(({ use: { claim, owner }, mac, ips }) => ({
    claim,
    virtualMachine: owner?.apiGroup === 'kubevirt.io' ? owner.name : undefined,
    mac,
    ips: ips.sort(compareIP),
  }))
  return all.sort(byAddress)
}

function byAddress(one: Use, other: Use): number {
  const [a, b] = [one.ips[0], other.ips[0]]
  if (a !== undefined && b !== undefined) return compareIP(a, b)
  if (a !== undefined || b !== undefined) return a === undefined ? 1 : -1
  return (one.mac ?? '') < (other.mac ?? '') ? -1 : 1
}
