// The reconciler `machine.claims`, and what wakes it. Its keys are those of Machines.
//
//   changed         wakes
//   a Machine       itself
//   a claim         the Machine that controls it; the Machine after which it is named
//   an IPAddress    the Machine of the claim that it names, of the claim of its own name, and of those that show the same address;
//                   without Machines none

import { type KubeObject, namespaceOfKey } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import { claims } from '../kinds.ts'
import { reportOf } from '../parsed.ts'
import { type MachineWorld, machineKeyOf } from '../world.ts'
import { reconcileMachine } from './reconcile.ts'

/** Namespaces take turns. */
const concurrency = 16

export function openClaims(domain: Domain, world: Omit<MachineWorld, 'note'>): void {
  const { client, caches, shown } = world
  const about = { desk: domain.name, claimKind: claims.kind }
  const reconciler = domain.addReconciler(
    defineReconciler({
      name: 'machine.claims',
      claimKind: claims.kind,
      reconcile: (key, pass) =>
        reconcileMachine(key, { ...world, client: client.withPass(pass), note: noteIn(pass, undefined, about) }),
      concurrency,
      groupOf: key => [namespaceOfKey(key)],
    }),
  )
  // After a start there are as many claims and IPAddresses as addresses that are taken, most of them of no Machine.
  const mark = (machine: string | undefined) => {
    if (machine !== undefined) reconciler.mark(machine)
  }
  const wake = (claimKey: string, claim: KubeObject | undefined) => {
    mark(claim && machineKeyOf(claim))
    mark(machineNamedIn(claimKey))
  }
  caches.machines.subscribe(({ key }) => reconciler.mark(key))
  caches.claims.subscribe(({ key, old, new: next }) => {
    wake(key, next)
    mark(old && machineKeyOf(old))
  })
  caches.reports.subscribe(({ key, old, new: next }) => {
    if (caches.machines.size === 0) return
    const changed = [old, next].flatMap(object => readable(object, reportOf) ?? [])
    const named = changed.flatMap(report => [report, ...shown.alike(report)]).map(({ claimName }) => claimName)
    const ofNamed = named.map(name => `${namespaceOfKey(key)}/${name}`)
    for (const claim of new Set([key, ...ofNamed])) wake(claim, caches.claims.get(claim))
  })
}

/** `<machine>-claim-<device>-<pool>`; undefined for another name. */
const machineNamedIn = (claimKey: string): string | undefined => /^(.+)-claim-\d{1,3}-\d{1,3}$/.exec(claimKey)?.[1]
