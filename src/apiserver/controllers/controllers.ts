// Creates every controller of the server, with what it needs.

import type { Ask } from '../aggregation/ask.ts'
import type { Foreign } from '../aggregation/foreign.ts'
import type { World } from '../call.ts'
import type { ConvertByWebhook } from '../crd/resource.ts'
import type { Registry, Resource } from '../kinds/registry.ts'
import { createLocalClient } from '../local-client.ts'
import { createAggregation } from './aggregation.ts'
import { createAPIServiceAvailability } from './api-service-availability.ts'
import { createAPIServices } from './api-services.ts'
import type { Controller, OnError } from './controller.ts'
import { createCustomResources } from './custom-resources.ts'
import { createEventExpiry } from './event-expiry.ts'
import { type Authorities, createExtensionAuthentication } from './extension-authentication.ts'
import { createGarbageCollector } from './garbage-collector.ts'
import { createNamespaces } from './namespaces.ts'
import { createStorageProtection } from './storage-protection.ts'

export interface Controllers {
  /** Must run before anything that a custom kind may be needed for. */
  readonly customResources: Controller
  readonly others: readonly Controller[]
}

export interface ControllerParts {
  readonly convertByWebhook: ConvertByWebhook
  /** That of clients every namespace is given; both are told to extension API servers. */
  readonly authorities: Authorities
  readonly foreign: Foreign
  readonly ask: Ask
  readonly onError: OnError
}

export function createControllers(world: World, parts: ControllerParts): Controllers {
  const { convertByWebhook, authorities, foreign, ask, onError } = parts
  const core = (plural: string) => need(world.registry, '', plural)
  const server = createLocalClient(world, 'system:apiserver', 'kube-apiserver')
  const as = (name: string) =>
    createLocalClient(world, `system:serviceaccount:kube-system:${name}`, 'kube-controller-manager')
  const definitions = need(world.registry, 'apiextensions.k8s.io', 'customresourcedefinitions')
  const apiServices = need(world.registry, 'apiregistration.k8s.io', 'apiservices')
  const places = {
    namespaces: core('namespaces'),
    pods: core('pods'),
    serviceAccounts: core('serviceaccounts'),
    configMaps: core('configmaps'),
  }
  const storage = {
    claims: core('persistentvolumeclaims'),
    volumes: core('persistentvolumes'),
    pods: core('pods'),
  }
  return {
    customResources: createCustomResources(world, server, definitions, convertByWebhook, onError),
    others: [
      createGarbageCollector(world, as('generic-garbage-collector'), onError),
      createNamespaces(world, as('namespace-controller'), { ...places, ca: authorities.ca }, onError),
      createStorageProtection(world, as('pvc-protection-controller'), storage, onError),
      createAggregation(world, as('clusterrole-aggregation-controller'), onError),
      createAPIServices(world, server, apiServices, onError),
      createAPIServiceAvailability(world, server, apiServices, { foreign, ask }, onError),
      createExtensionAuthentication(world, server, core('configmaps'), authorities, onError),
      createEventExpiry(world, server, core('events'), onError),
    ],
  }
}

export function need(registry: Registry, group: string, plural: string): Resource {
  const resource = registry.find(group, plural)
  if (resource === undefined) throw new Error(`the built-in resource ${plural} is missing`)
  return resource
}
