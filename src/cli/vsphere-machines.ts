// `mooring vsphere preflight` and `mooring vsphere audit`: whether there are addresses for Machines that are to come, and what does not
// fit together among those that are there. Both only read.

import { ApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { rehearsedClaimsMax } from '../limits.ts'
import { audit } from '../machines/audit.ts'
import { type Fleet, listFleet } from '../machines/fleet.ts'
import { controlPlaneName, type Wanted } from '../machines/orders.ts'
import { type Preflight, preflight } from '../machines/preflight.ts'
import { realClock } from '../runtime/clock.ts'
import { describeError } from '../telemetry/log.ts'
import { connect } from './connect.ts'
import { exitCodes, Failure } from './failure.ts'
import { count, shown, toTable } from './table.ts'
import { refuseOutput } from './values.ts'

export interface AuditOptions {
  /** Empty for that of the context. */
  readonly namespace: string
  readonly output: string
  readonly kubeconfig?: string
  readonly context?: string
}

export interface PreflightOptions extends AuditOptions {
  /** SET=N */
  readonly scale: readonly string[]
  readonly rollOut: readonly string[]
}

type Print = (text: string) => void

/** What the commands work with: in a test, a client of a server in the same process. */
export interface FleetTools {
  readonly client: Pick<Client, 'list'>
  readonly namespace: string
  readonly nowMs: number
}

async function connected(options: AuditOptions, work: (tools: FleetTools) => Promise<number>): Promise<number> {
  const connection = connect(options, 'mooring-vsphere')
  try {
    const namespace = options.namespace || connection.namespace
    return await work({ client: connection.client, namespace, nowMs: realClock.now() })
  } finally {
    await connection.close()
  }
}

async function readFleet({ client, namespace }: FleetTools): Promise<Fleet> {
  try {
    return await listFleet(client, namespace)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const advice = 'Check the server that the kubeconfig names, and that its user may list what the command reads.'
    throw new Failure(exitCodes.environment, describeError(error), advice, { cause: error })
  }
}

// --- preflight ---

/** Answers the exit code. */
export async function vspherePreflight(options: PreflightOptions, print: Print): Promise<number> {
  refuseOutput(options.output, outputs)
  wantedBy(options)
  return connected(options, tools => preflightWith(tools, options, print))
}

const outputs = ['table', 'json']

export async function preflightWith(tools: FleetTools, options: PreflightOptions, print: Print): Promise<number> {
  refuseOutput(options.output, outputs)
  const wanted = wantedBy(options)
  const fleet = await readFleet(tools)
  const result = preflight(fleet, wanted, tools.nowMs)
  if ('unknown' in result) throw unknownSets(result.unknown, fleet)
  const { namespace } = tools
  print(options.output === 'json' ? JSON.stringify({ namespace, ...result }, null, 2) : preflightText(result, fleet))
  return result.isEnough ? 0 : exitCodes.refused
}

function wantedBy({ scale, rollOut }: PreflightOptions): Wanted {
  const sizes = new Map<string, number>()
  for (const text of scale) {
    const { set = '', size = '' } = /^(?<set>[^=]+)=(?<size>\d{1,10})$/.exec(text)?.groups ?? {}
    const wanted = Number(size)
    if (set === '' || wanted > rehearsedClaimsMax) {
      const what = `--scale is ${JSON.stringify(text)}, which is not SET=N with N of ${rehearsedClaimsMax} at most`
      throw new Failure(exitCodes.usage, what, 'Write the name of a MachineSet and how many Machines it is to have.')
    }
    if (sizes.has(set)) {
      throw new Failure(
        exitCodes.usage,
        `--scale names ${JSON.stringify(set)} twice`,
        'Say once how many it is to have.',
      )
    }
    sizes.set(set, wanted)
  }
  return { scale: sizes, rollOut }
}

function unknownSets(unknown: readonly string[], { namespace, sets }: Fleet): Failure {
  const names = sets.map(({ type, metadata }) => (type === 'MachineSet' ? metadata.name : controlPlaneName))
  const missing = unknown.map(name => JSON.stringify(name)).join(', ')
  const what = `namespace ${namespace} has no set of Machines called ${missing}`
  const advice =
    names.length === 0 ? 'It has none at all: name another with --namespace.' : `It has: ${names.join(', ')}.`
  return new Failure(exitCodes.usage, what, shown(advice))
}

function preflightText({ orders, waiting, unreadable, isEnough }: Preflight, { namespace }: Fleet): string {
  const rows = orders.flatMap(({ what, set, from, to, verdict, pools }) => {
    const order = what === 'scale' ? `${from} to ${to}` : 'roll-out'
    if (pools.length === 0) return [[set, order, '-', '-', '-', verdict]]
    return pools.map(({ pool, needs, free }) => [set, order, pool, `${needs}`, `${free ?? '?'}`, verdict])
  })
  const sentences = [
    ...unreadable.map(({ object, why }) => `${object} cannot be read, and was not looked at: ${why}`),
    ...waiting.map(
      ({ machine, claim, message }) => `Machine ${machine} waits already, for its claim ${claim}: ${message}`,
    ),
    ...orders.flatMap(one => one.sentences),
  ]
  return [
    ...toTable(['SET', 'MACHINES', 'POOL', 'NEEDS', 'FREE', 'VERDICT'], rows),
    ...(rows.length > 0 ? [''] : []),
    ...sentences.map(shown),
    ...(sentences.length === 0 ? [`no Machine of namespace ${namespace} waits, and no set asks for more`] : []),
    '',
    isEnough ? 'There are enough addresses.' : 'There are not enough addresses, or it cannot be said.',
  ].join('\n')
}

// --- audit ---

export async function vsphereAudit(options: AuditOptions, print: Print): Promise<number> {
  refuseOutput(options.output, outputs)
  return connected(options, tools => auditWith(tools, options, print))
}

export async function auditWith(tools: FleetTools, { output }: AuditOptions, print: Print): Promise<number> {
  const fleet = await readFleet(tools)
  const findings = audit(fleet)
  const number = (wanted: string) => findings.filter(({ severity }) => severity === wanted).length
  const { namespace } = tools
  const errors = number('error')
  const warnings = number('warn')
  if (output === 'json') print(JSON.stringify({ namespace, errors, warnings, findings }, null, 2))
  else {
    const rows = findings.map(({ severity, id, object, message, fix }) => [severity, id, object, `${message}: ${fix}`])
    const sum = `${count(fleet.machines.length, 'Machine')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`
    const table = toTable(['SEVERITY', 'FINDING', 'OBJECT', 'WHAT, AND WHAT TO DO'], rows)
    print([...table, ...(rows.length > 0 ? [''] : []), sum].join('\n'))
  }
  return findings.length > 0 ? exitCodes.refused : 0
}
