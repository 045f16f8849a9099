// `mooring adopt`: taking over from another provider, and the way back. Says of every address that is out there what
// becomes of it; writes only what has to be there before Mooring starts, and nothing with `--dry-run`.

import { stringify } from 'yaml'
import { planReturn, removeTraces } from '../adopt/back.ts'
import { gatherMetal3, gatherWhereabouts, holderOfLease, servesWebhooksItself } from '../adopt/gather.ts'
import { forecast } from '../adopt/in-cluster.ts'
import { keepAddresses } from '../adopt/keep.ts'
import { metal3Lease } from '../adopt/metal3.ts'
import { byAddress, translateMetal3 } from '../adopt/metal3-translation.ts'
import { countOutcomes, isRefused, type Verdict } from '../adopt/verdict.ts'
import { keepInterface } from '../adopt/whereabouts-keep.ts'
import { translateWhereabouts } from '../adopt/whereabouts-translation.ts'
import { listWorld } from '../controllers/capi/listed.ts'
import { namespaces, pools as poolKinds } from '../controllers/office/kinds.ts'
import { isMalformed } from '../ip/malformed.ts'
import { ApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { type KubeObject, keyOf, refOf } from '../kube/object.ts'
import { describeError } from '../telemetry/log.ts'
import { connect } from './connect.ts'
import { exitCodes, Failure } from './failure.ts'
import { leaseName } from './permissions.ts'

export interface AdoptOptions {
  readonly from?: string
  readonly back: boolean
  readonly dryRun: boolean
  readonly output: string
  /** Only claims and pools of this namespace; empty for all. */
  readonly namespace: string
  /** Only claims with this value of the label; empty for all. */
  readonly watchFilter: string
  readonly kubeconfig?: string
  readonly context?: string
}

/** What is printed, whatever the form. */
interface Report {
  readonly verdicts: readonly Verdict[]
  /** To be made, by this command or by people. */
  readonly objects: readonly KubeObject[]
  /** What was done, or is left to do, in sentences. */
  readonly remarks: readonly string[]
}

const sources = ['in-cluster', 'metal3', 'whereabouts']
const outputs = ['table', 'json', 'yaml']

export interface AdoptTools {
  readonly client: Client
  readonly nowMs: number
  /** The lease that Mooring's own controller holds while it runs. */
  readonly ownLease: string
}

/** Answers the exit code: 0, or the one that says that something was refused. */
export async function adopt(options: AdoptOptions, print: (text: string) => void): Promise<number> {
  refuseMistakes(options)
  const connected = connect(options, 'mooring-adopt')
  try {
    return await adoptWith({ client: connected.client, nowMs: Date.now(), ownLease: leaseName }, options, print)
  } finally {
    await connected.close()
  }
}

export async function adoptWith(
  tools: AdoptTools,
  options: AdoptOptions,
  print: (text: string) => void,
): Promise<number> {
  refuseMistakes(options)
  const report = await reportOf(tools, options).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    throw new Failure(exitCodes.environment, describeError(error), adviceFor(error), { cause: error })
  })
  print(toText(report, options))
  return report.verdicts.some(isRefused) ? exitCodes.refused : 0
}

function adviceFor({ reason }: ApiError): string {
  switch (reason) {
    case 'Unreachable':
    case 'UnknownOutcome':
      return 'Check the server that the kubeconfig names, and its certificate authority.'
    case 'Conflict':
      return 'Another process changes these objects: stop it, also a Mooring without --leader-elect, and say this again.'
    case 'Unauthorized':
    case 'Forbidden':
      return 'Check which user the kubeconfig names, and the permissions of that user.'
    default:
      return 'Check the kubeconfig, and the permissions of its user.'
  }
}

