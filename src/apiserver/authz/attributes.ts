// What a user wants to do, as authorization sees it, and the message with which it is refused.

import type { UserInfo } from '../authn/user.ts'
import { quote } from '../faults.ts'
import { forbidden, StatusError } from '../status.ts'

export interface ResourceAttributes {
  readonly type: 'resource'
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Empty for the resource itself. */
  readonly subresource: string
  /** Empty at the cluster scope. */
  readonly namespace: string
  /** Empty for lists, creations and collections. */
  readonly name: string
}

/** A path that is no resource: `/healthz`, `/version`, `/apis`. */
export interface PathAttributes {
  readonly type: 'path'
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

export interface Decision {
  readonly allowed: boolean
  /** Which binding allowed it; what stood in the way otherwise, mostly empty. */
  readonly reason: string
}

export type Authorize = (user: UserInfo, attributes: Attributes) => Decision

/** The 403 for a request that was not allowed. */
export function refuse(user: UserInfo, attributes: Attributes, reason: string): StatusError {
  const why = reason === '' ? describe(user, attributes) : `${describe(user, attributes)}: ${reason}`
  if (attributes.type === 'path') return new StatusError(403, 'Forbidden', `forbidden: ${why}`, {})
  return forbidden({ group: attributes.group, plural: attributes.resource }, attributes.name, why)
}

function describe(user: UserInfo, attributes: Attributes): string {
  return sanitize(sentence(user, attributes))
}

function sentence(user: UserInfo, attributes: Attributes): string {
  const subject = `User ${quote(user.username)} cannot ${attributes.verb}`
  if (attributes.type === 'path') return `${subject} path ${quote(attributes.path)}`
  const { resource, subresource, group, namespace } = attributes
  const full = subresource === '' ? resource : `${resource}/${subresource}`
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`
  return `${subject} resource ${quote(full)} in API group ${quote(group)} ${scope}`
}

/** The answer may end up in a browser. */
function sanitize(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
