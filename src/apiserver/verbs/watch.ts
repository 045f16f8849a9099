// Watch: the history of a resource after a revision, under a selection.
//
//   asked for            first                                   then
//   no version, "0"      ADDED for everything that is there      changes
//   version N            changes after N that are still kept     changes
//   sendInitialEvents    ADDED for everything, then a BOOKMARK   changes
//                        that says the initial events end
//   N no longer kept     ERROR 410, end
//
// Types are relative to the selection: an object that starts to match is ADDED, one that ceases to match is DELETED.
// The state is read and the watch is registered in one synchronous step, so nothing can fall between them.

import { bookmarkIntervalMs, watchSecondsDefaultMin } from '../../limits.ts'
import { type Change, CompactedError } from '../../store/store.ts'
import type { Answer, Call, WatchStream, World } from '../call.ts'
import { decodeEntry, objectsOf, prefixOf } from '../objects.ts'
import { readInteger } from '../options.ts'
import { isTrue } from '../request.ts'
import { parseRevision, readListRevision } from '../revisions.ts'
import { expired } from '../status.ts'
import { readSelection, type Selection } from './selection.ts'

export async function watch(call: Call, world: World): Promise<Answer> {
  const { query, namespace } = call.request
  readListRevision(query, true)
  const selection = readSelection(call)
  const from = parseRevision(query.get('resourceVersion'))
  const initialEvents = query.get('sendInitialEvents')
  const wantsState = initialEvents === null ? from === undefined || from === 0 : isTrue(initialEvents)
  const timeoutMs = readTimeoutMs(query, world.random)
  return {
    type: 'watch',
    open: stream =>
      openWatch(world, stream, {
        prefix: prefixOf(call.resource, namespace),
        selection,
        from: from ?? 0,
        wantsState,
        marksInitialEnd: initialEvents !== null && wantsState,
        wantsBookmarks: isTrue(query.get('allowWatchBookmarks') ?? 'false'),
        timeoutMs,
      }),
  }
}

interface WatchPlan {
  readonly prefix: string
  readonly selection: Selection
  readonly from: number
  readonly wantsState: boolean
  readonly marksInitialEnd: boolean
  readonly wantsBookmarks: boolean
  readonly timeoutMs: number
}

function openWatch({ store }: World, stream: WatchStream, plan: WatchPlan): () => void {
  let start = plan.from
  if (plan.wantsState) {
    const state = store.list(plan.prefix)
    for (const entry of state.entries) {
      if (plan.selection.isEverything || plan.selection.matches(decodeEntry(entry)))
        stream.send({ type: 'ADDED', entry })
    }
    start = state.revision
    if (plan.marksInitialEnd && plan.wantsBookmarks) {
      stream.send({ type: 'BOOKMARK', revision: start, endsInitialEvents: true })
    }
  }

  let stop: () => void
  try {
    const subscription = store.watch(plan.prefix, start, change => deliver(stream, plan.selection, change))
    stop = () => subscription.stop()
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error
    stream.end(expired(`too old resource version: ${plan.from} (${error.compacted + 1})`).status)
    return () => {}
  }

  // A bookmark promises that everything up to it was sent; publication is synchronous, so that is always "now".
  let lastBookmark = start
  const bookmark = () => {
    const revision = Math.max(store.revision, start)
    if (revision > lastBookmark) stream.send({ type: 'BOOKMARK', revision, endsInitialEvents: false })
    lastBookmark = revision
  }
  const bookmarks = plan.wantsBookmarks ? setInterval(bookmark, bookmarkIntervalMs) : undefined
  const timeout = setTimeout(() => {
    if (plan.wantsBookmarks) bookmark()
    close()
    stream.end()
  }, plan.timeoutMs)
  const close = () => {
    clearInterval(bookmarks)
    clearTimeout(timeout)
    stop()
  }
  return close
}

function deliver(stream: WatchStream, selection: Selection, change: Change): void {
  const { type, entry, previous } = change
  if (selection.isEverything) {
    const event = type === 'delete' ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED'
    return stream.send({ type: event, entry })
  }
  const objects = objectsOf(change)
  const did = objects.previous !== undefined && selection.matches(objects.previous)
  const does = type === 'put' && selection.matches(objects.current)
  if (does) return stream.send({ type: did ? 'MODIFIED' : 'ADDED', entry })
  if (!did || previous === undefined) return
  // The client sees the object as it last matched, at the version of the change that no longer matches.
  if (type === 'delete') return stream.send({ type: 'DELETED', entry })
  stream.send({
    type: 'DELETED',
    entry: { ...previous, revision: entry.revision, value: restamp(previous, entry.revision) },
  })
}

function restamp(previous: Change['entry'], revision: number): Buffer {
  const text = previous.value.toString('utf8')
  return Buffer.from(text.replace(`"resourceVersion":"${previous.revision}"`, `"resourceVersion":"${revision}"`))
}

/** Zero means that none was asked for. No timer counts further than a month, and no watch should. */
function readTimeoutMs(query: URLSearchParams, random: () => number): number {
  const asked = readInteger(query, 'timeoutSeconds') ?? 0
  const seconds = asked === 0 ? watchSecondsDefaultMin * (1 + random()) : Math.max(asked, 0)
  return Math.min(seconds * 1000, timerMsMax)
}

const timerMsMax = 2 ** 31 - 1
