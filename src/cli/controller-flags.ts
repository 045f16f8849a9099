// The flags of `mooring controller`. Names and defaults are those that clusterctl, the Cluster API operator and users of the
// reference provider write: whatever they inject is understood here, or refused with a sentence that says what to do.

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import {
  defaultNetworkRules,
  type UDNMode,
  udnModes,
  type VMIPAMMode,
  vmIPAMModes,
} from '../controllers/office/networks.ts'
import { defaultMachineMode, type MachineMode, machineModes } from '../controllers/office/office.ts'
import type { Level } from '../telemetry/log.ts'
import { deskNames, desksHelp } from './desks.ts'
import { exitCodes, Failure } from './failure.ts'
import { parseNamespace, parsePath } from './values.ts'
import { vcentersAbout, vcentersFlag } from './vcenters.ts'

export interface ControllerOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly desks: string
  /** Only claims and pools of this namespace; empty for all. */
  readonly namespace: string
  /** Only claims with this value of the label; empty for all. */
  readonly watchFilter: string
  /** Which program gives out the addresses of networks of OVN-Kubernetes. */
  readonly vmIpam: VMIPAMMode
  readonly udn: UDNMode
  readonly openNetworks: boolean
  readonly defaultNetworkNamespace: string
  readonly machineMode: MachineMode
  readonly vcenters: string
  readonly leaderElect: boolean
  readonly leaderElectNamespace?: string
  readonly leaderElectLeaseDuration: number
  readonly leaderElectRenewDeadline: number
  readonly leaderElectRetryPeriod: number
  readonly healthProbeBindAddress: string
  readonly webhookPort: number | 'none'
  readonly webhookHost: string
  readonly webhookCertDir: string
  readonly webhookCertName: string
  readonly webhookKeyName: string
  /** The authority that signs the client certificates of API servers; left out where every client is answered. */
  readonly webhookClientCa?: string
  /** Their common names, separated by commas; empty for every one. */
  readonly webhookClientNames: string
  readonly diagnosticsAddress: string
  readonly insecureDiagnostics: boolean
  readonly profiling: boolean
  readonly tlsMinVersion: string
  readonly tlsCipherSuites: string
  readonly logLevel: Level
  readonly logFormat: 'json' | 'text'
  /** Flags that were given and change nothing here, each with the reason. */
  readonly idle: Readonly<Record<string, string>>
}

interface Flag {
  /** As Commander writes it: `--webhook-port <port>`. */
  readonly flag: string
  readonly about: string
  readonly default?: string | number | boolean
  /** The default in the words of the flag, where it is kept in others. */
  readonly shown?: string
  readonly parse?: (text: string) => unknown
}

export const vmIPAMAbout =
  'addresses on networks of OVN-Kubernetes: allocate them, observe what OVN-Kubernetes allocates, or auto: observe where it serves the network'
export const udnAbout =
  'networks that users define: render their NetworkAttachmentDefinitions, observe what OVN-Kubernetes renders, or auto: observe where it is installed'
export const openNetworksAbout = 'every namespace may join every network of OVN-Kubernetes by its name'

export const defaultNetworkNamespaceAbout =
  'where OVN-Kubernetes has the NetworkAttachmentDefinition `default`, which pods name to ask for a MAC and addresses'

export const machineModeAbout =
  'Machines of OpenShift: claims, beside the machine API, which orders the virtual machines; or full, in its place'

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

