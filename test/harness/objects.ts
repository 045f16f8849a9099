// Objects that tests are made of. Each is complete as it stands; a test names only what it is about.

import type { KubeObject, ObjectMeta } from '../../src/apiserver/object.ts'
import { type Body, ok } from './client.ts'
import type { World } from './world.ts'

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const namespaces = '/api/v1/namespaces'
export const configMaps = (namespace = 'default') => `${namespaces}/${namespace}/configmaps`
export const pods = (namespace = 'default') => `${namespaces}/${namespace}/pods`
export const widgets = (namespace = 'default', version = 'v1') =>
  `/apis/example.com/${version}/namespaces/${namespace}/widgets`

export function aConfigMap(name: string, data: Record<string, string> = {}, metadata: ObjectMeta = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data }
}

export function aWidget(name: string, spec: object = {}, metadata: ObjectMeta = {}): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, ...metadata }, spec }
}

export function aNamespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

/** A pod of one container; `spec.nodeName` makes it one that runs somewhere. */
export function aPod(name: string, spec: object = {}, metadata: ObjectMeta = {}): KubeObject {
  const containers = [{ name: 'main', image: 'example.com/image:1' }]
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec: { containers, ...spec } }
}

export interface DefinitionOptions {
  readonly plural?: string
  readonly group?: string
  readonly names?: object
  readonly scope?: 'Namespaced' | 'Cluster'
  readonly schema?: object
  readonly subresources?: object
  readonly versions?: readonly object[]
  readonly spec?: object
}

export const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

export function aVersion(name: string, more: object = {}): Record<string, unknown> {
  return { name, served: true, storage: true, schema: { openAPIV3Schema: anything }, ...more }
}

export function aWidgetDefinition(options: DefinitionOptions = {}): KubeObject {
  const { plural = 'widgets', group = 'example.com', scope = 'Namespaced' } = options
  const version = aVersion('v1', {
    schema: { openAPIV3Schema: options.schema ?? anything },
    ...(options.subresources && { subresources: options.subresources }),
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular: plural.slice(0, -1), kind: 'Widget', listKind: 'WidgetList', ...options.names },
      versions: options.versions ?? [version],
      ...options.spec,
    },
  }
}

/** Defines a kind and waits until it is served. */
export async function define(world: World, options: DefinitionOptions = {}): Promise<Body> {
  const made = ok(await world.admin.create(definitions, aWidgetDefinition(options)))
  await world.settled()
  return made
}

export function ownedBy(owner: KubeObject, more: object = {}) {
  const { apiVersion, kind, metadata } = owner
  return { apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '', ...more }
}
