// `mooring migration-network`: over which network virtual machines move while they run. `plan` says what a change would do, `set` and `reset`
// make it, `status` shows how far every node is. The network of Harvester's clusters is written into its Setting, that of others into
// a MigrationNetwork; the controller does the rest.

import { ownText } from '../api/shape.ts'
import { migrationNetworks, settings } from '../controllers/migration/kinds.ts'
import type { Order } from '../controllers/migration/orders.ts'
import { ApiError, isApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { attachmentKey, managementNetwork, settingName } from '../migration/names.ts'
import { describeProblem } from '../migration/problem.ts'
import { defaultHash } from '../migration/wanted.ts'
import { describeError } from '../telemetry/log.ts'
import { connect } from './connect.ts'
import { exitCodes, Failure } from './failure.ts'
import { listCluster, type SeenCluster } from './migration-network-cluster.ts'
import { type Asked, type Preview, preview } from './migration-network-preview.ts'
import { type NodeRow, rowsOf } from './migration-network-status.ts'
import { count, shown, toTable } from './table.ts'
import { refuseOutput } from './values.ts'

export interface ClusterOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly output: string
}

/** As they are typed; empty or absent where they are not. */
export interface NetworkOptions extends ClusterOptions {
  readonly clusterNetwork?: string
  readonly bridge?: string
  readonly parent?: string
  readonly vlan?: string
  readonly mtu?: string
  readonly range?: string
  readonly exclude: readonly string[]
  readonly rangeV6?: string
  readonly rangeV6Start?: string
  readonly rangeV6End?: string
  readonly ipam?: string
  readonly kubevirt?: string
}

type Print = (text: string) => void

const outputs = ['table', 'json']

async function connected(options: ClusterOptions, work: (client: Client) => Promise<number>): Promise<number> {
  refuseOutput(options.output, outputs)
  const connection = connect(options, 'mooring-migration-network')
  try {
    return await work(connection.client)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new Failure(exitCodes.environment, describeError(error), adviceFor(error), { cause: error })
  } finally {
    await connection.close()
  }
}

function adviceFor({ reason }: ApiError): string {
  if (reason === 'NotInstalled') return 'Install KubeVirt, and the definitions of Mooring, config/crd.'
  if (reason === 'Conflict') return 'It was changed at the same moment: say this again.'
  return 'Check the server that the kubeconfig names, and the permissions of its user.'
}

// --- what is wanted ---

export function askedBy(options: NetworkOptions): Asked {
  const { clusterNetwork, bridge, parent } = options
  const named = Object.entries({ clusterNetwork, bridge, parent }).filter(([, name]) => name !== undefined)
  if (named.length !== 1) {
    const what =
      named.length === 0 ? 'no network is named' : 'more than one of --cluster-network, --bridge and --parent is named'
    throw usage(what, 'Write --cluster-network NAME with Harvester; without, --bridge NAME or --parent INTERFACE.')
  }
  const common = {
    ...(options.vlan !== undefined && { vlan: numberOf('--vlan', options.vlan) }),
    ...textsOf(options, ['range', 'rangeV6', 'rangeV6Start', 'rangeV6End', 'ipam']),
    ...(options.exclude.length > 0 && { exclude: options.exclude }),
  }
  if (clusterNetwork !== undefined) {
    refuseTogether(options)
    return { kind: 'Setting', value: JSON.stringify({ clusterNetwork, ...common }) }
  }
  const [namespace = '', name = ''] = options.kubevirt?.split('/') ?? []
  if (options.kubevirt !== undefined && (namespace === '' || name === '')) {
    throw usage(`--kubevirt is ${JSON.stringify(options.kubevirt)}`, 'Write namespace/name of the KubeVirt object.')
  }
  const spec = {
    ...textsOf(options, ['bridge', 'parent']),
    ...common,
    ...(options.mtu !== undefined && { mtu: numberOf('--mtu', options.mtu) }),
    ...(options.kubevirt !== undefined && { kubevirt: { namespace, name } }),
  }
  return { kind: 'MigrationNetwork', spec }
}

function refuseTogether({ mtu, kubevirt }: NetworkOptions): void {
  const flag = mtu === undefined ? kubevirt && '--kubevirt' : '--mtu'
  if (flag) throw usage(`${flag} is not for --cluster-network`, 'Harvester decides that: leave it out.')
}

const usage = (what: string, advice: string): Failure => new Failure(exitCodes.usage, what, advice)

function textsOf<K extends keyof NetworkOptions>(options: NetworkOptions, keys: readonly K[]): object {
  return Object.fromEntries(keys.flatMap(key => (options[key] === undefined ? [] : [[key, options[key]]])))
}

function numberOf(flag: string, text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw usage(`${flag} is ${JSON.stringify(text)}`, 'Write a whole number.')
}

// --- plan ---

/** Answers the exit code, as the others do. */
export async function plan(options: NetworkOptions, print: Print): Promise<number> {
  const asked = askedBy(options)
  return connected(options, client => planWith(client, asked, options, print))
}

