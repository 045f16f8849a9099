// Texts that tenants write into objects that Mooring reads: claims, IPAddresses and pools, in every field that is read. What is
// told about them is short and shows what is hidden, in statuses, events and log lines; a status can always be written; and no
// metric has a label that a tenant made up, but for names of objects.

import { setCondition } from '../../src/api/condition.ts'
import { type IPAddress, parseIPAddress } from '../../src/api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim, poolNamedBy } from '../../src/api/ip-address-claim.ts'
import { ownPoolKinds, toPool } from '../../src/api/to-pool.ts'
import type { Seen } from '../../src/controllers/capi/observe.ts'
import { decide } from '../../src/controllers/capi/plan.ts'
import { recordHandsOff } from '../../src/controllers/capi/status.ts'
import type { CapiWorld } from '../../src/controllers/capi/world.ts'
import { noteIn } from '../../src/controllers/office/journal.ts'
import { countDecisions, measureWaiting } from '../../src/controllers/office/metrics.ts'
import { toIPText } from '../../src/ip/address.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { choose, keysOfKept, whyNotForClaim } from '../../src/ipam/choose.ts'
import { SpaceIndex } from '../../src/ipam/space-index.ts'
import { malformedPoolCondition } from '../../src/ipam/status.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

interface Input {
  readonly claim: object
  readonly report: object
  readonly pool: object
}

/** BIG stands for a long text; what the API server sees to by itself, names and uids, is as it is there. */
function objectsIn(text: string): Input | undefined {
  let read: unknown
  try {
    read = JSON.parse(text.replaceAll('BIG', 'A'.repeat(40_000)))
  } catch {
    return undefined
  }
  if (typeof read !== 'object' || read === null) return undefined
  const { claim, report, pool } = read as Record<string, object | undefined>
  const named = (object: object = {}, name: string) => {
    const { metadata } = object as { metadata?: object }
    return { ...object, metadata: { ...metadata, namespace: 'lab', name, uid: `uid-${name}` } }
  }
  return { claim: named(claim, 'web'), report: named(report, 'web'), pool: named(pool, 'vms') }
}

function* seenWith({ claim, report, pool }: { claim: IPAddressClaim; report: unknown; pool: unknown }): Iterable<Seen> {
  const identity = poolNamedBy(claim)
  if (identity === undefined) return
  const shown = parseIPAddress(report)
  const reports: (IPAddress | undefined)[] = isMalformed(shown) ? [undefined] : [undefined, shown]
  const index = new SpaceIndex()
  const { namespace, name, uid } = claim.metadata
  const applicant = {
    claim: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace, name, uid },
    namespaceLabels: {},
    owner: undefined,
    random: 0,
  }
  const ledger: Seen['ledger'] = {
    holdAt: () => undefined,
    isDisputed: () => false,
    choose: pool =>
      choose(pool, index, { ...applicant, requested: claim.requested, keptFor: keysOfKept(pool, claim.metadata) }),
    whyNotForClaim: (pool, ip) =>
      whyNotForClaim(pool, index, { ...applicant, requested: toIPText(ip), keptFor: keysOfKept(pool, claim.metadata) }),
  }
  const rest = { claim, identity, namespaceUID: 'n', spaceRefusal: undefined, holds: [], isInScope: true, movingMs: 0 }
  for (const offered of [undefined, toPool(pool)]) {
    for (const one of reports) {
      for (const cluster of ['none', 'missing'] as const) {
        yield { ...rest, cluster, pool: offered, report: one, isLive: true, ledger }
      }
    }
  }
}

/** What is told about a plan, in all the places where it is. */
function tell(seen: Seen): void {
  const lines: string[] = []
  const metrics = createMetrics()
  const note = noteIn(
    {
      log: createLog({ write: line => lines.push(line), now: Date.now, form: 'text' }),
    },
    countDecisions(metrics, realClock),
    { desk: 'capi', claimKind: 'IPAddressClaim' },
  )
  const plan = decide(seen)
  const { claim, identity } = seen
  if (plan.kind === 'refuse') {
    const { reason, message } = plan.refusal
    mustBeReadable(message)
    note({ what: 'refused', claim: claim.metadata, pool: identity, reason, message })
  }
  if (plan.kind === 'leave alone' && plan.why !== undefined) {
    const events: { note: string }[] = []
    const caches = { claims: { get: () => claim } }
    const world = {
      leftAlone: new Map(),
      note,
      caches,
      recorder: { event: (event: { note: string }) => events.push(event) },
    }
    recordHandsOff(world as unknown as CapiWorld, claim, identity, plan.why)
    for (const { note: sentence } of events) mustBeReadable(sentence)
  }
  measureWaiting(metrics, {
    all: () => [{ desk: 'capi', claimKind: 'IPAddressClaim', pool: identity, reason: 'PoolNotFound' }],
  })
  for (const line of lines) {
    mustBeReadable(line)
    must(line.indexOf('\n') === line.length - 1, 'a line of the log is one line')
  }
  mustHaveKnownLabels(metrics.text())
}

