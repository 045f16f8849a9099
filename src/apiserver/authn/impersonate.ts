// Acting as another user: `kubectl --as`. Every part of the wanted identity (user, each group, uid, each extra value)
// is a permission of its own, which the user that sends the request must have.

import type { Authorize, ResourceAttributes } from '../authz/attributes.ts'
import { refuse } from '../authz/attributes.ts'
import { setOwn } from '../object.ts'
import { badRequest } from '../status.ts'
import type { UserInfo } from './user.ts'
import {
  anonymousName,
  authenticatedGroup,
  parseServiceAccountUser,
  serviceAccountGroups,
  unauthenticatedGroup,
} from './user.ts'

/** Header names in lower case with all their values: what node calls `headersDistinct`. */
export type Headers = Readonly<Record<string, readonly string[] | undefined>>

const extraPrefix = 'impersonate-extra-'

/** The user to go on with; throws a 400 or 403 `StatusError`. */
export function impersonate(user: UserInfo, headers: Headers, authorize: Authorize): UserInfo {
  const wanted = readWanted(headers)
  if (wanted === undefined) return user

  for (const permission of permissionsFor(wanted)) {
    const decision = authorize(user, permission)
    if (!decision.allowed) throw refuse(user, permission, decision.reason)
  }

  const account = parseServiceAccountUser(wanted.username)
  const groups = [...wanted.groups]
  if (account && groups.length === 0) groups.push(...serviceAccountGroups(account.namespace))
  return {
    username: wanted.username,
    ...(wanted.uid !== '' && { uid: wanted.uid }),
    groups: withImpliedGroup(wanted.username, groups),
    ...(wanted.extra.length > 0 && { extra: gather(wanted.extra) }),
  }
}

interface Wanted {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: readonly (readonly [key: string, value: string])[]
}

function readWanted(headers: Headers): Wanted | undefined {
  // This runs for every request, and almost none has these headers.
  if (!Object.keys(headers).some(name => name.startsWith('impersonate-'))) return undefined
  const username = headers['impersonate-user']?.[0] ?? ''
  const uid = headers['impersonate-uid']?.[0] ?? ''
  const groups = headers['impersonate-group'] ?? []
  const extra = Object.entries(headers)
    .filter(([name]) => name.startsWith(extraPrefix))
    .flatMap(([name, values = []]) =>
      values.map(value => [unescapeKey(name.slice(extraPrefix.length)), value] as const),
    )
  if (username !== '') return { username, uid, groups, extra }
  if (uid === '' && groups.length === 0 && extra.length === 0) return undefined
  throw badRequest(`requested [${describe({ username, uid, groups, extra })}] without impersonating a user`)
}

function permissionsFor({ username, uid, groups, extra }: Wanted): ResourceAttributes[] {
  const account = parseServiceAccountUser(username)
  const core = (resource: string, name: string, namespace = '') => permission('', 'v1', resource, '', name, namespace)
  const authentication = (resource: string, subresource: string, name: string) =>
    permission('authentication.k8s.io', 'v1', resource, subresource, name, '')
  return [
    account ? core('serviceaccounts', account.name, account.namespace) : core('users', username),
    ...groups.map(group => core('groups', group)),
    ...extra.map(([key, value]) => authentication('userextras', key, value)),
    ...(uid === '' ? [] : [authentication('uids', '', uid)]),
  ]
}

function permission(
  group: string,
  version: string,
  resource: string,
  subresource: string,
  name: string,
  namespace: string,
): ResourceAttributes {
  return { type: 'resource', verb: 'impersonate', group, version, resource, subresource, name, namespace }
}

function withImpliedGroup(username: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(unauthenticatedGroup)) return groups
  if (username === anonymousName) return [...groups, unauthenticatedGroup]
  return groups.includes(authenticatedGroup) ? groups : [...groups, authenticatedGroup]
}

function gather(extra: Wanted['extra']): Record<string, string[]> {
  const lists = new Map<string, string[]>()
  for (const [key, value] of extra) lists.set(key, [...(lists.get(key) ?? []), value])
  const result: Record<string, string[]> = {}
  for (const [key, values] of lists) setOwn(result, key, values)
  return result
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** The wanted identity as Go prints object references: kind, namespace, name, uid, version, revision, field. */
function describe({ uid, groups, extra }: Wanted): string {
  return [
    ...groups.map(group => `{Group  ${group}    }`),
    ...extra.map(([key, value]) => `{UserExtra  ${value}  authentication.k8s.io/v1  ${key}}`),
    ...(uid === '' ? [] : [`{UID  ${uid}  authentication.k8s.io/v1  }`]),
  ].join(' ')
}
