// Which Machines a set takes, makes and deletes, as a table.

import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { type Machine, parseMachine } from '../../../api/machine.ts'
import { parseMachineSet } from '../../../api/machine-set.ts'
import { countMachines, planScale, whyRefused } from './scale.ts'

const aSet = (spec: object = {}) =>
  orThrow(
    parseMachineSet({
      metadata: { name: 'workers', namespace: 'n', uid: 's', resourceVersion: '1' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { set: 'workers' } },
        template: {
          metadata: { labels: { set: 'workers' } },
          spec: { providerSpec: { value: { kind: 'VSphereMachineProviderSpec' } } },
        },
        ...spec,
      },
    }),
  )

interface Given {
  readonly owner?: string
  readonly age?: number
  readonly phase?: string
  readonly isMarked?: boolean
  readonly isDeleting?: boolean
  readonly namespace?: string
}

const aMachine = (name: string, given: Given = {}): Machine => {
  const { owner = 's', age = 0, phase = 'Running', isMarked = false, isDeleting = false, namespace = 'n' } = given
  return orThrow(
    parseMachine({
      metadata: {
        name,
        namespace,
        uid: name,
        resourceVersion: '1',
        labels: { set: 'workers' },
        creationTimestamp: `2030-01-01T00:00:0${9 - age}Z`,
        ...(isMarked && { annotations: { 'machine.openshift.io/delete-machine': '' } }),
        ...(isDeleting && { deletionTimestamp: '2030-01-01T00:00:00Z' }),
        ...(owner !== '' && {
          ownerReferences: [
            { apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', name: 'o', uid: owner, controller: true },
          ],
        }),
      },
      status: { phase },
    }),
  )
}

const text = (machines: readonly Machine[], spec: object = {}): string => {
  const { adopt, create, remove } = planScale(aSet(spec), machines)
  const names = (list: readonly Machine[]) => list.map(({ metadata }) => metadata.name).join(',')
  return `adopt ${names(adopt)}; create ${create}; remove ${names(remove)}`
}

describe('planScale', () => {
  const [a, b, c] = [aMachine('a', { age: 3 }), aMachine('b', { age: 2 }), aMachine('c', { age: 1 })]

  test.each<[string, readonly Machine[], object, string]>([
    ['there are none', [], {}, 'adopt ; create 2; remove '],
    ['there are as many as wanted', [a, b], {}, 'adopt ; create 0; remove '],
    ['one has no owner', [a, aMachine('x', { owner: '' })], {}, 'adopt x; create 0; remove '],
    ["one is another set's", [a, aMachine('x', { owner: 'other' })], {}, 'adopt ; create 1; remove '],
    ['one is of another namespace', [a, aMachine('x', { owner: '', namespace: 'm' })], {}, 'adopt ; create 1; remove '],
    ['one is on its way out', [a, aMachine('b', { isDeleting: true })], {}, 'adopt ; create 1; remove '],
    ['the newest go first', [a, b, c], {}, 'adopt ; create 0; remove c'],
    ['the oldest go first', [a, b, c], { deletePolicy: 'Oldest' }, 'adopt ; create 0; remove a'],
    [
      'one that does not run goes first',
      [a, aMachine('b', { age: 2, phase: 'Provisioning' }), c],
      {},
      'adopt ; create 0; remove b',
    ],
    [
      'one that failed goes before',
      [aMachine('a', { phase: 'Failed' }), b, c],
      { deletePolicy: 'Newest' },
      'adopt ; create 0; remove a',
    ],
    [
      'one that a user marked goes before all',
      [a, aMachine('b', { isMarked: true }), aMachine('c', { phase: 'Failed' })],
      {},
      'adopt ; create 0; remove b',
    ],
    ['the selector selects everything', [a, b, c], { selector: {} }, 'adopt ; create 0; remove '],
    ['too many are asked for', [], { replicas: 1_000_000 }, 'adopt ; create 0; remove '],
  ])('where %s', (_, machines, spec, expected) => {
    expect(text(machines, spec)).toBe(expected)
  })

  test('says why no Machine is made', () => {
    expect(whyRefused(aSet({ selector: { matchLabels: { set: 'other' } } }))).toContain('does not select the labels')
    expect(whyRefused(aSet({ replicas: 2_001 }))).toContain('2000 Machines at most')
    expect(whyRefused(aSet())).toBeUndefined()
  })

  test('counts those that run', () => {
    expect(countMachines(aSet(), [a, b, aMachine('d', { phase: 'Provisioning' })])).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 3,
      readyReplicas: 2,
      availableReplicas: 2,
    })
  })
})
