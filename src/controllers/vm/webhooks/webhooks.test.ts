import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StubNetworks } from '../../../../test/vm/builders.ts'
import { toMutatingConfiguration, toPolicySpec, toValidatingConfiguration } from '../../../admission/registration.ts'
import { everything } from '../../office/scope.ts'
import { createViews } from '../../office/views.ts'
import { vmFacts } from '../facts.ts'
import { createCaches } from '../world.ts'
import { nameClaims } from './pod.ts'
import { vmWebhooks } from './webhooks.ts'

const scope = everything
const address = { kind: 'service', namespace: 'a', name: 'b' } as const

describe('the webhooks of virtual machines', () => {
  test('are asked about launcher pods alone, when they are made and when their networks change', () => {
    const { webhooks } = toMutatingConfiguration(vmWebhooks, { address })
    expect(webhooks).toMatchObject([
      {
        name: 'claims.pods.mooring.dev',
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['pods'] }],
        objectSelector: { matchLabels: { 'kubevirt.io': 'virt-launcher' } },
        matchConditions: [{ name: 'networks-change' }],
        failurePolicy: 'Fail',
        timeoutSeconds: 5,
        reinvocationPolicy: 'IfNeeded',
      },
    ])
    expect(toValidatingConfiguration(vmWebhooks, { address }).webhooks).toMatchObject([
      { name: 'requests.virtualmachine.mooring.dev', failurePolicy: 'Ignore' },
      { name: 'requests.virtualmachineinstance.mooring.dev', failurePolicy: 'Ignore' },
    ])
  })

  test('have a policy about what claims have, also about writes to their status', () => {
    const { webhooks } = toValidatingConfiguration(vmWebhooks, { address, withStandIns: true })
    const rule = { operations: ['UPDATE'], resources: ['ipamclaims', 'ipamclaims/status'], scope: 'Namespaced' }
    expect(webhooks.at(-2)).toMatchObject({ name: 'ipamclaim-ips.mooring.dev', rules: [rule], failurePolicy: 'Fail' })
    const specs = vmWebhooks.flatMap(webhook => (webhook.policy ? [toPolicySpec(webhook, webhook.policy)] : []))
    expect(specs[0]).toMatchObject({ matchConstraints: { resourceRules: [rule] } })
  })

  test('have no answer before networks and claims have been listed', () => {
    const caches = createCaches(true, createViews(true))
    const client = { get: async () => undefined }
    const networks = new StubNetworks()
    expect(vmFacts({ client, caches, networks, scope })).toBeUndefined()
    caches.claims.replace([], '1')
    expect(vmFacts({ client, caches, networks, scope })).toBeDefined()
  })

  test('answer whatever a pod looks like', async () => {
    const caches = createCaches(true, createViews(true))
    caches.claims.replace([], '1')
    const facts = vmFacts({ client: { get: async () => undefined }, caches, networks: new StubNetworks(), scope })
    const annotations = fc.record({
      'kubevirt.io/domain': fc.jsonValue(),
      'k8s.v1.cni.cncf.io/networks': fc.jsonValue(),
    })
    const pod = fc.oneof(fc.jsonValue(), fc.record({ metadata: fc.oneof(fc.jsonValue(), fc.record({ annotations })) }))
    await fc.assert(
      fc.asyncProperty(pod, async next => {
        if (facts === undefined) throw new Error('there are facts')
        const { kind } = await nameClaims(
          { operation: 'CREATE', next, namespace: 'lab', name: '', isCallerProven: true },
          facts,
        )
        expect(['allowed', 'refused']).toContain(kind)
      }),
    )
  })
})
