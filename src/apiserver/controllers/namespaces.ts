// namespaces - a namespace that is deleted is emptied first, of its pods before all else; every living one has its
// default service account and the authority's certificate, so that its pods can trust this server.

import type { World } from '../call.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import { toTimestamp } from '../metadata.ts'
import { equal, isObject, type KubeObject } from '../object.ts'
import { getObject, listObjects, prefixOf } from '../objects.ts'
import { bareError, isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import {
  type Condition,
  countRemaining,
  describeContent,
  describeFailures,
  type Remaining,
} from './namespace-conditions.ts'
import { createWorker } from './worker.ts'

/** Objects with finalizers take their time; the namespace is requeued until they are gone. */
const emptyingPollMs = 200

export function createNamespaces(
  world: World,
  client: LocalClient,
  parts: { namespaces: Resource; pods: Resource; serviceAccounts: Resource; configMaps: Resource; ca: () => string },
  onError: OnError,
): Controller {
  const { namespaces, pods, serviceAccounts, configMaps, ca } = parts
  const { store, registry } = world
  const worker = createWorker(look, (error, name) => onError(error, `namespace ${name}`))
  /** How many objects there were in each namespace that is being deleted, at the last look. */
  const contentCounts = new Map<string, number>()
  const stops: (() => void)[] = []

  async function look(name: string): Promise<void> {
    const namespace = getObject(store, namespaces, '', name)
    if (!namespace?.metadata.deletionTimestamp) contentCounts.delete(name)
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
    const left = await removeContent(name)
    await report(namespace, left)
    const count = countContent(name)
    const isSmaller = count < (contentCounts.get(name) ?? Number.POSITIVE_INFINITY)
    contentCounts.set(name, count)
    // A delete that was refused is tried again with a growing delay, unless something went meanwhile: that may have been
    // why it was refused, as a pool is kept by the claims on it.
    if (left.failures.length > 0 && !isSmaller) throw bareError(describeFailures(left.failures))
    if (count > 0) return worker.markLater(name, emptyingPollMs)
    const latest = getObject(store, namespaces, '', name)
    if (latest === undefined) return
    const rest = finalizers.filter(finalizer => finalizer !== 'kubernetes')
    await client.update(
      { resource: namespaces, name, subresource: 'finalize' },
      { ...latest, spec: { finalizers: rest } },
    )
  }

  /**
   * Pods go first: what they use stays until they have ended, unless their delete is refused. The conditions do not speak of
   * them meanwhile, as on a real server. What cannot be deleted of one kind does not keep the others.
   */
  async function removeContent(name: string): Promise<Remaining> {
    const left = nothingLeft()
    const podsPrefix = prefixOf(pods, name)
    if (store.count(podsPrefix) > 0) {
      await removeKind(name, pods, left)
      if (left.failures.length === 0 && store.count(podsPrefix) > 0) return nothingLeft()
    }
    for (const [prefix, resource] of contentOf(name)) {
      if (prefix !== podsPrefix && store.count(prefix) > 0) await removeKind(name, resource, left)
    }
    return left
  }

  async function removeKind(name: string, resource: Resource, left: Remaining): Promise<void> {
    try {
      await client.removeAll({ resource, namespace: name })
      countRemaining(left, resource, listObjects(store, resource, name))
    } catch (error) {
      left.failures.push(error instanceof Error ? error.message : String(error))
    }
  }

  /** By prefix of the keys: a kind that is served by two groups is stored once. */
  function contentOf(name: string): Map<string, Resource> {
    const found = new Map<string, Resource>()
    for (const resource of registry.resources()) {
      const prefix = prefixOf(resource, name)
      const isDeletable = resource.namespaced && resource.storage.verbs.includes('delete')
      if (isDeletable && !found.has(prefix)) found.set(prefix, resource)
    }
    return found
  }

  function countContent(name: string): number {
    return [...contentOf(name).keys()].reduce((sum, prefix) => sum + store.count(prefix), 0)
  }

  /** Writes what still keeps the namespace into its conditions. */
  async function report(namespace: KubeObject, left: Remaining): Promise<void> {
    const status = isObject(namespace.status) ? namespace.status : {}
    const time = toTimestamp(world.now())
    const old = (Array.isArray(status.conditions) ? status.conditions : []) as Condition[]
    const conditions = describeContent(left).map((wanted): Condition => {
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
        worker.mark(change.entry.key.slice(namespaces.keyPrefix.length))
      })
      const emptied = store.watch('/', store.revision, ({ type, entry }) => {
        if (type !== 'delete' || contentCounts.size === 0) return
        const [, , , namespace = ''] = entry.key.split('/', 4)
        if (contentCounts.has(namespace)) worker.markLater(namespace, emptyingPollMs)
      })
      // What every namespace has is restored when a client deletes or changes it.
      const restored = [serviceAccounts, configMaps].map(({ keyPrefix }) =>
        store.watch(keyPrefix, store.revision, ({ type, entry }) => {
          const [namespace = '', name = ''] = entry.key.slice(keyPrefix.length).split('/')
          const isOurs = name === rootCA || (name === 'default' && type === 'delete')
          if (isOurs) worker.mark(namespace)
        }),
      )
      stops.push(...[watched, emptied, ...restored].map(watch => () => watch.stop()))
    },
    stop() {
      for (const stop of stops) stop()
      worker.stop()
    },
  }
}

const nothingLeft = (): Remaining => ({ counts: new Map(), finalizers: new Map(), failures: [] })

const rootCA = 'kube-root-ca.crt'
const rootCANote = {
  'kubernetes.io/description': 'Contains the certificate of the authority that signed this API server’s certificate.',
}
