// `mooring import`: what becomes of machines of another platform, before anything is made (`plan`), and how far they are once their
// objects are there (`status`). Neither writes to a cluster: what a plan makes is printed, or put into a directory.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type Finding, isError } from '../imports/finding.ts'
import { type MappingTexts, readMapping } from '../imports/mapping.ts'
import { type ImportPlan, planImport } from '../imports/plan.ts'
import { readImported } from '../imports/read-status.ts'
import { type DeclaredParts, readTarget } from '../imports/read-target.ts'
import { type CardStatus, statusOfImport } from '../imports/status.ts'
import { type ImportTarget, noTarget } from '../imports/target.ts'
import { toIPText } from '../ip/address.ts'
import { ApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import type { KubeObject } from '../kube/object.ts'
import type { SourceFault, SourceReading } from '../sources/machine.ts'
import { describeError } from '../telemetry/log.ts'
import { connect } from './connect.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { readSources, refuseSourceMistakes, type SourceOptions } from './import-sources.ts'
import { count, shown, toTable } from './table.ts'
import { refuseOutput } from './values.ts'

export interface ImportPlanOptions extends Omit<MappingTexts, 'namespace'>, SourceOptions {
  /** Empty for that of the context. */
  readonly namespace: string
  readonly output: string
  readonly out?: string
  /** Without a cluster. */
  readonly offline?: boolean
  /** What the cluster does not have. */
  readonly without?: readonly string[]
  readonly defaultNetworkNamespace: string
  readonly kubeconfig?: string
  readonly context?: string
}

export interface ImportStatusOptions {
  readonly namespace: string
  readonly output: string
  readonly kubeconfig?: string
  readonly context?: string
}

type Print = (text: string) => void

const absentParts = ['ipam-extensions', 'preconfigured-addresses']
const outputs = ['table', 'json', 'yaml']

/** Answers the exit code. */
export async function importPlan(files: readonly string[], options: ImportPlanOptions, print: Print): Promise<number> {
  refuseMistakes(options)
  refuseSourceMistakes(files, options)
  if (options.offline === true) {
    const namespace = options.namespace || 'default'
    return planWith({ client: undefined, namespace }, files, options, print)
  }
  const connected = connect(options, 'mooring-import')
  try {
    const namespace = options.namespace || connected.namespace
    return await planWith({ client: connected.client, namespace }, files, options, print)
  } finally {
    await connected.close()
  }
}

export interface ImportTools {
  /** Undefined to plan by files alone. */
  readonly client: Client | undefined
  readonly namespace: string
}

export async function planWith(
  { client, namespace }: ImportTools,
  files: readonly string[],
  options: ImportPlanOptions,
  print: Print,
): Promise<number> {
  refuseMistakes(options)
  refuseSourceMistakes(files, options)
  const mapping = readMapping({ ...options, namespace })
  if ('faults' in mapping) throw new Failure(exitCodes.usage, mapping.faults.join('; '), 'mooring import plan --help')
  const reading = await readSources(files, options)
  if (reading.faults.length > 0) {
    print(faultsText(reading.faults))
    const advice = 'Mend what is listed above, and plan again: a file is planned whole or not at all.'
    throw new Failure(exitCodes.data, `${count(reading.faults.length, 'fault')} in the source`, advice)
  }
  const parts = partsOf(options)
  const target: ImportTarget =
    client === undefined
      ? { ...noTarget, parts: { ...noTarget.parts, ...parts } }
      : await answered(readTarget(client, parts))
  const plan = planImport(reading.machines, mapping, target)
  if (options.out !== undefined && plan.objects.length > 0) await writeObjects(options.out, plan.objects)
  print(planText(plan, reading, options, client === undefined))
  return plan.findings.some(isError) ? exitCodes.refused : 0
}

export async function importStatus(options: ImportStatusOptions, print: Print): Promise<number> {
  refuseOutput(options.output, outputs)
  const connected = connect(options, 'mooring-import')
  try {
    const namespace = options.namespace || connected.namespace
    return await statusWith({ client: connected.client, namespace }, options, print)
  } finally {
    await connected.close()
  }
}

export async function statusWith(
  { client, namespace }: ImportTools & { readonly client: Client },
  { output }: ImportStatusOptions,
  print: Print,
): Promise<number> {
  const declared = { hasPreconfiguredAddresses: undefined, hasIPAMExtensions: true, defaultNetworkNamespace: '' }
  const target = await answered(readTarget(client, declared))
  const cards = statusOfImport(await answered(readImported(client, namespace)), target)
  print(statusText(cards, namespace, output))
  return cards.some(({ state }) => state === 'failed') ? exitCodes.refused : 0
}

// --- the command line ---

function refuseMistakes({ output, map, without = [], offline = false, ...rest }: ImportPlanOptions): void {
  refuseOutput(output, outputs)
  const usage = (what: string, advice: string): Failure => new Failure(exitCodes.usage, what, advice)
  if (map.length === 0) {
    throw usage(
      'mooring import plan needs --map',
      'Say where cards go: --map "VM Network=cudn:NAME", once for each network.',
    )
  }
  const unknown = without.find(part => !absentParts.includes(part))
  if (unknown !== undefined) {
    throw usage(`--without does not know ${JSON.stringify(unknown)}`, `It takes: ${absentParts.join(', ')}.`)
  }
  if (offline && (rest.kubeconfig !== undefined || rest.context !== undefined)) {
    throw usage('--offline does not go together with --kubeconfig and --context', 'Leave out one of them.')
  }
}

function partsOf({ without = [], defaultNetworkNamespace }: ImportPlanOptions): DeclaredParts {
  return {
    hasPreconfiguredAddresses: without.includes('preconfigured-addresses') ? false : undefined,
    hasIPAMExtensions: !without.includes('ipam-extensions'),
    defaultNetworkNamespace,
  }
}

// --- objects ---

/** In the order in which they have to be made, which is that of their names: kubectl apply -f takes them so. */
async function writeObjects(directory: string, objects: readonly KubeObject[]): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
    for (const [name, text] of filesOf(objects)) await writeFile(join(directory, name), text)
  } catch (error) {
    if (!isErrno(error)) throw error
    const what = `${directory} cannot be written to (${error.code})`
    throw new Failure(exitCodes.environment, what, 'Choose another directory with --out.', { cause: error })
  }
}

