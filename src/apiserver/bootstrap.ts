// What a cluster has before its first request: its system namespaces, its default roles, its own Service. Missing
// objects are created at every start; existing ones are left as users changed them.

import { outdatedAggregations } from './authz/aggregation.ts'
import { bootstrapObjects } from './authz/bootstrap.ts'
import type { World } from './call.ts'
import type { LocalClient } from './local-client.ts'
import { type KubeObject, parseAPIVersion } from './object.ts'
import { getObject, listObjects } from './objects.ts'
import { isStatus } from './status.ts'

const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

export async function bootstrap(world: World, client: LocalClient): Promise<void> {
  for (const name of systemNamespaces) {
    await createMissing(world, client, { kind: 'Namespace', apiVersion: 'v1', metadata: { name } })
  }
  await Promise.all(bootstrapObjects().map(object => createMissing(world, client, object)))
  for (const object of [...priorityClasses, kubernetesService]) await createMissing(world, client, object)
  await aggregateRoles(world, client)
}

/** `admin`, `edit` and `view` are made of other roles; this brings them up to date. */
export async function aggregateRoles(world: World, client: LocalClient): Promise<void> {
  const resource = world.registry.find('rbac.authorization.k8s.io', 'clusterroles')
  if (resource === undefined) return
  // One role can be part of another that is part of a third: once per level until nothing changes.
  for (;;) {
    const outdated = outdatedAggregations([...listObjects(world.store, resource)])
    if (outdated.length === 0) return
    for (const role of outdated) {
      await client.mergePatch({ resource, name: role.metadata.name ?? '' }, { rules: role.rules })
    }
  }
}

async function createMissing(world: World, client: LocalClient, object: KubeObject): Promise<void> {
  const { group, version } = parseAPIVersion(object.apiVersion)
  const found = world.registry.findKind(group, version, object.kind)
  if (found === undefined) throw new Error(`${object.kind} of ${object.apiVersion} is not served`)
  const { resource } = found
  const { namespace = '', name = '' } = object.metadata
  if (getObject(world.store, resource, namespace, name) !== undefined) return
  try {
    await client.create({ resource, namespace }, object)
  } catch (error) {
    if (!isStatus(error, 'AlreadyExists')) throw error
  }
}

const priorityClasses: KubeObject[] = [
  {
    kind: 'PriorityClass',
    apiVersion: 'scheduling.k8s.io/v1',
    metadata: { name: 'system-node-critical' },
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    kind: 'PriorityClass',
    apiVersion: 'scheduling.k8s.io/v1',
    metadata: { name: 'system-cluster-critical' },
    value: 2_000_000_000,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
]

const kubernetesService: KubeObject = {
  kind: 'Service',
  apiVersion: 'v1',
  metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
  spec: {
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1'],
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
    ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
  },
}
