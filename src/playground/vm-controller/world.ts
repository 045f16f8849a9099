// What the vm-controller knows and may touch.

import { domainAnnotation } from '../../api/names.ts'
import type { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Domain } from '../../runtime/domain.ts'
import { follow, type PlaygroundParts } from '../follow.ts'
import { instances, machines, migrations, pods } from '../kinds.ts'
import { controllerOf, type Instance, type Machine, type Migration, type Pod } from '../shapes.ts'

export interface Caches {
  readonly machines: Cache<Machine>
  readonly instances: Cache<Instance>
  /** By namespace/name of the instance. */
  readonly migrations: Cache<Migration, 'instance'>
  /** Launcher pods alone. By uid of the instance that controls them. */
  readonly pods: Cache<Pod, 'instance'>
}

export interface ControllerWorld {
  readonly client: Client
  readonly clock: Clock
  readonly caches: Caches
}

export function followAll(parts: PlaygroundParts, domain: Domain): Caches {
  return {
    machines: follow<Machine>(parts, domain, machines),
    instances: follow<Instance>(parts, domain, instances),
    migrations: follow<Migration, 'instance'>(parts, domain, migrations, {
      indexes: { instance: migration => [instanceKeyOf(migration)] },
    }),
    pods: follow<Pod, 'instance'>(parts, domain, pods, {
      labelSelector: 'kubevirt.io=virt-launcher',
      indexes: { instance: pod => [controllerOf(pod)?.uid].filter(uid => uid !== undefined) },
    }),
  }
}

export const instanceKeyOf = ({ metadata, spec }: Migration): string => `${metadata.namespace}/${spec?.vmiName}`

/** Undefined for a pod of no virtual machine. */
export function machineKeyOf({ metadata }: Pod): string | undefined {
  const domain = metadata.annotations?.[domainAnnotation]
  return domain === undefined ? undefined : `${metadata.namespace}/${domain}`
}

/** What a write was decided on. */
export const decidedOn = ({ metadata: { uid, resourceVersion } }: Machine) => ({
  ...(uid !== undefined && { uid }),
  ...(resourceVersion !== undefined && { resourceVersion }),
})
