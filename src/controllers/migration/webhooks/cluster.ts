// The cluster from the caches. What these do not know yet, the controller meets a moment later, and says.

import type { ClusterFacts } from '../../../migration/check.ts'
import { readCluster } from '../../../migration/cluster.ts'
import type { MigrationFacts } from '../facts.ts'

export function clusterFactsOf(facts: MigrationFacts): ClusterFacts {
  const { caches } = facts
  return readCluster({
    nodes: caches.nodes.values(),
    clusterNetworks: caches.clusterNetworks.values(),
    vlanConfigs: caches.vlanConfigs.values(),
    vlanStatuses: caches.vlanStatuses.values(),
    settings: caches.settings.values(),
    kubeVirt: facts.kubeVirt()?.object,
    spaces: facts.spaces(),
  })
}
