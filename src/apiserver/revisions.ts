// Resource versions as clients write them, and the rules for combining them with limit, continue and match.

import { describeFault, type Fault, forbidden, invalid } from './faults.ts'
import { badRequest, invalidObject, StatusError } from './status.ts'

/** `undefined` and empty mean "newest"; "0" means "any". */
export function parseRevision(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) {
    const why = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax'
    const fault = invalid('resourceVersion', text, `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`)
    throw badRequest(`invalid resource version: ${describeFault(fault)}`)
  }
  return Number(text)
}

/** A version that has not been written yet: the client knows a future that this server does not. */
export function refuseFutureRevision(text: string | null, current: number): void {
  const asked = parseRevision(text)
  if (asked === undefined || asked <= current) return
  throw new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}

export interface ListRevision {
  /** Read the past at exactly this revision; undefined reads the present. */
  readonly exact: number | undefined
}

export function readListRevision(query: URLSearchParams, isWatch: boolean): ListRevision {
  const text = query.get('resourceVersion') ?? ''
  const match = query.get('resourceVersionMatch') ?? ''
  const hasContinue = (query.get('continue') ?? '') !== ''
  const wantsInitialEvents = query.has('sendInitialEvents')
  const faults: Fault[] = []

  if (wantsInitialEvents && !isWatch)
    faults.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  if (isWatch && wantsInitialEvents && match === '') {
    faults.push(
      forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    )
  }
  if (match !== '') {
    if (isWatch && !wantsInitialEvents) {
      faults.push(
        forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      )
    } else if (!isWatch && text === '') {
      faults.push(
        forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      )
    }
    if (!isWatch && hasContinue) {
      faults.push(forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'))
    }
    const supported = isWatch ? ['NotOlderThan'] : ['Exact', 'NotOlderThan']
    if (!supported.includes(match)) {
      const shown = (isWatch ? supported : [...supported, '']).map(value => JSON.stringify(value)).join(', ')
      const message = `Unsupported value: ${JSON.stringify(match)}: supported values: ${shown}`
      faults.push({ type: 'FieldValueNotSupported', field: 'resourceVersionMatch', message })
    }
    if (match === 'Exact' && text === '0') {
      faults.push(
        forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      )
    }
  }
  if (faults.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', faults)
  if (hasContinue && text !== '' && text !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }

  const revision = parseRevision(text)
  const isLegacyExact = match === '' && query.has('limit') && revision !== undefined && revision > 0 && !isWatch
  return { exact: match === 'Exact' || isLegacyExact ? revision : undefined }
}