export async function planWith(
  client: Client,
  asked: Asked,
  { output }: Pick<ClusterOptions, 'output'>,
  print: Print,
): Promise<number> {
  const made = preview(asked, await listCluster(client))
  print(output === 'json' ? JSON.stringify(toJSON(made), null, 2) : previewText(made))
  return made.problems.length > 0 ? exitCodes.refused : 0
}

/** Numbers of addresses are texts: a /64 has more than a JSON number holds. */
const toJSON = ({ problems, addresses, ...rest }: Preview) => ({
  ...rest,
  ...(addresses && {
    addresses: { needed: addresses.needed, usable: `${addresses.usable}`, spare: `${addresses.spare}` },
  }),
  problems: problems.map(one => ({
    pointer: one.place.map(step => `/${step}`).join(''),
    message: one.message,
    fix: one.fix,
  })),
})

function previewText({ problems, warnings, attachment, restarts, addresses, waits }: Preview): string {
  const lines: string[] = []
  if (problems.length > 0) {
    lines.push(`refused, with ${count(problems.length, 'error')}:`, ...problems.map(one => `  ${describeProblem(one)}`))
  }
  if (attachment !== undefined) {
    const { action, key, differences } = attachment
    lines.push(`NetworkAttachmentDefinition ${key}: ${attachmentWords[action]}`)
    for (const { field, stored, wanted } of differences) {
      if (stored !== undefined) lines.push(`  - ${field}: ${JSON.stringify(stored)}`)
      if (wanted !== undefined) lines.push(`  + ${field}: ${JSON.stringify(wanted)}`)
    }
  }
  if (addresses !== undefined) {
    const { needed, usable, spare } = addresses
    lines.push(`addresses: ${needed} needed, ${usable} can be given out, ${spare < 0n ? 0n : spare} to spare`)
  }
  if (attachment !== undefined) {
    lines.push(
      restarts.length === 0 ? 'no pod restarts' : `${count(restarts.length, 'pod')} restart: ${restarts.join(', ')}`,
    )
  }
  lines.push(...waits.map(one => `waits: ${one}`), ...warnings.map(one => `warning: ${one}`))
  return lines.map(shown).join('\n')
}

const attachmentWords = {
  make: 'is made',
  change: 'is changed where it is',
  keep: 'is there already, and stays',
} as const

// --- set ---

export async function set(options: NetworkOptions, print: Print): Promise<number> {
  const asked = askedBy(options)
  return connected(options, client => setWith(client, asked, options, print))
}

export async function setWith(
  client: Client,
  asked: Asked,
  { output }: Pick<ClusterOptions, 'output'>,
  print: Print,
): Promise<number> {
  const made = preview(asked, await listCluster(client))
  if (made.problems.length > 0) {
    print(output === 'json' ? JSON.stringify(toJSON(made), null, 2) : previewText(made))
    return exitCodes.refused
  }
  const ref = { name: settingName }
  const written = await judged(async () => {
    if (asked.kind === 'Setting') return writeSetting(client, asked.value)
    const { metadata } = (await client.get(migrationNetworks, ref)) ?? {}
    const object = { apiVersion: 'mooring.dev/v1alpha1', kind: 'MigrationNetwork', metadata: ref, spec: asked.spec }
    // What was left out is gone: all of the spec is what was typed.
    if (metadata === undefined) return client.create(migrationNetworks, object as KubeObject)
    return client.update(migrationNetworks, { ...object, metadata } as KubeObject)
  })
  const what = `${asked.kind} ${settingName}`
  const { resourceVersion = '' } = written.metadata
  if (output === 'json') print(JSON.stringify({ ...toJSON(made), written: what, resourceVersion }, null, 2))
  else print(`${previewText(made)}\n${what} is written: mooring migration-network status shows how far it is`)
  return 0
}

async function writeSetting(client: Client, value: string): Promise<KubeObject> {
  const ref = { name: settingName }
  try {
    return await client.mergePatch(settings, ref, { value })
  } catch (error) {
    // Harvester makes it at its start.
    if (!isApiError(error, 'NotFound')) throw error
    const object = { apiVersion: 'harvesterhci.io/v1beta1', kind: 'Setting', metadata: ref, value, default: '' }
    return client.create(settings, object as KubeObject)
  }
}

/** What a webhook or the API server has against it is an answer, and no failure of the command. */
async function judged<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!isApiError(error, 'Invalid', 'BadRequest', 'Conflict', 'Other') || !(error instanceof ApiError)) throw error
    const what = shown(error.message)
    throw new Failure(exitCodes.refused, what, 'Nothing was changed: correct it, or wait, and say this again.', {
      cause: error,
    })
  }
}

// --- reset ---

export async function reset(options: ClusterOptions, print: Print): Promise<number> {
  return connected(options, client => resetWith(client, options, print))
}

