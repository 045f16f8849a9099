// List: a page of objects that were all true at one revision. A continue token carries that revision, so later pages
// show the same moment; when the moment is no longer kept, the client gets 410 with a token to go on inconsistently.

import { CompactedError, type Entry, FutureRevisionError } from '../../store/store.ts'
import type { Answer, Call, World } from '../call.ts'
import { decodeEntry, keyOf, prefixOf } from '../objects.ts'
import { readInteger } from '../options.ts'
import { readListRevision, refuseFutureRevision } from '../revisions.ts'
import { badRequest, expired, type StatusError } from '../status.ts'
import { readSelection, type Selection } from './selection.ts'

export async function list(call: Call, world: World): Promise<Answer> {
  const { query, namespace } = call.request
  const selection = readSelection(call)
  const { exact } = readListRevision(query, false)
  readInteger(query, 'timeoutSeconds')
  const asked = readInteger(query, 'limit') ?? 0
  const limit = asked > 0 ? asked : undefined
  const prefix = prefixOf(call.resource, namespace)
  const token = query.get('continue') ?? ''
  if (token !== '') return continueList(call, world, selection, { prefix, limit, token })
  refuseFutureRevision(query.get('resourceVersion'), world.store.revision)
  if (selection.name !== undefined && exact === undefined && (namespace !== '' || !call.resource.namespaced)) {
    return listOne(call, world, selection)
  }
  try {
    return page(world, selection, { prefix, limit, after: undefined, revision: exact })
  } catch (error) {
    if (error instanceof CompactedError) {
      throw expired(`The resourceVersion for the provided list is too old.`)
    }
    throw error
  }
}

/** A selector that pins the name needs one look, not a scan. */
function listOne(call: Call, world: World, selection: Selection): Answer {
  const entry = world.store.get(keyOf(call.resource, call.request.namespace, selection.name ?? ''))
  const entries = entry !== undefined && selection.matches(decodeEntry(entry)) ? [entry] : []
  return { type: 'list', entries, revision: world.store.revision, next: undefined, remaining: undefined }
}

interface PageRequest {
  readonly prefix: string
  readonly limit: number | undefined
  readonly after: string | undefined
  readonly revision: number | undefined
}

function page(world: World, selection: Selection, { prefix, limit, after, revision }: PageRequest): Answer {
  if (selection.isEverything) {
    const found = world.store.list(prefix, {
      ...(limit !== undefined && { limit }),
      ...(after !== undefined && { after }),
      ...(revision !== undefined && { revision }),
    })
    const next = found.next === undefined ? undefined : encodeContinue(found.next.slice(prefix.length), found.revision)
    const remaining = found.next === undefined ? undefined : found.remaining
    return { type: 'list', entries: found.entries, revision: found.revision, next, remaining }
  }
  return filteredPage(world, selection, { prefix, limit, after, revision })
}

const scanChunk = 500

/** With a selector a page is filled by scanning on; how many more would match is not known, so it is not said. */
function filteredPage(world: World, selection: Selection, { prefix, limit, after, revision }: PageRequest): Answer {
  const entries: Entry[] = []
  const at = revision ?? world.store.revision
  let from = after
  for (;;) {
    const chunk = world.store.list(prefix, {
      revision: at,
      ...(limit !== undefined && { limit: scanChunk }),
      ...(from !== undefined && { after: from }),
    })
    for (const entry of chunk.entries) {
      if (!selection.matches(decodeEntry(entry))) continue
      if (limit !== undefined && entries.length === limit) {
        const last = entries.at(-1)?.key ?? ''
        return {
          type: 'list',
          entries,
          revision: at,
          next: encodeContinue(last.slice(prefix.length), at),
          remaining: undefined,
        }
      }
      entries.push(entry)
    }
    if (chunk.next === undefined) return { type: 'list', entries, revision: at, next: undefined, remaining: undefined }
    from = chunk.next
  }
}

interface ContinuedRequest {
  readonly prefix: string
  readonly limit: number | undefined
  readonly token: string
}

function continueList(_: Call, world: World, selection: Selection, { prefix, limit, token }: ContinuedRequest): Answer {
  const { after, revision } = decodeContinue(token)
  const at = revision < 0 ? undefined : revision
  try {
    return page(world, selection, { prefix, limit, after: prefix + after, revision: at })
  } catch (error) {
    if (error instanceof FutureRevisionError) throw badContinue('it names a revision of the future')
    if (!(error instanceof CompactedError)) throw error
    throw continueExpired(encodeContinue(after, -1))
  }
}

function continueExpired(inconsistentToken: string): StatusError {
  const error = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
      'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
      'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
      'deleted between the time the first chunk was returned and now may show up in the list.',
  )
  error.status.metadata.continue = inconsistentToken
  return error
}

/** The token holds no secret: it is a position in the order of keys, and the path decides which keys. */
function encodeContinue(lastKey: string, revision: number): string {
  const token = { v: 'meta.k8s.io/v1', rv: revision, start: `${lastKey}\u0000` }
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

function decodeContinue(token: string): { after: string; revision: number } {
  refuseBadBase64(token)
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
  } catch (error) {
    throw badContinue(error instanceof Error ? error.message : String(error))
  }
  const { v, rv, start } = (parsed ?? {}) as Record<string, unknown>
  if (v !== 'meta.k8s.io/v1') {
    throw badContinue(`server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`.trimEnd())
  }
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0) {
    throw badContinue('incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  }
  if (typeof start !== 'string' || start === '') {
    throw badContinue('encoded start key empty (version meta.k8s.io/v1)')
  }
  if (start.split('/').some(part => part === '.' || part === '..' || part === '')) {
    throw badContinue(start)
  }
  return { after: start.endsWith('\u0000') ? start.slice(0, -1) : start, revision: rv }
}

function badContinue(why: string): StatusError {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`)
}

/** Node skips letters that do not belong; a token with such letters is not one of ours. */
function refuseBadBase64(token: string): void {
  const strange = token.search(/[^\w-]/)
  if (strange === -1 && token.length % 4 !== 1) return
  throw badContinue(`illegal base64 data at input byte ${strange === -1 ? token.length - 1 : strange}`)
}
