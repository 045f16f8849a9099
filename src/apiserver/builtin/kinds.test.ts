import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type RealSample, setPath, toComparable } from '../../../test/harness/real-samples.ts'
import { checkMetadata } from '../metadata.ts'
import { clone, type KubeObject, toAPIVersion } from '../object.ts'
import { compileSchema } from '../schema/structural.ts'
import { invalidObject } from '../status.ts'
import { wrongType } from '../wire/go-types.ts'
import { messageType } from '../wire/message-types.ts'
import { builtinKinds } from './kinds.ts'

const samples = readFileSync(new URL('./real.samples.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as RealSample)

const context = {
  now: new Date('2026-01-01T00:00:00Z'),
  user: { username: 'admin', groups: ['system:masters'] },
  randomUUID: () => 'the-uid',
}

function kindOf(object: KubeObject) {
  const found = builtinKinds.find(k => toAPIVersion(k.group, k.version) === object.apiVersion && k.kind === object.kind)
  if (found === undefined) throw new Error(`no kind ${object.kind}`)
  return found
}

/** The steps of a create, without a server. */
function create(written: KubeObject): unknown {
  const kind = kindOf(written)
  const object = clone(written)
  compileSchema(kind.schema, kind.definitions, { isBuiltin: true }).prune(object)
  const type = messageType(kind.schemaName, kind.definitions)
  const wrong = type && wrongType(object, type)
  if (wrong !== undefined) {
    return `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${wrong}`
  }
  if (kind.namespaced) object.metadata.namespace = 'default'
  kind.behaviour.applyDefaults?.(object)
  object.metadata.uid = 'the-uid'
  if (kind.behaviour.hasGeneration) object.metadata.generation = 1
  kind.behaviour.prepareForCreate?.(object, context)
  const faults = [
    ...checkMetadata(kind, object.metadata),
    ...(kind.behaviour.validate?.(object) ?? []),
    ...(kind.behaviour.validateNew?.(object) ?? []),
  ]
  if (faults.length > 0) return invalidObject(kind, object.metadata.name ?? '', faults).message
  if (kind.kind === 'Service') giveClusterIP(object.spec as Record<string, unknown>)
  return toComparable(object)
}

/** Addresses are given by the verbs, not by the kind. */
function giveClusterIP(spec: Record<string, unknown>): void {
  if (spec.type === 'ExternalName' || spec.clusterIP) return
  spec.clusterIP = '10.96.0.9'
  spec.clusterIPs = ['10.96.0.9']
}

function update(old: KubeObject, change: Readonly<Record<string, unknown>>): unknown {
  const kind = kindOf(old)
  const object = clone(old)
  for (const [path, value] of Object.entries(change)) setPath(object, path, value)
  kind.behaviour.applyDefaults?.(object)
  if (kind.subresources.some(({ name }) => name === 'status')) object.status = clone(old.status)
  kind.behaviour.prepareForUpdate?.(object, old, context)
  const faults = [
    ...(kind.behaviour.validate?.(object, old) ?? []),
    ...(kind.behaviour.validateUpdate?.(object, old) ?? []),
  ]
  if (faults.length > 0) return invalidObject(kind, object.metadata.name ?? '', faults).message
  return toComparable(object)
}

/** Generation is counted by the verbs, not by the kind. */
function withoutGeneration(answer: unknown): unknown {
  if (typeof answer === 'string') return answer
  const { generation: _, ...metadata } = (answer as KubeObject).metadata
  return { ...(answer as KubeObject), metadata }
}

const named = (wanted: (sample: RealSample) => boolean) =>
  samples.filter(wanted).map(sample => [sample.name, sample] as const)

describe('what kube-apiserver stores or refuses', () => {
  test.each(named(({ change }) => change === undefined))('%s comes out the same', (_, sample) => {
    expect(create(sample.object)).toEqual(sample.answer)
  })

  test.each(named(({ change }) => change !== undefined))('%s comes out the same', (_, { stored, change, answer }) => {
    expect(withoutGeneration(update(stored as KubeObject, change ?? {}))).toEqual(withoutGeneration(answer))
  })
})

describe('defaults', () => {
  test.each(named(({ answer }) => typeof answer !== 'string'))('of %s are the same the second time', (_, sample) => {
    const kind = kindOf(sample.object)
    const once = clone(sample.object)
    kind.behaviour.applyDefaults?.(once)
    const twice = clone(once)
    kind.behaviour.applyDefaults?.(twice)
    expect(twice).toEqual(once)
  })

  test('survive objects in which every field has the wrong type', () => {
    for (const kind of builtinKinds) {
      for (const junk of ['x', 7, true, [], [[]], [null], { a: [1] }]) {
        const object: KubeObject = { apiVersion: toAPIVersion(kind.group, kind.version), kind: kind.kind, metadata: {} }
        for (const field of Object.keys(kind.schema.properties ?? {})) {
          if (!['kind', 'apiVersion', 'metadata'].includes(field)) object[field] = junk
        }
        const where = `${kind.kind} of ${JSON.stringify(junk)}`
        expect(() => kind.behaviour.applyDefaults?.(object), where).not.toThrow()
        expect(() => kind.behaviour.prepareForCreate?.(object, context), where).not.toThrow()
        expect(() => kind.behaviour.validate?.(object), where).not.toThrow()
      }
    }
  })
})
