// clusterroleaggregation - when a role changes, the roles made of it get its rules.

import { aggregateRoles } from '../bootstrap.ts'
import type { World } from '../call.ts'
import type { LocalClient } from '../local-client.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

export function createAggregation(world: World, client: LocalClient, onError: OnError): Controller {
  const everything = 'all roles'
  const worker = createWorker(() => aggregateRoles(world, client), onError)
  let stopWatch = () => {}
  return {
    start() {
      const resource = world.registry.find('rbac.authorization.k8s.io', 'clusterroles')
      if (resource === undefined) return
      const watch = world.store.watch(resource.keyPrefix, world.store.revision, () => worker.mark(everything))
      stopWatch = () => watch.stop()
    },
    stop() {
      stopWatch()
      worker.stop()
    },
  }
}
