// The command line: any arguments are understood, or refused with a sentence, an advice and the documented code.

import { Command, CommanderError } from 'commander'
import {
  addControllerFlags,
  type ControllerOptions,
  flags,
  toControllerOptions,
} from '../../src/cli/controller-flags.ts'
import { parseDesks } from '../../src/cli/desks.ts'
import { exitCodes, Failure } from '../../src/cli/failure.ts'
import { parseBindAddress, parseHostPort } from '../../src/cli/host-port.ts'
import { parseTLS } from '../../src/cli/tls.ts'
import { type FuzzTarget, must } from './target.ts'

function read(args: readonly string[]): ControllerOptions | undefined {
  let options: ControllerOptions | undefined
  const silent = { writeErr: () => {}, writeOut: () => {} }
  addControllerFlags(new Command('controller').exitOverride().configureOutput(silent))
    .action((given: Record<string, unknown>) => {
      options = toControllerOptions(given)
    })
    .parse([...args], { from: 'user' })
  return options
}

/** What each command does with the texts before it starts anything. */
function judge({ healthProbeBindAddress, diagnosticsAddress, desks, ...rest }: ControllerOptions): void {
  const { tlsMinVersion, tlsCipherSuites } = rest
  for (const text of [healthProbeBindAddress, diagnosticsAddress]) {
    const { port } = orRefused(() => parseBindAddress('--address', text)) ?? { port: 0 }
    must(Number.isInteger(port) && port >= 0 && port <= 65_535, `${port} is a port`)
    orRefused(() => parseHostPort('--listen', text))
  }
  const names = orRefused(() => parseDesks(desks)) ?? []
  must(names.length === new Set(names).size, 'each desk once')
  orRefused(() => parseTLS({ minVersion: tlsMinVersion, cipherSuites: tlsCipherSuites }))
  for (const key of ['leaderElectLeaseDuration', 'leaderElectRenewDeadline', 'leaderElectRetryPeriod'] as const) {
    must(rest[key] > 0 && Number.isFinite(rest[key]), `${key} is a duration`)
  }
  must(rest.webhookPort === 'none' || (rest.webhookPort > 0 && rest.webhookPort < 65_536), 'the port of webhooks')
  must(['debug', 'info', 'error'].includes(rest.logLevel) && ['json', 'text'].includes(rest.logFormat), 'the log')
}

function orRefused<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch (error) {
    if (error instanceof CommanderError) return undefined
    must(error instanceof Failure, `refused with a sentence: ${String(error)}`)
    const { exitCode, message, advice } = error as Failure
    must(exitCode === exitCodes.usage && message !== '' && advice !== '', 'and with an advice')
    return undefined
  }
}

export const commandLines: FuzzTarget = {
  name: 'command lines',
  corpus: [
    '--leader-elect\n--leader-elect-lease-duration=1m30s\n--v=5',
    '--webhook-port\n0\n--diagnostics-address=[::1]:8443\n--desks=capi,capi',
    '--health-addr=:99999\n--tls-min-version=__proto__\n--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA,',
    '--namespace=\n--watch-filter=\n--log-level=loud',
    '--help',
    '--\n--leader-elect',
    `--leader-elect-retry-period=${'1h'.repeat(20_000)}`,
    `--namespace=${'a-'.repeat(20_000)}`,
  ],
  dictionary: ['\n', '=', '--', '-v', ...flags.map(({ flag }) => flag.split(' ')[0] ?? ''), 'true', '0', '1h', 'none'],
  run(input) {
    const args = input.toString('utf8').split('\n')
    const options = orRefused(() => read(args))
    if (options !== undefined) judge(options)
  },
}
