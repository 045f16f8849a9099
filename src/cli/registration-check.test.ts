import { expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { standInFor } from '../admission/policy.ts'
import { toValidatingConfiguration } from '../admission/registration.ts'
import { allowed } from '../admission/ruling.ts'
import { validatingWebhook } from '../admission/webhook.ts'
import type { Client } from '../kube/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { createLog } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { createRegistrationCheck } from './registration-check.ts'
import { policies, policyBindings, validatingConfigurations } from './webhook-configurations.ts'

const boats = { group: 'sea.example', version: 'v1', kind: 'Boat', plural: 'boats', isNamespaced: true }
const webhook = validatingWebhook(boats, () => allowed())
const address = { kind: 'service', namespace: 'a', name: 'b' } as const
const right = toValidatingConfiguration([webhook], { address })

const none = { off: [], namespace: 'a' }

test('a registration that changes is said once, in the log and by a metric, and again when it is mended', async () => {
  const clock = new VirtualClock()
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line), now: () => clock.now(), level: 'info' })
  const metrics = createMetrics()
  let stored: readonly object[] | 'forbidden' = [right]
  const list = async (kind: unknown) => {
    if (stored === 'forbidden') throw new Error('forbidden')
    return { items: kind === validatingConfigurations ? (stored as KubeObject[]) : [] }
  }
  const client = { list } as unknown as Pick<Client, 'list'>
  const check = createRegistrationCheck({ client, webhooks: [webhook], ...none, clock, log, metrics })
  const stop = new AbortController()
  const running = check.run(stop.signal)
  const after = async (next: typeof stored) => {
    stored = next
    await clock.advance(60_000)
  }
  const shown = (value: number) => `mooring_webhook_registered{webhook="${webhook.name}"} ${value}`

  await after([right])
  expect(lines).toEqual([])
  expect(metrics.text()).toContain(shown(1))
  await after([])
  await after([])
  await after('forbidden')
  expect(check.problems()).toEqual([`webhook ${webhook.name} is not registered`])
  expect(metrics.text()).toContain(shown(0))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('webhooks are not registered as this version brings them')
  await after([right])
  expect(check.problems()).toEqual([])
  expect(lines).toHaveLength(2)
  stop.abort()
  await running
  expect(clock.timers).toBe(0)
})

test('a webhook of a desk that is off is named with the command that removes it, and not where another installation is asked', async () => {
  const clock = new VirtualClock()
  const at = (namespace: string, prefix: string) =>
    toValidatingConfiguration([webhook], { address: { ...address, namespace }, namePrefix: prefix })
  const stored = [at('a', 'ours-'), at('elsewhere', 'theirs-')]
  const list = async (kind: unknown) => ({ items: kind === validatingConfigurations ? stored : [] })
  const client = { list } as unknown as Pick<Client, 'list'>
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line), now: () => clock.now(), level: 'info' })
  const metrics = createMetrics()
  const off = [{ name: 'harbour', webhooks: [webhook] }]
  const check = createRegistrationCheck({ client, webhooks: [], off, namespace: 'a', clock, log, metrics })
  const stop = new AbortController()
  const running = check.run(stop.signal)
  await clock.advance(60_000)
  expect(check.problems()).toEqual([
    `webhook ${webhook.name} is still registered, and its desk harbour is off: ` +
      'kubectl patch validatingwebhookconfiguration ours-validating-webhook-configuration ' +
      `-p '{"webhooks":[{"$patch":"delete","name":"${webhook.name}"}]}'`,
  ])
  expect(lines).toHaveLength(1)
  stored.shift()
  await clock.advance(60_000)
  expect(check.problems()).toEqual([])
  stop.abort()
  await running
})

test('a policy of a desk that is off is named as long as a binding puts it into force', async () => {
  const clock = new VirtualClock()
  const policy = {
    name: 'boat-author',
    kind: boats,
    operations: ['CREATE' as const],
    matchConditions: [],
    allowedIf: 'true',
    message: 'not for you',
  }
  const stored = [{ metadata: { name: 'mooring-boat-author' } }, { metadata: { name: 'another' } }]
  const bound = [{ metadata: { name: 'b' }, spec: { policyName: 'mooring-boat-author', validationActions: ['Deny'] } }]
  const list = async (kind: unknown) => ({ items: kind === policies ? stored : kind === policyBindings ? bound : [] })
  const client = { list } as unknown as Pick<Client, 'list'>
  const off = [{ name: 'harbour', webhooks: [standInFor(policy)] }]
  const log = createLog({ write: () => {}, now: () => clock.now() })
  const options = { client, webhooks: [], off, namespace: 'a', clock, log, metrics: createMetrics() }
  const check = createRegistrationCheck(options)
  const stop = new AbortController()
  const running = check.run(stop.signal)
  await clock.advance(60_000)
  expect(check.problems()).toEqual([
    'policy mooring-boat-author is still in force, and the desk harbour is off: unless another installation has that desk on, ' +
      'kubectl delete validatingadmissionpolicy mooring-boat-author',
  ])
  bound.pop()
  await clock.advance(60_000)
  expect(check.problems()).toEqual([])
  stop.abort()
  await running
})

test('a kind that cannot be listed hides nothing that is known of the others', async () => {
  const clock = new VirtualClock()
  const list = async (kind: unknown) => {
    if (kind !== validatingConfigurations) throw new Error('forbidden')
    return { items: [] }
  }
  const client = { list } as unknown as Pick<Client, 'list'>
  const log = createLog({ write: () => {}, now: () => clock.now() })
  const mutating = { ...webhook, type: 'mutating', name: 'mutating.sea.example' } as const
  const webhooks = [webhook, mutating]
  const check = createRegistrationCheck({ client, webhooks, ...none, clock, log, metrics: createMetrics() })
  const stop = new AbortController()
  const running = check.run(stop.signal)
  await clock.advance(60_000)
  expect(check.problems()).toEqual([`webhook ${webhook.name} is not registered`])
  stop.abort()
  await running
})