export async function resetWith(
  client: Client,
  { output }: Pick<ClusterOptions, 'output'>,
  print: Print,
): Promise<number> {
  const ref = { name: settingName }
  const done: string[] = []
  const setting = await there(client.get(settings, ref))
  if (setting !== undefined && 'value' in setting && setting.value !== '') {
    await judged(() => client.mergePatch(settings, ref, { value: '' }))
    done.push(`Setting ${settingName} is reset`)
  }
  const network = await there(client.get(migrationNetworks, ref))
  if (network !== undefined) {
    const { uid } = network.metadata
    await judged(() => client.delete(migrationNetworks, ref, uid === undefined ? {} : { uid }))
    done.push(`MigrationNetwork ${settingName} is deleted`)
  }
  const sentence = 'migrations go back to the management network: mooring migration-network status shows how far it is'
  if (output === 'json') print(JSON.stringify({ done }, null, 2))
  else
    print(done.length === 0 ? 'nothing is set: migrations use the management network' : [...done, sentence].join('\n'))
  return 0
}

/** Undefined also where the server does not know the kind. */
async function there<T>(read: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read
  } catch (error) {
    if (isApiError(error, 'NotInstalled')) return undefined
    throw error
  }
}

// --- status ---

export async function status(options: ClusterOptions, print: Print): Promise<number> {
  return connected(options, client => statusWith(client, options, print))
}

export async function statusWith(
  client: Client,
  { output }: Pick<ClusterOptions, 'output'>,
  print: Print,
): Promise<number> {
  const cluster = await listCluster(client)
  const { order } = cluster
  const condition = conditionOf(order?.object)
  const rows = rowsOf(cluster)
  const isSet = order !== undefined && order.asks.kind !== 'management'
  const isDone = isApplied(order) && (condition === undefined ? !isSet : condition.status === 'True')
  const network = order && (ownText(order.object.metadata.annotations ?? {}, attachmentKey) || managementNetwork)
  if (output === 'json') {
    const by = order && isSet ? `${order.kind.kind} ${settingName}` : ''
    const state = { by, network: network ?? managementNetwork, isDone, condition, nodes: rows }
    print(JSON.stringify({ ...state, lastMigrations: cluster.last }, null, 2))
  } else print(statusText(cluster, condition, rows))
  return isDone ? 0 : exitCodes.refused
}

/** What was just written is not applied yet, though the condition still says so of what was there before. */
function isApplied(order: Order | undefined): boolean {
  if (order === undefined || order.asks.kind === 'unreadable') return true
  const { asks, memory } = order
  if (asks.kind === 'network') return memory.done?.hash === asks.network.hash
  return memory.done === undefined || memory.done.hash === defaultHash
}

interface Said {
  readonly status: string
  readonly reason: string
  readonly message: string
}

function conditionOf(object: KubeObject | undefined): Said | undefined {
  const { status } = (object ?? {}) as {
    readonly status?: { readonly conditions?: readonly (Said & { type: string })[] }
  }
  return status?.conditions?.find(({ type }) => type === 'configured')
}

function statusText(
  { order, kubeVirt, migrating, last }: SeenCluster,
  condition: Said | undefined,
  rows: readonly NodeRow[],
): string {
  const asks = order?.asks
  const wanted =
    order === undefined || asks === undefined || asks.kind === 'management'
      ? 'the management network'
      : `${order.kind.kind} ${settingName}${asks.kind === 'network' ? `: ${asks.network.canonical}` : ''}`
  const yes = (is: boolean | undefined) => (is === undefined ? '-' : is ? 'yes' : 'no')
  const table = toTable(
    ['NODE', 'SELECTED', 'CONFIGURED', 'READY', 'VIRT-HANDLER', 'ADDRESS'],
    rows.map(one => [
      one.node,
      yes(one.selected),
      yes(one.configured),
      yes(one.ready),
      one.handler,
      one.addresses.join(',') || '-',
    ]),
  )
  const state =
    condition &&
    `configured: ${condition.status}${condition.reason === '' ? '' : ` (${condition.reason})`} ${condition.message}`
  const lines = [
    `asked for: ${wanted}`,
    `in use: ${kubeVirt === undefined ? 'KubeVirt is not there' : kubeVirt.network || 'the management network'}`,
    ...(state === undefined ? [] : [state]),
    ...(kubeVirt?.whyNotReady === undefined ? [] : [`KubeVirt: ${kubeVirt.whyNotReady}; no migration begins`]),
    ...(migrating.length === 0 ? [] : [`migrating now: ${migrating.join(', ')}`]),
    '',
  ]
  const went = toTable(
    ['LAST MIGRATIONS', 'TO', 'BY', 'NETWORK', 'ENDED'],
    last.map(one => [one.machine, one.targetNode || '-', one.targetAddress, one.network, one.endedAt || '-']),
  )
  return [...lines.map(shown), ...table, ...(went.length === 0 ? [] : ['', ...went])].join('\n').trimEnd()
}
