// The command line: reads what was asked, starts it, turns failures into sentences and exit codes.

import { Command, CommanderError, Option } from 'commander'
import { mooringVersion } from '../apiserver/version.ts'
import { createLog, type Level, type Log } from '../telemetry/log.ts'
import type { AdoptOptions } from './adopt.ts'
import type { BackupOptions } from './backup.ts'
import { addControllerFlags, toControllerOptions } from './controller-flags.ts'
import { deskNames, desksHelp } from './desks.ts'
import { exitCodes, Failure } from './failure.ts'
import type { UpOptions } from './up.ts'
import { parseNamespace, parsePath } from './values.ts'

const program = new Command('mooring')
  .description('IP addresses for machines and virtual machines on Kubernetes.')
  .version(mooringVersion)
  .showHelpAfterError()
  // Commander would end the process with its own codes; ours are documented.
  .exitOverride()

program
  .command('up')
  .description('run a Kubernetes API on this machine, with everything Mooring does')
  .addOption(path('--data <dir>', 'where everything is kept').default('.mooring'))
  .addOption(groupAccess())
  .option('--listen <host:port>', 'where the API is served', '127.0.0.1:7443')
  .addOption(path('--kubeconfig <file>', 'where to write the kubeconfig (default: kubeconfig in the data directory)'))
  .option('--dashboard <host:port>', 'where health and metrics are served, over plain HTTP', '127.0.0.1:7080')
  .option('--insecure-dashboard', 'let --dashboard be an address that other machines reach', false)
  .option('--history <seconds>', 'how long past changes are kept for watches and lists to go on from', '300')
  .addOption(
    new Option('--log-level <level>', 'what is logged, on stderr').choices(['debug', 'info', 'error']).default('info'),
  )
  .option('--audit <file>', 'write a JSON line for each request to this file, or to stdout for -')
  .option('--desks <list>', `which desks to run: ${desksHelp}; or none for the API server alone`, deskNames.join(','))
  .action(async (options: UpOptions) => {
    // Commands are loaded when they run: help and mistakes are answered at once.
    const { up } = await import('./up.ts')
    const log = logOf('text', options.logLevel)
    // What is told to people would be in the way of the audit lines.
    const print = options.audit === '-' ? console.error : console.log
    await untilSignal(signal => up(options, line => print(line), signal), log)
  })

addControllerFlags(program.command('controller').description('run the desks in a cluster')).action(
  async (read: Record<string, unknown>) => {
    const options = toControllerOptions(read)
    const log = logOf(options.logFormat, options.logLevel)
    const { controller } = await import('./controller.ts')
    try {
      const running = await untilSignal(() => controller(options), log)
      throw await running.ended
    } catch (error) {
      // What reads the log as JSON has to read its last line too.
      const isLogged = options.logFormat === 'json' && error instanceof Failure && error.exitCode !== exitCodes.usage
      if (!isLogged) throw error
      log.error('mooring controller ended', { error: error.message, advice: error.advice })
      process.exit(error.exitCode)
    }
  },
)

program
  .command('adopt')
  .description('take over addresses from another provider, or go back to it')
  .option('--from <provider>', 'in-cluster or metal3')
  .option('--back', 'remove what only Mooring understands, so that the in-cluster provider can go on', false)
  .option('--dry-run', 'say what would be done, and write nothing', false)
  .option('-o, --output <form>', 'table, json or yaml', 'table')
  .addOption(
    new Option('--namespace <namespace>', 'only claims and pools of this namespace, as for the controller')
      .default('', 'every one')
      .argParser(text => parseNamespace('--namespace', text)),
  )
  .addOption(
    new Option(
      '--watch-filter <value>',
      'only claims whose label cluster.x-k8s.io/watch-filter has this value',
    ).default('', 'all claims'),
  )
  .addOption(
    path('--kubeconfig <file>', 'how to reach the cluster (default: the account of the pod, else what kubectl uses)'),
  )
  .option('--context <name>', 'the context of the kubeconfig')
  .action(async (options: AdoptOptions) => {
    const { adopt } = await import('./adopt.ts')
    process.exitCode = await adopt(options, text => console.log(text))
  })

program
  .command('backup')
  .description('write a copy of all data and certificates, also while Mooring runs')
  .argument('<directory>', 'where to write it; must be absent or empty', text =>
    parsePath('the name of the directory', text),
  )
  .addOption(path('--data <dir>', 'what to copy').default('.mooring'))
  .addOption(groupAccess())
  .addOption(path('--kubeconfig <file>', 'how to reach the running server (default: kubeconfig in the data directory)'))
  .action(async (directory: string, options: BackupOptions) => {
    const { backup } = await import('./backup.ts')
    const { target, revision } = await backup(directory, options)
    console.log(`backup of revision ${revision} written to ${target}`)
  })

program
  .command('restore')
  .description('make a data directory from a backup')
  .argument('<directory>', 'what `mooring backup` wrote', text => parsePath('the name of the directory', text))
  .addOption(path('--data <dir>', 'the data directory to make; must be absent or empty').default('.mooring'))
  .action(async (directory: string, options: { data: string }) => {
    const { restore } = await import('./restore.ts')
    const { data, keys } = await restore(directory, options)
    console.log(`${keys} objects restored to ${data}; clients that knew the old data will list anew`)
  })

/** A flag that names a file or a directory. */
function path(flag: string, about: string): Option {
  const [name = flag] = flag.split(' ')
  return new Option(flag, about).argParser(text => parsePath(name, text))
}

function groupAccess(): Option {
  const about = 'take a data directory that is open to its group, as a volume with an fsGroup is'
  return new Option('--allow-group-access', about).default(false)
}

function logOf(form: 'json' | 'text', level: Level): Log {
  return createLog({ write: line => process.stderr.write(line), now: Date.now, level, form })
}

/** Thrown by a start that a signal ended. */
const stopped = new Error('stopped by a signal')

/** A signal that comes while something starts ends the start; what it has begun is undone. */
function untilSignal<T extends { stop(): Promise<void> }>(
  start: (signal: AbortSignal) => Promise<T>,
  log: Log,
): Promise<T> {
  const stopping = new AbortController()
  const starting = start(stopping.signal)
  const stop = (signal: string) => {
    log.info('mooring stops', { signal })
    stopping.abort(stopped)
    starting.then(running => running.stop()).then(() => process.exit(0), report)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  return starting
}

function report(error: unknown): never {
  if (error === stopped) process.exit(0)
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage)
  if (error instanceof Failure) {
    console.error(`mooring: ${error.message}\n${error.advice}`)
    process.exit(error.exitCode)
  }
  console.error('mooring: this is a fault of ours:', error)
  process.exit(exitCodes.internal)
}

export async function runProgram(): Promise<void> {
  await program.parseAsync().catch(report)
}