const known = ownPoolKinds.map(({ kind }) => kind)

function mustHaveKnownLabels(text: string): void {
  for (const [, label = '', value = ''] of text.matchAll(/[{,]([a-z_]+)="((?:[^"\\]|\\.)*)"/gs)) {
    if (label === 'kind') must(['', 'unknown', ...known].includes(value), `a kind of pool: ${value.slice(0, 300)}`)
    must(value.length <= 253 && /^[\w.+ -]*$/.test(value), `${label}=${JSON.stringify(value.slice(0, 300))}`)
  }
}

const group = 'ipam.cluster.x-k8s.io'
const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'vms' }
const claim = (spec: object, annotations: object = {}, status: object = {}) => ({
  apiVersion: `${group}/v1beta1`,
  kind: 'IPAddressClaim',
  metadata: { annotations, labels: { 'cluster.x-k8s.io/cluster-name': '\u202e' } },
  spec,
  status,
})
const report = (address: string) => ({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddress',
  spec: { claimRef: { name: 'web' }, poolRef: { ...poolRef, name: '\u2066BIG' }, address, prefix: 24 },
})
const pool = (spec: object) => ({ apiVersion: `${group}/v1alpha2`, kind: 'InClusterIPPool', spec })
const good = pool({ addresses: ['10.0.0.0/24'], prefix: 24 })
const served = {
  addressRef: { name: '\u202eBIG' },
  conditions: [{ type: 'Ready', status: 'True', reason: 'x', lastTransitionTime: '2030-01-01T00:00:00Z' }],
}

export const hostileTexts: FuzzTarget = {
  name: 'texts of tenants',
  corpus: [
    { claim: claim({ poolRef }, { 'mooring.dev/address': '\u202eBIG' }, served), report: report('BIG'), pool: good },
    { claim: claim({ poolRef }, { 'ipam.cluster.x-k8s.io/requested-address': '\u0007BIG' }), pool: good },
    { claim: claim({ poolRef: { ...poolRef, name: 'BIG\u202e\n' } }), pool: pool({ addresses: ['BIG'] }) },
    { claim: claim({ poolRef: { apiGroup: 'mooring.dev', kind: '\u202eBIG"}', name: 'x y' }, clusterName: 'BIG' }) },
    { claim: claim({ poolRef }), pool: pool({ addresses: ['10.0.0.1', ...Array(3_000).fill('\u202e10.0.0.300')] }) },
    { claim: claim({ poolRef }, {}, served), pool: { ...good, kind: '\u2028' } },
    {
      claim: claim({ poolRef: { ...poolRef, apiGroup: 'mooring.dev', kind: 'AddressPool' } }),
      pool: { ...good, apiVersion: 'mooring.dev/v1alpha1', kind: 'AddressPool', spec: { space: '\u202e' } },
    },
  ].map(input => JSON.stringify(input)),
  dictionary: ['BIG', '\u202e', '\\u0000', '\\u2028', '\\n', '10.0.0.1', '"', '\u0085', '{}', 'null', '","'],
  run(input) {
    const objects = objectsIn(input.toString('utf8'))
    if (objects === undefined) return
    const pool = toPool(objects.pool)
    if (isMalformed(pool)) {
      const [condition] = setCondition([], malformedPoolCondition(pool.malformed, 1), '2030-01-01T00:00:00Z')
      mustBeReadable(condition?.message ?? '')
    }
    const claim = parseIPAddressClaim(objects.claim)
    if (isMalformed(claim)) return mustBeReadable(claim.malformed)
    for (const seen of seenWith({ ...objects, claim })) tell(seen)
  },
}
