// `mooring vsphere`: the hosts of an install-config are judged (`validate`), rendered (`manifests`), and what their machines are told at
// the first boot is shown from the files as they are now (`kargs`). Nothing is written to a cluster.

import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parseDocument, stringify } from 'yaml'
import { parseHold } from '../api/hold.ts'
import { holds } from '../controllers/office/kinds.ts'
import { checkInstallConfig, withoutHosts } from '../install/check.ts'
import type { HeldAddress } from '../install/check-addresses.ts'
import { type InstallConfig, readInstallConfig } from '../install/config.ts'
import type { Fault } from '../install/fault.ts'
import { type Manifest, renderManifests } from '../install/manifests.ts'
import { type Node, nodesOf } from '../install/nodes.ts'
import { renderPools } from '../install/pools.ts'
import { isMalformed } from '../ip/malformed.ts'
import { isSubdomain } from '../ip/object-name.ts'
import { ApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { faultsNamedMax, installFileCharsMax, yamlAliasesMax } from '../limits.ts'
import { describeError } from '../telemetry/log.ts'
import { refuseYAMLBombs } from '../yaml.ts'
import { connect } from './connect.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { count, shown, toTable } from './table.ts'
import { refuseOutput } from './values.ts'

interface LedgerOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly space?: string
}

export interface ValidateOptions extends LedgerOptions {
  readonly output: string
  readonly strict: boolean
}

export interface ManifestsOptions extends ValidateOptions {
  readonly infraId?: string
  readonly out?: string
  readonly force: boolean
  readonly dryRun: boolean
  readonly withPools: boolean
  readonly spare: readonly string[]
}

export interface KargsOptions {
  readonly installConfig?: string
  readonly commandLine?: string
  readonly output: string
}

type Print = (text: string) => void

// --- validate ---

/** Answers the exit code, as the others do. */
export async function validate(file: string, options: ValidateOptions, print: Print): Promise<number> {
  refuseMistakes(options)
  return onLedger(options, client => validateWith(client, file, options, print))
}

/** Without a client nothing is compared with a ledger. */
export async function validateWith(
  client: Client | undefined,
  file: string,
  options: ValidateOptions,
  print: Print,
): Promise<number> {
  const { faults } = await judged(client, file, options)
  print(options.output === 'json' ? JSON.stringify(summaryOf(file, faults), null, 2) : faultsText(file, faults))
  return isRefused(faults, options) ? exitCodes.refused : 0
}

async function onLedger<T>(options: LedgerOptions, act: (client: Client | undefined) => Promise<T>): Promise<T> {
  if (options.kubeconfig === undefined && options.context === undefined) return act(undefined)
  const connected = connect(options, 'mooring-vsphere')
  try {
    return await act(connected.client)
  } finally {
    await connected.close()
  }
}

interface Judged {
  /** Undefined where nothing could be read. */
  readonly config: InstallConfig | undefined
  readonly faults: readonly Fault[]
}

async function judged(client: Client | undefined, file: string, { space }: LedgerOptions): Promise<Judged> {
  const faults: Fault[] = []
  const read = readInstallConfig(await readText(file), faults)
  if (read === undefined) return { config: undefined, faults }
  const config = (await isForAgent(file)) ? withoutHosts(read, faults) : read
  const held = client === undefined ? [] : await heldAddresses(client, space)
  return { config, faults: [...faults, ...checkInstallConfig(config, held, faults)] }
}

/** An agent-based install has a second file, which the installer knows by this name alone. */
async function isForAgent(file: string): Promise<boolean> {
  const found = await stat(join(dirname(file), 'agent-config.yaml')).catch(() => undefined)
  return found?.isFile() === true
}

const isRefused = (faults: readonly Fault[], { strict }: Pick<ValidateOptions, 'strict'>): boolean =>
  faults.some(({ severity }) => severity === 'error' || strict)

async function heldAddresses(client: Client, wanted: string | undefined): Promise<readonly HeldAddress[]> {
  const { items } = await client.list(holds).catch(error => {
    if (!(error instanceof ApiError)) throw error
    const advice =
      'Check the server that the kubeconfig names, and the permissions of its user; without one nothing is compared.'
    throw new Failure(exitCodes.environment, describeError(error), advice, { cause: error })
  })
  return items.flatMap(object => {
    const hold = parseHold(object)
    if (isMalformed(hold) || (wanted !== undefined && hold.space !== wanted)) return []
    const { ip, bits, claim, space, state } = hold
    const rests = state === 'quarantined' ? ', which released it a short while ago' : ''
    return [{ cidr: { ip, bits }, holder: `${claim.kind} ${claim.namespace}/${claim.name} in space ${space}${rests}` }]
  })
}

// --- manifests ---

