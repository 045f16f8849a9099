// The user that sends a request. Every request carries one from the moment it is authenticated.

import { checkLabel, checkSubdomain } from '../names.ts'

export interface UserInfo {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export const anonymousName = 'system:anonymous'
export const authenticatedGroup = 'system:authenticated'
export const unauthenticatedGroup = 'system:unauthenticated'
export const mastersGroup = 'system:masters'

export const anonymous: UserInfo = { username: anonymousName, groups: [unauthenticatedGroup] }

const serviceAccountPrefix = 'system:serviceaccount:'

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

export function serviceAccountUser({ namespace, name }: ServiceAccountName): string {
  return `${serviceAccountPrefix}${namespace}:${name}`
}

export function serviceAccountGroups(namespace: string): string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
}

/** The service account behind a user name; undefined for every other user. */
export function parseServiceAccountUser(username: string): ServiceAccountName | undefined {
  if (!username.startsWith(serviceAccountPrefix)) return undefined
  const [namespace = '', name = '', ...rest] = username.slice(serviceAccountPrefix.length).split(':')
  if (rest.length > 0 || checkLabel(namespace).length > 0 || checkSubdomain(name).length > 0) return undefined
  return { namespace, name }
}
