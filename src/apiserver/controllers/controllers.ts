// Creates every controller of the server, with what it needs.

import type { World } from '../call.ts'
import type { ConvertByWebhook } from '../crd/resource.ts'
import type { Registry, Resource } from '../kinds/registry.ts'
import { createLocalClient } from '../local-client.ts'
import { createAggregation } from './aggregation.ts'
import { createAPIServices } from './api-services.ts'
import type { Controller, OnError } from './controller.ts'
import { createCustomResources } from './custom-resources.ts'
import { createEventExpiry } from './event-expiry.ts'
import { createGarbageCollector } from './garbage-collector.ts'
import { createNamespaces } from './namespaces.ts'

export interface Controllers {
  /** Must run before anything that a custom kind may be needed for. */
  readonly customResources: Controller
  readonly others: readonly Controller[]
}

export interface ControllerParts {
  readonly convertByWebhook: ConvertByWebhook
  /** The authority's certificate, which every namespace is given. */
  readonly ca: () => string
  readonly onError: OnError
}

export function createControllers(world: World, { convertByWebhook, ca, onError }: ControllerParts): Controllers {
  const core = (plural: string) => need(world.registry, '', plural)
  const server = createLocalClient(world, 'system:apiserver', 'kube-apiserver')
  const as = (name: string) =>
    createLocalClient(world, `system:serviceaccount:kube-system:${name}`, 'kube-controller-manager')
  const definitions = need(world.registry, 'apiextensions.k8s.io', 'customresourcedefinitions')
  const places = {
    namespaces: core('namespaces'),
    serviceAccounts: core('serviceaccounts'),
    configMaps: core('configmaps'),
  }
  return {
    customResources: createCustomResources(world, server, definitions, convertByWebhook, onError),
    others: [
      createGarbageCollector(world, as('generic-garbage-collector'), onError),
      createNamespaces(world, as('namespace-controller'), { ...places, ca }, onError),
      createAggregation(world, as('clusterrole-aggregation-controller'), onError),
      createAPIServices(world, server, need(world.registry, 'apiregistration.k8s.io', 'apiservices'), onError),
      createEventExpiry(world, server, core('events'), onError),
    ],
  }
}

export function need(registry: Registry, group: string, plural: string): Resource {
  const resource = registry.find(group, plural)
  if (resource === undefined) throw new Error(`the built-in resource ${plural} is missing`)
  return resource
}
