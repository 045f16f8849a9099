// The OpenAPI documents over one list of served kinds. Each is made when it is first asked for and kept as bytes. A
// list that differs only in some custom kinds reuses everything that did not change: documents belong to the kinds they
// were made of, not to the list.

import { createHash } from 'node:crypto'
import { stringify } from '../../json.ts'
import { builtinDefinitions } from '../builtin/types.ts'
import { inOrder } from '../discovery/version-order.ts'
import type { ServedKind } from '../kinds/kind.ts'
import { parseAccept } from '../media.ts'
import type { Definitions } from '../schema/schema.ts'
import { createDescriptions, type Descriptions } from './descriptions.ts'
import { rootPath } from './operations.ts'
import { isSameKinds, mergeSwagger, type SwaggerPart, toSwaggerPart } from './v2.ts'
import { toProtobuf } from './v2-protobuf.ts'
import { type Source, toV3 } from './v3.ts'

export interface OpenAPIDocument {
  readonly body: Buffer
  /** Of the content alone, so it is the same after a restart. */
  readonly hash: string
  /** The hash as a header. */
  readonly etag: string
}

export interface OpenAPI {
  /** `/openapi/v3` */
  index(): OpenAPIDocument
  /** `/openapi/v3/PATH`, with PATH as the index names it: `api/v1`, `apis/GROUP/VERSION`. */
  groupVersion(path: string): OpenAPIDocument | undefined
  /** `/openapi/v2` */
  swagger(encoding?: SwaggerEncoding): OpenAPIDocument
}

export type SwaggerEncoding = 'json' | 'protobuf'

export const swaggerContentTypes: Readonly<Record<SwaggerEncoding, string>> = {
  json: 'application/json',
  protobuf: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
}

/** The form of version 2 that a client names first; undefined when it takes neither. */
export function negotiateSwagger(accept: string | undefined): SwaggerEncoding | undefined {
  const ranges = parseAccept(accept ?? '')
  if (ranges.length === 0) return 'json'
  for (const { type } of ranges) {
    if (type === 'application/json' || type === 'application/*' || type === '*/*') return 'json'
    // The sign in the first spelling is not allowed in a media type, but it is what clients send.
    if (type === 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf') return 'protobuf'
    if (type === swaggerContentTypes.protobuf) return 'protobuf'
  }
  return undefined
}

export interface OpenAPIOptions {
  readonly definitions?: Definitions
  readonly descriptions?: Descriptions
  /** Where group versions of other servers are described, by path as the index names it. */
  readonly foreign?: Readonly<Record<string, string>>
}

const packageDescriptions = createDescriptions()

export function createOpenAPI(kinds: readonly ServedKind[], options: OpenAPIOptions = {}): OpenAPI {
  const { definitions = builtinDefinitions, descriptions = packageDescriptions, foreign = {} } = options
  const sources = new Map<string, Source>()
  for (const { group, versions } of inOrder(kinds)) {
    for (const { version, kinds: served } of versions) {
      sources.set(rootPath(group, version).slice(1), { group, version, kinds: served, definitions, descriptions })
    }
  }
  let index: OpenAPIDocument | undefined
  const swaggers = new Map<SwaggerEncoding, OpenAPIDocument>()
  const groupVersion = (path: string) => {
    const source = sources.get(path)
    return source && madeFrom(source).document()
  }
  return {
    groupVersion,
    index() {
      index ??= toDocument({
        paths: Object.fromEntries(
          [...sources.keys(), ...Object.keys(foreign)].sort().map(path => {
            const own = `/openapi/v3/${path}?hash=${groupVersion(path)?.hash ?? ''}`
            return [path, { serverRelativeURL: foreign[path] ?? own }]
          }),
        ),
      })
      return index
    },
    swagger(encoding = 'json') {
      const made = swaggers.get(encoding)
      if (made !== undefined) return made
      const document = mergeSwagger([...sources.values()].map(source => madeFrom(source).part()))
      const fresh = encoding === 'json' ? toDocument(document) : fromBytes(toProtobuf(document))
      swaggers.set(encoding, fresh)
      return fresh
    },
  }
}

interface Made {
  readonly source: Source
  document(): OpenAPIDocument
  part(): SwaggerPart
}

const madeByFirstKind = new WeakMap<ServedKind, Made>()

function madeFrom(source: Source): Made {
  const first = source.kinds[0]
  const known = first && madeByFirstKind.get(first)
  if (known !== undefined && isSameSource(known.source, source)) return known
  let document: OpenAPIDocument | undefined
  let part: SwaggerPart | undefined
  const made: Made = {
    source,
    document: () => (document ??= toDocument(toV3(source))),
    part: () => (part ??= toSwaggerPart(source)),
  }
  if (first !== undefined) madeByFirstKind.set(first, made)
  return made
}

function isSameSource(a: Source, b: Source): boolean {
  return a.definitions === b.definitions && a.descriptions === b.descriptions && isSameKinds(a.kinds, b.kinds)
}

function toDocument(content: object): OpenAPIDocument {
  return fromBytes(Buffer.from(stringify(content)))
}

function fromBytes(body: Buffer): OpenAPIDocument {
  const hash = createHash('sha512').update(body).digest('hex').toUpperCase()
  return { body, hash, etag: `"${hash}"` }
}
