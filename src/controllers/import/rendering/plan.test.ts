import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { parseUserDefinedNetwork } from '../../../api/user-defined-network.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { renderNetwork } from '../../../networks/rendered.ts'
import { toAttachment } from './attachment.ts'
import { conditionOf, decide, isObserved, type Place } from './plan.ts'

const finalizer = 'k8s.ovn.org/user-defined-network-protection'

const udnWith = (metadata: object = {}, status: object = {}, layer2: object = {}) =>
  orThrow(
    parseUserDefinedNetwork({
      metadata: { name: 'net', uid: 'u', ...metadata },
      spec: {
        namespaceSelector: {},
        network: { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.0.0.0/24'], ...layer2 } },
      },
      status,
    }),
  )

const kind = 'ClusterUserDefinedNetwork'
const udn = udnWith()
const rendered = (() => {
  const one = renderNetwork(udn)
  if (one === undefined) throw new Error('it is not served')
  return orThrow(one)
})()

const attachmentIn = (namespace: string, metadata: object = {}): KubeObject => {
  const made = toAttachment(udn, kind, namespace, rendered)
  return { ...made, metadata: { ...made.metadata, ...metadata } }
}

const aPlace = (place: Partial<Place> = {}): Place => ({
  namespace: 'red',
  isTarget: true,
  isElsewhere: false,
  hasPrimaryLabel: true,
  attachment: undefined,
  hasForeign: false,
  otherPrimary: undefined,
  ...place,
})

const planFor = (...places: Place[]) => {
  const { make, restore, remove, errors } = decide({ udn, kind, rendered, places })
  return { make: make.length, restore: restore.length, remove: remove.length, errors }
}

describe('a namespace', () => {
  const nothing = { make: 0, restore: 0, remove: 0, errors: [] }
  const made = attachmentIn('red')

  test.each<[string, Partial<Place>, Partial<ReturnType<typeof planFor>>]>([
    ['that it is for and has none', {}, { make: 1 }],
    ['that has one as it should be', { attachment: made }, {}],
    ['that has one with notes of others', { attachment: attachmentIn('red', { annotations: { a: 'b' } }) }, {}],
    ['that has one with another label', { attachment: attachmentIn('red', { labels: { a: 'b' } }) }, { restore: 1 }],
    ['that has one without its finalizer', { attachment: attachmentIn('red', { finalizers: [] }) }, { restore: 1 }],
    ['that has one on its way out', { attachment: attachmentIn('red', { deletionTimestamp: 'x' }) }, { remove: 1 }],
    ['that it is no longer for', { isTarget: false, attachment: made }, { remove: 1 }],
    ['that it is not for', { isTarget: false, hasForeign: true }, {}],
    [
      'with something else of its name',
      { hasForeign: true },
      { errors: ['foreign NetworkAttachmentDefinition with the desired name already exist [red/net]'] },
    ],
    [
      'with another primary network',
      { otherPrimary: 'first' },
      { errors: ['primary network already exist in namespace "red": "first"'] },
    ],
    ['with another primary network that came later', { otherPrimary: 'second', attachment: made }, {}],
  ])('%s', (_, place, plan) => {
    expect(planFor(aPlace(place))).toEqual({ ...nothing, ...plan })
  })

  test('without the label gets nothing of a primary network, and the others do', () => {
    const plan = planFor(aPlace({ hasPrimaryLabel: false }), aPlace({ namespace: 'blue' }))
    expect(plan).toMatchObject({ make: 1, errors: [expect.stringContaining('for namespace "red"')] })
  })

  test('gets nothing of a network that cannot be rendered, and keeps what it has', () => {
    const places = [aPlace(), aPlace({ namespace: 'blue', attachment: attachmentIn('blue') })]
    const plan = decide({ udn, kind, rendered: { malformed: 'it is wrong' }, places })
    const errors = ['failed to generate NetworkAttachmentDefinition: it is wrong']
    expect(plan).toEqual({ make: [], restore: [], remove: [], errors })
  })

  test('has the same config in any order of its keys', () => {
    const { spec } = made as unknown as { spec: { config: string } }
    const config = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(spec.config)).toReversed()))
    expect(config).not.toBe(spec.config)
    expect(planFor(aPlace({ attachment: { ...made, spec: { config } } as KubeObject }))).toEqual(nothing)
  })
})

describe('OVN-Kubernetes renders', () => {
  const ours = { finalizers: [finalizer], annotations: { 'mooring.dev/network-name': 'cluster_udn_net' } }
  const allocated = {
    conditions: [
      { type: 'NetworkAllocationSucceeded', status: 'True', reason: 'x', message: '', lastTransitionTime: '' },
    ],
  }

  test.each<[string, boolean, object, object]>([
    ['a network that is new', false, {}, {}],
    ['one that Mooring guards', false, ours, {}],
    ['one that something else guards', true, { finalizers: [finalizer] }, {}],
    ['one whose nodes have it', true, ours, allocated],
  ])('%s: %s', (_, isTheirs, metadata, status) => {
    const network = udnWith(metadata, status)
    expect(isObserved(network, 'auto')).toBe(isTheirs)
    expect(isObserved(network, 'observe')).toBe(true)
    expect(isObserved(network, 'render')).toBe(false)
  })
})

describe('the condition', () => {
  test('names the namespaces in order, whichever was made first', () => {
    const attachments = [attachmentIn('red'), attachmentIn('blue')]
    expect(conditionOf({ udn, kind }, { errors: [], attachments }).message).toBe(
      'NetworkAttachmentDefinition has been created in following namespaces: [blue, red]',
    )
  })

  test('says what is being deleted', () => {
    const attachments = [attachmentIn('red'), attachmentIn('blue', { deletionTimestamp: 'x' })]
    expect(conditionOf({ udn, kind }, { errors: [], attachments })).toMatchObject({
      status: 'False',
      reason: 'NetworkAttachmentDefinitionDeleted',
      message: 'NetworkAttachmentDefinition are being deleted: [blue/net]',
    })
  })

  test('has every error on a line of its own, and fits into the API', () => {
    const two = conditionOf({ udn, kind }, { errors: ['a', 'b'], attachments: [] })
    expect(two).toMatchObject({ reason: 'NetworkAttachmentDefinitionSyncError', message: 'a\nb' })
    const errors = Array.from({ length: 10_000 }, () => 'too much')
    expect(conditionOf({ udn, kind }, { errors, attachments: [] }).message).toHaveLength(32_768)
  })
})
