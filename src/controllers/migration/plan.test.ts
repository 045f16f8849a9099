// Every rule of the plan is a row: what was seen, and what is done next.

import { describe, expect, test } from 'vitest'
import { attachmentName, configOf } from '../../migration/attachment.ts'
import { defaultHash, readSettingValue, type Wanted } from '../../migration/wanted.ts'
import type { KubeVirt } from './kubevirt.ts'
import { decide, type Made, type Memory, patienceMs, type Seen, sufficiencyOf } from './plan.ts'
import type { Handler } from './rollout.ts'

const nowMs = Date.UTC(2030, 0, 1, 12)
const agoMs = (milliseconds: number) => new Date(nowMs - milliseconds).toISOString()

function wanted(more: object = {}): Wanted {
  const read = readSettingValue(JSON.stringify({ clusterNetwork: 'cn', vlan: 100, range: '10.1.2.0/24', ...more }))
  if (read === 'default' || 'problems' in read) throw new Error('the test asks for what cannot be read')
  return read.wanted
}

const one = wanted()
const two = wanted({ vlan: 200 })
const [nameOne, nameTwo] = [attachmentName(one), attachmentName(two)]

const kubeVirt = (network = '', whyNotReady?: string): KubeVirt => ({
  namespace: 'harvester-system',
  name: 'kubevirt',
  network,
  whyNotReady,
  object: { metadata: {} },
})

function made(network: Wanted, more: Partial<Made> = {}): Made {
  const config = JSON.stringify(configOf(network))
  const name = attachmentName(network)
  return {
    name,
    hash: network.hash,
    config,
    hasMarks: true,
    isDeleting: false,
    createdAt: '',
    object: { metadata: {} },
    ...more,
  }
}

const on = (node: string, network: string, more: Partial<Handler> = {}): Handler => ({
  pod: `virt-handler-${node}`,
  node,
  isReady: true,
  network,
  addresses: network === '' ? undefined : [`10.1.2.${node}`],
  waitsFor: '',
  uses: network === '' ? [] : [network],
  ...more,
})

const both = (network: string) => [on('1', network), on('2', network)]

const doneWith = (network: Wanted): Memory => ({
  done: { hash: network.hash, attachment: attachmentName(network), text: network.canonical },
  rollout: undefined,
  failed: undefined,
})
const nothing: Memory = { done: undefined, rollout: undefined, failed: undefined }
const rolling = (network: Wanted, before: Memory = nothing, sinceMs = 0, ready = 0): Memory => ({
  ...before,
  rollout: { hash: network.hash, attachment: attachmentName(network), since: agoMs(sinceMs), ready },
})

function seen(more: Partial<Seen> = {}): Seen {
  return {
    asks: { kind: 'network', network: one },
    memory: nothing,
    before: undefined,
    kubeVirt: kubeVirt(),
    noKubeVirt: 'not found',
    made: [],
    nodes: ['1', '2'].map(name => ({ name, uid: name, isReady: true })),
    needed: 2,
    handlers: both(''),
    running: [],
    unaddressed: () => new Map(),
    nowMs,
    ...more,
  }
}

const to = (network: Wanted): Seen['asks'] => ({ kind: 'network', network })
const back: Seen['asks'] = { kind: 'management' }
const down = [
  { name: '1', uid: '1', isReady: true },
  { name: '2', uid: '2', isReady: false },
]

type Row = readonly [what: string, given: Partial<Seen>, step: string, reason: string | undefined, more?: object]

