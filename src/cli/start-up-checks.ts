// Is everything there that each part of the controller needs: kinds, and permissions? Asked before its first pass, and then for as
// long as the process runs: everything twice a minute, for a permission may be taken away, and what is missing every two seconds for
// a minute after the last change, then ever less often; in most clusters the kinds of some products are missing for good. When a kind
// that is followed comes, or cannot be read any more, everything is asked for at once. Each thing that is missing is logged once, with
// what to do about it, and once more when it is available. A desk that lacks something it needs waits; the others work. A process in
// which no desk can work at its start, because one of them has a fault, does not stand for election.
//
// A server that does not answer has taken nothing away: what it said last stands. What it never said holds up the part that needs
// it, and no other. And what was there is missing only when the server says so twice in a row: an authorizer that cannot decide, and
// a server that starts, say no for a moment.

import type { PolicyRule } from '../apiserver/authz/rule.ts'
import type { UsedKind } from '../controllers/component.ts'
import { isApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import type { Discovery, ServedVersions } from '../kube/discovery.ts'
import { defineKind, type KubeObject, nameOfKind } from '../kube/object.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import type { Admission } from '../runtime/domain.ts'
import { Waiters } from '../runtime/waiters.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { nameOfResource, type SinglePermission } from './permissions.ts'
import { allows, rulesEverywhere } from './rules-everywhere.ts'

export interface StartUpChecksOptions {
  readonly client: Pick<Client, 'create'>
  readonly discovery: Pick<Discovery, 'look'>
  readonly clock: Clock
  readonly log: Log
  readonly kinds: readonly WantedKind[]
  readonly permissions: readonly SinglePermission[]
}

export interface WantedKind extends UsedKind {
  /** Which part of the controller needs it. */
  readonly of: string
}

/** One thing that is missing. */
export interface Lack {
  /** Which part of the controller lacks it; undefined where the server never said anything about any of them. */
  readonly of: string | undefined
  /** Tells it from every other. */
  readonly key: string
  readonly sentence: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly isNeeded: boolean
  /** False for a kind of a desk that is not installed: the product that brings it may come later. */
  readonly isFault: boolean
  /** As it stands in `/readyz`. */
  readonly reason: string
}

/** What is missing, or was not answered, is asked for again, */
const askAgainMs = 2_000
/** so often for so long after something came or went, as while an installation is being completed; then each time half as often. */
const freshMs = 60_000
/** Everything is. Where roles allow it everywhere, that is one request for all permissions. */
const lookAgainMs = 30_000
/** Questions under way at once. */
const questionsMax = 8

export class StartUpChecks {
  readonly #options: StartUpChecksOptions
  readonly #questions: readonly Question[]
  readonly #answers = new Map<Question, Lack | undefined>()
  /** What was there, and is missing by the last answer. */
  readonly #doubted = new Set<Question>()
  readonly #changed = new Waiters()
  readonly #onChange: (() => void)[] = []
  #lacks: readonly Lack[] | undefined
  #changedAtMs: number
  /** Ends the pause before the next look, which is at everything. */
  #hint = new AbortController()

  constructor(options: StartUpChecksOptions) {
    this.#options = options
    this.#changedAtMs = options.clock.monotonicMs()
    this.#questions = [
      ...options.kinds.map(
        (wanted): Question => ({
          of: wanted.of,
          isNeeded: wanted.isNeeded,
          ask: ({ served }) => lookForKind(wanted, served),
        }),
      ),
      ...options.permissions.map(
        (permission): Question => ({
          of: permission.of,
          isNeeded: permission.isNeeded,
          ask: look => this.#askForPermission(permission, look),
        }),
      ),
    ]
  }

  /** Why no pass of this part can begin. Empty when everything that it needs is there. */
  reasons(part: string): string[] {
    if (this.#lacks === undefined) return ['it was not checked yet what is there in the cluster']
    return this.#missing(part).map(({ reason }) => reason)
  }

  /** Permissions that are missing and hold up none of these parts: something does not work without them all the same. */
  notes(parts: readonly string[]): string[] {
    const lacks = (this.#lacks ?? []).filter(({ key }) => key.startsWith('permission '))
    return lacks.flatMap(({ of, isNeeded, reason }) =>
      isNeeded && parts.includes(of ?? '') ? [] : [`${of} ${reason}`],
    )
  }

  /** What this part waits for, now and for as long as it is asked about. */
  admissionOf(part: string): Admission {
    return {
      missing: () => (this.#lacks === undefined ? undefined : this.#missing(part)),
      onChange: changed => this.#onChange.push(changed),
      lookAgain: () => this.#hint.abort(),
    }
  }

  /** Resolves when everything that this part needs is there; rejects when the signal is aborted before. */
  async passed(part: string, signal: AbortSignal): Promise<void> {
    while (this.reasons(part).length > 0) await this.#changed.until(false, signal)
  }

  /** Resolves when one of these parts can work, or none has a fault; rejects when the signal is aborted before. */
  async oneOrNoFault(parts: readonly string[], signal: AbortSignal): Promise<void> {
    const noneCanWork = () => parts.every(part => this.reasons(part).length > 0)
    const isOneAtFault = () =>
      this.#lacks === undefined || parts.some(part => this.#missing(part).some(({ isFault }) => isFault))
    while (noneCanWork() && isOneAtFault()) await this.#changed.until(false, signal)
  }

  /** Checks again and again until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    let open: readonly Question[] = []
    let [wholeAtMs, pauseMs] = [0, askAgainMs]
    while (!signal.aborted) {
      const isWhole = open.length === 0 || this.#hint.signal.aborted || clock.monotonicMs() - wholeAtMs >= lookAgainMs
      if (isWhole) {
        wholeAtMs = clock.monotonicMs()
        this.#hint = new AbortController()
      }
      const asked = isWhole ? this.#questions : open
      const { answers, failures } = await ask(asked, this.#look())
      if (signal.aborted) return
      for (const [question, lack] of answers) this.#keep(question, lack)
      open = asked.filter(question => !answers.has(question) || answers.get(question) !== undefined)
      this.#note(this.#known(failures))
      pauseMs = this.#isFresh() ? askAgainMs : Math.min(2 * pauseMs, lookAgainMs)
      await this.#pause(open.length === 0 ? lookAgainMs : pauseMs, signal)
    }
  }

  #isFresh(): boolean {
    return this.#doubted.size > 0 || this.#options.clock.monotonicMs() - this.#changedAtMs < freshMs
  }

  /** However often something comes and goes, there is time between two looks. */
  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    await pause(clock, askAgainMs, signal)
    await pause(clock, delayMs - askAgainMs, AbortSignal.any([signal, this.#hint.signal]))
  }

  #look(): Look {
    const { client, discovery } = this.#options
    let rules: Promise<readonly PolicyRule[]> | undefined
    return {
      served: discovery.look(),
      rules: () => {
        rules ??= rulesEverywhere(client)
        return rules
      },
    }
  }

  #missing(part: string): Lack[] {
    return (this.#lacks ?? []).filter(({ of, isNeeded }) => isNeeded && (of === part || of === undefined))
  }

  #keep(question: Question, lack: Lack | undefined): void {
    const wasThere = this.#answers.has(question) && this.#answers.get(question) === undefined
    if (wasThere && lack !== undefined && !this.#doubted.has(question)) {
      this.#doubted.add(question)
      return
    }
    this.#doubted.delete(question)
    this.#answers.set(question, lack)
  }

  /** What was never answered about a part stands for all that it may lack besides. */
  #known(failures: ReadonlyMap<Question, unknown>): Lack[] {
    const unanswered = new Map<string | undefined, Lack>()
    for (const [question, error] of failures) {
      if (this.#answers.has(question)) continue
      const of = this.#answers.size === 0 ? undefined : question.of
      const known = unanswered.get(of)
      if (known?.isNeeded !== true) unanswered.set(of, toUnanswered(of, error, question.isNeeded))
    }
    return [...unanswered.values(), ...this.#questions.flatMap(question => this.#answers.get(question) ?? [])]
  }

  async #askForPermission(permission: SinglePermission, { rules }: Look): Promise<Lack | undefined> {
    if (allows(await rules(), permission)) return undefined
    const { of, verb, group, resource, subresource, name, namespace, without, isNeeded } = permission
    const resourceAttributes = { verb, group, resource, subresource, name, namespace }
    const { status } = await this.#options.client.create(selfReviews, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec: { resourceAttributes },
    })
    if (status?.allowed === true) return undefined
    const what = nameOfResource(permission)
    const where = namespace === '' ? '' : ` in namespace ${namespace}`
    return {
      of,
      key: `permission ${verb} ${what} ${namespace} ${name ?? ''} for ${of}`,
      sentence: 'a permission is missing',
      fields: {
        desk: of,
        verb,
        resource: what,
        ...(name !== undefined && { name }),
        ...(namespace !== '' && { namespace }),
        without,
        advice: 'Apply the roles of config/rbac that belong to this version.',
      },
      isNeeded,
      isFault: true,
      reason: `may not ${verb} ${what}${where}: without it, ${without}`,
    }
  }

  #note(lacks: readonly Lack[]): void {
    const { clock, log } = this.#options
    const before = new Map((this.#lacks ?? []).map(lack => [lack.key, lack]))
    const now = new Set(lacks.map(({ key }) => key))
    for (const { key, sentence, fields, isNeeded, isFault } of lacks) {
      if (before.has(key)) continue
      // Optional kind, or one of a product that may come later: info. Missing permission: error.
      if ((isNeeded && isFault) || key.startsWith('permission ')) log.error(sentence, fields)
      else log.info(sentence, fields)
    }
    for (const [key, { fields }] of before) {
      if (!now.has(key) && !key.startsWith(unansweredKey))
        log.info('a missing kind or permission is now available', fields)
    }
    if (lacks.length !== before.size || lacks.some(({ key }) => !before.has(key)))
      this.#changedAtMs = clock.monotonicMs()
    const wasLacking = this.#lacks === undefined || this.#lacks.some(({ isNeeded }) => isNeeded)
    this.#lacks = lacks
    this.#changed.resolve()
    for (const changed of this.#onChange) changed()
    if (wasLacking && !lacks.some(({ isNeeded }) => isNeeded))
      log.info('every kind and permission that is needed is there')
  }
}

async function lookForKind(
  { of, kind, isNeeded, comesWith, definition }: WantedKind,
  servedOf: Look['served'],
): Promise<Lack | undefined> {
  const served = await servedOf(kind)
  if (kind.versions.some(version => served.includes(version))) return undefined
  const name = nameOfKind(kind)
  const isAbsent = served.length === 0
  const what = isAbsent ? 'is not installed' : `is served as ${served.join(', ')} only`
  const ours = isAbsent && definition !== undefined ? `; elsewhere, install it: ${installing(of)}` : ''
  return {
    of,
    key: `kind ${name} for ${of}`,
    sentence: 'a kind is missing',
    fields: {
      desk: of,
      kind: name,
      wanted: kind.versions.join(' or '),
      ...(!isAbsent && { served: served.join(', ') }),
      advice: `It comes with ${comesWith}${ours}.`,
    },
    isNeeded,
    isFault: !isAbsent || of === 'office',
    reason: `${name} ${what}: it comes with ${comesWith}${ours}`,
  }
}

/** `create` and not `apply`: a definition that has come meanwhile is not overwritten. */
const installing = (desk: string): string => `mooring definitions ${desk} | kubectl create -f -`

interface SelfReview extends KubeObject {
  readonly spec: object
  readonly status?: { readonly allowed?: boolean }
}

const selfReviews = defineKind<SelfReview>({
  group: 'authorization.k8s.io',
  versions: ['v1'],
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
})

const unansweredKey = 'answer'

function toUnanswered(of: string | undefined, error: unknown, isNeeded: boolean): Lack {
  const advice = isApiError(error, 'Unauthorized')
    ? 'The account it speaks as is not known to the API server.'
    : 'Look whether the API server is reached from here.'
  return {
    of,
    key: `${unansweredKey} ${of ?? ''}`,
    sentence: 'the API server does not say what is there',
    fields: { ...(of !== undefined && { desk: of }), error: describeError(error), advice },
    isNeeded,
    isFault: true,
    reason: `the API server does not say what is there: ${describeError(error)}`,
  }
}

interface Question {
  readonly of: string
  readonly isNeeded: boolean
  /** Answers with what is missing; undefined when it is there. */
  readonly ask: (look: Look) => Promise<Lack | undefined>
}

/** What many questions of one look share. */
interface Look {
  readonly served: ServedVersions
  /** What roles allow everywhere needs no question of its own. */
  readonly rules: () => Promise<readonly PolicyRule[]>
}

interface Answers {
  /** Of those that were answered. */
  readonly answers: ReadonlyMap<Question, Lack | undefined>
  /** Of the others: why they were not. */
  readonly failures: ReadonlyMap<Question, unknown>
}

async function ask(questions: readonly Question[], look: Look): Promise<Answers> {
  const answers = new Map<Question, Lack | undefined>()
  const failures = new Map<Question, unknown>()
  const left = questions.values()
  const askInTurn = async () => {
    for (const question of left) {
      try {
        answers.set(question, await question.ask(look))
      } catch (error) {
        failures.set(question, error)
      }
    }
  }
  await Promise.all(Array.from({ length: questionsMax }, askInTurn))
  return { answers, failures }
}
