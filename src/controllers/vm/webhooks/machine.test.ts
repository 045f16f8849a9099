// Virtual machines on their way in: what is wrong with what they ask for, all of it at once.

import { describe, expect, test } from 'vitest'
import { admissionReview, ask } from '../../../../test/harness/webhooks.ts'
import { aClaim, aVMIObject, aVMObject, type MachineParts, StubNetworks } from '../../../../test/vm/builders.ts'
import { networkOf } from '../../../../test/vm/networks.ts'
import type { IPAMClaim } from '../../../api/ipam-claim.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { everything } from '../../office/scope.ts'
import { createViews } from '../../office/views.ts'
import { vmFacts } from '../facts.ts'
import { createCaches } from '../world.ts'
import { vmWebhooks } from './webhooks.ts'

const { pools } = networkOf({ name: 'net1', subnets: ['10.0.0.0/24', 'fd00::/64'] })
const webhookOf = (kind: string) => {
  const webhook = vmWebhooks.find(one => one.kind.kind === kind)
  if (webhook === undefined) throw new Error(`there is no webhook on ${kind}`)
  return webhook
}

interface Sight {
  readonly old?: MachineParts
  readonly claims?: readonly IPAMClaim[]
  readonly isCallerProven?: boolean
}

async function judged(object: KubeObject, { old, claims = [], isCallerProven = true }: Sight = {}) {
  const caches = createCaches(true, createViews(true))
  caches.claims.replace(claims as unknown as readonly KubeObject[], '1')
  const networks = new StubNetworks({ 'lab/net1': 'net1', 'lab/volatile': '!volatile' }, {}, pools)
  const facts = () => vmFacts({ client: { get: async () => undefined }, caches, networks, scope: everything })
  const body = admissionReview({
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    namespace: 'lab',
    object,
    ...(old && { oldObject: aVMObject(old) }),
  })
  const { response } = await ask(body, { webhook: webhookOf(object.kind ?? ''), facts, isCallerProven })
  return response
}

describe('A virtual machine', () => {
  test('that asks for what can be had is let in without a word', async () => {
    const parts = { addresses: { net1: ['10.0.0.5'] }, macs: { net1: '02:00:00:00:00:05' } }
    const { allowed, warnings } = await judged(aVMObject(parts))
    expect({ allowed, warnings }).toEqual({ allowed: true, warnings: undefined })
  })

  test('hears of everything that is wrong at once', async () => {
    const { allowed, status } = await judged(
      aVMObject({
        interfaces: ['net1', 'second:net1', 'third:net1'],
        addresses: { net1: ['10.1.0.5', 'fd01::5'], second: ['x'] },
        macs: { third: '01:00:5e:00:00:05' },
      }),
    )
    expect(allowed).toBe(false)
    expect(status?.code).toBe(422)
    for (const words of [/10.1.0.5 is not among/, /fd01::5 is not among/, /"x"/, /a group of cards/])
      expect(status?.message).toMatch(words)
  })

  test('is warned of what reaches no interface, and of what does not last', async () => {
    const { allowed, warnings } = await judged(
      aVMObject({ interfaces: ['net2:volatile'], addresses: { net2: ['10.0.0.5'], net9: ['10.0.0.6'] } }),
    )
    expect(allowed).toBe(true)
    expect(warnings).toEqual([
      'network.kubevirt.io/addresses names "net9", and there is no such interface',
      'interface net2 asks for 10.0.0.5, and is on no network with persistent addresses: nothing is given',
    ])
  })

  test('is warned that masquerade hides from the guest what it asks for', async () => {
    const parts = { addresses: { net1: ['10.0.0.5'] }, masqueraded: ['net1'] }
    const words = 'interface net1 asks for 10.0.0.5, and masquerade hides that from the guest: bind it by l2bridge'
    expect(await judged(aVMObject(parts))).toMatchObject({ allowed: true, warnings: [words] })
    expect(await judged(aVMIObject(parts))).toMatchObject({ allowed: true, warnings: [words] })
  })

  test('that is stored can be written whatever it asks for, as long as that stays', async () => {
    const wrong = { addresses: { net1: ['x'] } }
    expect(await judged(aVMObject(wrong), { old: wrong })).toMatchObject({ allowed: true })
    expect(await judged(aVMObject(wrong), { old: {} })).toMatchObject({ allowed: false })
    expect(await judged(aVMObject({ ...wrong, isDeleting: true }), { old: {} })).toMatchObject({ allowed: true })
  })

  test('that asks for other addresses than it has is warned', async () => {
    const parts = { uid: 'vm-1', addresses: { net1: ['10.0.0.5'] } }
    const { warnings } = await judged(aVMObject(parts), { old: {}, claims: [aClaim({ ips: ['10.0.0.7/24'] })] })
    expect(warnings).toEqual([
      'interface net1 has 10.0.0.7/24, and keeps that: for other addresses remove the interface and add it again',
    ])
  })

  test('is let in with a warning by a client that is no API server, which learns nothing about networks', async () => {
    const unproven = { isCallerProven: false }
    const { allowed, warnings } = await judged(aVMObject({ addresses: { net1: ['10.1.0.5'] } }), unproven)
    expect(allowed).toBe(true)
    expect(warnings).toEqual(['interface net1 asks for what its network does not give: its IPAMClaim says why'])
    expect(await judged(aVMObject({ addresses: { net1: ['x'] } }), unproven)).toMatchObject({ allowed: false })
  })
})

test('A lone instance is judged as a virtual machine is, one of a virtual machine is not judged again', async () => {
  const wrong = { addresses: { net1: ['x'] } }
  expect(await judged(aVMIObject(wrong))).toMatchObject({ allowed: false })
  expect(await judged(aVMIObject({ ...wrong, of: 'vm-1' }))).toMatchObject({ allowed: true })
})
