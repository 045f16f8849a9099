// `npm run fuzz`: every target in turn, for as long as MINUTES says in all (5 unless told otherwise). What fails is made as
// small as it gets and printed with its seed; SEED=n takes the same way again, TARGET=text only some of the targets.

import fc from 'fast-check'
import { addresses, macs } from './addresses.fuzz.ts'
import { commandLines } from './arguments.fuzz.ts'
import { jsonBodies, yamlBodies } from './bodies.fuzz.ts'
import { cniCalls } from './cni.fuzz.ts'
import { continueTokens } from './continue-tokens.fuzz.ts'
import { conversions } from './conversions.fuzz.ts'
import { expressions } from './expressions.fuzz.ts'
import { headers } from './headers.fuzz.ts'
import { hostileTexts } from './hostile-texts.fuzz.ts'
import { installConfigs, kernelArguments } from './install-configs.fuzz.ts'
import { migrationValues } from './migration-values.fuzz.ts'
import { networkConfigs, networkSelections, podNetworks } from './networks.fuzz.ts'
import { jsonPatches, mergePatches } from './patches.fuzz.ts'
import { urlPaths } from './paths.fuzz.ts'
import { rangeLists } from './range-lists.fuzz.ts'
import { admissionReviews } from './reviews.fuzz.ts'
import { fieldSelectors, labelSelectors, revisions } from './selectors.fuzz.ts'
import { sources } from './sources.fuzz.ts'
import { storeFiles } from './store.fuzz.ts'
import type { FuzzTarget } from './target.ts'
import { bearerTokens } from './tokens.fuzz.ts'
import { launcherPods, vmObjects } from './virtual-machines.fuzz.ts'
import { watchStreams } from './watch-streams.fuzz.ts'

const all = [
  addresses,
  macs,
  rangeLists,
  jsonBodies,
  yamlBodies,
  jsonPatches,
  mergePatches,
  labelSelectors,
  fieldSelectors,
  migrationValues,
  revisions,
  continueTokens,
  urlPaths,
  bearerTokens,
  headers,
  admissionReviews,
  conversions,
  expressions,
  watchStreams,
  networkConfigs,
  networkSelections,
  podNetworks,
  cniCalls,
  vmObjects,
  launcherPods,
  hostileTexts,
  ...sources,
  installConfigs,
  kernelArguments,
  commandLines,
  storeFiles,
]

const { MINUTES = '5', SEED = String(Date.now() % 2 ** 31), TARGET = '' } = process.env
const targets = all.filter(({ name }) => name.includes(TARGET))
const eachMs = (Number(MINUTES) * 60_000) / targets.length

/** One input of some kilobytes that takes longer than this, on a machine that does other work too, would block a server. */
const cpuMsMax = 2_000

/** Any bytes; or one of the corpus with some bytes taken out and others, or a word, put in, a few times. */
function inputsOf({ corpus, dictionary = [] }: FuzzTarget): fc.Arbitrary<Buffer> {
  const any = fc.uint8Array({ maxLength: 256 }).map(bytes => Buffer.from(bytes))
  const start = fc.constantFrom(...corpus.map(item => Buffer.from(item)))
  const bytes = fc.uint8Array({ maxLength: 8 })
  const into = dictionary.length === 0 ? bytes : fc.oneof(bytes, fc.constantFrom(...dictionary).map(toBytes))
  const edit = fc.record({ at: fc.nat(), out: fc.nat({ max: 8 }), into })
  const edited = fc.tuple(start, fc.array(edit, { maxLength: 6 })).map(([item, edits]) =>
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

const toBytes = (text: string): Uint8Array => Buffer.from(text)

async function runWithinBound(target: FuzzTarget, input: Buffer): Promise<void> {
  const before = process.cpuUsage()
  await target.run(input)
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1_000
  if (ms > cpuMsMax) throw new Error(`slow: ${Math.round(ms)} ms of the processor for ${input.length} bytes`)
}

/** Long inputs are cut in what is printed. */
const shownCharsMax = 4_000

let failed = 0
for (const target of targets) {
  let runs = 0
  let running = Promise.resolve()
  await target.begin?.()
  const property = fc.asyncProperty(inputsOf(target), async input => {
    runs++
    running = runWithinBound(target, input)
    await running
  })
  const details = await fc.check(property, {
    seed: Number(SEED),
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: eachMs,
    examples: target.corpus.map((item): [Buffer] => [Buffer.from(item)]),
  })
  // When the time is up, the last run is not waited for.
  await running.catch(() => {})
  await target.end?.()
  const isBroken = details.failed && !(details.interrupted && details.counterexample === null)
  console.log(`${target.name}: ${runs} runs${isBroken ? `, FAILED with SEED=${details.seed}` : ''}`)
  if (!isBroken) continue
  failed++
  console.log(`  input ${JSON.stringify(details.counterexample?.[0]?.toString('latin1')).slice(0, shownCharsMax)}`)
  console.log(
    `  ${details.errorInstance instanceof Error ? details.errorInstance.stack : String(details.errorInstance)}`,
  )
}
console.log(`${targets.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
