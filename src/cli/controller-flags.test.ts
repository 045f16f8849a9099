import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import {
  addControllerFlags,
  type ControllerOptions,
  foreignFlags,
  parseDuration,
  toControllerOptions,
} from './controller-flags.ts'

async function read(...args: string[]): Promise<ControllerOptions> {
  let options: ControllerOptions | undefined
  const command = addControllerFlags(new Command('controller').exitOverride().configureOutput({ writeErr: () => {} }))
  command.action(given => {
    options = toControllerOptions(given)
  })
  await command.parseAsync(args, { from: 'user' })
  if (options === undefined) throw new Error('nothing was run')
  return options
}

describe('the flags of the controller', () => {
  test('have the defaults that manifests count on', async () => {
    expect(await read()).toMatchObject({
      leaderElect: false,
      leaderElectLeaseDuration: 15_000,
      leaderElectRenewDeadline: 10_000,
      leaderElectRetryPeriod: 2_000,
      healthProbeBindAddress: ':8081',
      namespace: '',
      watchFilter: '',
      vmIpam: 'auto',
      openNetworks: false,
      webhookPort: 9443,
      webhookCertDir: expect.stringMatching(/k8s-webhook-server\/serving-certs$/),
      webhookCertName: 'tls.crt',
      webhookKeyName: 'tls.key',
      webhookClientNames: '',
      diagnosticsAddress: ':8443',
      insecureDiagnostics: false,
      profiling: false,
      tlsMinVersion: 'VersionTLS12',
      tlsCipherSuites: '',
      idle: {},
    })
  })

  test.each([
    [['--leader-elect'], { leaderElect: true }],
    [['--leader-elect=true'], { leaderElect: true }],
    [['--leader-elect=false'], { leaderElect: false }],
    [['--leader-elect', '--namespace=a'], { leaderElect: true, namespace: 'a' }],
    [['--leader-elect=true', '--leader-elect=false'], { leaderElect: false }],
    [['--insecure-diagnostics=false'], { insecureDiagnostics: false }],
    [['--namespace='], { namespace: '' }],
    [['--vm-ipam=observe'], { vmIpam: 'observe' }],
    [['--udn=render'], { udn: 'render' }],
    [['--open-networks'], { openNetworks: true }],
    [['--webhook-port=0'], { webhookPort: 'none' }],
    [['--webhook-port', '1443'], { webhookPort: 1443 }],
    [['--leader-elect-lease-duration=1m30s'], { leaderElectLeaseDuration: 90_000 }],
    [['--health-addr=:9440'], { healthProbeBindAddress: ':9440' }],
    [['--v=2'], { logLevel: 'info' }],
    [['--v=5'], { logLevel: 'debug' }],
    [['--v=5', '--log-level=error'], { logLevel: 'error' }],
    [['--log-format=text'], { logFormat: 'text' }],
  ])('%s are understood', async (args, options) => {
    expect(await read(...args)).toMatchObject(options)
  })

  test.each(foreignFlags.map(({ flag, why }) => [flag.split(' ')[0] ?? '', why]))(
    '%s is taken and said to change nothing',
    async (flag, why) => {
      expect((await read(`${flag}=10s`)).idle).toEqual({ [flag]: why })
    },
  )

  test.each([
    [['--leader-elct'], "unknown option '--leader-elct'\n(Did you mean --leader-elect?)"],
    [['--leader-elect=maybe'], '--leader-elect is "maybe", which is not true or false'],
    [['--webhook-port=https'], '--webhook-port is "https", which is not a port'],
    [['--webhook-port=65536'], '--webhook-port is "65536", which is not a port'],
    [['--leader-elect-retry-period=2'], '--leader-elect-retry-period is "2", which is not a duration'],
    [['--log-level=loud'], '--log-level is "loud", which is not one of debug, info, error'],
  ])('%s are refused with a sentence', async (args, sentence) => {
    await expect(read(...args)).rejects.toThrow(sentence)
  })
})

describe('a duration', () => {
  test.each([
    ['15s', 15_000],
    ['500ms', 500],
    ['1h2m3s', 3_723_000],
    ['1.5s', 1_500],
  ])('%s is read as Go writes it', (text, ms) => expect(parseDuration('--x', text)).toBe(ms))

  test.each(['', 's', '15', '-1s', '15s!', '0s', '1d'])('%j is none', text => {
    expect(() => parseDuration('--x', text)).toThrow('not a duration')
  })
})
