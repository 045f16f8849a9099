// Which form of an answer a client wants, and which form of a body it sent. Clients list what they accept in order of
// preference; the first one that can be served wins, as on every API server.

import { badRequest, notAcceptable, unsupportedMediaType } from './status.ts'

export type Encoding = 'json' | 'yaml' | 'protobuf'

export interface Representation {
  readonly encoding: Encoding
  /** `Table` and `PartialObjectMetadata` are views of an object; undefined is the object itself. */
  readonly view:
    | { kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'; version: 'v1' | 'v1beta1' }
    | undefined
  readonly pretty: boolean
}

interface MediaRange {
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

/** A map: clients choose the keys, and `constructor` must not be found among them. */
const encodings = new Map<string, Encoding>([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
  ['*/*', 'json'],
  ['application/*', 'json'],
])

export const contentTypes: Record<Encoding, string> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

export function parseAccept(header: string): MediaRange[] {
  return header
    .split(',')
    .map(part => parseMediaType(part))
    .filter(range => range.type !== '')
}

export function parseMediaType(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map(part => part.trim())
  const parameters: Record<string, string> = Object.create(null)
  for (const parameter of rest) {
    const equals = parameter.indexOf('=')
    if (equals > 0)
      parameters[parameter.slice(0, equals).toLowerCase()] = parameter.slice(equals + 1).replace(/^"|"$/g, '')
  }
  return { type: type.toLowerCase(), parameters }
}

export interface Offer {
  /** Views that this request may ask for; a watch or a create can be a Table, a version document cannot. */
  readonly views: boolean
  readonly protobuf: boolean
}

export function negotiate(accept: string | undefined, query: URLSearchParams, offer: Offer): Representation {
  const pretty = query.has('pretty') && query.get('pretty') !== 'false' && query.get('pretty') !== '0'
  const ranges = parseAccept(accept ?? '')
  if (ranges.length === 0) return { encoding: 'json', view: undefined, pretty }
  for (const range of ranges) {
    const encoding = encodings.get(range.type)
    if (encoding === undefined || (encoding === 'protobuf' && !offer.protobuf)) continue
    const as = range.parameters.as
    if (as === undefined) return { encoding, view: undefined, pretty }
    const view = viewOf(range.parameters)
    if (view !== undefined && offer.views && !(encoding === 'protobuf' && view.kind === 'Table'))
      return { encoding, view, pretty }
  }
  const served = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
  const list = served.slice(0, offer.protobuf ? 3 : 2).join(', ')
  const isAnyServed = ranges.some(range => encodings.has(range.type))
  throw notAcceptable(
    isAnyServed
      ? `only the following media types are accepted: ${list}`
      : `406: Not Acceptable\n\nAvailable representations: ${list}`,
  )
}

function viewOf(parameters: MediaRange['parameters']): Representation['view'] {
  if (parameters.g !== 'meta.k8s.io') return undefined
  const version = parameters.v
  if (version !== 'v1' && version !== 'v1beta1') return undefined
  const kind = parameters.as
  if (kind !== 'Table' && kind !== 'PartialObjectMetadata' && kind !== 'PartialObjectMetadataList') return undefined
  return { kind, version }
}

/** The encoding of a request body; absent means JSON. */
export function bodyEncoding(contentType: string | undefined, offer: Pick<Offer, 'protobuf'>): Encoding {
  if (contentType === undefined || contentType === '') return 'json'
  if (!/^[\w!#$&^.+*/-]+\s*(;|$)/.test(contentType)) throw badRequest('the content type of the body cannot be read')
  const encoding = encodings.get(parseMediaType(contentType).type)
  if (encoding !== undefined && (encoding !== 'protobuf' || offer.protobuf)) return encoding
  const accepted = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted
      .slice(0, offer.protobuf ? 3 : 2)
      .join(', ')}`,
  )
}
