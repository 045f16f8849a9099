// Scale: one number of an object, seen and changed without knowing the object's kind. Built-in kinds keep it in
// `spec.replicas`; a custom kind says where with JSON paths.

import { parseJSON } from '../../../json.ts'
import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { invalid } from '../../faults.ts'
import { parseMediaType } from '../../media.ts'
import { clone, getOwn, isObject, type JSONValue, type KubeObject, setOwn } from '../../object.ts'
import { keyOf } from '../../objects.ts'
import { readWriteOptions } from '../../options.ts'
import { applyJSONPatch } from '../../patch/json-patch.ts'
import { applyMergePatch } from '../../patch/merge-patch.ts'
import { formatLabelSelector, fromLabelSelectorObject, type LabelSelectorObject } from '../../selectors/labels.ts'
import {
  badRequest,
  conflict,
  invalidObject,
  modifiedMeanwhile,
  notFound,
  type StatusError,
  unsupportedMediaType,
} from '../../status.ts'
import { atCallVersion, changeObject, updateAdmission } from '../change.ts'
import { bodyKind } from './body-kind.ts'

export async function getScale(call: Call, world: World): Promise<Answer> {
  const entry = world.store.get(keyOf(call.resource, call.request.namespace, call.request.name))
  if (entry === undefined) throw notFound(call.resource, call.request.name)
  return { type: 'object', code: 200, object: toScale(call, await atCallVersion(call, entry)) }
}

export async function updateScale(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'UpdateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const scale = readObject(bodyKind(call), source, options.fieldValidation, call.warn)
  if (scale.metadata.name !== call.request.name) {
    throw badRequest(
      `the name of the object (${scale.metadata.name ?? ''}) does not match the name on the URL (${call.request.name})`,
    )
  }
  scale.status ??= { replicas: 0 }
  return changeScale(call, world, 'UpdateOptions', () => scale)
}

export async function patchScale(call: Call, world: World): Promise<Answer> {
  const { value } = parseJSON(call.body.toString('utf8'))
  const type = parseMediaType(call.headers.contentType ?? '').type
  return changeScale(call, world, 'PatchOptions', existing => patched(type, existing, value))
}

function patched(type: string, scale: KubeObject, value: JSONValue): KubeObject {
  const document = scale as unknown as JSONValue
  switch (type) {
    case 'application/json-patch+json':
      return applyJSONPatch(document, value) as unknown as KubeObject
    case 'application/merge-patch+json':
    // A Scale has no lists, so the two merges are the same.
    case 'application/strategic-merge-patch+json':
    case 'application/apply-patch+yaml':
      return applyMergePatch(document, value) as unknown as KubeObject
    default:
      throw unsupportedMediaType(`the body of the request was in an unknown format: ${type}`)
  }
}

async function changeScale(
  call: Call,
  world: World,
  optionsKind: 'UpdateOptions' | 'PatchOptions',
  want: (existing: KubeObject) => KubeObject,
): Promise<Answer> {
  const isApply = call.headers.contentType?.startsWith('application/apply-patch') ?? false
  const options = readWriteOptions(call.request.query, optionsKind, isApply)
  const answer = await changeObject(call, world, {
    options,
    shownAs: parent => toScale(call, parent),
    transform: async parent => {
      const oldObject = toScale(call, parent)
      const object = want(clone(oldObject))
      const admission = { ...updateAdmission(call, options), object, oldObject }
      const scale = (await world.admission.mutate(admission)) ?? object
      const asked = scale.metadata.resourceVersion ?? ''
      if (asked !== '' && asked !== parent.metadata.resourceVersion) {
        throw conflict(call.resource, call.request.name, modifiedMeanwhile)
      }
      const replicas = getOwn(scale.spec, 'replicas') ?? 0
      if (typeof replicas !== 'number' || replicas < 0) throw negative(call, replicas)
      write(parent, paths(call).replicas, replicas)
      return parent
    },
  })
  if (answer.type === 'entry') {
    const object = await atCallVersion(call, answer.entry)
    return { type: 'object', code: 200, object: toScale(call, object) }
  }
  return answer.type === 'object' ? { ...answer, object: toScale(call, answer.object) } : answer
}

/** A custom kind is refused as itself, with its own path. */
function negative({ served, request }: Call, replicas: unknown): StatusError {
  const { kind } = served
  if (kind.scale === undefined) {
    const fault = invalid('spec.replicas', replicas, 'must be greater than or equal to 0')
    return invalidObject({ group: 'autoscaling', kind: 'Scale' }, request.name, [fault])
  }
  const fault = invalid(kind.scale.specReplicasPath, replicas, 'should be a non-negative integer')
  return invalidObject(kind, request.name, [fault])
}

interface ScalePaths {
  readonly replicas: readonly string[]
  readonly current: readonly string[]
  readonly selector: readonly string[] | undefined
}

function paths(call: Call): ScalePaths {
  const { scale } = call.served.kind
  if (scale === undefined)
    return { replicas: ['spec', 'replicas'], current: ['status', 'replicas'], selector: ['spec', 'selector'] }
  const steps = (path: string) => path.split('.').filter(step => step !== '')
  return {
    replicas: steps(scale.specReplicasPath),
    current: steps(scale.statusReplicasPath),
    selector: scale.labelSelectorPath === undefined ? undefined : steps(scale.labelSelectorPath),
  }
}

function toScale(call: Call, parent: KubeObject): KubeObject {
  const { replicas, current, selector } = paths(call)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata
  const wanted = read(parent, replicas)
  const selected = selector === undefined ? undefined : toSelectorText(read(parent, selector))
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: typeof wanted === 'number' && wanted !== 0 ? { replicas: wanted } : {},
    status: { replicas: read(parent, current) ?? 0, ...(selected !== undefined && { selector: selected }) },
  }
}

function toSelectorText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (!isObject(value)) return undefined
  const isPlainMap = Object.values(value).every(item => typeof item === 'string')
  const selector = fromLabelSelectorObject((isPlainMap ? { matchLabels: value } : value) as LabelSelectorObject)
  return formatLabelSelector(selector.requirements)
}

function read(object: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((value, step) => getOwn(value, step), object)
}

function write(object: KubeObject, steps: readonly string[], value: number): void {
  let place: object = object
  for (const step of steps.slice(0, -1)) {
    const next = getOwn(place, step)
    const inner = isObject(next) ? next : {}
    setOwn(place, step, inner)
    place = inner
  }
  setOwn(place, steps.at(-1) ?? 'replicas', value)
}
