import { describe, expect, test } from 'vitest'
import { anySpec, expectAnswers } from '../../../../test/harness/webhooks.ts'
import { toValidatingConfiguration } from '../../../admission/registration.ts'
import { capiWebhooks } from './webhooks.ts'

const address = { kind: 'service', namespace: 'a', name: 'b' } as const

describe('the webhooks of claims and addresses', () => {
  test('leave Cluster API its own kinds, and stand in no claim’s way', () => {
    const { webhooks } = toValidatingConfiguration(capiWebhooks, { address })
    // In every version as it comes: a converter that does not answer would be in the way of every write to a claim.
    expect(webhooks).toMatchObject([
      {
        name: 'choice.ipaddressclaim.mooring.dev',
        clientConfig: { service: { path: '/validate-mooring-dev-ipaddressclaim-choice' } },
        rules: [{ apiVersions: ['*'], operations: ['UPDATE'], resources: ['ipaddressclaims'] }],
        failurePolicy: 'Ignore',
        timeoutSeconds: 2,
      },
      {
        name: 'pool.ipaddressclaim.mooring.dev',
        clientConfig: { service: { path: '/validate-mooring-dev-ipaddressclaim-pool' } },
        rules: [{ apiVersions: ['*'], operations: ['CREATE'], resources: ['ipaddressclaims'] }],
        failurePolicy: 'Ignore',
        timeoutSeconds: 2,
      },
    ])
  })

  test('answer for the kinds of Cluster API where it is not installed, under the names that it has', () => {
    const { webhooks } = toValidatingConfiguration(capiWebhooks, { address, withStandIns: true })
    expect(webhooks.slice(2)).toMatchObject([
      { name: 'validation.ipaddressclaim.ipam.cluster.x-k8s.io', rules: [{ operations: ['CREATE', 'UPDATE'] }] },
      {
        name: 'validation.ipaddress.ipam.cluster.x-k8s.io',
        clientConfig: { service: { path: '/validate-ipam-cluster-x-k8s-io-v1beta2-ipaddress' } },
        rules: [{ operations: ['CREATE', 'UPDATE'] }],
      },
      { name: 'ipaddressclaim-author.mooring.dev', failurePolicy: 'Fail' },
      { name: 'ipaddress-author.mooring.dev', failurePolicy: 'Fail' },
    ])
  })

  test('answer whatever a claim or an address looks like', async () => {
    await expectAnswers(capiWebhooks, anySpec, () => ({
      poolOfClaim: () => undefined,
      addressOfReport: () => undefined,
    }))
  })
})
