// What the reconcilers of sets know and may touch.

import type { Machine } from '../../../api/machine.ts'
import {
  type ControlPlaneMachineSet,
  type MachineSet,
  parseControlPlaneMachineSet,
  parseMachineSet,
} from '../../../api/machine-set.ts'
import type { Malformed } from '../../../ip/malformed.ts'
import { Cache } from '../../../kube/cache.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Random } from '../../../runtime/random.ts'
import { once, readable } from '../../office/kept.ts'
import { machines } from '../kinds.ts'
import { machineOf } from '../parsed.ts'
import type { MachineWorld } from '../world.ts'
import { type Infrastructure, parseInfrastructure } from './failure-domains.ts'

export interface SetsWorld extends MachineWorld {
  readonly random: Random
  readonly sets: SetCaches
}

/** Whole: there are few. */
export interface SetCaches {
  readonly machineSets: Cache<KubeObject>
  readonly controlPlanes: Cache<KubeObject>
  readonly infrastructures: Cache<KubeObject>
}

export const createSetCaches = (isFrozen: boolean): SetCaches => ({
  machineSets: new Cache<KubeObject>({ isFrozen }),
  controlPlanes: new Cache<KubeObject>({ isFrozen }),
  infrastructures: new Cache<KubeObject>({ isFrozen }),
})

export const setOf: (object: object) => MachineSet | Malformed = once(object => parseMachineSet(object))
export const controlPlaneOf: (object: object) => ControlPlaneMachineSet | Malformed = once(object =>
  parseControlPlaneMachineSet(object),
)
export const infrastructureOf: (object: object) => Infrastructure | Malformed = once(object =>
  parseInfrastructure(object),
)

/** As the cache knows them. */
export function machinesIn({ caches }: Pick<SetsWorld, 'caches'>, namespace: string): Machine[] {
  return [...caches.machines.values()].flatMap(object =>
    object.metadata.namespace === namespace ? (readable(object, machineOf) ?? []) : [],
  )
}

/** As the API server has them: by these it is decided that one is made or deleted, so that no Machine is made twice of an old view. */
export async function askMachines(
  { client, caches }: Pick<SetsWorld, 'client' | 'caches'>,
  namespace: string,
): Promise<Machine[]> {
  const { items } = await client.list(machines, { namespace })
  for (const object of items) caches.machines.learn(object)
  return items.flatMap(object => readable(object, machineOf) ?? [])
}
