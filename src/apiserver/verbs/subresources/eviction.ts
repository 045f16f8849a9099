// Eviction: a delete that asks first. Webhooks are asked about the Eviction, not about the delete of the pod; then the
// pod's disruption budget. A budget that is used up answers 429: try later. The pod says in a condition why it goes.

import type { Store } from '../../../store/store.ts'
import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { toTimestamp } from '../../metadata.ts'
import { isObject, type KubeObject } from '../../object.ts'
import { getObject } from '../../objects.ts'
import {
  type DeleteOptions,
  ownWriteOptions,
  readDeleteOptions,
  readWriteOptions,
  type WriteOptions,
} from '../../options.ts'
import { badRequest, bareError, isStatus, notFound, type Status } from '../../status.ts'
import { changeObject } from '../change.ts'
import { refuseUnmetPreconditions, removeObject } from '../delete.ts'
import { admitBody } from './admit-body.ts'
import { bodyKind } from './body-kind.ts'
import { budgetsOf, isKept, isSpare, stillProcessed, takeDisruption } from './budget.ts'

const triesMax = 20

export async function evictPod(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const served = bodyKind(call)
  const given = readObject(served, source, options.fieldValidation, call.warn)
  const { body: eviction, validate } = await admitBody(call, world, options, { served, given })
  if (eviction.metadata.name !== call.request.name) {
    throw badRequest('name in URL does not match name in Eviction object')
  }
  const deleteOptions = propagateDryRun(eviction, options)
  await validate(eviction)
  const asked = readDeleteOptions(call.request.query, deleteOptions)
  return evict(call, world, asked)
}

/** A dry run may be asked for in the query or in the Eviction, which then shows it if it has options at all. */
function propagateDryRun(eviction: KubeObject, { dryRun }: WriteOptions): Record<string, unknown> {
  if (!isObject(eviction.deleteOptions)) return dryRun ? { dryRun: ['All'] } : {}
  const { deleteOptions } = eviction
  const given = Array.isArray(deleteOptions.dryRun) ? deleteOptions.dryRun.map(String) : []
  if (!dryRun) return deleteOptions
  if (given.length === 0) deleteOptions.dryRun = ['All']
  else if (given.length !== 1 || given[0] !== 'All') {
    throw bareError(`Non-matching dry-run options in request and content: [All] and [${given.join(' ')}]`)
  }
  return deleteOptions
}

async function evict(call: Call, world: World, asked: DeleteOptions): Promise<Answer> {
  const isFixed = asked.preconditions.resourceVersion !== undefined
  for (let tries = 1; ; tries++) {
    const pod = getObject(world.store, call.resource, call.request.namespace, call.request.name)
    if (pod === undefined) throw notFound(call.resource, call.request.name)
    if (!isUncounted(pod)) return evictCounted(call, world, pod, asked)
    try {
      return await remove(call, world, isEnding(pod) ? asked : atVersion(pod, asked))
    } catch (error) {
      if (!isStatus(error, 'Conflict') || isFixed || tries === triesMax) throw error
    }
  }
}

/** It never ran, has ended or is about to: its budget does not count it. */
function isUncounted(pod: KubeObject): boolean {
  return isEnding(pod) || phaseOf(pod) === 'Pending'
}

function isEnding(pod: KubeObject): boolean {
  return ['Succeeded', 'Failed'].includes(phaseOf(pod)) || !!pod.metadata.deletionTimestamp
}

async function evictCounted(call: Call, world: World, pod: KubeObject, asked: DeleteOptions): Promise<Answer> {
  const [budget, ...others] = budgetsOf(world, pod)
  if (others.length > 0) {
    throw bareError('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  }
  if (budget === undefined) return remove(call, world, asked)
  const act = () => evictWithin(call, world, budget, pod, asked)
  return isKept(budget) ? act() : inTurn(world.store, act)
}

async function evictWithin(
  call: Call,
  world: World,
  budget: KubeObject,
  pod: KubeObject,
  asked: DeleteOptions,
): Promise<Answer> {
  if (!isSpare(world, budget, pod)) {
    await takeDisruption(call, world, budget, pod, asked.dryRun)
    return remove(call, world, asked)
  }
  try {
    return await remove(call, world, atVersion(pod, asked))
  } catch (error) {
    // It may have become ready meanwhile.
    const isOurs = isStatus(error, 'Conflict') && asked.preconditions.resourceVersion === undefined
    throw isOurs ? stillProcessed(budget.metadata.name ?? '') : error
  }
}

/** What was decided holds for the pod as it was read. */
function atVersion({ metadata }: KubeObject, asked: DeleteOptions): DeleteOptions {
  const { resourceVersion = metadata.resourceVersion ?? '' } = asked.preconditions
  return { ...asked, preconditions: { ...asked.preconditions, resourceVersion } }
}

async function remove(call: Call, world: World, asked: DeleteOptions): Promise<Answer> {
  const remaining = asked.dryRun ? asked : await announce(call, world, asked)
  const deletion: Call = { ...call, request: { ...call.request, verb: 'delete', subresource: '' } }
  await removeObject(deletion, world, remaining, async () => {})
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
  return { type: 'status', status }
}

/** Writes the condition; the delete that follows is about the version that this made. */
async function announce(call: Call, world: World, asked: DeleteOptions): Promise<DeleteOptions> {
  const statusCall: Call = { ...call, request: { ...call.request, verb: 'update', subresource: 'status' } }
  const answer = await changeObject(statusCall, world, {
    options: ownWriteOptions,
    isAdmitted: true,
    transform: pod => {
      refuseUnmetPreconditions(statusCall, pod, asked)
      return withCondition(pod, toTimestamp(world.now()))
    },
    // No manager owns the condition.
    record: () => {},
  })
  const { resourceVersion } = asked.preconditions
  if (resourceVersion === undefined || answer.type !== 'entry') return asked
  return { ...asked, preconditions: { ...asked.preconditions, resourceVersion: String(answer.entry.revision) } }
}

function withCondition(pod: KubeObject, time: string): KubeObject {
  const status = isObject(pod.status) ? pod.status : {}
  const conditions = (Array.isArray(status.conditions) ? status.conditions : []).filter(isObject)
  const known = conditions.find(({ type }) => type === 'DisruptionTarget')
  const wanted = {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: known?.status === 'True' ? known.lastTransitionTime : time,
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  const rest =
    known === undefined
      ? [...conditions, wanted]
      : conditions.map(condition => (condition === known ? wanted : condition))
  return { ...pod, status: { ...status, conditions: rest } }
}

function phaseOf({ status }: KubeObject): string {
  return isObject(status) && typeof status.phase === 'string' ? status.phase : ''
}

const turns = new WeakMap<Store, Promise<unknown>>()

/** A drain evicts many pods at once. Where pods are counted, each is after the one before it has gone. */
function inTurn<T>(store: Store, act: () => Promise<T>): Promise<T> {
  const before = turns.get(store) ?? Promise.resolve()
  const mine = before.then(act)
  turns.set(
    store,
    mine.catch(() => {}),
  )
  return mine
}