const ranks: Readonly<Record<string, string>> = {
  Namespace: '1-namespace',
  ClusterUserDefinedNetwork: '2-network',
  IPPool: '3-ippool',
  VirtualMachine: '4-vm',
}

const filesOf = (objects: readonly KubeObject[]): [string, string][] =>
  objects.map(object => [`${ranks[object.kind ?? '']}-${object.metadata.name}.yaml`, toYAML(object)])

/** In quotes is what YAML 1.1 would take for something else: a MAC of digits alone is a number there. */
const toYAML = (object: object): string => stringify(object, { lineWidth: 0, version: '1.1' })

// --- words ---

const faultsText = (faults: readonly SourceFault[]): string =>
  faults.map(({ where, problem }) => shown(`${where}: ${problem}`)).join('\n')

function planText(
  plan: ImportPlan,
  { leftOut }: SourceReading,
  { output, out }: ImportPlanOptions,
  isOffline: boolean,
): string {
  const { machines, findings, objects } = plan
  const cards = machines.flatMap(({ source, name, cards: all }) =>
    all.map(({ nic, interface: card, target, mac, ips }) => ({
      machine: source.name,
      virtualMachine: name,
      nic: nic.key,
      interface: card,
      target: target.to === 'primary' ? `cudn:${target.network}` : `${target.namespace}/${target.name}`,
      mac: mac ?? '',
      ips: ips.map(toIPText),
    })),
  )
  const summary = summaryOf(findings)
  if (output === 'json') {
    return JSON.stringify({ isOffline, summary, cards, findings, leftOut, objects }, null, 2)
  }
  if (output === 'yaml') {
    // What keeps a plan from being made is a comment: what is piped into kubectl is then empty.
    const said = findings.filter(isError).map(one => `# ${shown(lineOf(one))}`)
    return [...said, objects.map(toYAML).join('---\n')].filter(text => text !== '').join('\n')
  }
  const lines = [
    ...toTable(
      ['MACHINE', 'VM', 'CARD', 'INTERFACE', 'TO', 'MAC', 'ADDRESSES'],
      cards.map(one => [
        one.machine,
        one.virtualMachine,
        one.nic,
        one.interface,
        one.target,
        one.mac || '-',
        one.ips.join(',') || '-',
      ]),
    ),
    ...(findings.length > 0 ? [''] : []),
    ...toTable(
      ['SEVERITY', 'CHECK', 'MACHINE', 'CARD', 'WHAT'],
      findings.map(({ severity, id, machine, nic, message, fix }) => [
        severity,
        id,
        machine || '-',
        nic || '-',
        fix === '' ? message : `${message}. ${fix}`,
      ]),
    ),
    '',
    `${count(machines.length, 'machine')}, ${count(summary.error, 'error')}, ${count(summary.warn, 'warning')}`,
    ...leftOut.map(({ name, reason }) => shown(`${name} is left out: ${reason}`)),
    ...(isOffline ? ['Planned by files alone: nothing was compared with a cluster.'] : []),
    remarkOf(plan, out),
  ]
  return lines.join('\n')
}

function remarkOf({ objects }: ImportPlan, out: string | undefined): string {
  if (objects.length === 0) return 'Nothing can be made while there are errors.'
  const made = count(objects.length, 'object')
  const where =
    out === undefined ? `${made} to be made: -o yaml prints them, --out DIR writes them.` : `${made} written to ${out}.`
  return `${where} Disks and memory of the machines are placeholders.`
}

const lineOf = ({ severity, id, machine, nic, message, fix }: Finding): string =>
  [`${severity} ${id}`, [machine, nic].filter(text => text !== '').join(' '), `${message}. ${fix}`]
    .filter(text => text !== '')
    .join(': ')
    .trimEnd()

const summaryOf = (findings: readonly Finding[]) => {
  const number = (wanted: string) => findings.filter(({ severity }) => severity === wanted).length
  return { error: number('error'), warn: number('warn'), info: number('info') }
}

function statusText(cards: readonly CardStatus[], namespace: string, output: string): string {
  if (output === 'json') return JSON.stringify({ namespace, cards }, null, 2)
  if (output === 'yaml') return stringify({ namespace, cards }, { lineWidth: 0 })
  if (cards.length === 0) return `no imported machines in namespace ${namespace}`
  const rows = cards.map(one => [one.machine, one.interface || '-', one.state, one.wanted || '-', one.message])
  return toTable(['MACHINE', 'INTERFACE', 'STATE', 'WANTED', 'WHAT'], rows).join('\n')
}

async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const advice =
      'Check the server that the kubeconfig names, and the permissions of its user; --offline plans by files alone.'
    throw new Failure(exitCodes.environment, describeError(error), advice, { cause: error })
  }
}
