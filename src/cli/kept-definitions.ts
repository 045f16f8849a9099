// The definitions of Mooring's kinds beside the embedded API server: installed at the start, and again whenever one is gone. A
// definition that is being deleted is left alone until it is gone: its objects go with it, and what keeps them may be the
// desks' own, so the desks have to work meanwhile.
//
//   the definition is      what is done                      it is told as a problem
//   absent                 it is applied                     until the kind is served
//   being deleted          nothing                           yes, with what holds it
//   there                  applied once, at the start        no
//
// A stand-in for the definition of another product is applied where there is none, or where it is still as we made it. A definition of
// a desk that is off is applied at the start if it is there from an earlier one: it leads to a converter that has another port by now.

import { isApiError } from '../kube/api-error.ts'
import { Cache } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import { Reflector } from '../kube/reflector.ts'
import type { Clock } from '../runtime/clock.ts'
import { WorkQueue } from '../runtime/queue.ts'
import type { Random } from '../runtime/random.ts'
import { Waiters } from '../runtime/waiters.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Definition } from './definitions.ts'

export interface KeptDefinitions {
  /** Which kinds are missing or on their way out, in sentences; none when all are there. */
  problems(): string[]
  /** Resolves when there is no problem, now or later. */
  complete(): Promise<void>
  stop(): Promise<void>
}

export interface KeepOptions {
  readonly client: Client
  readonly wanted: readonly Definition[]
  /** Of desks that are off: those that are there are kept up to date, and none is brought. */
  readonly leftOver?: readonly Definition[]
  /** For the definitions of other products, where these are not there. */
  readonly standIns?: readonly Definition[]
  readonly fieldManager: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

const definitions = defineKind<Definition>({
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
})

/** Resolves when every definition is served that is not being deleted. */
export async function keepDefinitions(options: KeepOptions): Promise<KeptDefinitions> {
  const { client, clock, random, log, standIns = [] } = options
  const wanted = new Map([...options.wanted, ...standIns].map(one => [one.metadata.name ?? '', one]))
  const problems = new Map<string, string>()
  const completion = new Waiters()

  async function look(name: string, definition: Definition, isFirst: boolean): Promise<void> {
    const problem = await settle(options, definition, isFirst)
    const before = problems.get(name)
    if (problem === undefined) problems.delete(name)
    else problems.set(name, problem)
    if (problem !== undefined && problem !== before) log.error('a definition is missing', { definition: name, problem })
    if (problems.size === 0) completion.resolve()
  }

  for (const [name, definition] of wanted) await look(name, definition, true)
  for (const definition of options.leftOver ?? []) await refresh(options, definition)
  const queue = new WorkQueue({
    clock,
    random,
    concurrency: 1,
    async run(name) {
      const definition = wanted.get(name)
      try {
        if (definition !== undefined) await look(name, definition, false)
        return { kind: 'done' }
      } catch (error) {
        log.error('a definition could not be kept', { definition: name, error: describeError(error) })
        return { kind: 'retry' }
      }
    },
  })
  // A change is only noticed here; what has become of a definition is asked of the API server.
  const cache = new Cache<KubeObject>({
    keep: ({ metadata: { name = '', uid = '', resourceVersion = '' } }) => ({
      metadata: { name, uid, resourceVersion },
    }),
  })
  cache.subscribe(({ key }) => {
    if (wanted.has(key)) queue.mark(key)
  })
  const reflector = new Reflector<KubeObject>({ kind: definitions, cache, client, clock, random, log })
  reflector.start()
  queue.start()
  return {
    problems: () => [...problems.values()],
    complete: () => completion.until(problems.size === 0),
    async stop() {
      await Promise.all([reflector.stop('shutdown'), queue.stop()])
    },
  }
}

/** Answers with what is wrong; undefined when the kind is served. */
async function settle(
  { client, fieldManager, log, standIns = [] }: KeepOptions,
  definition: Definition,
  isFirst: boolean,
): Promise<string | undefined> {
  const name = definition.metadata.name ?? ''
  const found = await client.get(definitions, { name })
  if (found?.metadata.deletionTimestamp) {
    const held = conditionsOf(found).find(({ type }) => type === 'Terminating')?.message
    const why = held === undefined || held === '' ? '' : ` (${held})`
    return `${name} is being deleted${why}: it is installed again when it is gone`
  }
  if (found === undefined && !isFirst)
    log.error('a definition was deleted and is installed again', { definition: name })
  if (found !== undefined && standIns.includes(definition)) {
    if (isFirst) await applyStandIn(client, definition, fieldManager)
    return (await isServed(client, found)) ? undefined : `the names of ${name} are taken by another kind`
  }
  // Applied, so that a newer Mooring brings its newer kinds to older data.
  const applied =
    found === undefined || isFirst
      ? await client.apply(definitions, { name }, definition, { fieldManager, isForced: true })
      : found
  return (await isServed(client, applied)) ? undefined : `the names of ${name} are taken by another kind`
}

async function refresh({ client, fieldManager }: KeepOptions, definition: Definition): Promise<void> {
  const name = definition.metadata.name ?? ''
  const found = await client.get(definitions, { name })
  if (found === undefined || found.metadata.deletionTimestamp) return
  await client.apply(definitions, { name }, definition, { fieldManager, isForced: true })
}

/** What another product or a user has set otherwise stays as it is. */
async function applyStandIn(client: Client, definition: Definition, fieldManager: string): Promise<void> {
  try {
    await client.apply(definitions, { name: definition.metadata.name ?? '' }, definition, { fieldManager })
  } catch (error) {
    if (!isApiError(error, 'Conflict')) throw error
  }
}

/** The API server accepts names and serves a kind within a turn or two; a desk that starts before would look in vain. */
async function isServed(client: Client, definition: Definition | undefined): Promise<boolean> {
  const conditions = definition === undefined ? [] : conditionsOf(definition)
  const has = (wanted: string, value: string) =>
    conditions.some(({ type, status }) => type === wanted && status === value)
  if (definition === undefined || has('NamesAccepted', 'False')) return false
  if (has('Established', 'True')) return true
  await new Promise(resolve => setImmediate(resolve))
  return isServed(client, await client.get(definitions, { name: definition.metadata.name ?? '' }))
}

const conditionsOf = ({ status }: Definition) => status?.conditions ?? []
