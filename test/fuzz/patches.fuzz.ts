import { isDeepStrictEqual } from 'node:util'
import { applyJSONPatch } from '../../src/apiserver/patch/json-patch.ts'
import { applyMergePatch } from '../../src/apiserver/patch/merge-patch.ts'
import { StatusError } from '../../src/apiserver/status.ts'
import { JSONSyntaxError, type JSONValue, parseJSON } from '../../src/json.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

const document = (): JSONValue => ({
  metadata: { name: 'a', labels: { x: 'y' } },
  list: [1, { b: [2] }, 'c'],
  'a/~': null,
})

const target = (name: string, corpus: string[], apply: typeof applyJSONPatch): FuzzTarget => ({
  name,
  corpus,
  run(input) {
    const patch = unlessRefused(() => parseJSON(input.toString('utf8')), JSONSyntaxError)?.value
    if (patch === undefined) return
    const before = document()
    const first = unlessRefused(() => apply(before, patch), StatusError)
    must(isDeepStrictEqual(before, document()), 'the document that is patched stays as it was')
    must(
      isDeepStrictEqual(
        first,
        unlessRefused(() => apply(before, patch), StatusError),
      ),
      'the same patch gives the same',
    )
  },
})

export const jsonPatches = target(
  'JSON patches',
  [
    '[{"op":"add","path":"/list/-","value":1},{"op":"test","path":"/metadata/name","value":"a"}]',
    '[{"op":"move","from":"/list/1","path":"/a~1~0"},{"op":"copy","from":"/metadata","path":"/list/0"}]',
    '[{"op":"remove","path":"/list/-1"},{"op":"replace","path":"","value":{"__proto__":{"polluted":1}}}]',
  ],
  applyJSONPatch,
)

export const mergePatches = target(
  'merge patches',
  ['{"metadata":{"labels":null,"name":"b"},"__proto__":{"polluted":1}}', '{"list":[{}],"a/~":{"b":{"c":null}}}'],
  applyMergePatch,
)