export async function manifests(file: string, options: ManifestsOptions, print: Print): Promise<number> {
  refuseMistakes(options)
  refuseManifestsMistakes(options)
  const { config, faults } = await onLedger(options, client => judged(client, file, options))
  if (config === undefined || isRefused(faults, options)) {
    const nothing = `Nothing is made while there are ${isRefused(faults, { strict: false }) ? 'errors' : 'warnings'}.`
    print(
      options.output === 'json'
        ? JSON.stringify(summaryOf(file, faults), null, 2)
        : `${faultsText(file, faults)}\n${nothing}`,
    )
    return exitCodes.refused
  }
  const infraID = options.infraId || `${config.clusterName || 'cluster'}-xxxxx`
  if (!isSubdomain(infraID) || infraID.length > infraIDCharsMax) {
    const what = `the infrastructure ID ${JSON.stringify(infraID)} is no beginning of a name`
    throw new Failure(exitCodes.usage, what, `Write at most ${infraIDCharsMax} lower-case letters, digits and "-".`)
  }
  const all = [...renderManifests(config, infraID), ...poolsOf(config, options)]
  const { nodes, faults: ours } = nodesOf(
    all.map(({ object }) => object),
    config,
  )
  if (ours.length > 0) throw new Error(`what was rendered cannot be read: ${ours.join('; ')}`)
  if (!options.dryRun && options.out !== undefined) await writeFiles(options.out, all, options.force)
  print(manifestsText(file, faults, nodes, all, options))
  return 0
}

/** The name of a node is the ID, its pool and a number, and has to fit into a label. */
const infraIDCharsMax = 50

function poolsOf(config: InstallConfig, { withPools, spare }: ManifestsOptions): readonly Manifest[] {
  if (!withPools) return []
  const pools = renderPools(config, spare)
  if (!('faults' in pools)) return pools
  throw new Failure(exitCodes.refused, pools.faults.join('; '), 'Nothing was written.')
}

function manifestsText(
  file: string,
  faults: readonly Fault[],
  nodes: readonly Node[],
  all: readonly Manifest[],
  { output, dryRun, out }: ManifestsOptions,
): string {
  if (output === 'json') return JSON.stringify({ ...summaryOf(file, faults), nodes, manifests: all }, null, 2)
  const done = dryRun || out === undefined ? 'would be written' : `written to ${out}`
  return [
    ...(faults.length > 0 ? [faultsText(file, faults), ''] : []),
    ...nodesText(nodes),
    '',
    `${count(all.length, 'file')} ${done}.`,
  ].join('\n')
}

/** Each file whole: made in a directory of its own beside the others, then moved. */
async function writeFiles(directory: string, all: readonly Manifest[], force: boolean): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
    if (!force && (await readdir(directory)).length > 0) {
      throw new Failure(
        exitCodes.environment,
        `${directory} is not empty`,
        'Name another directory with --out, or add --force.',
      )
    }
    const made = await mkdtemp(join(directory, '.mooring-'))
    try {
      for (const { file, object } of all) await writeFile(join(made, file), toYAML(object))
      for (const { file } of all) await rename(join(made, file), join(directory, file))
    } finally {
      await rm(made, { recursive: true, force: true })
    }
  } catch (error) {
    if (!isErrno(error)) throw error
    const what = `${directory} cannot be written to (${error.code})`
    throw new Failure(exitCodes.environment, what, 'Choose another directory with --out.', { cause: error })
  }
}

/** In quotes is what YAML 1.1 would take for something else. */
const toYAML = (object: object): string =>
  stringify(object, { lineWidth: 0, version: '1.1', aliasDuplicateObjects: false })

// --- kargs ---

export async function kargs(directory: string, options: KargsOptions, print: Print): Promise<number> {
  const { installConfig, commandLine, output } = options
  refuseOutput(output, outputs)
  const objects = await readManifests(directory)
  const config = installConfig === undefined ? undefined : await configFrom(installConfig)
  const { nodes, faults } = nodesOf(objects, config, commandLine)
  if (nodes.length === 0) {
    const advice = 'Name the directory that mooring vsphere manifests, or the installer, wrote to.'
    throw new Failure(exitCodes.data, `there is no Machine in ${directory}`, advice)
  }
  const lines = [
    ...faults.map(fault => shown(`error: ${fault}`)),
    ...(faults.length > 0 ? [''] : []),
    ...nodesText(nodes),
  ]
  print(output === 'json' ? JSON.stringify({ nodes, faults }, null, 2) : lines.join('\n'))
  return faults.length > 0 ? exitCodes.refused : 0
}

async function configFrom(file: string): Promise<InstallConfig> {
  const faults: Fault[] = []
  const config = readInstallConfig(await readText(file), faults)
  if (config !== undefined && !isRefused(faults, { strict: false })) return config
  const what = `${file} has ${count(faults.length, 'fault')}`
  throw new Failure(exitCodes.data, what, `mooring vsphere validate ${file} says which.`)
}

