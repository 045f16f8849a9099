import { describe, expect, test } from 'vitest'
import { aWorld } from '../../test/harness/world.ts'
import {
  toConversion,
  toMutatingConfiguration,
  toValidatingConfiguration,
  type WebhookAddress,
} from './registration.ts'
import { allowed } from './ruling.ts'
import { mutatingWebhook, validatingWebhook, type Webhook } from './webhook.ts'

const boatKind = { group: 'sea.example', version: 'v1', kind: 'Boat', plural: 'boats', isNamespaced: true }
const seaKind = { ...boatKind, kind: 'Sea', plural: 'seas', isNamespaced: false }
const address: WebhookAddress = { kind: 'service', namespace: 'a', name: 'b' }
const validating = validatingWebhook(boatKind, () => allowed())
const mutating = mutatingWebhook(boatKind, () => allowed())

describe('the registration', () => {
  test('says where and about what the API server asks', () => {
    const { metadata, webhooks } = toValidatingConfiguration([validating, mutating], { address })
    expect(metadata.name).toBe('mooring-validating-webhook-configuration')
    expect(webhooks).toEqual([
      {
        name: 'validation.boat.sea.example',
        clientConfig: { service: { namespace: 'a', name: 'b', path: '/validate-sea-example-v1-boat' } },
        rules: [
          {
            apiGroups: ['sea.example'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE', 'DELETE'],
            resources: ['boats'],
            scope: 'Namespaced',
          },
        ],
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        sideEffects: 'None',
        admissionReviewVersions: ['v1', 'v1beta1'],
        timeoutSeconds: 10,
      },
    ])
  })

  test('has mutating webhooks in an object of their own', () => {
    const { kind, webhooks } = toMutatingConfiguration([validating, mutating], { address })
    expect(kind).toBe('MutatingWebhookConfiguration')
    expect(webhooks).toMatchObject([
      {
        name: 'default.boat.sea.example',
        clientConfig: { service: { path: '/mutate-sea-example-v1-boat' } },
        rules: [{ operations: ['CREATE', 'UPDATE'] }],
      },
    ])
  })

  test('has the selectors, conditions and policies of a webhook', () => {
    const picked = {
      namespaceSelector: { matchLabels: { harbour: 'yes' } },
      objectSelector: { matchExpressions: [{ key: 'sails', operator: 'Exists' }] },
      matchConditions: [{ name: 'it-floats', expression: 'object.spec.floats' }],
      failurePolicy: 'Ignore',
      timeoutSeconds: 3,
      reinvocationPolicy: 'IfNeeded',
    } as const
    const webhook: Webhook = { ...mutating, ...picked, kind: seaKind, versions: 'all' }
    const { webhooks } = toMutatingConfiguration([webhook], { address })
    expect(webhooks).toMatchObject([{ ...picked, rules: [{ apiVersions: ['*'], scope: 'Cluster' }] }])
  })

  test('is there without webhooks too', () => {
    expect(toValidatingConfiguration([mutating], { address })).toMatchObject({ webhooks: [] })
    expect(toMutatingConfiguration([], { address })).toMatchObject({ webhooks: [] })
  })

  test('without webhooks, applied, takes away what was registered before', async () => {
    const { admin } = await aWorld()
    const kinds = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    const path = `${kinds}/mooring-validating-webhook-configuration`
    for (const [webhooks, count] of [
      [[validating], 1],
      [[], 0],
    ] as const) {
      const { code } = await admin.apply(path, toValidatingConfiguration(webhooks, { address }))
      expect([200, 201]).toContain(code)
      const { body } = await admin.get(path)
      expect((body as { webhooks?: unknown[] }).webhooks ?? []).toHaveLength(count)
    }
  })

  test('has those that stand in for another product only where they are wanted', () => {
    const standIn = { ...validating, isStandIn: true }
    expect(toValidatingConfiguration([standIn], { address }).webhooks).toEqual([])
    expect(toValidatingConfiguration([standIn], { address, withStandIns: true }).webhooks).toHaveLength(1)
  })

  test('names a URL where there is no Service', () => {
    const url: WebhookAddress = { kind: 'url', base: 'https://127.0.0.1:9', caBundle: 'QUJD' }
    const { webhooks } = toValidatingConfiguration([validating], { address: url })
    expect(webhooks[0]?.clientConfig).toEqual({
      url: 'https://127.0.0.1:9/validate-sea-example-v1-boat',
      caBundle: 'QUJD',
    })
    expect(toConversion(url).webhook.clientConfig.url).toBe('https://127.0.0.1:9/convert')
  })
})