function refuseMistakes({ from, back, output, watchFilter }: AdoptOptions): void {
  const usage = (what: string, advice: string): Failure => new Failure(exitCodes.usage, what, advice)
  if (back && from !== undefined && from !== 'in-cluster') {
    const advice = '--back leads to the in-cluster provider; the guide says how to go back to Metal3.'
    throw usage(`--back does not go together with --from ${from}`, advice)
  }
  if (!back && from === undefined) {
    throw usage('mooring adopt needs --from or --back', `--from takes one of: ${sources.join(', ')}.`)
  }
  if (from !== undefined && !sources.includes(from)) {
    throw usage(`--from does not know ${JSON.stringify(from)}`, `It takes one of: ${sources.join(', ')}.`)
  }
  if ((from === 'metal3' || from === 'whereabouts') && watchFilter !== '') {
    const advice = 'Claims of its addresses are made anew: put the label on them then.'
    throw usage(`--watch-filter does not go together with --from ${from}`, advice)
  }
  if (!outputs.includes(output)) {
    throw usage(`--output does not know ${JSON.stringify(output)}`, `It takes one of: ${outputs.join(', ')}.`)
  }
}

function reportOf(tools: AdoptTools, options: AdoptOptions): Promise<Report> {
  if (options.back) return goBack(tools, options)
  switch (options.from) {
    case 'metal3':
      return fromMetal3(tools, options)
    case 'whereabouts':
      return fromWhereabouts(tools, options)
    default:
      return fromInCluster(tools, options)
  }
}

async function fromInCluster({ client }: AdoptTools, scope: AdoptOptions): Promise<Report> {
  const { verdicts, unserved } = forecast(await listWorld(client, scope), scope)
  const remarks = ['Nothing has to be written: Mooring adopts these addresses when it starts.']
  if (unserved > 0) remarks.push(`${count(unserved, 'claim waits', 'claims wait')} for an address, and will be served.`)
  return { verdicts, objects: [], remarks }
}

async function fromMetal3({ client, nowMs }: AdoptTools, options: AdoptOptions): Promise<Report> {
  const { dryRun } = options
  if (!dryRun) await refuseWhileRunning(client, metal3Lease, nowMs, "Metal3's IP address manager")
  const { pools, claims, verdicts } = translateMetal3(await gatherMetal3(client, options))
  const remarks: string[] = []
  const clashes: Verdict[] = []
  for (const pool of pools) {
    const name = `AddressPool ${pool.metadata.namespace}/${pool.metadata.name}`
    const written = dryRun ? 'would be written' : await keepAddresses(client, pool)
    if (written === 'another') clashes.push(nameIsTaken(name))
    else remarks.push(`${name} ${written}.`)
  }
  if (claims.length > 0) {
    remarks.push(`${count(claims.length, 'claim has', 'claims have')} to be made anew: -o yaml prints them.`)
  }
  return { verdicts: [...verdicts, ...clashes], objects: [...pools, ...claims], remarks }
}

async function fromWhereabouts({ client, nowMs }: AdoptTools, options: AdoptOptions): Promise<Report> {
  const { dryRun } = options
  const { kept, targets, verdicts } = translateWhereabouts(await gatherWhereabouts(client, options))
  const clashes: Verdict[] = []
  const uids = new Map((await client.list(namespaces)).items.map(({ metadata }) => [metadata.name, metadata.uid]))
  for (const one of dryRun ? [] : kept) {
    const lost = await keepInterface(client, nowMs, one, uids.get(one.claim.metadata.namespace))
    clashes.push(...lost.map(message => addressLost(keyOf(one.claim), message)))
  }
  const remarks: string[] = []
  for (const pool of targets.pools) {
    const written = dryRun ? 'would be written' : await offer(client, pool)
    remarks.push(`ClusterAddressPool ${pool.metadata.name} ${written}.`)
  }
  const changed = [...targets.networks.values()].flatMap(one => (isMalformed(one) ? [] : (one.next ?? [])))
  if (changed.length > 0) {
    const what = count(changed.length, 'NetworkAttachmentDefinition names', 'NetworkAttachmentDefinitions name')
    remarks.push(`${what} whereabouts: -o yaml prints what to apply. Then say this once more.`)
  }
  const claims = kept.map(({ claim }) => claim)
  return { verdicts: [...verdicts, ...clashes], objects: [...claims, ...targets.pools, ...changed], remarks }
}

