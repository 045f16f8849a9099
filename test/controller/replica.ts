// One `mooring controller` in this process, with what it logs and what it answers.

import { controller, type RunningController } from '../../src/cli/controller.ts'
import type { ControllerOptions } from '../../src/cli/controller-flags.ts'
import { deskNames } from '../../src/cli/desks.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { desks as table } from '../../src/controllers/desks.ts'
import { until } from './ground.ts'

export interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

export interface Replica extends RunningController {
  readonly lines: readonly Line[]
  /** The first line with these fields, as soon as it is written. */
  said(fields: Readonly<Record<string, unknown>>): Promise<Line>
  /** Of the process, or of one desk: `/capi`. */
  readyz(path?: string): Promise<{ code: number; text: string }>
  untilReady(): Promise<void>
}

const anywhere = '127.0.0.1:0'

/** Long enough for a busy machine; what is given back is taken at the next try all the same. */
const lease = {
  leaderElectLeaseDuration: 30_000,
  leaderElectRenewDeadline: 20_000,
  leaderElectRetryPeriod: 200,
} as const

/** For a test in which it is lost. */
export const quickLease = { leaderElectLeaseDuration: 3_000, leaderElectRenewDeadline: 2_000 } as const

const plain: Omit<ControllerOptions, 'kubeconfig'> = {
  desks: deskNames.join(','),
  namespace: '',
  watchFilter: '',
  vmIpam: 'auto',
  udn: 'auto',
  openNetworks: false,
  defaultNetworkNamespace: 'ovn-kubernetes',
  machineMode: 'claims',
  vcenters: '',
  leaderElect: true,
  ...lease,
  healthProbeBindAddress: anywhere,
  webhookPort: 'none',
  webhookHost: '127.0.0.1',
  webhookCertDir: '',
  webhookCertName: 'tls.crt',
  webhookKeyName: 'tls.key',
  webhookClientNames: '',
  diagnosticsAddress: anywhere,
  insecureDiagnostics: false,
  profiling: false,
  tlsMinVersion: 'VersionTLS12',
  tlsCipherSuites: '',
  logLevel: 'info',
  logFormat: 'json',
  idle: {},
}

export async function aReplica(
  kubeconfig: string,
  options: Partial<ControllerOptions> = {},
  desks: readonly Desk[] = table,
): Promise<Replica> {
  const lines: Line[] = []
  const write = (line: string) => lines.push(JSON.parse(line) as Line)
  const running = await controller({ ...plain, kubeconfig, ...options }, write, desks)
  const find = (fields: Readonly<Record<string, unknown>>) =>
    lines.find(line => Object.entries(fields).every(([name, value]) => line[name] === value))
  const readyz = async (path = '') => {
    const answer = await fetch(`http://127.0.0.1:${running.ports.health}/readyz${path}`)
    return { code: answer.status, text: await answer.text() }
  }
  return {
    ...running,
    lines,
    readyz,
    async said(fields) {
      await until(`it says ${JSON.stringify(fields)}`, () => find(fields) !== undefined).catch(error => {
        throw new Error(`it said: ${lines.map(line => JSON.stringify(line)).join('\n')}`, { cause: error })
      })
      return find(fields) as Line
    },
    async untilReady() {
      let last = ''
      const isReady = async () => {
        const { code, text } = await readyz()
        last = text
        return code === 200
      }
      await until('it is ready', isReady).catch(error => {
        throw new Error(`not ready: ${last}; it said: ${lines.map(line => JSON.stringify(line)).join('\n')}`, {
          cause: error,
        })
      })
    },
  }
}
