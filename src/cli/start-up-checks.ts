// Is everything there that each part of the controller needs: kinds, and permissions? Asked before its first pass and until
// nothing is missing; each thing that is missing is logged once, with what to do about it, and once more when it is available.
// A desk that lacks something it needs waits; the others work. A process in which no desk can work, because one of them has a
// fault, does not stand for election.

import type { UsedKind } from '../controllers/component.ts'
import { isApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type Kind, type KubeObject, nameOfKind } from '../kube/object.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import type { WaitFor } from '../runtime/domain.ts'
import { Waiters } from '../runtime/waiters.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { nameOfResource, type SinglePermission } from './permissions.ts'
import { allows, rulesEverywhere } from './rules-everywhere.ts'

export interface StartUpChecksOptions {
  readonly client: Pick<Client, 'create'>
  /** Every version in which the server has a kind. */
  readonly served: (kind: Kind) => Promise<readonly string[]>
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
  /** Which part of the controller lacks it; undefined where nothing is known about any of them. */
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

/** What is missing is asked for again, and nothing else. */
const askAgainMs = 2_000
/** A permission that was taken away later is noticed by the desk that needs it; this is for the lines of `/readyz`. */
const lookAgainMs = 10 * 60_000
/** Questions under way at once. */
const questionsMax = 8

export class StartUpChecks {
  readonly #options: StartUpChecksOptions
  readonly #changed = new Waiters()
  #lacks: readonly Lack[] | undefined

  constructor(options: StartUpChecksOptions) {
    this.#options = options
  }

  /** Why no pass of this part can begin. Empty when everything that it needs is there. */
  reasons(part: string): string[] {
    if (this.#lacks === undefined) return ['it was not checked yet what is there in the cluster']
    const isOfPart = ({ of, isNeeded }: Lack) => isNeeded && (of === part || of === undefined)
    return this.#lacks.filter(isOfPart).map(({ reason }) => reason)
  }

  /** Those of the reasons that are faults. */
  faults(part: string): string[] {
    const reasons = this.reasons(part)
    const harmless = new Set((this.#lacks ?? []).filter(({ isFault }) => !isFault).map(({ reason }) => reason))
    return reasons.filter(reason => !harmless.has(reason))
  }

  /** Resolves when everything that one of these parts needs is there; rejects when the signal is aborted before. */
  async passed(parts: readonly string[], signal: AbortSignal, waitFor?: WaitFor): Promise<void> {
    while (parts.every(part => this.reasons(part).length > 0)) {
      const reasons = parts.flatMap(part => this.reasons(part))
      const faults = parts.flatMap(part => this.faults(part))
      if (this.#lacks !== undefined) waitFor?.(reasons, faults)
      await this.#changed.until(false, signal)
    }
  }

  /** Resolves when one of these parts can work, or none has a fault; rejects when the signal is aborted before. */
  async oneOrNoFault(parts: readonly string[], signal: AbortSignal): Promise<void> {
    const noneCanWork = () => parts.every(part => this.reasons(part).length > 0)
    const isOneAtFault = () => parts.some(part => this.faults(part).length > 0)
    while (noneCanWork() && isOneAtFault()) await this.#changed.until(false, signal)
  }

  /** Looks again and again until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    let open: readonly Question[] = []
    while (!signal.aborted) {
      const { lacks, open: left } = await ask(open.length === 0 ? await this.#everything() : open)
      if (signal.aborted) return
      this.#note(lacks)
      open = left
      await pause(clock, left.length === 0 ? lookAgainMs : askAgainMs, signal)
    }
  }

  /** Without what is known to be allowed by one answer for all. */
  async #everything(): Promise<Question[]> {
    const { client, kinds, permissions } = this.#options
    const rules = await rulesEverywhere(client)
    return [
      ...kinds.map(wanted => () => this.#lookForKind(wanted)),
      ...permissions
        .filter(permission => !allows(rules, permission))
        .map(permission => () => this.#askForPermission(permission)),
    ]
  }

  async #lookForKind({ of, kind, isNeeded, comesWith, definition }: WantedKind): Promise<Lack | undefined> {
    const served = await this.#options.served(kind)
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

  async #askForPermission(permission: SinglePermission): Promise<Lack | undefined> {
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
    const { log } = this.#options
    // What was complete is not incomplete because the server does not answer.
    const isAnswered = lacks.every(({ key }) => key !== unansweredKey)
    if (!isAnswered && this.#lacks?.length === 0) return
    const before = new Map((this.#lacks ?? []).map(lack => [lack.key, lack]))
    const now = new Set(lacks.map(({ key }) => key))
    for (const { key, sentence, fields, isNeeded, isFault } of lacks) {
      if (before.has(key)) continue
      // Optional kind, or one of a product that may come later: info. Missing permission: error.
      if ((isNeeded && isFault) || key.startsWith('permission ')) log.error(sentence, fields)
      else log.info(sentence, fields)
    }
    for (const [key, { fields }] of before) {
      if (isAnswered && !now.has(key)) log.info('a missing kind or permission is now available', fields)
    }
    const wasLacking = this.#lacks === undefined || this.#lacks.some(({ isNeeded }) => isNeeded)
    this.#lacks = lacks
    this.#changed.resolve()
    if (wasLacking && !lacks.some(({ isNeeded }) => isNeeded))
      log.info('every kind and permission that is needed is there')
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

function toUnanswered(error: unknown): Lack {
  const advice = isApiError(error, 'Unauthorized')
    ? 'The account it speaks as is not known to the API server.'
    : 'Look whether the API server is reached from here.'
  return {
    of: undefined,
    key: unansweredKey,
    sentence: 'the API server does not say what is there',
    fields: { error: describeError(error), advice },
    isNeeded: true,
    isFault: true,
    reason: `the API server does not say what is there: ${describeError(error)}`,
  }
}

/** Answers with what is missing; undefined when it is there. */
type Question = () => Promise<Lack | undefined>

/** `open` are the questions to ask again: those with a lack, and those without an answer. */
async function ask(questions: readonly Question[]): Promise<{ lacks: Lack[]; open: readonly Question[] }> {
  const answers = new Map<Question, Lack | undefined>()
  const left = questions.values()
  const askInTurn = async () => {
    for (const question of left) answers.set(question, await question())
  }
  const ends = await Promise.allSettled(Array.from({ length: questionsMax }, askInTurn))
  const failed = ends.find(end => end.status === 'rejected')
  const open = questions.filter(question => !answers.has(question) || answers.get(question) !== undefined)
  const lacks = failed ? [toUnanswered(failed.reason)] : open.flatMap(question => answers.get(question) ?? [])
  return { lacks, open }
}