export const flags: readonly Flag[] = [
  {
    flag: '--kubeconfig <file>',
    about: 'how to reach the cluster (default: the account of the pod, else what kubectl uses)',
    parse: text => parsePath('--kubeconfig', text),
  },
  { flag: '--context <name>', about: 'the context of the kubeconfig' },
  {
    flag: '--desks <list>',
    about: `which desks to run: ${desksHelp}`,
    default: deskNames.join(','),
    shown: 'every one',
  },
  {
    flag: '--namespace <namespace>',
    about: 'serve only claims and pools of this namespace',
    default: '',
    shown: 'every one',
    parse: text => parseNamespace('--namespace', text),
  },
  {
    flag: '--watch-filter <value>',
    about: 'serve only claims whose label cluster.x-k8s.io/watch-filter has this value',
    default: '',
    shown: 'all claims',
  },
  {
    flag: '--vm-ipam <mode>',
    about: vmIPAMAbout,
    default: defaultNetworkRules.vmIPAM,
    parse: text => oneOf('--vm-ipam', text, vmIPAMModes),
  },
  {
    flag: '--udn <mode>',
    about: udnAbout,
    default: defaultNetworkRules.udn,
    parse: text => oneOf('--udn', text, udnModes),
  },
  isTrue('--open-networks', openNetworksAbout),
  {
    flag: '--default-network-namespace <namespace>',
    about: defaultNetworkNamespaceAbout,
    default: defaultNetworkRules.defaultNetworkNamespace,
    parse: text => parseNamespace('--default-network-namespace', text),
  },
  {
    flag: '--machine-mode <mode>',
    about: machineModeAbout,
    default: defaultMachineMode,
    parse: text => oneOf('--machine-mode', text, machineModes),
  },
  { flag: vcentersFlag, about: vcentersAbout, default: '', shown: 'none' },
  isTrue('--leader-elect', 'work only while holding a lease, so that one of several replicas works'),
  {
    flag: '--leader-elect-namespace <namespace>',
    about: 'where the lease is kept (default: the namespace of the pod)',
    parse: text => parseNamespace('--leader-elect-namespace', text),
  },
  duration('--leader-elect-lease-duration', 'after so long without renewal another replica takes over', '15s'),
  duration('--leader-elect-renew-deadline', 'after so long without renewal the leader ends', '10s'),
  duration('--leader-elect-retry-period', 'between two tries to get or renew the lease', '2s'),
  {
    flag: '--health-probe-bind-address <host:port>',
    about: 'where /healthz and /readyz are served; 0 for nowhere',
    default: ':8081',
  },
  {
    flag: '--webhook-port <port>',
    about: 'where webhooks and conversions are answered; 0 for nowhere',
    default: 9443,
    parse: text => parsePort('--webhook-port', text) || 'none',
  },
  { flag: '--webhook-host <host>', about: 'the address to answer webhooks on', default: '', shown: 'every one' },
  {
    flag: '--webhook-cert-dir <dir>',
    about: 'where the certificate for webhooks and its key lie',
    default: join(tmpdir(), 'k8s-webhook-server', 'serving-certs'),
  },
  { flag: '--webhook-cert-name <file>', about: 'the certificate, in that directory', default: 'tls.crt' },
  { flag: '--webhook-key-name <file>', about: 'its key, in that directory', default: 'tls.key' },
  {
    flag: '--webhook-client-ca <file>',
    about:
      'answer webhooks only to clients with a certificate that this authority has signed (default: to every client)',
  },
  {
    flag: '--webhook-client-names <list>',
    about: 'of those, only to clients whose certificate has one of these common names',
    default: '',
    shown: 'every name',
  },
  {
    flag: '--diagnostics-address <host:port>',
    about: 'where /metrics is served, over HTTPS, to users with the permission; 0 for nowhere',
    default: ':8443',
  },
  isTrue('--insecure-diagnostics', 'serve /metrics over plain HTTP, to every client'),
  isTrue('--profiling', 'also serve /debug/pprof/profile and /debug/pprof/heap on the diagnostics address'),
  {
    flag: '--tls-min-version <version>',
    about: 'the oldest TLS that is spoken: VersionTLS12 or VersionTLS13',
    default: 'VersionTLS12',
  },
  {
    flag: '--tls-cipher-suites <list>',
    about: 'cipher suites of TLS 1.2, by their IANA names; those of TLS 1.3 cannot be chosen',
    default: '',
    shown: "Node's",
  },
  {
    flag: '--log-level <level>',
    about: 'debug, info or error',
    default: 'info',
    parse: text => oneOf('--log-level', text, ['debug', 'info', 'error']),
  },
  {
    flag: '--log-format <format>',
    about: 'json for machines, text for people',
    default: 'json',
    parse: text => oneOf('--log-format', text, ['json', 'text']),
  },
]

