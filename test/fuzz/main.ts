// `npm run fuzz`: every target in turn, for as long as MINUTES says in all (5 unless told otherwise). What fails is made as
// small as it gets and printed with its seed; SEED=n takes the same way again, TARGET=text only some of the targets.

import fc from 'fast-check'
import { jsonBodies, yamlBodies } from './bodies.fuzz.ts'
import { jsonPatches, mergePatches } from './patches.fuzz.ts'
import { urlPaths } from './paths.fuzz.ts'
import { labelSelectors } from './selectors.fuzz.ts'
import type { FuzzTarget } from './target.ts'
import { bearerTokens } from './tokens.fuzz.ts'

const all = [jsonBodies, yamlBodies, jsonPatches, mergePatches, labelSelectors, urlPaths, bearerTokens]

const { MINUTES = '5', SEED = String(Date.now() % 2 ** 31), TARGET = '' } = process.env
const targets = all.filter(({ name }) => name.includes(TARGET))
const eachMs = (Number(MINUTES) * 60_000) / targets.length

/** Any bytes; or one of the corpus with some bytes taken out and others put in, a few times. */
function inputsOf({ corpus }: FuzzTarget): fc.Arbitrary<Buffer> {
  const any = fc.uint8Array({ maxLength: 256 }).map(bytes => Buffer.from(bytes))
  const start = fc.constantFrom(...corpus.map(item => Buffer.from(item)))
  const edit = fc.record({ at: fc.nat(), out: fc.nat({ max: 8 }), into: fc.uint8Array({ maxLength: 8 }) })
  const edited = fc.tuple(start, fc.array(edit, { maxLength: 4 })).map(([item, edits]) =>
    edits.reduce((bytes, { at, out, into }) => {
      const place = at % (bytes.length + 1)
      return Buffer.concat([bytes.subarray(0, place), into, bytes.subarray(place + out)])
    }, item),
  )
  const spliced = fc
    .tuple(start, start, fc.nat(), fc.nat())
    .map(([a, b, i, j]) => Buffer.concat([a.subarray(0, i % (a.length + 1)), b.subarray(j % (b.length + 1))]))
  return fc.oneof({ arbitrary: any, weight: 1 }, { arbitrary: edited, weight: 4 }, { arbitrary: spliced, weight: 1 })
}

let failed = 0
for (const target of targets) {
  let runs = 0
  const property = fc.asyncProperty(inputsOf(target), async input => {
    runs++
    await target.run(input)
  })
  const details = await fc.check(property, {
    seed: Number(SEED),
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: eachMs,
    examples: target.corpus.map((item): [Buffer] => [Buffer.from(item)]),
  })
  const isBroken = details.failed && !details.interrupted
  console.log(`${target.name}: ${runs} runs${isBroken ? `, FAILED with SEED=${details.seed}` : ''}`)
  if (!isBroken) continue
  failed++
  console.log(`  input ${JSON.stringify(details.counterexample?.[0]?.toString('latin1'))}`)
  console.log(
    `  ${details.errorInstance instanceof Error ? details.errorInstance.stack : String(details.errorInstance)}`,
  )
}
console.log(`${targets.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
