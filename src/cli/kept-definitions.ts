// The definitions of Mooring's kinds beside the embedded API server: installed at the start, and again whenever one is gone. A
// definition that is being deleted is left alone until it is gone: its objects go with it, and what keeps them may be the
// desks' own, so the desks have to work meanwhile.
//
//   the definition is      what is done                      it is told as a problem
//   absent                 it is applied                     until the kind is served
//   being deleted          nothing                           yes, with what holds it
//   there                  applied once, at the start        no

import type { Client } from '../kube/client.ts'
import { defineKind } from '../kube/object.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Definition } from './definitions.ts'

export interface KeptDefinitions {
  /** Which kinds are missing or on their way out, in sentences; none when all are there. */
  problems(): string[]
  /** Resolves when there is no problem, now or later. */
  complete(): Promise<void>
  stop(): void
}

export interface KeepOptions {
  readonly client: Client
  readonly wanted: readonly Definition[]
  readonly fieldManager: string
  readonly clock: Clock
  readonly log: Log
}

const definitions = defineKind<Definition>({
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
})

/** A kind that is gone stops the desks: it is noticed soon. */
const lookEveryMs = 2_000

/** Resolves when every definition is served that is not being deleted. */
export async function keepDefinitions(options: KeepOptions): Promise<KeptDefinitions> {
  const { wanted, clock, log } = options
  const stopping = new AbortController()
  const problems = new Map<string, string>()
  let waiting: (() => void)[] = []

  async function look(definition: Definition, isFirst: boolean): Promise<void> {
    const name = definition.metadata.name ?? ''
    const problem = await settle(options, definition, isFirst)
    const before = problems.get(name)
    if (problem === undefined) problems.delete(name)
    else problems.set(name, problem)
    if (problem !== undefined && problem !== before) log.error('a definition is missing', { definition: name, problem })
  }

  async function keep(): Promise<void> {
    for (;;) {
      await pause(clock, lookEveryMs, stopping.signal)
      if (stopping.signal.aborted) return
      try {
        for (const definition of wanted) await look(definition, false)
      } catch (error) {
        // The server is stopping, or refuses for once: the next look tells.
        if (!stopping.signal.aborted) log.error('a definition could not be kept', { error: describeError(error) })
      }
      if (problems.size > 0) continue
      for (const resolve of waiting) resolve()
      waiting = []
    }
  }

  for (const definition of wanted) await look(definition, true)
  void keep()
  return {
    problems: () => [...problems.values()],
    complete: () => (problems.size === 0 ? Promise.resolve() : new Promise(resolve => void waiting.push(resolve))),
    stop: () => stopping.abort(),
  }
}

/** Answers with what is wrong; undefined when the kind is served. */
async function settle(
  { client, fieldManager, log }: KeepOptions,
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
  // Applied, so that a newer Mooring brings its newer kinds to older data.
  const applied =
    found === undefined || isFirst
      ? await client.apply(definitions, { name }, definition, { fieldManager, isForced: true })
      : found
  return (await isServed(client, applied)) ? undefined : `the names of ${name} are taken by another kind`
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