/** Flags that other tools inject, and what they come to here. Accepted, so that no installation fails because of them. */
export const foreignFlags: readonly { readonly flag: string; readonly why: string }[] = [
  { flag: '--sync-period <duration>', why: 'nothing is looked at again because time went by' },
  { flag: '--max-concurrent-reconciles <number>', why: 'claims of different pools never wait for each other' },
  { flag: '--feature-gates <list>', why: 'there are no features to switch' },
  { flag: '--profiler-address <host:port>', why: 'profiles are on the diagnostics address, with --profiling' },
  { flag: '--metrics-bind-addr <host:port>', why: 'metrics are on --diagnostics-address' },
  { flag: '--leader-election-id <name>', why: 'the lease has one name; --leader-elect-namespace says where it is' },
]

/** From here on `--v` asks for more than an operator reads. */
const verboseFrom = 4

export function addControllerFlags(command: Command): Command {
  for (const { flag, about, default: value, shown, parse } of flags) {
    const option = new Option(flag, about)
    if (value !== undefined) option.default(value, shown)
    if (parse !== undefined) option.argParser(text => parse(text))
    command.addOption(option)
  }
  command.addOption(new Option('--health-addr <host:port>', 'as --health-probe-bind-address').hideHelp())
  command.addOption(new Option('-v, --v <level>', 'from 4 on as --log-level debug').hideHelp())
  for (const { flag } of foreignFlags) command.addOption(new Option(flag).hideHelp())
  // The whole list would push the one line that matters out of sight.
  return command.showHelpAfterError('`mooring controller --help` tells every flag.')
}

/** What Commander read, with the other names of things resolved. */
export function toControllerOptions(read: Readonly<Record<string, unknown>>): ControllerOptions {
  const { v, healthAddr, ...rest } = read as unknown as ControllerOptions & { v?: string; healthAddr?: string }
  const isVerbose = v !== undefined && Number(v) >= verboseFrom
  const idle = foreignFlags.flatMap(({ flag, why }) => {
    const name = flag.split(' ')[0] ?? flag
    return Object.hasOwn(read, toField(name)) ? [[name, why] as const] : []
  })
  return {
    ...rest,
    ...(healthAddr !== undefined && { healthProbeBindAddress: healthAddr }),
    ...(isVerbose && rest.logLevel === 'info' && { logLevel: 'debug' as const }),
    idle: Object.fromEntries(idle),
  }
}

/** `--sync-period` as `syncPeriod`. */
function toField(name: string): string {
  return name.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** `--leader-elect` and `--leader-elect=false` both: Go programs take either, and manifests are written for those. */
function isTrue(name: string, about: string): Flag {
  return { flag: `${name} [true|false]`, about, default: false, parse: text => parseBool(name, text) }
}

function parseBool(name: string, text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false
  throw wrong(name, text, 'true or false', `${name}=true`)
}

/** Kept in milliseconds. */
function duration(name: string, about: string, shown: string): Flag {
  const parse = (text: string) => parseDuration(name, text)
  return { flag: `${name} <duration>`, about, default: parse(shown), shown, parse }
}

/** `15s`, `1m30s`, `500ms`, as Go writes them. */
export function parseDuration(name: string, text: string): number {
  const parts = [...text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)/g)]
  const isWhole = parts.length > 0 && parts.map(([part]) => part).join('') === text
  const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (unitsMs[unit ?? ''] ?? 0), 0)
  if (isWhole && ms > 0) return ms
  throw wrong(name, text, 'a duration', `${name} 15s`)
}

function parsePort(name: string, text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw wrong(name, text, 'a port', `${name} 9443`)
}

function oneOf<T extends string>(name: string, text: string, known: readonly T[]): T {
  const found = known.find(one => one === text)
  if (found !== undefined) return found
  throw wrong(name, text, `one of ${known.join(', ')}`, `${name} ${known[0]}`)
}

function wrong(name: string, text: string, what: string, example: string): Failure {
  return new Failure(exitCodes.usage, `${name} is ${JSON.stringify(text)}, which is not ${what}`, `Write ${example}.`)
}
