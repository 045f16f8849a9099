// The vm-controller: a stand-in for KubeVirt's control plane where there is none. VirtualMachine -> VirtualMachineInstance ->
// launcher pod, with KubeVirt's names, labels, owners and finalizers, as far as what watches them can tell.

import { Manager } from '../../runtime/manager.ts'
import { defineReconciler, type PassResult, type RunningReconciler } from '../../runtime/reconciler.ts'
import { concurrency, type PlaygroundParts } from '../follow.ts'
import { liveInstance } from './instances.ts'
import { liveMachine } from './machines.ts'
import { liveMigration, migrationKeysOf } from './migrations.ts'
import { type ControllerWorld, followAll, instanceKeyOf, machineKeyOf } from './world.ts'

/** Resolves when it works, or is known to wait for a kind that is not installed. */
export async function startVMController(parts: PlaygroundParts): Promise<{ backlog(): number; stop(): Promise<void> }> {
  const { client, clock, random } = parts
  const log = parts.log.with({ playground: 'vm-controller (stand-in)' })
  const manager = new Manager({ clock, random, log })
  const domain = manager.domain('vm-controller')
  const world: ControllerWorld = { client, clock, caches: followAll({ ...parts, log }, domain) }
  const add = (name: string, reconcile: (key: string, world: ControllerWorld) => Promise<PassResult>) =>
    domain.addReconciler(
      defineReconciler({
        name: `playground.${name}`,
        concurrency,
        reconcile: (key, pass) => reconcile(key, { ...world, client: client.withPass(pass) }),
      }),
    )
  wake(world, {
    machines: add('vm', liveMachine),
    instances: add('vmi', liveInstance),
    migrations: add('migration', liveMigration),
  })
  await manager.start()
  log.info('playground (stand-in) vm-controller plays KubeVirt: no virtual machine runs')
  return { backlog: () => manager.backlog, stop: () => manager.stop('shutdown') }
}

interface Lives {
  readonly machines: RunningReconciler
  readonly instances: RunningReconciler
  readonly migrations: RunningReconciler
}

/** Instances have the names of their machines. */
function wake(world: ControllerWorld, { machines, instances, migrations }: Lives): void {
  const { caches } = world
  const markMigrations = (key: string) => {
    for (const one of migrationKeysOf(key, world)) migrations.mark(one)
  }
  caches.machines.subscribe(({ key, new: next }) => {
    machines.mark(key)
    // An instance that its machine left behind is let go by its own controller.
    if (next === undefined) instances.mark(key)
  })
  caches.instances.subscribe(({ key }) => {
    machines.mark(key)
    instances.mark(key)
    markMigrations(key)
  })
  caches.pods.subscribe(({ old, new: next }) => {
    const key = machineKeyOf(next ?? old)
    if (key === undefined) return
    instances.mark(key)
    markMigrations(key)
  })
  caches.migrations.subscribe(({ key, old, new: next }) => {
    migrations.mark(key)
    markMigrations(instanceKeyOf(next ?? old))
  })
}
