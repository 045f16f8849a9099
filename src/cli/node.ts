// `mooring node`: the node's part of Mooring. Puts the CNI plugin in its place, answers what the plugin asks over a unix socket, and
// keeps what it gave on the disk of the node. It answers as soon as it runs, whether the API server is there or not.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type NodeAgent, startNodeAgent } from '../node/agent.ts'
import { installPlugin, uninstallPlugin } from '../node/install.ts'
import { daemonSets } from '../node/kinds.ts'
import { serveCalls } from '../node/serve.ts'
import { openStateDirectory } from '../node/state-directory.ts'
import { realClock } from '../runtime/clock.ts'
import { createLog, describeError, type Level, type Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { measureProcess } from '../telemetry/process-metrics.ts'
import { type Connected, connect } from './connect.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { parseBindAddress } from './host-port.ts'
import { servePages } from './listen.ts'
import { parseTLS } from './tls.ts'

export interface NodeOptions {
  readonly nodeName?: string
  readonly kubeconfig?: string
  readonly context?: string
  readonly socket: string
  readonly state: string
  /** Left out where the plugin is put in place by other means. */
  readonly cniBin?: string
  readonly plugin: string
  readonly daemonset?: string
  readonly uninstall: boolean
  readonly metrics: string
  readonly insecureMetrics: boolean
  readonly health: string
  readonly wait: string
  readonly logLevel: Level
  readonly logFormat: 'json' | 'text'
}

export interface RunningNode {
  readonly ports: { readonly metrics?: number; readonly health?: number }
  /** Undefined while addresses can be given to new pods. */
  problem(): string | undefined
  stop(): Promise<void>
}

type Undo = (() => Promise<void> | void)[]

/** What is given instead of an address for what is not to be served. */
const nowhere = '0'
/** The value of a label, by which the node finds its claims. */
const nodeNameCharsMax = 63

/** Beside the program in the image. */
export const pluginOfImage = join(dirname(fileURLToPath(import.meta.url)), '../../cni/mooring')

export async function node(
  options: NodeOptions,
  write: (line: string) => void = line => process.stderr.write(line),
): Promise<RunningNode> {
  const log = createLog({ write, now: Date.now, level: options.logLevel, form: options.logFormat })
  const nodeName = nodeNameIn(options)
  const waitMs = secondsIn('--wait', options.wait) * 1000
  const undo: Undo = []
  const stop = async () => {
    for (const one of undo.splice(0).reverse()) await one()
  }
  try {
    const metrics = createMetrics()
    undo.push(measureProcess(metrics))
    const connected = connect(options, 'mooring-node', metrics)
    undo.push(() => connected.close())
    const agent = startNodeAgent({
      ...{ node: nodeName, client: connected.client, clock: realClock, random: Math.random, log, metrics, waitMs },
      disk: inDirectory('--state', () => openStateDirectory(options.state)),
      boot: bootID(),
      hasNetns: path => path !== '' && existsSync(path),
    })
    undo.push(() => agent.stop())
    await openSocket(options, agent, log, undo)
    if (options.cniBin !== undefined) install(options, options.cniBin, connected, agent, log, undo)
    const ports = await serveWatchers(options, connected, metrics, agent, log, undo)
    log.info('mooring node answers', { node: nodeName, socket: options.socket, state: options.state })
    return { ports, problem: () => agent.problem(), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function nodeNameIn({ nodeName = process.env.NODE_NAME ?? '' }: NodeOptions): string {
  const how = 'Write the name of the Node object of this machine: --node-name, or the variable NODE_NAME.'
  if (nodeName === '') throw new Failure(exitCodes.usage, '--node-name is missing', how)
  if (nodeName.length <= nodeNameCharsMax && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(nodeName)) return nodeName
  throw new Failure(exitCodes.usage, `--node-name is ${JSON.stringify(nodeName)}, which is no name of a node`, how)
}

function secondsIn(flag: string, text: string): number {
  const seconds = Number(text)
  if (/^\d{1,3}$/.test(text) && seconds > 0) return seconds
  throw new Failure(exitCodes.usage, `${flag} is ${JSON.stringify(text)}`, 'Write a number of seconds, 1 to 999.')
}

/** The kernel's own: it changes with every start of the machine. Where there is none, nothing outlives this process. */
function bootID(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return `${Date.now()}`
  }
}

function inDirectory<T>(flag: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (!isErrno(error)) throw error
    const what = `${flag} cannot be used: ${error.message}`
    throw new Failure(exitCodes.environment, what, `Choose another place with ${flag}, or run it as root.`, {
      cause: error,
    })
  }
}

async function openSocket({ socket }: NodeOptions, agent: NodeAgent, log: Log, undo: Undo) {
  try {
    const serving = await serveCalls({ path: socket, answer: text => agent.answer(text), log })
    undo.push(() => serving.stop())
  } catch (error) {
    if (!isErrno(error)) throw error
    const what = `--socket cannot be used: ${error.message}`
    throw new Failure(exitCodes.environment, what, 'Choose another place with --socket, or run it as root.', {
      cause: error,
    })
  }
}

/** The plugin is there before a runtime is told of it, and goes when the DaemonSet has gone and no sandbox needs it. */
function install(
  { plugin, daemonset }: NodeOptions,
  directory: string,
  connected: Connected,
  agent: NodeAgent,
  log: Log,
  undo: Undo,
): void {
  const became = inDirectory('--cni-bin', () => installPlugin(plugin, directory))
  log.info('the CNI plugin is in its place', { directory, became })
  if (daemonset === undefined) return
  undo.push(async () => {
    if (!(await isGone(daemonset, connected, log))) return
    if (agent.attached() > 0) {
      log.error('the CNI plugin stays: interfaces of pods have addresses of it', { attached: agent.attached() })
      return
    }
    uninstallPlugin(directory)
    log.info('the CNI plugin was removed, as its DaemonSet was', { directory })
  })
}

async function isGone(name: string, { client, namespace }: Connected, log: Log): Promise<boolean> {
  try {
    const found = await client.get(daemonSets, { namespace, name })
    return found === undefined || (found.metadata.deletionTimestamp ?? undefined) !== undefined
  } catch (error) {
    log.info('whether the DaemonSet has gone cannot be told: the CNI plugin stays', { error: describeError(error) })
    return false
  }
}

async function serveWatchers(
  options: NodeOptions,
  { client }: Connected,
  metrics: ReturnType<typeof createMetrics>,
  agent: NodeAgent,
  log: Log,
  undo: Undo,
): Promise<RunningNode['ports']> {
  const ports: { metrics?: number; health?: number } = {}
  if (options.metrics !== nowhere) {
    const { serveDiagnostics } = await import('./diagnostics.ts')
    const pages = await serveDiagnostics({
      flag: '--metrics',
      address: parseBindAddress('--metrics', options.metrics),
      isInsecure: options.insecureMetrics,
      isProfiling: false,
      tls: parseTLS({ minVersion: 'VersionTLS12', cipherSuites: '' }),
      ...{ client, clock: realClock, metrics, log },
    })
    undo.push(() => pages.stop())
    ports.metrics = pages.port
  }
  if (options.health !== nowhere) {
    const find = ({ path }: { readonly path: string }) => {
      if (path === '/healthz') return { body: 'ok\n' }
      const problem = path === '/readyz' ? agent.problem() : undefined
      if (path !== '/readyz') return undefined
      return problem === undefined ? { body: 'ok\n' } : { status: 503, body: `${problem}\n` }
    }
    const pages = await servePages({ flag: '--health', address: parseBindAddress('--health', options.health), find })
    undo.push(() => pages.stop())
    ports.health = pages.port
  }
  return ports
}

/** What a node is left as that Mooring leaves. */
export function uninstallNode({ cniBin }: Pick<NodeOptions, 'cniBin'>): void {
  if (cniBin === undefined) {
    throw new Failure(
      exitCodes.usage,
      '--uninstall removes the plugin, and --cni-bin does not say where it is',
      'Write both.',
    )
  }
  inDirectory('--cni-bin', () => uninstallPlugin(cniBin))
}