async function offer(client: Client, pool: KubeObject): Promise<string> {
  const kind = poolKinds.find(one => one.kind === pool.kind)
  if (kind === undefined) throw new TypeError(`${pool.kind} is no kind of pool`)
  if ((await client.get(kind, refOf(pool))) !== undefined) return 'is there'
  await client.create(kind, pool)
  return 'created'
}

function addressLost(claim: string, message: string): Verdict {
  return { outcome: 'refused', address: '', pool: '', claim, shownBy: '', reason: 'AddressInUse', message }
}

function nameIsTaken(pool: string): Verdict {
  const message = 'there is a pool of this name that offers other addresses: it was not touched. Rename it'
  return { outcome: 'refused', address: '', pool, claim: '', shownBy: '', reason: 'NameTaken', message }
}

async function goBack({ client, nowMs, ownLease }: AdoptTools, options: AdoptOptions): Promise<Report> {
  const { dryRun } = options
  if (!dryRun) {
    await refuseWhileRunning(client, ownLease, nowMs, 'Mooring')
    await refuseBesideDesks(client)
  }
  const plan = planReturn(await listWorld(client, options), options)
  const traces = `${count(plan.choices.length, 'choice', 'choices')} and ${count(plan.holds.length, 'hold', 'holds')}`
  if (!dryRun) await removeTraces(client, plan)
  return { verdicts: plan.verdicts, objects: [], remarks: [`${traces} ${dryRun ? 'would be' : 'were'} removed.`] }
}

async function refuseWhileRunning(client: Client, lease: string, nowMs: number, provider: string): Promise<void> {
  const holder = await holderOfLease(client, lease, nowMs)
  if (holder === undefined) return
  throw new Failure(
    exitCodes.environment,
    `${provider} runs: ${holder} has renewed the lease ${lease} lately`,
    'Stop it first, and wait half a minute: two providers at once may give out one address twice.',
  )
}

/** `mooring up` has no lease: it is the server itself, and its desks run while their webhooks are registered there. */
async function refuseBesideDesks(client: Client): Promise<void> {
  if (!(await servesWebhooksItself(client))) return
  throw new Failure(
    exitCodes.environment,
    'Mooring runs: this server is a `mooring up` with desks',
    'Stop it, and start it with --desks none: it then leaves claims and holds alone.',
  )
}

// --- words ---

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`

function toText({ verdicts, objects, remarks }: Report, { output, dryRun }: AdoptOptions): string {
  const sorted = [...verdicts].sort(byAddress)
  if (output === 'json') {
    return JSON.stringify({ dryRun, summary: countOutcomes(sorted), addresses: sorted, objects, remarks }, null, 2)
  }
  if (output === 'yaml') return objects.map(object => stringify(object)).join('---\n')
  return [...toTable(sorted), summaryOf(sorted), ...remarks].join('\n')
}

function summaryOf(verdicts: readonly Verdict[]): string {
  const counts = Object.entries(countOutcomes(verdicts)).map(([outcome, number]) => `${number} ${outcome}`)
  return counts.length === 0 ? 'no addresses found' : counts.join(', ')
}

function toTable(verdicts: readonly Verdict[]): string[] {
  if (verdicts.length === 0) return []
  const rows = verdicts.map(({ outcome, address, pool, claim, shownBy, message }) => {
    return [outcome, address || '-', pool || '-', claim || shownBy || '-', message]
  })
  const all = [['OUTCOME', 'ADDRESS', 'POOL', 'CLAIM', 'WHY'], ...rows]
  const widths = [0, 1, 2, 3].map(column => Math.max(...all.map(row => (row[column] ?? '').length)))
  return all.map(row =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
