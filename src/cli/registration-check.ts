// The controller looks, now and then, whether its webhooks and policies are still registered as it brings them, and whether webhooks
// and policies of desks that are off are registered still. It changes nothing: an administrator may have good reasons. It says so in its log, at
// `/readyz` and, of those that are to be there, in a metric.

import { driftOf, type LeftOver, leftOversOf } from '../admission/drift.ts'
import { policiesInForce } from '../admission/policy-drift.ts'
import type { Webhook, WebhookSet } from '../admission/webhook.ts'
import type { Client } from '../kube/client.ts'
import type { Kind, KubeObject } from '../kube/object.ts'
import { type Clock, pause } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { mutatingConfigurations, policies, policyBindings, validatingConfigurations } from './webhook-configurations.ts'

export interface RegistrationCheckOptions {
  readonly client: Pick<Client, 'list'>
  readonly webhooks: readonly Webhook[]
  /** Of desks that are off. */
  readonly off: readonly Pick<WebhookSet, 'name' | 'webhooks'>[]
  /** That of this process: a webhook that is asked elsewhere is another installation's. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

export interface RegistrationCheck {
  /** One sentence for each webhook that is not asked as it should be. */
  problems(): readonly string[]
  /** Looks until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>
}

/** Four small lists. The first look comes when an installation has had time to register what it brings. */
const lookMs = 60_000

const advice =
  'apply the webhook configurations and admission policies of this version, for the desks that are on, again'

export function createRegistrationCheck(options: RegistrationCheckOptions): RegistrationCheck {
  const { client, webhooks, off, namespace, clock, log, metrics } = options
  let drift: ReadonlyMap<string, string | undefined> = new Map()
  let leftOvers: readonly LeftOver[] = []
  let leftPolicies: readonly string[] = []
  const problems = () => [
    ...[...drift].flatMap(([name, wrong]) => (wrong === undefined ? [] : [`webhook ${name} ${wrong}`])),
    ...leftOvers.map(toSentence),
    ...leftPolicies,
  ]
  metrics.gauge(
    'mooring_webhook_registered',
    '1 for a webhook, or the policy in its place, that is as this version brings it, 0 for one that is not.',
    () => ({
      labels: ['webhook'],
      samples: [...drift].map(([name, wrong]) => [[name], Number(wrong === undefined)]),
    }),
  )

  /** Without the permission nothing new is known of a kind; what is known of the others is said. */
  const listed = (kind: Kind): Promise<readonly KubeObject[] | undefined> =>
    client.list(kind).then(
      ({ items }) => items,
      error => {
        log.debug('webhook configurations cannot be listed', { kind: kind.kind, error: describeError(error) })
        return undefined
      },
    )

  async function look(): Promise<void> {
    const validating = await listed(validatingConfigurations)
    const mutating = await listed(mutatingConfigurations)
    const judged = await listed(policies)
    const bindings = await listed(policyBindings)
    const before = problems().join()
    drift = new Map([...drift, ...driftOf(webhooks, { validating, mutating, policies: judged, bindings })])
    const unlisted = new Set([
      ...(validating === undefined ? [validatingConfigurations.kind] : []),
      ...(mutating === undefined ? [mutatingConfigurations.kind] : []),
    ])
    leftOvers = [
      ...leftOvers.filter(({ kind }) => unlisted.has(kind)),
      ...leftOversOf(off, { namespace, validating, mutating }),
    ]
    if (judged !== undefined && bindings !== undefined) {
      leftPolicies = off.flatMap(({ name, webhooks }) =>
        webhooks
          .flatMap(({ policy }) =>
            policy === undefined ? [] : policiesInForce(policy, { policies: judged, bindings }),
          )
          .map(policy => toPolicySentence(policy, name)),
      )
    }
    const now = problems()
    if (now.join() === before) return
    if (now.length === 0) log.info('webhooks are registered again as this version brings them')
    else log.error('webhooks are not registered as this version brings them', { problems: now, advice })
  }

  return {
    problems,
    async run(signal) {
      for (;;) {
        await pause(clock, lookMs, signal)
        if (signal.aborted) return
        await look()
      }
    },
  }
}

/** Names in the command are ours, or were checked by the API server: nothing in them ends the quotes. */
function toSentence({ desk, webhook, kind, configuration }: LeftOver): string {
  const patch = JSON.stringify({ webhooks: [{ $patch: 'delete', name: webhook }] })
  const command = `kubectl patch ${kind.toLowerCase()} ${configuration} -p '${patch}'`
  return `webhook ${webhook} is still registered, and its desk ${desk} is off: ${command}`
}

/** A policy does not say which installation it is of. */
const toPolicySentence = (policy: string, desk: string): string =>
  `policy ${policy} is still in force, and the desk ${desk} is off: unless another installation has that desk on, ` +
  `kubectl delete validatingadmissionpolicy ${policy}`
