// What every object has, read once and then trusted: its identity, which version of it this is, whether it is on its way
// out. Absent things have their plain default (no labels are an empty map), so that no reader has to ask twice.

import { deleteForMoveAnnotation, pausedAnnotation, watchFilterLabel } from './names.ts'
import { Repeated, shared, sharedList } from './repeated.ts'
import {
  flagOf,
  has,
  integerOf,
  ownText,
  requiredText,
  type Shape,
  shapesOf,
  textMapOf,
  textOf,
  textsOf,
} from './shape.ts'

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

/**
 * An object in its shape, which is all that a cache keeps of it: tens of thousands are held at rest. What repeats in them
 * (namespaces, pools, owners, finalizers) is there once, and literals are written out, so that each takes as little room, and as
 * little time to make, as it can.
 */
export type Parsed<T> = T & { readonly [isParsed]: true; readonly apiVersion: string; readonly kind: string }

/** Marks what is in its shape already. No object of the API can have it: it is no text. */
export const isParsed: unique symbol = Symbol('parsed')

export function metadataOf(shape: Shape): Metadata {
  return toMetadata(shape, textMapOf(shape, 'labels'), textMapOf(shape, 'annotations'))
}

/** For caches: of the labels and annotations only those that are read once the object is in its shape. */
export function keptMetadataOf(shape: Shape): Metadata {
  const labels = pick(textMapOf(shape, 'labels'), labelsKept)
  return toMetadata(shape, labels, pick(textMapOf(shape, 'annotations'), annotationsKept))
}

/** The scope of an object; whether it is paused, and whether clusterctl moves it. */
const labelsKept = [watchFilterLabel]
const annotationsKept = [pausedAnnotation, deleteForMoveAnnotation]

function pick(map: Metadata['labels'], keys: readonly string[]): Metadata['labels'] {
  let picked: Record<string, string> | undefined
  for (const key of keys) {
    const text = ownText(map, key)
    if (text !== undefined) picked = { ...picked, [key]: shared(text) }
  }
  return picked ?? nothing
}

const nothing: Metadata['labels'] = {}

function toMetadata(shape: Shape, labels: Metadata['labels'], annotations: Metadata['annotations']): Metadata {
  const name = requiredText(shape, 'name')
  return {
    name,
    namespace: shared(textOf(shape, 'namespace') ?? ''),
    uid: textOf(shape, 'uid') ?? '',
    resourceVersion: textOf(shape, 'resourceVersion') ?? '',
    generation: integerOf(shape, 'generation', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    creationTimestamp: shared(textOf(shape, 'creationTimestamp') ?? ''),
    deletionTimestamp: textOf(shape, 'deletionTimestamp'),
    labels,
    annotations,
    finalizers: sharedList(textsOf(shape, 'finalizers')),
    ownerReferences: shapesOf(shape, 'ownerReferences').map(owner => ownerReferenceOf(owner, name)),
  }
}

/** `ofName`: a controller is often called what the object is called that it owns. */
function ownerReferenceOf(shape: Shape, ofName: string): OwnerReference {
  const apiVersion = shared(requiredText(shape, 'apiVersion'))
  const kind = shared(requiredText(shape, 'kind'))
  const text = requiredText(shape, 'name')
  const name = text === ofName ? ofName : text
  const uid = requiredText(shape, 'uid')
  // A false that was written is kept: a reader that compares would otherwise see a change where there is none.
  if (!has(shape, 'controller') || !has(shape, 'blockOwnerDeletion')) {
    return {
      apiVersion,
      kind,
      name,
      uid,
      ...(has(shape, 'controller') ? { controller: flagOf(shape, 'controller') } : {}),
      ...(has(shape, 'blockOwnerDeletion') ? { blockOwnerDeletion: flagOf(shape, 'blockOwnerDeletion') } : {}),
    }
  }
  const controller = flagOf(shape, 'controller')
  const owner = { apiVersion, kind, name, uid, controller, blockOwnerDeletion: flagOf(shape, 'blockOwnerDeletion') }
  // A controller is one object's own, as a rule; the others (a pool) are many objects'.
  return controller ? owner : owners.of(`${uid} ${kind} ${name} ${apiVersion} ${owner.blockOwnerDeletion}`, owner)
}

const owners = new Repeated<OwnerReference>()

export const hasDeletionTimestamp = ({ deletionTimestamp }: Metadata): boolean => deletionTimestamp !== undefined

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

/** The namespace in such a key; empty for a cluster-scoped object. */
export function namespaceOfIdentityKey(key: string): string {
  return key.slice(key.indexOf('/') + 1, Math.max(key.indexOf('/') + 1, key.lastIndexOf('/')))
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
    apiGroup: shared(textOf(shape, 'apiGroup') ?? ''),
    kind: shared(requiredText(shape, 'kind')),
    namespace: shared(textOf(shape, 'namespace') ?? ''),
    name: requiredText(shape, 'name'),
  }
}

/** Of what many objects name (a pool): the same one for all of them. */
export function sharedIdentityOf(shape: Shape): Identity {
  const identity = identityOf(shape)
  return identities.of(identityKey(identity), identity)
}

const identities = new Repeated<Identity>()
