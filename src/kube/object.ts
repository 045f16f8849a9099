// What every Kubernetes object has in common as its readers see it, and the short description by which code names a kind.

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string | null
  readonly deletionTimestamp?: string | null | undefined
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
}

export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

/** A kind as a client needs to know it. The type parameter is the shape of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string
  /** In order of preference; the first one that is served is used. */
  readonly versions: readonly [string, ...string[]]
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
  /** Carries the type alone; never there. */
  readonly shape?: T
}

export function defineKind<T extends KubeObject>(kind: Omit<Kind<T>, 'shape'>): Kind<T> {
  return kind
}

/** `holds.mooring.dev`, or `pods`: how a kind is named in messages and logs. */
export function nameOfKind({ group, plural }: Kind): string {
  return group === '' ? plural : `${plural}.${group}`
}

export interface ObjectRef {
  readonly name: string
  /** Left out for kinds without namespaces. */
  readonly namespace?: string
}

export function refOf({ metadata: { name = '', namespace } }: KubeObject): ObjectRef {
  return namespace === undefined || namespace === '' ? { name } : { namespace, name }
}

/** `namespace/name`, or `name` alone: what caches and queues call an object. Neither part can hold a slash. */
export function keyOf(object: KubeObject): string {
  const { name = '', namespace } = object.metadata
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

export function keyOfRef({ name, namespace }: ObjectRef): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** The namespace in such a key; empty where there is none. */
export function namespaceOfKey(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

/** Whether `one` is an older version than `other`. Versions are numbers beyond 2^53, printed without leading zeros. */
export function isOlder(one: string, other: string): boolean {
  if (one.length !== other.length) return one.length < other.length
  return one < other
}
