// What every object has, read once and then trusted: its identity, which version of it this is, whether it is on its way
// out. Absent things have their plain default (no labels are an empty map), so that no reader has to ask twice.

import { pausedAnnotation } from './names.ts'
import { flagOf, has, integerOf, requiredText, type Shape, shapesOf, textMapOf, textOf, textsOf } from './shape.ts'

/** A kind as it is addressed: `/apis/<group>/<version>/[namespaces/<ns>/]<plural>`. */
export interface VersionedKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
}

export const apiVersionOf = ({ group, version }: Pick<VersionedKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface Metadata {
  readonly name: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  /** As the server wrote it, RFC 3339 in UTC to the second, so texts compare as times do. */
  readonly creationTimestamp: string
  readonly deletionTimestamp: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly finalizers: readonly string[]
  readonly ownerReferences: readonly OwnerReference[]
}

export function metadataOf(shape: Shape): Metadata {
  return {
    name: requiredText(shape, 'name'),
    namespace: textOf(shape, 'namespace') ?? '',
    uid: textOf(shape, 'uid') ?? '',
    resourceVersion: textOf(shape, 'resourceVersion') ?? '',
    generation: integerOf(shape, 'generation', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    creationTimestamp: textOf(shape, 'creationTimestamp') ?? '',
    deletionTimestamp: textOf(shape, 'deletionTimestamp'),
    labels: textMapOf(shape, 'labels'),
    annotations: textMapOf(shape, 'annotations'),
    finalizers: textsOf(shape, 'finalizers'),
    ownerReferences: shapesOf(shape, 'ownerReferences').map(ownerReferenceOf),
  }
}

function ownerReferenceOf(shape: Shape): OwnerReference {
  return {
    apiVersion: requiredText(shape, 'apiVersion'),
    kind: requiredText(shape, 'kind'),
    name: requiredText(shape, 'name'),
    uid: requiredText(shape, 'uid'),
    // A false that was written is kept: a reader that compares would otherwise see a change where there is none.
    ...(has(shape, 'controller') ? { controller: flagOf(shape, 'controller') } : {}),
    ...(has(shape, 'blockOwnerDeletion') ? { blockOwnerDeletion: flagOf(shape, 'blockOwnerDeletion') } : {}),
  }
}

export const isDeleting = ({ deletionTimestamp }: Metadata): boolean => deletionTimestamp !== undefined

/** The annotation counts with any value, "false" included: that is what every Cluster API controller does. */
export const hasPausedAnnotation = ({ annotations }: Metadata): boolean => Object.hasOwn(annotations, pausedAnnotation)

// --- identity ---

/** Names an object without its version: the same object under every version of its kind. */
export interface Identity {
  readonly apiGroup: string
  readonly kind: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/**
 * One text per identity, `Kind.group/namespace/name` or `Kind.group/name`: no part has a slash, and no kind has a dot. It is
 * the only spelling of a pool's key.
 */
export function identityKey({ apiGroup, kind, namespace, name }: Identity): string {
  // Holds, claims and reports of one pool come in rows: its key is made once, and is the same text to every map it is looked up in.
  const { of } = lastKey
  if (of.name === name && of.namespace === namespace && of.kind === kind && of.apiGroup === apiGroup) return lastKey.key
  const key = namespace === '' ? `${kind}.${apiGroup}/${name}` : `${kind}.${apiGroup}/${namespace}/${name}`
  lastKey = { of: { apiGroup, kind, namespace, name }, key }
  return key
}

let lastKey: { readonly of: Identity; readonly key: string } = {
  of: { apiGroup: '', kind: '', namespace: '', name: '' },
  key: './',
}

/** Undefined for a text that is no key. Whether such a kind exists is not asked. */
export function parseIdentityKey(key: string): Identity | undefined {
  const [kindAndGroup = '', ...path] = key.split('/')
  const dot = kindAndGroup.indexOf('.')
  if (dot < 1 || path.length < 1 || path.length > 2 || path.includes('')) return undefined
  const [name = '', namespace = ''] = path.reverse()
  return { apiGroup: kindAndGroup.slice(dot + 1), kind: kindAndGroup.slice(0, dot), namespace, name }
}

export function identityOf(shape: Shape): Identity {
  return {
    apiGroup: textOf(shape, 'apiGroup') ?? '',
    kind: requiredText(shape, 'kind'),
    namespace: textOf(shape, 'namespace') ?? '',
    name: requiredText(shape, 'name'),
  }
}