async function readManifests(directory: string): Promise<readonly unknown[]> {
  const names = await readdir(directory).catch(error => {
    if (!isErrno(error)) throw error
    throw new Failure(exitCodes.environment, `${directory} cannot be read (${error.code})`, 'Name another directory.', {
      cause: error,
    })
  })
  const objects: unknown[] = []
  for (const name of names.filter(one => /\.(ya?ml|json)$/.test(one)).toSorted()) {
    objects.push(objectIn(join(directory, name), await readText(join(directory, name))))
  }
  return objects
}

function objectIn(file: string, text: string): unknown {
  try {
    refuseYAMLBombs(text)
    const document = parseDocument(text, { version: '1.1', uniqueKeys: false, logLevel: 'error' })
    const [fault] = document.errors
    if (fault !== undefined) throw fault
    return document.toJS({ maxAliasCount: yamlAliasesMax })
  } catch (error) {
    const what = `${file} is no manifest: ${shown(describeError(error).split('\n')[0] ?? '')}`
    throw new Failure(exitCodes.data, what, 'Mend it, or move it to another directory.', { cause: error })
  }
}

// --- the command line ---

const outputs = ['table', 'json']

function refuseMistakes({ output, space, kubeconfig, context }: ValidateOptions): void {
  refuseOutput(output, outputs)
  if (space === undefined || kubeconfig !== undefined || context !== undefined) return
  const advice = 'Say with --kubeconfig or --context which cluster has the ledger.'
  throw new Failure(exitCodes.usage, '--space is of no use without a ledger', advice)
}

function refuseManifestsMistakes({ infraId, out, dryRun, withPools, spare }: ManifestsOptions): void {
  const usage = (what: string, advice: string): Failure => new Failure(exitCodes.usage, what, advice)
  if (out === undefined && !dryRun) {
    throw usage('mooring vsphere manifests needs --out or --dry-run', 'Say where to write, or only look at the plan.')
  }
  if (!infraId && !dryRun) {
    throw usage(
      'mooring vsphere manifests needs --infra-id',
      'It is infraID in metadata.json, which the installer writes.',
    )
  }
  if (spare.length > 0 && !withPools)
    throw usage('--spare goes with --with-pools', 'It says what such pools have left.')
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file)
    if (size <= installFileCharsMax) return await readFile(file, 'utf8')
    const what = `${file} has ${size} bytes, and at most ${installFileCharsMax} are read`
    throw new Failure(exitCodes.data, what, 'It is no file of an installation.')
  } catch (error) {
    if (!isErrno(error)) throw error
    throw new Failure(exitCodes.environment, `${file} cannot be read (${error.code})`, 'Name another file.', {
      cause: error,
    })
  }
}

// --- words ---

function summaryOf(file: string, faults: readonly Fault[]) {
  const number = (wanted: string) => faults.filter(({ severity }) => severity === wanted).length
  return { file, errors: number('error'), warnings: number('warning'), faults }
}

function faultsText(file: string, faults: readonly Fault[]): string {
  const { errors, warnings } = summaryOf(file, faults)
  const rows = faults
    .slice(0, faultsNamedMax)
    .map(({ line, column, severity, check, path, message }) => [
      `${basename(file)}:${line}:${column}`,
      severity,
      check,
      path === '' ? message : `${path}: ${message}`,
    ])
  const unnamed = faults.length > rows.length ? `; the first ${rows.length} are named` : ''
  const sum = `${count(errors, 'error')}, ${count(warnings, 'warning')}${unnamed}`
  return [...toTable(['WHERE', 'SEVERITY', 'CHECK', 'WHAT'], rows), ...(rows.length > 0 ? [''] : []), sum].join('\n')
}

function nodesText(nodes: readonly Node[]): string[] {
  const rows = nodes.map(node => [
    node.name,
    node.failureDomain || '-',
    node.networks.join(',') || '-',
    node.addresses.join(',') || 'DHCP',
    node.gateways.join(',') || '-',
    node.nameservers.join(',') || '-',
    node.claims.join(',') || '-',
    node.kargs || '-',
  ])
  return [
    ...toTable(
      ['NODE', 'FAILURE DOMAIN', 'NETWORK', 'ADDRESSES', 'GATEWAY', 'NAMESERVERS', 'CLAIMS', 'KERNEL ARGUMENTS'],
      rows,
    ),
    ...nodes.flatMap(({ name, dropped, warnings }) => [
      ...dropped.map(({ item, why }) => shown(`warning: ${name} makes nothing of ${item}: ${why}`)),
      ...warnings.map(why => shown(`warning: ${name}: ${why}`)),
    ]),
  ]
}
