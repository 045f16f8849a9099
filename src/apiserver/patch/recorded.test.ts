// What a real kube-apiserver 1.35.4 answered, step by step, and whether ours still comes to the same. Each line of the
// recording is one request; the object it met is what the real server had answered before. `same` says what is
// compared. It was filled in from what agreed when the recording was made, so this guards against change and proves no
// more: what did not agree then is left out, mostly because a real server goes on to default, admit, allocate and
// validate, which is not the business of this folder.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin/types.ts'
import { clone, type JSONValue, type KubeObject } from '../object.ts'
import type { Schema } from '../schema/schema.ts'
import { type Status, StatusError } from '../status.ts'
import { type OwnershipOptions, serverSideApply, trackUpdate } from './apply.ts'
import { applyJSONPatch } from './json-patch.ts'
import { applyMergePatch } from './merge-patch.ts'
import { applyStrategicMergePatch } from './strategic-merge.ts'

interface Recorded {
  title: string
  object: string
  kind: string
  verb: 'apply' | 'write' | 'json-patch' | 'merge-patch' | 'strategic-merge-patch'
  manager: string
  force?: boolean
  subresource?: string
  body: JSONValue
  real: KubeObject | Status
  same: ('status' | 'managedFields' | 'object' | 'patched object')[]
}

const text: Schema = { type: 'string' }
const thing: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        name: text,
        count: { type: 'integer' },
        tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        plain: { type: 'array', items: text },
        ports: {
          type: 'array',
          items: {
            type: 'object',
            required: ['port', 'proto'],
            properties: { port: { type: 'integer' }, proto: { type: 'string', default: 'TCP' }, note: text },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'proto'],
        },
        atom: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text, b: text } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        half: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { known: { type: 'object', properties: { x: text } } },
        },
        map: { type: 'object', additionalProperties: { type: 'object', properties: { v: text } } },
        ios: { 'x-kubernetes-int-or-string': true },
        emb: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
        nul: { type: 'string', nullable: true },
        def: { type: 'string', default: 'D' },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: text,
        conditions: {
          type: 'array',
          items: { type: 'object', required: ['type'], properties: { type: text, status: text } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
        },
      },
    },
  },
}

const kinds: Record<string, { apiVersion: string; schema: Schema; isCustom: boolean }> = {
  ConfigMap: { apiVersion: 'v1', schema: builtinSchema('io.k8s.api.core.v1.ConfigMap'), isCustom: false },
  Deployment: { apiVersion: 'apps/v1', schema: builtinSchema('io.k8s.api.apps.v1.Deployment'), isCustom: false },
  Pod: { apiVersion: 'v1', schema: builtinSchema('io.k8s.api.core.v1.Pod'), isCustom: false },
  Role: {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    schema: builtinSchema('io.k8s.api.rbac.v1.Role'),
    isCustom: false,
  },
  Service: { apiVersion: 'v1', schema: builtinSchema('io.k8s.api.core.v1.Service'), isCustom: false },
  Thing: { apiVersion: 'example.com/v1', schema: thing, isCustom: true },
}

const steps = readFileSync(new URL('./recorded.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Recorded)

describe('what a real server answered', () => {
  const store = new Map<string, KubeObject>()
  for (const step of steps) {
    const live = store.get(step.object)
    if (!isApiError(step.real)) store.set(step.object, step.real)
    if (step.same.length > 0) it(`${step.object}: ${step.title}`, () => replay(step, live && clone(live)))
  }
})

function replay(step: Recorded, live: KubeObject | undefined): void {
  const before = clone({ live, body: step.body })
  const mine = answer(step, live)
  expect({ live, body: step.body }, 'arguments stay as they were').toEqual(before)
  if (step.same.includes('status'))
    expect(withSortedCauses(mine as Status)).toEqual(withSortedCauses(step.real as Status))
  if (isApiError(step.real)) return
  const object = mine as KubeObject
  if (step.same.includes('managedFields')) {
    expect(object.metadata.managedFields ?? []).toEqual(step.real.metadata.managedFields ?? [])
  }
  if (step.same.includes('object')) expect(content(object)).toEqual(content(step.real))
}

function answer(step: Recorded, live: KubeObject | undefined): KubeObject | Status {
  try {
    if (step.verb === 'apply') {
      const { body: applied, force = false } = step
      return serverSideApply({ ...toOptions(step), live, applied, force }).object
    }
    const sent = patched(step, live)
    if (step.same.includes('patched object')) expect(content(sent)).toEqual(content(step.real as KubeObject))
    if (isApiError(step.real)) return step.real
    const updated = clone(step.real)
    const { managedFields } = sent.metadata
    delete updated.metadata.managedFields
    if (managedFields !== undefined) updated.metadata.managedFields = managedFields
    updated.metadata.managedFields = trackUpdate({ ...toOptions(step), live, updated })
    return updated
  } catch (error) {
    if (error instanceof StatusError) return error.status
    throw error
  }
}

function toOptions({ kind, manager, subresource, real }: Recorded): OwnershipOptions {
  const known = kinds[kind]
  if (known === undefined) throw new Error(`no schema for ${kind}`)
  return {
    ...known,
    kind,
    manager,
    definitions: builtinDefinitions,
    now: isApiError(real) ? new Date(0) : timeOfWrite(real),
    resetFields: subresource === 'status' ? [['spec'], ['metadata', 'labels']] : [['status']],
    ...(subresource !== undefined && { subresource }),
  }
}

/** The order of entries depends on their times, so the clock must be the one the recording was made by. */
function timeOfWrite(real: KubeObject): Date {
  const times = (real.metadata.managedFields ?? []).flatMap(({ time }) =>
    time === undefined ? [] : [Date.parse(time)],
  )
  return new Date(Math.max(0, ...times))
}

function patched(step: Recorded, live: KubeObject | undefined): KubeObject {
  const object = live as unknown as JSONValue
  const { body } = step
  switch (step.verb) {
    case 'json-patch':
      return applyJSONPatch(object, body) as unknown as KubeObject
    case 'merge-patch':
      return applyMergePatch(object, body) as unknown as KubeObject
    case 'strategic-merge-patch': {
      const { schema, definitions } = toOptions(step)
      return applyStrategicMergePatch(object, body, schema, definitions) as unknown as KubeObject
    }
    default:
      return body as unknown as KubeObject
  }
}

function isApiError(answer: KubeObject | Status): answer is Status {
  return answer.kind === 'Status'
}

/** Go lists the managers of a conflict in any order. */
function withSortedCauses(status: Status): unknown {
  const causes = status.details?.causes?.map(cause => JSON.stringify(cause)).sort()
  return causes === undefined ? status : { ...status, details: { causes } }
}

function content({ metadata, ...rest }: KubeObject): unknown {
  const { managedFields: _, resourceVersion: __, generation: ___, ...kept } = metadata
  return { metadata: kept, ...rest }
}