const rows: readonly Row[] = [
  // --- to a network ---
  ['nothing was made yet', {}, `make ${nameOne}`, 'InProgress'],
  ['one of its name is being deleted', { made: [made(one, { isDeleting: true })] }, 'none', 'InProgress'],
  ['it says something else', { made: [made(one, { config: '{}' })] }, `restore ${nameOne}`, 'InProgress'],
  ['it lacks its marks', { made: [made(one, { hasMarks: false })] }, `restore ${nameOne}`, 'InProgress'],
  [
    'Harvester made it under another name',
    { made: [made(one, { name: 'abcde', hash: 'raw' })] },
    'restore abcde',
    'InProgress',
  ],
  [
    'a node has no address',
    { made: [made(one)], unaddressed: () => new Map([['2', 'full']]) },
    'none',
    'WaitingForAddresses',
  ],
  [
    'a node has no address yet',
    { made: [made(one)], unaddressed: () => new Map([['2', undefined]]) },
    'none',
    'InProgress',
  ],
  ['a migration runs', { made: [made(one)], running: ['a/b'] }, 'none', 'WaitingForMigrations'],
  ['it is to begin', { made: [made(one)] }, 'none', 'InProgress', rolling(one)],
  ['it has begun', { made: [made(one)], memory: rolling(one) }, `switch ${nameOne}`, 'InProgress'],
  ['another has begun', { made: [made(one)], memory: rolling(two) }, 'none', 'InProgress', rolling(one)],
  [
    'no node is on it',
    { made: [made(one)], memory: rolling(one), kubeVirt: kubeVirt(nameOne, 'updating') },
    'none',
    'InProgress',
  ],
  [
    'one node has come',
    {
      made: [made(one)],
      memory: rolling(one, nothing, 600_000),
      kubeVirt: kubeVirt(nameOne, 'updating'),
      handlers: [on('1', nameOne), on('2', '')],
    },
    'none',
    'InProgress',
    rolling(one, nothing, 0, 1),
  ],
  [
    'no node comes any more',
    { made: [made(one)], memory: rolling(one, nothing, patienceMs), kubeVirt: kubeVirt(nameOne, 'updating') },
    'none',
    'RollingBack',
    { ...nothing, failed: one.hash },
  ],
  [
    'only a node that is down is missing',
    {
      made: [made(one)],
      memory: rolling(one, nothing, patienceMs, 1),
      kubeVirt: kubeVirt(nameOne, 'updating'),
      handlers: [on('1', nameOne), on('2', '')],
      nodes: down,
    },
    'none',
    'InProgress',
  ],
  [
    'a pod has an address of another range',
    {
      made: [made(one)],
      memory: rolling(one),
      kubeVirt: kubeVirt(nameOne),
      handlers: [on('1', nameOne), on('2', nameOne, { addresses: ['10.9.9.9'] })],
    },
    'none',
    'InProgress',
    rolling(one, nothing, 0, 1),
  ],
  [
    'all nodes are on it, and KubeVirt is not ready',
    {
      made: [made(one)],
      memory: rolling(one, nothing, 0, 2),
      kubeVirt: kubeVirt(nameOne, 'updating'),
      handlers: both(nameOne),
    },
    'none',
    'InProgress',
  ],
  [
    'all is ready, and the former is there',
    {
      made: [made(one), made(two)],
      memory: rolling(one, doneWith(two)),
      kubeVirt: kubeVirt(nameOne),
      handlers: both(nameOne),
    },
    `remove ${nameTwo}`,
    'InProgress',
  ],
  [
    'all is ready, and a pod that goes has the former',
    {
      made: [made(one), made(two)],
      memory: rolling(one, doneWith(two)),
      kubeVirt: kubeVirt(nameOne),
      handlers: [...both(nameOne), on('9', nameTwo)],
    },
    'none',
    'InProgress',
  ],
  [
    'all is ready',
    { made: [made(one)], memory: rolling(one, doneWith(two)), kubeVirt: kubeVirt(nameOne), handlers: both(nameOne) },
    'none',
    'Completed',
    doneWith(one),
  ],
  [
    'all is as it was',
    { made: [made(one)], memory: doneWith(one), kubeVirt: kubeVirt(nameOne), handlers: both(nameOne) },
    'none',
    'Completed',
    doneWith(one),
  ],
  [
    'it worked, and a pod restarts: nothing is rolled back for it',
    { made: [made(one)], memory: doneWith(one), kubeVirt: kubeVirt(nameOne), handlers: [on('1', nameOne)] },
    'none',
    'NodesNotReady',
    doneWith(one),
  ],
  [
    'it worked, and a user edits the field',
    { made: [made(one)], memory: doneWith(one), kubeVirt: kubeVirt('mine'), handlers: both('mine') },
    'none',
    'InProgress',
    rolling(one, doneWith(one)),
  ],
  // --- back to what was in force ---
  [
    'it failed, and the former is there',
    {
      memory: { ...doneWith(two), failed: one.hash },
      before: two,
      made: [made(one), made(two)],
      kubeVirt: kubeVirt(nameOne),
      handlers: [on('1', nameOne), on('2', nameTwo)],
    },
    'none',
    'RollingBack',
    { ...rolling(two, doneWith(two)), failed: one.hash },
  ],
  [
    'it failed, and the former is gone',
    { memory: { ...doneWith(two), failed: one.hash }, before: two, made: [made(one)], kubeVirt: kubeVirt(nameOne) },
    `make ${nameTwo}`,
    'InProgress',
  ],
  [
    'it failed, and the former works again',
    {
      memory: { ...rolling(two, doneWith(two)), failed: one.hash },
      before: two,
      made: [made(two)],
      kubeVirt: kubeVirt(nameTwo),
      handlers: both(nameTwo),
    },
    'none',
    'RolledBack',
    { ...doneWith(two), failed: one.hash },
  ],
  [
    'it failed, and there was none before',
    { memory: { ...nothing, failed: one.hash }, made: [made(one)], kubeVirt: kubeVirt(nameOne) },
    'switch ',
    'InProgress',
  ],
  // --- to the management network ---
  ['nothing was ever asked for', { asks: back }, 'none', undefined],
  [
    'nothing was ever asked for, and a user wrote a network',
    { asks: back, kubeVirt: kubeVirt('mine') },
    'none',
    undefined,
  ],
  [
    'it is taken back',
    { asks: back, memory: doneWith(one), made: [made(one)], kubeVirt: kubeVirt(nameOne) },
    'switch ',
    'InProgress',
  ],
  [
    'it is taken back while a migration runs',
    { asks: back, memory: doneWith(one), made: [made(one)], kubeVirt: kubeVirt(nameOne), running: ['a/b'] },
    'none',
    'WaitingForMigrations',
  ],
  [
    'it is taken back, and its NetworkAttachmentDefinition is gone',
    { asks: back, memory: doneWith(one), kubeVirt: kubeVirt(nameOne) },
    'switch ',
    'InProgress',
  ],
  [
    'it is taken back, and pods have it',
    { asks: back, memory: doneWith(one), made: [made(one)], handlers: both(nameOne) },
    'none',
    'InProgress',
  ],
  [
    'it is taken back, and KubeVirt is not ready',
    { asks: back, memory: doneWith(one), made: [made(one)], kubeVirt: kubeVirt('', 'updating') },
    'none',
    'InProgress',
  ],
  [
    'it is taken back, and nothing has it',
    { asks: back, memory: doneWith(one), made: [made(one)] },
    `remove ${nameOne}`,
    'InProgress',
  ],
  [
    'it is taken back, and nothing is left',
    { asks: back, memory: doneWith(one) },
    'none',
    'Completed',
    { ...nothing, done: { hash: defaultHash, attachment: '', text: '' } },
  ],
  // --- what cannot be done ---
  [
    'the value cannot be read',
    { asks: { kind: 'unreadable', why: 'x' }, memory: doneWith(one) },
    'none',
    'InvalidValue',
    doneWith(one),
  ],
  ['there is no KubeVirt', { kubeVirt: undefined }, 'none', 'GetKubeVirtError'],
]

