// One record for each request, as Kubernetes' audit log has it at its level Metadata: which user asked for what, about which object,
// and with which answer. Nothing of a body, and of the headers only the user agent: no token and no secret gets into it.

import type { UserInfo } from '../authn/user.ts'
import type { PathRequest, ResourceRequest } from '../request.ts'
import { header, type WireRequest } from './wire.ts'

/** What became known of a request while it was answered. */
export interface Audited {
  /** Absent where the path or the method cannot be read. */
  request?: ResourceRequest | PathRequest
  /** Absent where the credentials do not hold. */
  user?: UserInfo
  /** The user that the request acts as, if another. */
  impersonated?: UserInfo
  /** Of the object that was answered with: a create has no name in its path. */
  name?: string
}

export interface AuditContext {
  readonly auditID: string
  readonly code: number
  readonly receivedAt: Date
  readonly answeredAt: Date
  /** The answer goes on, as that of a watch does: it is recorded when it begins. */
  readonly isStream: boolean
}

export function toAuditEvent(wire: WireRequest, audited: Audited, context: AuditContext): object {
  const { auditID, code, receivedAt, answeredAt, isStream } = context
  const { request, user, impersonated } = audited
  const userAgent = header(wire, 'user-agent')
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID,
    stage: isStream ? 'ResponseStarted' : 'ResponseComplete',
    requestURI: withoutSecrets(wire.target),
    verb: request?.verb ?? wire.method.toLowerCase(),
    user: user === undefined ? {} : toUser(user),
    ...(impersonated !== undefined && { impersonatedUser: toUser(impersonated) }),
    ...(wire.remoteAddress !== undefined && { sourceIPs: [wire.remoteAddress] }),
    ...(userAgent !== undefined && { userAgent: cut(userAgent) }),
    ...(request?.isResource && { objectRef: toReference(request, audited.name) }),
    responseStatus: { metadata: {}, code },
    requestReceivedTimestamp: microseconds(receivedAt),
    stageTimestamp: microseconds(answeredAt),
  }
}

/** Extra values are left out: an authenticator may put anything there. */
function toUser({ username, uid, groups }: UserInfo): object {
  return { username, ...(uid !== undefined && { uid }), groups }
}

function toReference(request: ResourceRequest, answered: string | undefined): object {
  const { group, version, plural, subresource, namespace } = request
  const name = request.name === '' ? answered : request.name
  return {
    resource: plural,
    ...(namespace !== '' && { namespace }),
    ...(name !== undefined && name !== '' && { name }),
    ...(group !== '' && { apiGroup: group }),
    apiVersion: version,
    ...(subresource !== '' && { subresource }),
  }
}

/** No parameter of the API carries a secret; a client may send one all the same. */
const secretNames = /token|password|passwd|secret|credential|authorization|api_?key/i

function withoutSecrets(target: string): string {
  const mark = target.indexOf('?')
  if (mark < 0) return cut(target)
  const terms = target.slice(mark + 1).split('&')
  const kept = terms.map(term => {
    const [name = ''] = term.split('=', 1)
    return secretNames.test(decoded(name)) ? `${name}=REDACTED` : term
  })
  return cut(`${target.slice(0, mark)}?${kept.join('&')}`)
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    // What cannot be read is judged as it stands.
    return name
  }
}

const textMax = 2_048

const cut = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax)}...` : text)

/** Kubernetes writes six digits; more than three are not known here. */
const microseconds = (time: Date): string => time.toISOString().replace('Z', '000Z')
