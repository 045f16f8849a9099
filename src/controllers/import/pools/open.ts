// The reconciler `ippool.status`, and what wakes it.
//
//   changed                wakes
//   an IPPool              itself, and those of the same network
//   a network              its IPPools
//   a hold of a network    its IPPools

import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { holdOf, ipPoolOf, macHoldOf } from '../../office/parsed.ts'
import { type Looked, reconcileIPPool } from './reconcile.ts'
import type { PoolsWorld } from './world.ts'

export function openPools(domain: Domain, world: PoolsWorld): void {
  const { client, views, networks } = world
  const looked: Looked = new Map()
  const pools = domain.addReconciler(
    defineReconciler({
      name: 'ippool.status',
      reconcile: (key, pass) => reconcileIPPool(key, looked, { ...world, client: client.withPass(pass) }),
    }),
  )
  const markOf = (network: string) => {
    for (const { metadata } of views.ipPools.byIndex('network', network)) pools.mark(metadata.name ?? '')
  }
  views.ipPools.subscribe(({ key, old, new: next }) => {
    pools.mark(key)
    const names = [old, next].flatMap(one => readable(one, ipPoolOf)?.networkName ?? [])
    if (old === undefined || next === undefined || names[0] !== names[1]) for (const name of names) markOf(name)
  })
  networks.subscribe(({ names }) => {
    for (const name of names) markOf(name)
  })
  const onHold = (hold: { readonly space: string } | undefined) => {
    if (hold !== undefined && views.ipPools.size > 0) markOf(hold.space)
  }
  views.holds.subscribe(({ old, new: next }) => onHold(readable(next ?? old, holdOf)))
  views.macHolds.subscribe(({ old, new: next }) => onHold(readable(next ?? old, macHoldOf)))
}
