// namespaces - a namespace that is deleted is emptied first; every living one has its default service account and the
// authority's certificate, so that its pods can trust this server.

import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import { toTimestamp } from '../metadata.ts'
import { equal, isObject, type KubeObject } from '../object.ts'
import { getObject, listObjects, prefixOf } from '../objects.ts'
import { isStatus, qualified } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

/** Objects with finalizers take their time; the namespace looks again until they are gone. */
const emptyingPollMs = 200

export function createNamespaces(
  world: World,
  client: LocalClient,
  parts: { namespaces: Resource; serviceAccounts: Resource; configMaps: Resource; ca: () => string },
  onError: OnError,
): Controller {
  const { namespaces, serviceAccounts, configMaps, ca } = parts
  const { store, registry } = world
  const worker = createWorker(look, onError)
  const stops: (() => void)[] = []

  async function look(name: string): Promise<void> {
    const namespace = getObject(store, namespaces, '', name)
    if (namespace === undefined) return
    try {
      if (namespace.metadata.deletionTimestamp) await empty(namespace)
      else await furnish(name)
    } catch (error) {
      if (isStatus(error, 'NotFound')) return
      if (isStatus(error, 'Conflict')) return worker.mark(name)
      throw error
    }
  }

  async function furnish(name: string): Promise<void> {
    if (getObject(store, serviceAccounts, name, 'default') === undefined) {
      await createQuietly(serviceAccounts, name, {
        kind: 'ServiceAccount',
        apiVersion: 'v1',
        metadata: { name: 'default' },
      })
    }
    const data = { 'ca.crt': ca() }
    const root = getObject(store, configMaps, name, rootCA)
    if (root === undefined) {
      await createQuietly(configMaps, name, {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name: rootCA, annotations: rootCANote },
        data,
      })
    } else if (!equal(root.data, data)) {
      await client.mergePatch({ resource: configMaps, namespace: name, name: rootCA }, { data })
    }
  }

  async function createQuietly(resource: Resource, namespace: string, object: KubeObject): Promise<void> {
    try {
      await client.create({ resource, namespace }, object)
    } catch (error) {
      // It exists already, or the namespace is being deleted.
      if (!isStatus(error, 'AlreadyExists') && !isStatus(error, 'Forbidden')) throw error
    }
  }

  async function empty(namespace: KubeObject): Promise<void> {
    const name = namespace.metadata.name ?? ''
    const spec = isObject(namespace.spec) ? namespace.spec : {}
    const finalizers = Array.isArray(spec.finalizers) ? spec.finalizers : []
    if (!finalizers.includes('kubernetes')) return
    const left: Remaining = { counts: new Map(), finalizers: new Map() }
    const seen = new Set<string>()
    for (const resource of [...registry.resources()]) {
      const prefix = prefixOf(resource, name)
      if (!resource.namespaced || seen.has(prefix) || !resource.storage.verbs.includes('delete')) continue
      seen.add(prefix)
      if (store.count(prefix) === 0) continue
      await client.removeAll({ resource, namespace: name })
      countRemaining(left, qualified(resource), listObjects(store, resource, name))
    }
    await report(namespace, left)
    if (left.counts.size > 0) return worker.markLater(name, emptyingPollMs)
    const latest = getObject(store, namespaces, '', name)
    if (latest === undefined) return
    const rest = finalizers.filter(finalizer => finalizer !== 'kubernetes')
    await client.update(
      { resource: namespaces, name, subresource: 'finalize' },
      { ...latest, spec: { finalizers: rest } },
    )
  }

  /** Writes what still keeps the namespace into its conditions. */
  async function report(namespace: KubeObject, left: Remaining): Promise<void> {
    const status = isObject(namespace.status) ? namespace.status : {}
    const time = toTimestamp(world.now())
    const old = (Array.isArray(status.conditions) ? status.conditions : []) as Condition[]
    const conditions = describe(left).map(wanted => {
      const known = old.find(condition => condition.type === wanted.type)
      return known?.status === wanted.status ? { ...known, ...wanted } : { ...wanted, lastTransitionTime: time }
    })
    if (equal(old, conditions)) return
    const target = { resource: namespaces, name: namespace.metadata.name ?? '', subresource: 'status' }
    await client.mergePatch(target, { status: { phase: 'Terminating', conditions } })
  }

  return {
    start() {
      for (const namespace of listObjects(store, namespaces)) worker.mark(namespace.metadata.name ?? '')
      const watched = store.watch(namespaces.keyPrefix, store.revision, change => {
        if (change.type === 'put') worker.mark(change.entry.key.slice(namespaces.keyPrefix.length))
      })
      // What every namespace has is restored when a client deletes or changes it.
      const restored = [serviceAccounts, configMaps].map(({ keyPrefix }) =>
        store.watch(keyPrefix, store.revision, ({ type, entry }) => {
          const [namespace = '', name = ''] = entry.key.slice(keyPrefix.length).split('/')
          const isOurs = name === rootCA || (name === 'default' && type === 'delete')
          if (isOurs) worker.mark(namespace)
        }),
      )
      stops.push(...[watched, ...restored].map(watch => () => watch.stop()))
    },
    stop() {
      for (const stop of stops) stop()
      worker.stop()
    },
  }
}

interface Condition {
  type: string
  status: string
  reason: string
  message: string
  lastTransitionTime?: string
}

const rootCA = 'kube-root-ca.crt'
const rootCANote = {
  'kubernetes.io/description': 'Contains the certificate of the authority that signed this API server’s certificate.',
}

/** What is left of each resource, and how many objects each finalizer holds. */
interface Remaining {
  readonly counts: Map<string, number>
  readonly finalizers: Map<string, number>
}

function countRemaining({ counts, finalizers }: Remaining, resource: string, objects: Iterable<KubeObject>): void {
  for (const { metadata } of objects) {
    counts.set(resource, (counts.get(resource) ?? 0) + 1)
    for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
  }
}

function describe({ counts, finalizers }: Remaining): Condition[] {
  const fine = (type: string, reason: string, message: string): Condition => ({
    type,
    status: 'False',
    reason,
    message,
  })
  const listed = (entries: Map<string, number>, verb: string) =>
    [...entries]
      .map(([name, count]) => `${name} ${verb} ${count} resource instances`)
      .sort()
      .join(', ')
  const content: Condition =
    counts.size === 0
      ? fine('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed')
      : {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${listed(counts, 'has')}`,
        }
  const held: Condition =
    finalizers.size === 0
      ? fine('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished')
      : {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${listed(finalizers, 'in')}`,
        }
  return [
    fine('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    fine(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    fine(
      'NamespaceDeletionContentFailure',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    content,
    held,
  ]
}
