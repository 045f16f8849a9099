// `mooring up`: a Kubernetes API on this machine. Opens the data, brings up the API server, writes a kubeconfig, says
// when it is ready, and stops cleanly on a signal.

import { randomUUID } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { type KeptCertificates, keepCertificates, writeWhole } from '../apiserver/certificates/keep.ts'
import { adminKubeconfig } from '../apiserver/certificates/kubeconfig.ts'
import { createListener } from '../apiserver/edge/listener.ts'
import { createAPIServer } from '../apiserver/server.ts'
import { badRequest, StatusError } from '../apiserver/status.ts'
import { certificateCheckMs } from '../limits.ts'
import type { Domain } from '../runtime/domain.ts'
import { type OpenOptions, openStore } from '../store/lmdb.ts'
import { DamagedStoreError, type Store, StoreInUseError } from '../store/store.ts'
import { createLog, type Level } from '../telemetry/log.ts'
import { createMetrics, type Metrics, metricsContentType, secondsBounds } from '../telemetry/metrics.ts'
import { measureProcess } from '../telemetry/process-metrics.ts'
import { backupPath, writeBackup } from './backup.ts'
import { parseDesks } from './desks.ts'
import { makeDirectory } from './directory.ts'
import { startEmbeddedDesks, withdrawWebhooks } from './embedded-desks.ts'
import { exitCodes, Failure, isErrno } from './failure.ts'
import { type HostPort, parseHostPort } from './host-port.ts'
import { bind, type PageRequest, type Pages, servePages } from './listen.ts'
import { healthPage, readinessOf } from './readiness.ts'

export interface UpOptions {
  readonly data: string
  readonly listen: string
  readonly kubeconfig?: string
  readonly dashboard: string
  readonly desks: string
  /** Seconds. */
  readonly history: string
  readonly logLevel: Level
}

export interface Running {
  readonly api: string
  readonly dashboard: string
  readonly kubeconfig: string
  stop(): Promise<void>
}

export async function up(options: UpOptions, print: (line: string) => void): Promise<Running> {
  const listen = parseHostPort('--listen', options.listen)
  const dashboard = parseHostPort('--dashboard', options.dashboard)
  const on = parseDesks(options.desks, { isNoneAllowed: true })
  const data = resolve(options.data)
  const kubeconfig = resolve(options.kubeconfig ?? join(data, 'kubeconfig'))
  let fail: (error: unknown) => void = () => {}
  const write = (line: string) => process.stderr.write(line)
  const log = createLog({ write, now: Date.now, level: options.logLevel, form: 'text' })

  const metrics = createMetrics()
  const commits = metrics.histogram('mooring_store_commit_seconds', 'Time of one sync to disk.', secondsBounds)
  const store = await openData(data, {
    historyMs: parseHistory(options.history),
    onFatal: error => fail(error),
    onCommit: tookMs => commits.observe(tookMs / 1000),
  })
  const undo: (() => Promise<void> | void)[] = [() => store.close(), measureProcess(metrics)]
  try {
    const certificates = keepPKI(data, listen)
    let address = ''
    const server = createAPIServer({
      store,
      certificates,
      address: () => address,
      now: () => new Date(),
      random: Math.random,
      randomUUID,
      metrics,
      actions: {
        [backupPath]: body => orderBackup(store, data, body.target),
      },
      // A refusal is the answer to a request, not a fault of ours: where in the code it was made helps no reader.
      onError: (error, what) =>
        console.error(`mooring: ${what}:`, error instanceof StatusError ? error.message : error),
    })
    const listener = createListener({
      handler: server.handler,
      certificate: () => certificates.server(),
      ca: () => certificates.ca().certificate,
    })
    undo.push(() => server.stop())
    const bound = await bind('--listen', listen, () => listener.listen(listen.host, listen.port))
    undo.push(() => listener.close())
    address = `${urlHost(listen.host)}:${bound.port}`
    await server.start()
    const desks =
      on.length === 0
        ? undefined
        : await startEmbeddedDesks({ handler: server.handler, certificates, on, log, metrics })
    if (desks === undefined) await withdrawWebhooks(server.handler, certificates)
    else undo.push(() => desks.stop())
    const page = await serveDashboard(dashboard, metrics, desks?.domains ?? [], () => desks?.problems() ?? [])
    undo.push(() => page.stop())
    const renewal = keepRenewing(certificates, () => {
      listener.reload()
      desks?.renew()
    })
    undo.push(() => clearInterval(renewal))

    const api = `https://${address}`
    await writeKubeconfig(kubeconfig, api, certificates)
    fail = error => {
      // A store that cannot promise durability must not go on answering.
      console.error('mooring: the data could not be written; stopping so that nothing unsafe is acknowledged:', error)
      process.exit(exitCodes.data)
    }
    print(`API server   ${api}`)
    print(`dashboard    http://${urlHost(dashboard.host)}:${page.port}`)
    print(`data         ${data}`)
    print(`kubeconfig   ${kubeconfig}`)
    // What holds up the deletion of a kind is ended through the API, which is served already.
    for (const problem of desks?.problems() ?? []) print(`not ready    ${problem}`)
    const ready = () => print('mooring is ready')
    if (desks === undefined || desks.problems().length === 0) ready()
    else void desks.complete().then(ready)
    return { api, dashboard: `http://${urlHost(dashboard.host)}:${page.port}`, kubeconfig, stop: () => stopAll(undo) }
  } catch (error) {
    await stopAll(undo)
    throw error
  }
}

