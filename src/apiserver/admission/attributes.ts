// What admission checks: one write, before it is made.

import type { UserInfo } from '../authn/user.ts'
import type { GroupVersionKind, KubeObject } from '../object.ts'

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

export interface GroupVersionResource {
  readonly group: string
  readonly version: string
  readonly resource: string
}

export interface AdmissionAttributes {
  readonly operation: Operation
  /** As the client asked for it, whatever version webhooks prefer. */
  readonly kind: GroupVersionKind
  readonly resource: GroupVersionResource
  /** Empty for the resource itself. */
  readonly subresource: string
  readonly name: string
  /** Empty at the cluster scope. For a namespace itself: its own name once it exists. */
  readonly namespace: string
  /** Absent on DELETE. */
  readonly object?: KubeObject | undefined
  /** Absent on CREATE. */
  readonly oldObject?: KubeObject | undefined
  readonly dryRun: boolean
  readonly user: UserInfo
  /** CreateOptions, UpdateOptions, ... with their kind and apiVersion. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
  /** Takes warnings for the client, also of writes that are then refused. */
  readonly warn?: ((text: string) => void) | undefined
  /** Aborted when the client no longer waits. */
  readonly signal?: AbortSignal | undefined
}
