// apiservices - every group version this server serves is listed as an APIService, as `kubectl get apiservices` and
// some clients expect. Those of custom kinds come and go with them; what users register themselves is left alone. Whether each
// is served is said by api-service-availability.ts.

import type { World } from '../call.ts'
import { compareVersions } from '../discovery/version-order.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import type { KubeObject } from '../object.ts'
import { getObject, listObjects } from '../objects.ts'
import { isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

const managedLabel = 'kube-aggregator.kubernetes.io/automanaged'
const everything = 'all services'

export function createAPIServices(world: World, client: LocalClient, resource: Resource, onError: OnError): Controller {
  const { registry, store } = world
  const worker = createWorker(settle, onError)
  let unsubscribe = () => {}

  async function settle(): Promise<void> {
    const wanted = new Map(wantedServices().map(service => [service.metadata.name ?? '', service]))
    for (const [name, service] of wanted) {
      if (getObject(store, resource, '', name) === undefined) await create(service)
    }
    for (const { metadata } of [...listObjects(store, resource)]) {
      const isOurs = metadata.labels?.[managedLabel] !== undefined
      if (isOurs && !wanted.has(metadata.name ?? '')) await client.remove({ resource, name: metadata.name ?? '' }, {})
    }
  }

  async function create(service: KubeObject): Promise<void> {
    try {
      await client.create({ resource }, service)
    } catch (error) {
      if (!isStatus(error, 'AlreadyExists')) throw error
    }
  }

  function wantedServices(): KubeObject[] {
    const versions = new Map<string, { isCustom: boolean; versions: Set<string> }>()
    for (const { group, version, isCustom } of registry.kinds()) {
      // The list does not list itself.
      if (group === resource.group) continue
      const known = versions.get(group) ?? { isCustom, versions: new Set<string>() }
      known.versions.add(version)
      versions.set(group, known)
    }
    return [...versions].flatMap(([group, known]) =>
      [...known.versions]
        .sort(compareVersions)
        .map((version, place) => toService(group, version, known.isCustom, place)),
    )
  }

  return {
    start() {
      unsubscribe = registry.onChange(() => worker.mark(everything))
      worker.mark(everything)
    },
    stop() {
      unsubscribe()
      worker.stop()
    },
  }
}

function toService(group: string, version: string, isCustom: boolean, place: number): KubeObject {
  return {
    kind: 'APIService',
    apiVersion: 'apiregistration.k8s.io/v1',
    metadata: { name: `${version}.${group}`, labels: { [managedLabel]: isCustom ? 'true' : 'onstart' } },
    spec: {
      ...(group !== '' && { group }),
      version,
      groupPriorityMinimum: group === '' ? 18_000 : isCustom ? 1_000 : 17_000,
      versionPriority: Math.max(100 - place, 1),
    },
  }
}
