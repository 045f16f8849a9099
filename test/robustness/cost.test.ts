// What a write costs grows with the object, and not with its square: one client that sends a body of the largest size must not
// stop the server for all others. Work is measured as time that this thread computes, in one run, of one size against
// eight times that size.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { KubeObject, ManagedFieldsEntry, OwnerReference } from '../../src/apiserver/object.ts'
import {
  aConfigMap,
  aPod,
  aWidget,
  aWidgetDefinition,
  configMaps,
  definitions,
  pods,
  widgets,
} from '../harness/objects.ts'
import { aWorld, type World } from '../harness/world.ts'

interface Shape {
  /** Enough that a cost of squares would show at eight times as many. */
  readonly count: number
  readonly at: string
  make(count: number): KubeObject
}

const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const map = <T>(count: number, make: (i: number) => T): Record<string, T> =>
  Object.fromEntries(list(count, i => [`k${i}`, make(i)]))

const anOwner = (i: number): OwnerReference => ({ apiVersion: 'x.io/v1', kind: 'X', name: `o${i}`, uid: `uid-${i}` })
const aManager = (i: number, operation: 'Apply' | 'Update', apiVersion: string): ManagedFieldsEntry => ({
  manager: `m${i}`,
  operation,
  apiVersion,
  time: '2030-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { [`f:k${i}`]: {} } },
})
const aBinding = (subjects: object[]): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'a' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  subjects,
})

const at = widgets()
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        plain: {
          type: 'array',
          items: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string', default: 'x' } } },
        },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
        open: { type: 'object', additionalProperties: { type: 'integer' } },
      },
    },
  },
}

const shapes: Readonly<Record<string, Shape>> = {
  owners: { count: 2_500, at, make: n => aWidget('a', {}, { ownerReferences: list(n, anOwner) }) },
  'owners that are each the controller': {
    count: 250,
    at,
    make: n => aWidget('a', {}, { ownerReferences: list(n, i => ({ ...anOwner(i), controller: true })) }),
  },
  finalizers: { count: 1_500, at, make: n => aWidget('a', {}, { finalizers: list(n, i => `example.com/f${i}`) }) },
  labels: { count: 1_500, at, make: n => aWidget('a', {}, { labels: map(n, () => 'x') }) },
  'labels that are wrong': { count: 500, at, make: n => aWidget('a', {}, { labels: map(n, i => `${i}/`) }) },
  annotations: { count: 1_000, at, make: n => aWidget('a', {}, { annotations: map(n, () => 'x') }) },
  'managers of fields': {
    count: 1_000,
    at,
    make: n => aWidget('a', {}, { managedFields: list(n, i => aManager(i, 'Update', 'example.com/v1')) }),
  },
  'managers of fields that apply': {
    count: 1_000,
    at,
    make: n =>
      aWidget('a', { open: map(n, i => i) }, { managedFields: list(n, i => aManager(i, 'Apply', `e.io/v${i}`)) }),
  },
  'items of a plain list': { count: 2_000, at, make: n => aWidget('a', { plain: list(n, i => ({ a: i })) }) },
  'members of a set': { count: 1_500, at, make: n => aWidget('a', { set: list(n, i => `s${i}`) }) },
  'members of a set that are twice there': {
    count: 2_000,
    at,
    make: n => aWidget('a', { set: list(n, i => `s${i >> 1}`) }),
  },
  'items of a keyed list': { count: 750, at, make: n => aWidget('a', { keyed: list(n, i => ({ name: `s${i}` })) }) },
  'keys of a map': { count: 1_500, at, make: n => aWidget('a', { open: map(n, i => i) }) },
  data: {
    count: 1_500,
    at: configMaps(),
    make: n =>
      aConfigMap(
        'a',
        map(n, () => 'x'),
      ),
  },
  'containers of a pod': {
    count: 150,
    at: pods(),
    make: n => aPod('a', { containers: list(n, i => ({ name: `c${i}`, image: 'x' })) }),
  },
  'short-lived containers of a pod': {
    count: 800,
    at: pods(),
    make: n => aPod('a', { ephemeralContainers: list(n, i => ({ name: `c${i}`, image: 'x' })) }),
  },
  'subjects of a binding': {
    count: 2_500,
    at: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    make: n => aBinding(list(n, i => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `u${i}` }))),
  },
}

const times = 8
/** Of squares it would be sixty-four. */
const growthMax = 14
const attemptsMax = 3

describe('a write of eight times as much costs about eight times as much', () => {
  test.each(Object.keys(shapes))('of %s', { timeout: 180_000 }, async name => {
    const { count, at, make } = shapes[name] as Shape
    const world = await aWorld()
    await world.admin.create(definitions, aWidgetDefinition({ schema }))
    await world.settled()
    await lifeMs(world, at, make(count))
    const [small, large]: [number[], number[]] = [[], []]
    const growth = () => Math.min(...large) / Math.min(...small)
    for (let attempt = 0; attempt === 0 || (growth() > growthMax && attempt < attemptsMax); attempt++) {
      small.push(await lifeMs(world, at, make(count)))
      large.push(await lifeMs(world, at, make(count * times)))
    }
    expect(growth()).toBeLessThan(growthMax)
  })
})

/** Created, touched, patched, applied and deleted, with all that the server's own controllers do about it. */
async function lifeMs(world: World, at: string, object: KubeObject): Promise<number> {
  const startMs = busyMs()
  const { managedFields: _, ...metadata } = object.metadata
  const one = `${at}/a`
  await world.admin.create(at, object)
  await world.admin.patch(one, { metadata: { labels: { touched: 'yes' } } })
  if (at !== widgets()) await world.admin.patch(one, object, 'strategic')
  await world.admin.apply(`${one}?force=true`, { ...object, metadata })
  await world.settled()
  await world.admin.patch(one, { metadata: { finalizers: null } })
  await world.admin.delete(one, { gracePeriodSeconds: 0 })
  await world.settled()
  return busyMs() - startMs
}

/** How long this thread has computed, whatever else the machine does; where the system does not say, the time of day. */
function busyMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1_000_000
  } catch {
    return performance.now()
  }
}
