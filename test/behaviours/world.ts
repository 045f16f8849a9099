// What behaviours are written in: a client makes, changes and deletes objects, and reads what is stored until it is as promised,
// or for so long that it will never become so. Time is the world's: in one process it passes as fast as it can be computed, on
// a server it is real time.

import { expect } from 'vitest'
import type { Client } from '../../src/kube/client.ts'
import { type Kind, type KubeObject, keyOfRef, type ObjectRef, refOf } from '../../src/kube/object.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { DesksUnderTest, DeskUnderTest } from './desk.ts'
import { anInProcessWorld } from './in-process.ts'
import { kindOf } from './kinds.ts'
import { aServerWorld, serverByEnvironment } from './on-a-server.ts'

/** An object as it is stored; a test knows what it asked for. */
export interface Stored extends KubeObject {
  // biome-ignore lint/suspicious/noExplicitAny: tests read deep into objects of many kinds
  readonly [field: string]: any
}

/** A draft of an object, or an object that was read. */
export type Thing = KubeObject | { readonly object: KubeObject }

export interface Ground {
  readonly client: Client
  /** The same server, as another user sees it. */
  clientOf(user: string): Client
  readonly clock: Clock
  readonly desk: DeskUnderTest
  /** A second process that knows nothing of the first, by default with the same desks; it stops with the test. */
  anotherDesk(desks?: DesksUnderTest): Promise<DeskUnderTest>
  /** A namespace that no other test uses. */
  readonly home: string
  /** Lets so much time pass, and everything happen that happens by itself meanwhile. */
  pass(milliseconds: number): Promise<void>
}

export interface World extends Ground {
  /** The same world, where another user acts. */
  as(user: string): World
  /** Another namespace that no other test uses. */
  anotherNamespace(labels?: Readonly<Record<string, string>>): Promise<string>
  create(thing: Thing): Promise<Stored>
  /** The object as it is now; undefined when there is none. */
  get(thing: Thing): Promise<Stored | undefined>
  /** The IPAddress of the claim's name. */
  report(claim: Thing): Promise<Stored | undefined>
  list(kind: Kind): Promise<Stored[]>
  patch(thing: Thing, patch: object, subresource?: 'status'): Promise<Stored>
  delete(thing: Thing, propagation?: 'Foreground' | 'Orphan'): Promise<void>
  /** Until it does not throw; what it threw last is the failure. */
  eventually<T>(look: () => Promise<T> | T, withinMs?: number): Promise<T>
  /** Holds now, and at every look for so long. */
  always(look: () => Promise<void> | void, forMs?: number): Promise<void>
  /** Lets so much time pass in which nothing is to happen; on a server only some of it. */
  idle(milliseconds: number): Promise<void>
  /** Until the desk's cache has the object as it is stored. Events of two objects may arrive in any order. */
  heard(thing: Thing): Promise<void>
}

export interface WorldOptions extends DesksUnderTest {
  /** A kind left out, or changed, before the desk starts; only where the server is the test's own. */
  readonly define?: (definitions: readonly KubeObject[]) => readonly KubeObject[]
  /** Whether the webhooks are installed. */
  readonly hasWebhooks?: boolean
}

const lookEveryMs = serverByEnvironment() === undefined ? 100 : 50
/** A server may have much else to do. */
const eventuallyMs = serverByEnvironment() === undefined ? 10_000 : 30_000
/** As long as the reference provider's own tests wait before they believe that nothing comes. */
const alwaysMs = 5_000
/** On a server time is dear, and each wait has been made in full by the same test in one process. */
const onServerMsMax = { always: 1_500, idle: 3_000 }

export async function aWorld(options: WorldOptions = {}): Promise<World> {
  const ground = serverByEnvironment() === undefined ? await anInProcessWorld(options) : await aServerWorld(options)
  return onGround(ground)
}

/** Some stories change the server itself, or move its clock by hours. */
export const isInProcess = serverByEnvironment() === undefined

let namespaceCount = 0

function onGround(ground: Ground): World {
  const { client, home } = ground
  const placed = (thing: Thing): { kind: Kind; object: KubeObject; ref: ObjectRef } => {
    const draft = 'object' in thing ? (thing as { object: KubeObject }).object : (thing as KubeObject)
    const kind = kindOf(draft)
    const namespace = kind.namespaced ? (draft.metadata.namespace ?? home) : undefined
    const metadata = { ...draft.metadata, ...(namespace !== undefined && { namespace }) }
    const object = { ...draft, metadata }
    return { kind, object, ref: refOf(object) }
  }
  const world: World = {
    ...ground,
    as: user => onGround({ ...ground, client: ground.clientOf(user) }),
    async anotherNamespace(labels = {}) {
      const name = `${home}-${++namespaceCount}`
      await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
      return name
    },
    async create(thing) {
      const { kind, object } = placed(thing)
      return (await client.create(kind, object)) as Stored
    },
    async get(thing) {
      const { kind, ref } = placed(thing)
      return (await client.get(kind, ref)) as Stored | undefined
    },
    report(claim) {
      const { ref, object } = placed(claim)
      return world.get({ apiVersion: object.apiVersion ?? '', kind: 'IPAddress', metadata: { ...ref } })
    },
    async list(kind) {
      const { items } = await client.list(kind)
      return items.filter(item => item.metadata.namespace === undefined || isOurs(item, home)) as Stored[]
    },
    async patch(thing, patch, subresource) {
      const { kind, ref } = placed(thing)
      return (await client.mergePatch(kind, ref, patch, { ...(subresource && { subresource }) })) as Stored
    },
    async delete(thing, propagation) {
      const { kind, ref } = placed(thing)
      await client.delete(kind, ref, { ...(propagation && { propagation }) })
    },
    async eventually(look, withinMs = eventuallyMs) {
      for (let leftMs = withinMs; ; leftMs -= lookEveryMs) {
        await ground.pass(leftMs === withinMs ? 0 : lookEveryMs)
        try {
          return await look()
        } catch (error) {
          if (leftMs <= 0) throw error
        }
      }
    },
    async always(look, wholeMs = alwaysMs) {
      const forMs = isInProcess ? wholeMs : Math.min(wholeMs, onServerMsMax.always)
      const stepMs = Math.max(lookEveryMs, forMs / 20)
      await ground.pass(0)
      for (let leftMs = forMs; leftMs > 0; leftMs -= stepMs) {
        await look()
        await ground.pass(stepMs)
      }
      await look()
    },
    idle: milliseconds => ground.pass(isInProcess ? milliseconds : Math.min(milliseconds, onServerMsMax.idle)),
    heard: thing =>
      world.eventually(async () => {
        const { kind, ref } = placed(thing)
        const stored = await world.get(thing)
        expect(ground.desk.view(kind).get(keyOfRef(ref))?.metadata.resourceVersion).toBe(
          stored?.metadata.resourceVersion,
        )
      }),
  }
  return world
}

const isOurs = ({ metadata }: KubeObject, home: string): boolean => metadata.namespace?.startsWith(home) ?? false
