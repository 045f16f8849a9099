// A served kind: one resource at one version, as clients see it, and what is particular about it. Built-in kinds are
// declared in `builtin/`, custom ones are made from their CustomResourceDefinition. Verbs know nothing of kinds beyond
// this.

import type { Fault } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import type { Definitions, Schema } from '../schema/schema.ts'

export type Verb = 'create' | 'get' | 'list' | 'watch' | 'update' | 'patch' | 'delete' | 'deletecollection'

export interface PrinterColumn {
  readonly name: string
  /** `string`, `integer`, `number`, `boolean` or `date`. */
  readonly type: string
  readonly format?: string
  readonly description?: string
  /** Columns above 0 are shown by `-o wide` only. */
  readonly priority?: number
  readonly jsonPath: string
}

export interface Subresource {
  /** `status`, `scale`, `binding`, `eviction`, `token`, `finalize`, `approval`, ... */
  readonly name: string
  readonly verbs: readonly Verb[]
  /** The kind that travels in its bodies when it is not the parent's. */
  readonly kind?: string
  readonly group?: string
  readonly version?: string
}

export interface ServedKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly listKind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  readonly verbs: readonly Verb[]
  readonly subresources: readonly Subresource[]
  /** The whole object, metadata included. `definitions` resolves its references. */
  readonly schema: Schema
  readonly definitions: Definitions
  /** The name its schema is published under, e.g. `io.k8s.api.core.v1.Pod` or `dev.mooring.v1alpha1.Hold`. */
  readonly schemaName: string
  /** Made from a CustomResourceDefinition. */
  readonly isCustom: boolean
  /** `additionalPrinterColumns` of a custom kind; built-in kinds have theirs in `table/`. */
  readonly columns?: readonly PrinterColumn[]
  /** JSON paths of a custom kind's scale subresource. */
  readonly scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string }
  readonly deprecationWarning?: string
  readonly behaviour: Behaviour
}

export interface WriteContext {
  readonly now: Date
  readonly user: { readonly username: string; readonly groups: readonly string[]; readonly uid?: string }
  readonly randomUUID: () => string
}

/**
 * What is particular about a kind. All functions are optional; the ones that change an object change it in place, on a
 * copy that belongs to the request. Metadata, generation and dropping the status are handled by the verbs.
 */
export interface Behaviour {
  /** Fills in what Kubernetes fills in when a field is left out. Idempotent; runs before checks. */
  readonly applyDefaults?: (object: KubeObject) => void
  /** Runs after defaults on create: fields only the server may set, initial status. */
  readonly prepareForCreate?: (object: KubeObject, context: WriteContext) => void
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject, context: WriteContext) => void
  /** All faults of the object itself, in field order; metadata is checked elsewhere. `old` is there on an update. */
  readonly validate?: (object: KubeObject, old?: KubeObject) => Fault[]
  /** Faults that only a new object can have, beyond those of `validate`. */
  readonly validateNew?: (object: KubeObject) => Fault[]
  /** Faults of the change from old to new, beyond those of `validate`. */
  readonly validateUpdate?: (object: KubeObject, old: KubeObject) => Fault[]
  /** What a resize of a pod leaves as it was, and the faults of the rest. */
  readonly resize?: {
    readonly prepare: (object: KubeObject, old: KubeObject) => void
    readonly validate: (object: KubeObject, old: KubeObject) => Fault[]
  }
  /** Faults of a change of the status. */
  readonly validateStatus?: (object: KubeObject, old: KubeObject) => Fault[]
  /** Warnings for the client (deprecated fields and the like). */
  readonly warnings?: (object: KubeObject) => string[]
  /** Field selectors beyond `metadata.name` and `metadata.namespace`. */
  readonly fields?: Readonly<Record<string, (object: KubeObject) => string>>
  /** Object names of this kind: DNS subdomain unless said otherwise. */
  readonly nameRule?: 'dns-subdomain' | 'dns-label' | 'dns-1035-label' | 'path-segment'
  /** `metadata.generation` grows with every change of these; default: everything but metadata and status. */
  readonly hasGeneration?: boolean
}
