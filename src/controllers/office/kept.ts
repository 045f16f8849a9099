// What caches keep of kinds of which there are many (claims, holds, IPAddresses): the shape that decisions are made on, and no
// second one. What repeats in them (namespaces, pools, owners, finalizers) is there once.

import type { ClaimReference } from '../../api/lock.ts'
import { watchFilterLabel } from '../../api/names.ts'
import { type Identity, identityKey, type Metadata, type OwnerReference } from '../../api/object.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'
import { Repeated } from '../../kube/repeated.ts'

/** Marks what is in its shape already. No object of the API can have it: it is no text. */
export const isParsed: unique symbol = Symbol('parsed')

/** An object as the cache keeps it: its shape, and what an event about it names. */
type Kept<T> = T & { readonly [isParsed]: true; readonly apiVersion: string; readonly kind: string }

type Slim<T> = (parsed: T, apiVersion: string, kind: string) => Kept<T>

interface Reader<T> {
  readonly of: (object: object) => T | Malformed
  /** For the cache. What cannot be read stays as it came, without its managedFields. */
  readonly keep: (object: KubeObject) => KubeObject
}

/** Literals of `slim` are written out, so that each shape takes as little room as it can. */
export function reader<T extends { readonly metadata: Metadata }>(
  parse: (object: unknown) => T | Malformed,
  slim: Slim<T>,
): Reader<T> {
  const parseOnce = once(parse)
  return {
    of: object => (isParsed in object ? (object as Kept<T>) : parseOnce(object)),
    keep(object) {
      if (isParsed in object) return object
      const parsed = parse(object)
      return isMalformed(parsed)
        ? withoutManagers(object)
        : slim(parsed, shared(object.apiVersion ?? ''), shared(object.kind ?? ''))
    },
  }
}

/** The object in its shape; undefined where there is none, or it cannot be read. */
export function readable<T extends object>(
  object: KubeObject | undefined,
  read: (object: object) => T | Malformed,
): T | undefined {
  const value = object && read(object)
  return value === undefined || isMalformed(value) ? undefined : value
}

/** For kinds of which there are few: parsed when first asked, and kept beside the object. */
export function once<T>(parse: (object: unknown) => T): (object: object) => T {
  const known = new WeakMap<object, { value: T }>()
  return object => {
    const found = known.get(object) ?? { value: parse(object) }
    known.set(object, found)
    return found.value
  }
}

function withoutManagers(object: KubeObject): KubeObject {
  const metadata: KubeObject['metadata'] & { managedFields?: unknown } = { ...object.metadata }
  delete metadata.managedFields
  return { ...object, metadata }
}

// --- what repeats is there once ---

const texts = new Repeated<string>()
const lists = new Repeated<readonly string[]>()
const identities = new Repeated<Identity>()
const owners = new Repeated<OwnerReference>()

export function shared(text: string): string
export function shared(text: string | undefined): string | undefined
export function shared(text: string | undefined): string | undefined {
  return text === undefined ? undefined : texts.of(text, text)
}

const slimTexts = (list: readonly string[]): readonly string[] => lists.of(list.join(' '), list)

export const slimIdentity = (identity: Identity): Identity => identities.of(identityKey(identity), identity)

/** Of every claim its scope is read. */
const labelsRead = [watchFilterLabel]

/** `annotationsRead`: those that are read once the object is parsed. */
export function slimMetadata(metadata: Metadata, annotationsRead: readonly string[] = []): Metadata {
  const { name, ownerReferences } = metadata
  return {
    name,
    namespace: shared(metadata.namespace),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    creationTimestamp: shared(metadata.creationTimestamp),
    deletionTimestamp: metadata.deletionTimestamp,
    labels: pick(metadata.labels, labelsRead),
    annotations: pick(metadata.annotations, annotationsRead),
    finalizers: slimTexts(metadata.finalizers),
    ownerReferences: ownerReferences.length === 0 ? none : ownerReferences.map(owner => slimOwner(owner, name)),
  }
}

const none: readonly never[] = []
const nothing: Readonly<Record<string, string>> = {}

function pick(map: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> {
  let picked: Record<string, string> | undefined
  for (const key of keys) {
    const text = Object.hasOwn(map, key) ? map[key] : undefined
    if (text !== undefined) picked = { ...picked, [key]: shared(text) }
  }
  return picked ?? nothing
}

/** A controller is one object's own, as a rule; the others (a pool) are many objects'. */
function slimOwner(owner: OwnerReference, ofName: string): OwnerReference {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner
  if (controller === undefined || blockOwnerDeletion === undefined) return owner
  if (!controller) return owners.of(`${apiVersion} ${kind} ${name} ${uid} ${blockOwnerDeletion}`, owner)
  return {
    apiVersion: shared(apiVersion),
    kind: shared(kind),
    name: name === ofName ? ofName : name,
    uid,
    controller,
    blockOwnerDeletion,
  }
}

export function slimClaimReference(claim: ClaimReference): ClaimReference {
  const { name, uid, clusterName, part } = claim
  const [apiGroup, kind, namespace] = [shared(claim.apiGroup), shared(claim.kind), shared(claim.namespace)]
  const namespaceUID = shared(claim.namespaceUID)
  if (namespaceUID !== undefined && clusterName === undefined && part === undefined)
    return { apiGroup, kind, namespace, name, uid, namespaceUID }
  return {
    apiGroup,
    kind,
    namespace,
    name,
    uid,
    ...(namespaceUID !== undefined && { namespaceUID }),
    ...(clusterName !== undefined && { clusterName: shared(clusterName) }),
    ...(part !== undefined && { part: shared(part) }),
  }
}
