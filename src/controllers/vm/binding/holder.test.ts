// Which pod runs a virtual machine: a table over the course of live migrations.

import { expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { parseLauncherPod } from '../../../api/launcher-pod.ts'
import { holderOf } from './holder.ts'

interface Story {
  readonly node?: string
  readonly phase?: string
  readonly isReady?: boolean
  readonly isTarget?: boolean
  /** Later ones are younger. */
  readonly at?: number
}

function aPod(name: string, { node = name, phase = 'Running', isReady, isTarget, at = 0 }: Story = {}) {
  return orThrow(
    parseLauncherPod({
      metadata: {
        name,
        creationTimestamp: `2030-01-01T00:00:0${at}Z`,
        labels: isTarget === true ? { 'kubevirt.io/migrationJobUID': 'm' } : {},
        annotations: isReady === true ? { 'kubevirt.io/migration-target-ready-timestamp': 'x' } : {},
      },
      spec: { nodeName: node },
      status: { phase },
    }),
  )
}

const source = aPod('a')
const target = (story: Story = {}) => aPod('b', { isTarget: true, at: 1, ...story })

test.each<[string, ReturnType<typeof aPod>[], string, string | undefined, string | undefined]>([
  ['a machine that is stopped is run by none', [], '', undefined, undefined],
  ['a machine whose pod has ended is run by none', [aPod('a', { phase: 'Succeeded' })], 'a', undefined, undefined],
  ['a machine is run by its only pod', [source], 'a', 'a', undefined],
  ['a target that is alone runs it, ready or not', [target()], 'a', 'b', undefined],
  ['the source runs it until the target is ready', [target(), source], 'a', 'a', 'a to b'],
  ['the target runs it from then on', [source, target({ isReady: true })], 'a', 'b', 'a to b'],
  ['the target runs it when the instance is on its node', [source, target()], 'b', 'b', 'a to b'],
  ['two pods on one node are not told apart by it', [source, target({ node: 'a' })], 'a', 'a', 'a to b'],
  ['the target runs it when the source has ended', [aPod('a', { phase: 'Succeeded' }), target()], 'a', 'b', undefined],
  ['the source runs it when the migration has failed', [source, target({ phase: 'Failed' })], 'a', 'a', undefined],
  [
    'the source runs it when a target that was ready has failed',
    [source, target({ isReady: true, phase: 'Failed' })],
    'a',
    'a',
    undefined,
  ],
  [
    'a former target is the source of the next migration',
    [target({ isReady: true }), aPod('c', { isTarget: true, at: 2 })],
    'b',
    'b',
    'b to c',
  ],
  [
    'of three pods the source runs it while no target is ready',
    [source, target(), aPod('c', { isTarget: true, at: 2 })],
    'a',
    'a',
    'a to c',
  ],
  [
    'of three pods the newest that is ready runs it',
    [source, target({ isReady: true }), aPod('c', { isTarget: true, at: 2, isReady: true })],
    'a',
    'c',
    'b to c',
  ],
  ['pods of one second go by their names', [aPod('b', { isReady: true }), aPod('a')], '', 'b', 'a to b'],
])('%s', (_, pods, nodeName, pod, migration) => {
  const holder = holderOf(pods, { nodeName })
  expect(holder.pod).toBe(pod)
  expect(holder.migration && `${holder.migration.source} to ${holder.migration.target}`).toBe(migration)
})