test('An address that a node has and that is excluded later stays, is no reason to roll back, and is named', () => {
  const narrower = wanted({ exclude: ['10.1.2.1/32'] })
  const plan = decide(
    seen({
      asks: { kind: 'network', network: narrower },
      made: [made(narrower)],
      memory: rolling(narrower, doneWith(one)),
      kubeVirt: kubeVirt(attachmentName(narrower)),
      handlers: both(attachmentName(narrower)),
    }),
  )
  expect(plan.says).toMatchObject({ status: 'True', reason: 'Completed' })
  expect(plan.says?.message).toContain('excluded, and still in use until the network is reset: 1 has 10.1.2.1')
})

describe('What is done next, where', () => {
  const cases = rows.map(([what, given, step, reason, memory]) => ({ what, given, step, reason, memory }))
  test.each(cases)('$what', ({ given, step, reason, memory }) => {
    const all = seen(given)
    const plan = decide(all)
    expect(stepText(plan.step)).toBe(step)
    expect(plan.says?.reason).toBe(reason)
    expect(plan.memory).toEqual(memory ?? all.memory)
  })
})

function stepText(step: ReturnType<typeof decide>['step']): string {
  if (step === undefined) return 'none'
  if (step.kind === 'switch') return `switch ${step.network}`
  return step.kind === 'make' ? `make ${attachmentName(step.network)}` : `${step.kind} ${step.made.name}`
}

describe('A roll-out', () => {
  test('is looked at again when it is to be given up', () => {
    const memory = rolling(one, nothing, 60_000)
    expect(decide(seen({ made: [made(one)], memory, kubeVirt: kubeVirt(nameOne, 'updating') })).waitMs).toBe(
      patienceMs - 60_000,
    )
  })

  test('names the nodes that it waits for, and why', () => {
    const handlers = [on('1', nameOne), on('2', nameOne, { isReady: false })]
    const { says } = decide(seen({ made: [made(one)], memory: rolling(one), kubeVirt: kubeVirt(nameOne), handlers }))
    expect(says?.message).toBe('1 of 2 nodes are ready; 2: pod virt-handler-2 is not ready')
  })
})

describe('Addresses are', () => {
  test.each([
    [253, 'True', 'Sufficient'],
    [254, 'False', 'NoSpareAddress'],
    [255, 'False', 'RangeUsedUp'],
  ])('for %i nodes of a /24: %s, %s', (needed, status, reason) => {
    expect(sufficiencyOf({ asks: to(one), needed })).toMatchObject({ status, reason })
  })

  test('not spoken of where no network is asked for', () => {
    expect(sufficiencyOf({ asks: back, needed: 3 })).toBeUndefined()
  })
})
