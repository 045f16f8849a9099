// What `kubectl` prints and how it ends is the same as with a real kube-apiserver: its answers were recorded
// (`npm run test:kubectl -- --server=cluster --record`), and every run compares with that recording.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { differences } from './differences.ts'
import { openSession, type Session } from './kubectl.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import { type Outcome, parseTranscript, toText, toTranscript } from './transcript.ts'

const target = inject('kubectl')
const folder = join(dirname(fileURLToPath(import.meta.url)), 'recorded')
/** A directory for what this server answered, to be looked at beside the recordings. */
const answers = process.env.MOORING_KUBECTL_ANSWERS
const only = process.env.MOORING_KUBECTL_SCENARIOS?.split(',')

if ('missing' in target) test.skip(`skipped, because ${target.missing}`, () => {})
else {
  for (const scenario of scenarios.filter(({ name }) => only === undefined || only.includes(name))) {
    describe(scenario.name, () => compare(scenario, target))
  }
}

function compare(scenario: Scenario, { server, kubeconfig, isRecording }: Exclude<typeof target, { missing: string }>) {
  const path = join(folder, `${scenario.name}.txt`)
  const recorded = !isRecording && existsSync(path) ? parseTranscript(readFileSync(path, 'utf8')) : []
  const outcomes: Outcome[] = []
  let session: Session
  beforeAll(async () => {
    session = await openSession(scenario, kubeconfig)
  })
  afterAll(async () => {
    await session.end()
    if (isRecording) writeFileSync(path, toTranscript(outcomes))
    if (answers !== undefined) writeFileSync(join(answers, `${scenario.name}.txt`), toTranscript(outcomes))
  })
  scenario.commands.forEach((command, index) => {
    test(command.split('\n')[0] ?? command, async () => {
      const outcome = await session.run(command)
      outcomes.push(outcome)
      if (isRecording) return
      const difference = differences.find(one => one.scenario === scenario.name && one.command === command)
      if (server === 'embedded' && difference !== undefined) {
        expect(toText(outcome), 'this is listed as a difference').not.toBe(recorded[index])
        return
      }
      expect(toText(outcome)).toBe(recorded[index])
    })
  })
}
