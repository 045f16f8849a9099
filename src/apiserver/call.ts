// The types that verbs work with: a call (one request to one resource, authenticated and authorised), the world (the
// parts of the server a verb may use), and the answer a verb returns. Verbs know nothing of sockets.

import type { Entry, Store } from '../store/store.ts'
import type { Find, Tokens } from './authn/service-account-token.ts'
import type { UserInfo } from './authn/user.ts'
import type { RBAC } from './authz/rbac.ts'
import type { Registry, Resource, ServedVersion } from './kinds/registry.ts'
import type { KubeObject } from './object.ts'
import type { ResourceRequest } from './request.ts'
import type { Status } from './status.ts'

export interface Call {
  readonly request: ResourceRequest
  readonly resource: Resource
  readonly served: ServedVersion
  readonly user: UserInfo
  readonly headers: { readonly accept?: string; readonly contentType?: string; readonly userAgent?: string }
  readonly body: Buffer
  /** Adds a `Warning` header to the answer. */
  readonly warn: (text: string) => void
  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal
}

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface AdmissionRequest {
  readonly operation: Operation
  readonly call: Call
  readonly name: string
  readonly object: KubeObject | undefined
  readonly oldObject: KubeObject | undefined
  readonly dryRun: boolean
  readonly options: Readonly<Record<string, unknown>>
}

/** Built-in rules first, then webhooks. `mutate` may change the object; `validate` may only refuse. */
export interface Admission {
  mutate(request: AdmissionRequest): Promise<KubeObject | undefined>
  validate(request: AdmissionRequest): Promise<void>
}

export interface World {
  readonly store: Store
  readonly registry: Registry
  readonly admission: Admission
  readonly rbac: RBAC
  readonly tokens: Tokens
  readonly find: Find
  readonly now: () => Date
  readonly random: () => number
  readonly randomUUID: () => string
}

/** What a list or a get found, in stored form; the edge turns it into the representation the client asked for. */
export interface FoundList {
  readonly type: 'list'
  readonly entries: readonly Entry[]
  readonly revision: number
  readonly next: string | undefined
  readonly remaining: number | undefined
}

export type Answer =
  /** One stored object. */
  | { readonly type: 'entry'; readonly code: number; readonly entry: Entry }
  /** One object that is not stored as such: a dry run, a scale, a review. */
  | { readonly type: 'object'; readonly code: number; readonly object: KubeObject }
  | FoundList
  | { readonly type: 'status'; readonly status: Status }
  /** All is well, and there is nothing to show. */
  | { readonly type: 'nothing' }
  | { readonly type: 'watch'; readonly open: (stream: WatchStream) => () => void }

/** Where watch events go. The edge encodes each event once per representation, however many watches want it. */
export interface WatchStream {
  send(event: WatchEvent): void
  /** Ends the stream after an optional ERROR event. */
  end(error?: Status): void
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly entry: Entry }
  | { readonly type: 'BOOKMARK'; readonly revision: number; readonly endsInitialEvents: boolean }
