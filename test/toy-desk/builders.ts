// Berths and networks with good defaults, and what is promised about them, said once.

import { expect } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { holds, macHolds } from '../behaviours/kinds.ts'
import { readyOf } from '../behaviours/promises.ts'
import type { Stored, Thing, World } from '../behaviours/world.ts'
import { parseChoice } from './parsed.ts'

const run = Math.random().toString(36).slice(2, 6)
let count = 0
const nextName = (what: string): string => `${what}-${run}-${++count}`

type Spec = Readonly<Record<string, unknown>>

/** Twelve addresses of IPv4, and many more of IPv6. */
export function aNetwork(spec: Spec = {}): KubeObject & { readonly metadata: { readonly name: string } } {
  const subnets = ['10.9.0.0/28', 'fd00:9::/64']
  const gateways = ['10.9.0.1', 'fd00:9::1']
  const network = {
    apiVersion: 'toy.example.org/v1',
    kind: 'ToyNetwork',
    metadata: { name: nextName('net') },
    spec: { subnets, gateways, ...spec },
  }
  return network
}

/** With so many addresses of each family, no more. */
export const aScarceNetwork = (v4: number, v6: number, spec: Spec = {}) =>
  aNetwork({
    gateways: [],
    excludes: [`10.9.0.${v4 + 1}-10.9.0.14`, `fd00:9::${(v6 + 1).toString(16)}-fd00:9::ffff:ffff:ffff:ffff`],
    ...spec,
  })

export function aBerth(network?: KubeObject, spec: Spec = {}): KubeObject {
  const berth = {
    apiVersion: 'toy.example.org/v1',
    kind: 'Berth',
    metadata: { name: nextName('berth') },
    spec: { ...(network && { network: network.metadata.name }), ...spec },
  }
  return berth
}

/** A pool of the other desk's, in the space of the network. */
export function aPoolIn(network: KubeObject, spec: Spec): KubeObject {
  const pool = {
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'ClusterAddressPool',
    metadata: { name: nextName('pool') },
    spec: { prefix: 28, space: network.metadata.name, ...spec },
  }
  return pool
}

export interface Served {
  readonly addresses: readonly string[]
  readonly mac?: string
}

/** The berth has an address of each family, says so, and holds just that. */
export async function isServed(world: World, berth: Thing): Promise<Served> {
  return world.eventually(async () => {
    const stored = await world.get(berth)
    const ready = readyOf(stored)
    expect(ready?.status === 'True' ? 'served' : `${ready?.reason} ${ready?.message}`).toBe('served')
    const { addresses, mac } = (stored?.status ?? {}) as Served
    const choice = parseChoice(stored?.metadata.annotations?.['toy.example.org/choice'] ?? '')
    expect(Object.values(choice)).toEqual([...addresses, ...(mac === undefined ? [] : [mac])])
    expect((await heldBy(world, stored)).toSorted()).toEqual(Object.values(choice).toSorted())
    return { addresses, ...(mac !== undefined && { mac }) }
  })
}

/** It says why it waits, and holds nothing. */
export async function waits(world: World, berth: Thing, reason: string, message: RegExp): Promise<void> {
  await world.eventually(async () => {
    const stored = await world.get(berth)
    expect(readyOf(stored)).toMatchObject({ status: 'False', reason })
    expect(readyOf(stored)?.message).toMatch(message)
    expect(stored?.status?.addresses).toBeUndefined()
    expect(await heldBy(world, stored)).toEqual([])
  })
}

/** Addresses and MACs that are held in its name. */
export async function heldBy(world: World, berth: Stored | undefined): Promise<string[]> {
  const all = [...(await world.client.list(holds)).items, ...(await world.client.list(macHolds)).items] as Stored[]
  return all
    .filter(({ spec, status }) => spec.claimRef.uid === berth?.metadata.uid && status.state === 'held')
    .map(({ spec }) => (spec.mac === undefined || spec.address !== undefined ? spec.address : spec.mac))
}

/** Every lock in the space of a network, whichever claim has it. */
export async function locksIn(world: World, network: KubeObject): Promise<Stored[]> {
  const all = [...(await world.client.list(holds)).items, ...(await world.client.list(macHolds)).items] as Stored[]
  return all.filter(({ spec }) => spec.space === network.metadata.name)
}

export async function nothingIsHeldIn(world: World, network: KubeObject): Promise<void> {
  await world.eventually(async () => expect(await locksIn(world, network)).toEqual([]))
}
