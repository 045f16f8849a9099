import { describe, expect, test } from 'vitest'
import { aWorld } from '../../test/harness/world.ts'
import { driftOf } from './drift.ts'
import { toMutatingConfiguration, toValidatingConfiguration } from './registration.ts'
import { allowed } from './ruling.ts'
import { mutatingWebhook, validatingWebhook, type Webhook } from './webhook.ts'

const boats = { group: 'sea.example', version: 'v1', kind: 'Boat', plural: 'boats', isNamespaced: true }
const matchConditions = [{ name: 'is-large', expression: 'object.spec.length > 10' }]
const [validating, mutating]: readonly [Webhook, Webhook] = [
  { ...validatingWebhook(boats, () => allowed()), matchConditions },
  mutatingWebhook(boats, () => allowed()),
]
const standIn: Webhook = { ...validating, name: 'another.products', path: '/another', isStandIn: true }
const webhooks = [validating, mutating, standIn]
const options = { address: { kind: 'url', base: 'https://127.0.0.1:9443', caBundle: '' } } as const

const noPolicies = { policies: [], bindings: [] }

type Configuration = ReturnType<typeof toValidatingConfiguration>
type Registered = Configuration['webhooks'][number]

const stored = (change: (webhook: Registered) => object = webhook => webhook) => {
  const { webhooks: list, ...rest } = toValidatingConfiguration(webhooks, options)
  return {
    validating: [{ ...rest, webhooks: list.map(change) }],
    mutating: [toMutatingConfiguration(webhooks, options)],
    ...noPolicies,
  }
}

describe('a registration', () => {
  test('as an API server stores it is as it should be, and stand-ins are not looked for', async () => {
    const { admin } = await aWorld()
    const group = '/apis/admissionregistration.k8s.io/v1'
    const both = []
    for (const [plural, object] of [
      ['validatingwebhookconfigurations', toValidatingConfiguration(webhooks, options)],
      ['mutatingwebhookconfigurations', toMutatingConfiguration(webhooks, options)],
    ] as const) {
      expect((await admin.create(`${group}/${plural}`, object)).code).toBe(201)
      both.push((await admin.get(`${group}/${plural}/${object.metadata.name}`)).body)
    }
    const found = driftOf(webhooks, { validating: both.slice(0, 1), mutating: both.slice(1), ...noPolicies })
    expect([...found]).toEqual([
      [validating.name, undefined],
      [mutating.name, undefined],
    ])
  })

  test.each<[string, (webhook: Registered) => object, string]>([
    ['lets writes pass', webhook => ({ ...webhook, failurePolicy: 'Ignore' }), 'failurePolicy'],
    ['asks about other writes', webhook => ({ ...webhook, rules: [] }), 'rules'],
    ['asks on another condition', webhook => ({ ...webhook, matchConditions: [] }), 'matchConditions'],
    [
      'leaves a namespace out',
      webhook => ({ ...webhook, namespaceSelector: { matchLabels: { a: 'b' } } }),
      'namespaceSelector',
    ],
  ])('that %s is told by its field', (_, change, field) => {
    const found = driftOf(webhooks, stored(change))
    expect(found.get(validating.name)).toBe(`is registered with another ${field}`)
    expect(found.get(mutating.name)).toBeUndefined()
  })

  test('that is gone, or leads elsewhere, is told', () => {
    for (const gone of [
      { validating: [], mutating: [], ...noPolicies },
      stored(webhook => ({ ...webhook, clientConfig: { url: 'https://127.0.0.1:9443/elsewhere' } })),
      { validating: [{ webhooks: 'no list' }, 7], mutating: [undefined], policies: [7], bindings: [{}] },
    ]) {
      expect(driftOf(webhooks, gone).get(validating.name)).toBe('is not registered')
    }
  })

  test('of another product under the same name does no harm beside one that is right', () => {
    const other = stored(webhook => ({ ...webhook, failurePolicy: 'Ignore' }))
    const both = { ...stored(), validating: [...other.validating, ...stored().validating] }
    expect(driftOf(webhooks, both).get(validating.name)).toBeUndefined()
  })
})
