// IPPools, as drafts, and what is promised of them.

import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { parse } from 'yaml'
import type { KubeObject } from '../../src/kube/object.ts'
import { configOf, nextName } from './machines.ts'
import type { Stored, Thing, World } from './world.ts'

const apiVersion = 'ippool.k8s.cni.cncf.io/v1alpha'

/** MACs are of one space; still no two tests have the same. */
let count = 0
export const nextMAC = (): string => `02:00:5e:20:00:${(++count).toString(16).padStart(2, '0')}`

export function anIPPool(network: KubeObject | string, entries: object, bindings?: object): Stored {
  const spec = {
    'network-name': typeof network === 'string' ? network : configOf(network).name,
    entries,
    ...(bindings && { bindings }),
  }
  return { apiVersion, kind: 'IPPool', metadata: { name: nextName('pool') }, spec }
}

/** As it is shipped, under a name of its own, for a network of its own. */
export function theSample(file: string, network = nextName('prod-network')): Stored {
  const { spec } = parse(readFileSync(`config/samples/import/${file}.yaml`, 'utf8')) as { spec: { entries: object } }
  return anIPPool(network, spec.entries)
}

interface Said {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export const saidOf = (pool: Stored | undefined): readonly Said[] =>
  ((pool?.status?.conditions ?? []) as Said[]).map(({ type, status, reason, message }) => ({
    type,
    status,
    reason,
    message,
  }))

/** The conditions of these types are just so. */
export function saysOf(world: World, pool: Thing, ...conditions: readonly Said[]): Promise<Stored> {
  return world.eventually(async () => {
    const stored = await world.get(pool)
    const types = conditions.map(({ type }) => type)
    expect(saidOf(stored).filter(({ type }) => types.includes(type))).toEqual(conditions)
    return stored as Stored
  })
}

export function isUsable(world: World, pool: Thing): Promise<Stored> {
  const message = 'Every entry can be given to its virtual machine'
  return saysOf(world, pool, { type: 'EntriesUsable', status: 'True', reason: 'AllUsable', message })
}

export function isNotUsable(world: World, pool: Thing, reason: string, message: RegExp | string): Promise<Stored> {
  return world.eventually(async () => {
    const stored = await world.get(pool)
    const said = saidOf(stored).find(({ type }) => type === 'EntriesUsable')
    expect(said).toMatchObject({ status: 'False', reason })
    expect(said?.message).toMatch(message)
    return stored as Stored
  })
}

/** Just these rows, in any order of their fields. */
export const shows = (world: World, pool: Thing, inUse: readonly object[]) =>
  world.eventually(async () => {
    const stored = await world.get(pool)
    expect(stored?.status?.['in-use']).toEqual(inUse)
    expect(stored?.status['in-use-count']).toBe(inUse.length)
  })
