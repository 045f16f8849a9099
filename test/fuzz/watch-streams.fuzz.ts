// The stream of a watch, however it is cut on its way: the same events, and the same end.

import { ApiError } from '../../src/kube/api-error.ts'
import { createClient } from '../../src/kube/client.ts'
import type { Kind } from '../../src/kube/object.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { type FuzzTarget, must } from './target.ts'

const kind: Kind = { group: '', versions: ['v1'], kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

interface Read {
  readonly events: readonly string[]
  /** Undefined where the stream ended in good order. */
  readonly fault: string | undefined
}

async function readInPieces(bytes: Uint8Array, lengths: readonly number[]): Promise<Read> {
  const client = createClient({
    clock: { ...realClock, setTimer: () => () => {} },
    versionOf: async () => 'v1',
    name: 'fuzz',
    wire: async () => ({ status: 200, headers: {}, body: cut(bytes, lengths) }),
  })
  const events: string[] = []
  try {
    for await (const event of await client.watch(kind, { resourceVersion: '1' })) {
      events.push(event.type === 'ERROR' ? `ERROR ${event.refusal.reason} ${event.refusal.message}` : textOf(event))
    }
    return { events, fault: undefined }
  } catch (error) {
    must(error instanceof ApiError, `a stream that cannot be read is refused as one: ${String(error)}`)
    return { events, fault: (error as ApiError).reason }
  }
}

const textOf = (event: unknown): string =>
  JSON.stringify(event, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))

async function* cut(bytes: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array, void, undefined> {
  let at = 0
  for (let i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length] ?? 1
    yield bytes.subarray(at, at + length)
    at += length
  }
}

const event = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`
const metadata = { name: 'ä-\u{1f6a2}', resourceVersion: '7', managedFields: [{ manager: ']"', operation: 'Update' }] }

export const watchStreams: FuzzTarget = {
  name: 'streams of watches',
  corpus: [
    event('ADDED', { metadata }) + event('MODIFIED', { metadata, n: 1 }) + event('DELETED', { metadata }),
    event('BOOKMARK', { metadata: { resourceVersion: '9' } }) + event('ERROR', { code: 410, reason: 'Expired' }),
    event('ADDED', { metadata }) + event('ERROR', { kind: 'Status', code: 500 }) + event('ADDED', { metadata }),
    `\n\n${event('ADDED', { metadata, big: 1 }).replace('"big":1', '"big":9007199254740993')}{"type":"ADDED","obj`,
    Buffer.concat([Buffer.from(event('ADDED', { metadata })), Buffer.from([0xc3, 0x28, 0x0a]), Buffer.from('{}\n')]),
    'null\n[]\n"ADDED"\n{"type":"ADDED","object":null}\n',
    '{"type":"ADDED","object":{"metadata":{"resourceVersion":{"toString":1}}}}\n',
  ],
  dictionary: ['\n', '"managedFields":[', '\\"', ']', '}', '\u2028', '\u{1f6a2}', '\ufeff', '"type":"ERROR"'],
  async run(input) {
    const single = await readInPieces(input, [1])
    for (const lengths of [[2, 3], [7], [1, 64], [input.length + 1]]) {
      const pieces = await readInPieces(input, lengths)
      const shown = `${textOf(pieces)}, and byte by byte ${textOf(single)}`
      must(pieces.fault === single.fault, `the same end: ${shown}`)
      // What stands before bad bytes in the same piece is not given out; the next watch brings it again.
      const isShorter = pieces.fault !== undefined && pieces.events.length < single.events.length
      must(isShorter || pieces.events.length === single.events.length, `all events: ${shown}`)
      must(
        pieces.events.every((event, i) => event === single.events[i]),
        `the same events: ${shown}`,
      )
    }
  },
}
