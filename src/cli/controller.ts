// `mooring controller`: the desks, in a cluster. Connects, answers reviews and health, takes part in the election, and
// begins passes when it leads. A process that loses its lease ends, and is started anew by whoever keeps it running:
// nothing of an earlier life is carried on.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Election } from '../kube/lease.ts'
import { realClock } from '../runtime/clock.ts'
import { createLog, type Level } from '../telemetry/log.ts'
import { createMetrics, metricsContentType } from '../telemetry/metrics.ts'
import { measureProcess } from '../telemetry/process-metrics.ts'
import { connect } from './connect.ts'
import { createDesks, type Desks, refuseUnknownDesks } from './desks.ts'
import { exitCodes, Failure } from './failure.ts'
import { parseBindAddress } from './host-port.ts'
import { type Page, servePages } from './listen.ts'

export interface ControllerOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly desks: string
  readonly leaderElect: boolean
  readonly leaderElectNamespace?: string
  readonly healthProbeBindAddress: string
  readonly diagnosticsAddress: string
  readonly logLevel: Level
}

export interface RunningController {
  /** Resolves when it ended by itself, with the reason. */
  readonly ended: Promise<Failure>
  stop(): Promise<void>
}

/** The lease that candidates compete for. */
const leaseName = 'mooring-controller'

export async function controller(options: ControllerOptions): Promise<RunningController> {
  refuseUnknownDesks(options.desks)
  const clock = realClock
  const log = createLog({
    write: line => process.stderr.write(line),
    now: Date.now,
    level: options.logLevel,
  })
  const { client, discovery, server, namespace, close } = connect(options, 'mooring-controller')
  const metrics = createMetrics()
  const undo: (() => Promise<void> | void)[] = [close, measureProcess(metrics)]
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  let end: (why: Failure) => void = () => {}
  const ended = new Promise<Failure>(resolve => {
    end = resolve
  })
  try {
    const election = options.leaderElect
      ? new Election({
          client,
          clock,
          random: Math.random,
          log,
          namespace: options.leaderElectNamespace ?? namespace,
          name: leaseName,
          identity: `${hostname()}_${randomUUID()}`,
          onLost: () => end(lostLease()),
        })
      : undefined
    const desks = createDesks({
      client,
      discovery,
      log,
      ...(election && { admitted: signal => election.elected(signal) }),
    })

    const health = await servePages(
      '--health-probe-bind-address',
      parseBindAddress('--health-probe-bind-address', options.healthProbeBindAddress),
      path => healthPage(path, desks),
    )
    undo.push(() => health.stop())
    const diagnostics = await servePages(
      '--diagnostics-address',
      parseBindAddress('--diagnostics-address', options.diagnosticsAddress),
      path => (path === '/metrics' ? { type: metricsContentType, body: metrics.text() } : undefined),
    )
    undo.push(() => diagnostics.stop())

    const standDown = new AbortController()
    const standing = election?.run(standDown.signal)
    // The lease is given back last of all, when no pass runs any more.
    undo.push(async () => {
      standDown.abort()
      await standing
    })
    undo.push(() => desks.stop('shutdown'))
    log.info('mooring controller starts', { server, leaderElect: options.leaderElect })
    desks.start().then(
      () => log.info('mooring controller is working'),
      error => log.info('mooring controller ended before it worked', { error }),
    )
    return { ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function healthPage(path: string, desks: Desks): Page | undefined {
  if (path === '/healthz' || path === '/livez') return { body: 'ok' }
  if (path !== '/readyz') return undefined
  return desks.isSynced ? { body: 'ok' } : { status: 503, body: 'not every kind was listed yet\n' }
}

function lostLease(): Failure {
  return new Failure(
    exitCodes.environment,
    `the lease ${leaseName} was lost`,
    'Another process leads now, or the API server did not answer in time. Start this one again.',
  )
}
