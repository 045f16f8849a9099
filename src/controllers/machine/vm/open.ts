// The reconciler `machine.vm`, and what wakes it.
//
//   changed                                  wakes
//   a Machine                                itself
//   a claim that a Machine controls          the Machine
//   an IPAddress                             the Machine whose claim it names
//
// A task that runs, and what only a person can put right, are looked at again by the clock.

import { namespaceOfKey } from '../../../kube/object.ts'
import type { Domain } from '../../../runtime/domain.ts'
import { defineReconciler } from '../../../runtime/reconciler.ts'
import { noteIn } from '../../office/journal.ts'
import { readable } from '../../office/kept.ts'
import { reportOf } from '../parsed.ts'
import { machineKeyOf } from '../world.ts'
import { reconcileVM } from './reconcile.ts'
import type { Remembered, VMsWorld } from './world.ts'

/** Each waits for a vCenter most of the time; a vCenter works on some clones at once. */
const concurrency = 8

/** A vCenter may take its time, and a pass asks it several things. */
const passMsMax = 300_000

export function openVMs(domain: Domain, world: Omit<VMsWorld, 'note'>): void {
  const { client, caches, sessions } = world
  const remembered = new Map<string, Remembered>()
  const of = (key: string): Remembered => {
    const known = remembered.get(key) ?? { waits: 0, missingSinceMs: undefined }
    remembered.set(key, known)
    return known
  }
  const about = { desk: domain.name, claimKind: '' }
  const vms = domain.addReconciler(
    defineReconciler({
      name: 'machine.vm',
      reconcile: (key, pass) =>
        reconcileVM(key, {
          ...world,
          client: client.withPass(pass),
          note: noteIn(pass, undefined, about),
          pass,
          remembered: of(key),
        }),
      concurrency,
      passMsMax,
      groupOf: key => [namespaceOfKey(key)],
    }),
  )
  caches.machines.subscribe(({ key, new: next }) => {
    if (next === undefined) remembered.delete(key)
    else vms.mark(key)
  })
  const markOwner = (claimKey: string) => {
    const claim = caches.claims.get(claimKey)
    const owner = claim && machineKeyOf(claim)
    if (owner !== undefined) vms.mark(owner)
  }
  caches.claims.subscribe(({ key }) => markOwner(key))
  caches.reports.subscribe(({ key, new: next }) => {
    const address = readable(next, reportOf)
    if (address !== undefined) markOwner(`${namespaceOfKey(key)}/${address.claimName}`)
  })
  domain.addTask({
    name: 'machine.sessions',
    run: signal =>
      new Promise(resolve => {
        const end = () => void sessions.close().then(resolve)
        if (signal.aborted) end()
        else signal.addEventListener('abort', end, { once: true })
      }),
  })
}