async function orderBackup(store: Store, data: string, target: unknown): Promise<object> {
  if (typeof target !== 'string') throw badRequest('target must name the directory to write to')
  try {
    return await writeBackup(store, data, target)
  } catch (error) {
    if (error instanceof Failure) throw badRequest(error.message)
    throw error
  }
}

async function stopAll(undo: (() => Promise<void> | void)[]): Promise<void> {
  for (const step of undo.reverse()) await step()
  undo.length = 0
}

async function openData(data: string, options: OpenOptions): Promise<Store> {
  for (const path of [data, join(data, 'store')]) await makeDirectory(path, 'Choose another one with --data.')
  try {
    return await openStore(join(data, 'store'), options)
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EROFS', 'EPERM')) {
      throw new Failure(
        exitCodes.environment,
        `the data directory ${data} cannot be written`,
        'Choose another one with --data, or make it writable.',
        { cause: error },
      )
    }
    if (error instanceof StoreInUseError) {
      throw new Failure(exitCodes.data, error.message, 'Stop that process, or choose another directory with --data.', {
        cause: error,
      })
    }
    if (error instanceof DamagedStoreError) {
      throw new Failure(
        exitCodes.data,
        error.message,
        'Nothing was changed. Choose another directory with --data, or bring back a backup with `mooring restore`.',
        { cause: error },
      )
    }
    throw error
  }
}

function keepPKI(data: string, listen: HostPort): KeptCertificates {
  const dns = [
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ]
  const ips = new Set(['127.0.0.1', '::1', '10.96.0.1'])
  if (listen.isIP && listen.host !== '0.0.0.0' && listen.host !== '::') ips.add(listen.host)
  const names = { dns: listen.isIP ? dns : [...new Set([...dns, listen.host])], ips: [...ips] }
  try {
    return keepCertificates({ directory: join(data, 'pki'), names, clock: () => new Date() })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Failure(
      exitCodes.data,
      why,
      `Restore the file, or move ${join(data, 'pki')} away to have new certificates made.`,
      { cause: error },
    )
  }
}

function serveDashboard(
  address: HostPort,
  metrics: Metrics,
  domains: readonly Domain[],
  problems: () => string[],
): Promise<Pages> {
  const find = ({ path }: PageRequest) => {
    if (path === '/metrics') return { type: metricsContentType, body: metrics.text() }
    return healthPage(path, () => readinessOf(domains, problems()), domains)
  }
  return servePages({ flag: '--dashboard', address, find })
}

function keepRenewing(certificates: KeptCertificates, onRenewed: () => void): NodeJS.Timeout {
  return setInterval(() => {
    if (certificates.renewIfNeeded(new Date())) onRenewed()
  }, certificateCheckMs).unref()
}

async function writeKubeconfig(file: string, server: string, certificates: KeptCertificates): Promise<void> {
  await makeDirectory(dirname(file), 'Choose another place with --kubeconfig.')
  writeWhole(file, adminKubeconfig({ server, caCertificate: certificates.ca().certificate }, certificates.admin()))
}

function parseHistory(text: string): number {
  const seconds = Number(text)
  if (Number.isInteger(seconds) && seconds > 0) return seconds * 1000
  throw new Failure(
    exitCodes.usage,
    `--history is ${JSON.stringify(text)}, which is not a number of seconds`,
    'Write a whole number, as in --history 300.',
  )
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
