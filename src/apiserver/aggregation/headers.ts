// The headers of a request that is forwarded, and of the answer to it. An extension API server believes the identity headers of
// this server: none that a client wrote may be among them, and no credential of a client goes out.

import type { UserInfo } from '../authn/user.ts'

export type HeaderMap = Readonly<Record<string, readonly string[] | undefined>>

/** As `extension-apiserver-authentication` names them. */
export const identityHeaders = {
  user: 'X-Remote-User',
  group: 'X-Remote-Group',
  extraPrefix: 'X-Remote-Extra-',
} as const
const uidHeader = 'X-Remote-Uid'

/** About one connection, not about the request (RFC 9110, 7.6.1); the length is that of the body that is sent. */
const hopByHop = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Every spelling counts: some servers read `_` as `-`. */
function isOfClient(name: string): boolean {
  const plain = name.replaceAll('_', '-')
  return (
    hopByHop.has(plain) ||
    plain === 'authorization' ||
    plain === 'audit-id' ||
    plain.startsWith('x-remote-') ||
    plain.startsWith('impersonate-')
  )
}

export interface Forwarded {
  readonly user: UserInfo
  readonly auditID: string
  readonly remoteAddress: string | undefined
  /** Where it goes to, `host:port`. */
  readonly host: string
  readonly path: string
  readonly isUpgrade: boolean
}

/** Header names are not case-sensitive, but the protocols that a client upgrades to may look at theirs. */
export function toForwardedHeaders(headers: HeaderMap, forwarded: Forwarded): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = Object.create(null)
  const named = new Set(connectionOptions(headers))
  for (const [name, values = []] of Object.entries(headers)) {
    if (!isOfClient(name) && !named.has(name)) sent[name] = [...values]
  }
  const { auditID, remoteAddress, host, path, isUpgrade } = forwarded
  if (isUpgrade) {
    sent.connection = 'Upgrade'
    sent.upgrade = headers.upgrade?.join(', ') ?? ''
  }
  const before = headers['x-forwarded-for'] ?? []
  if (remoteAddress !== undefined) sent['x-forwarded-for'] = [...before, remoteAddress].join(', ')
  sent['x-forwarded-proto'] = 'https'
  sent['x-forwarded-host'] = host
  sent['x-forwarded-uri'] = path
  sent['audit-id'] = auditID
  return { ...sent, ...identityOf(forwarded.user) }
}

export function identityOf({ username, uid, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = { [identityHeaders.user]: bytes(username) }
  if (uid !== undefined && uid !== '') sent[uidHeader] = bytes(uid)
  if (groups.length > 0) sent[identityHeaders.group] = groups.map(bytes)
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) sent[`${identityHeaders.extraPrefix}${escapeKey(key)}`] = values.map(bytes)
  }
  return sent
}

/** What of an answer goes to the client. */
export function toAnswerHeaders(headers: NodeJS.Dict<string[]>): Record<string, string | string[]> {
  const named = new Set(connectionOptions(headers))
  const sent: Record<string, string | string[]> = {}
  for (const [name, values = []] of Object.entries(headers)) {
    if (hopByHop.has(name) || named.has(name)) continue
    sent[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  return sent
}

/** Headers that the sender names as being about its connection. */
function connectionOptions({ connection = [] }: HeaderMap): string[] {
  return connection.flatMap(value => value.split(',').map(name => name.trim().toLowerCase()))
}

/** Node writes headers as latin1: UTF-8 goes through it as its bytes, as Go sends it. */
function bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** A key may hold any letter, a header name only some: the others are written as in a URL, and so is `%`. */
function escapeKey(key: string): string {
  return Buffer.from(key, 'utf8')
    .toString('latin1')
    .replace(/[^\w!#$&'*+.^`|~-]/g, letter => `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}
