#!/usr/bin/env node
// The command line: reads what was asked, starts it, turns failures into sentences and exit codes.

import { Command, CommanderError, Option } from 'commander'
import { mooringVersion } from './apiserver/version.ts'
import type { AdoptOptions } from './cli/adopt.ts'
import type { BackupOptions } from './cli/backup.ts'
import { addControllerFlags, toControllerOptions } from './cli/controller-flags.ts'
import { deskNames, desksHelp } from './cli/desks.ts'
import { exitCodes, Failure } from './cli/failure.ts'
import type { UpOptions } from './cli/up.ts'

const program = new Command('mooring')
  .description('IP addresses for machines and virtual machines on Kubernetes.')
  .version(mooringVersion)
  .showHelpAfterError()
  // Commander would end the process with its own codes; ours are documented.
  .exitOverride()

program
  .command('up')
  .description('run a Kubernetes API on this machine, with everything Mooring does')
  .option('--data <dir>', 'where everything is kept', '.mooring')
  .option('--listen <host:port>', 'where the API is served', '127.0.0.1:7443')
  .option('--kubeconfig <file>', 'where to write the kubeconfig (default: kubeconfig in the data directory)')
  .option('--dashboard <host:port>', 'where dashboard, metrics and health are served', '127.0.0.1:7080')
  .option('--history <seconds>', 'how long past changes are kept for watches and lists to go on from', '300')
  .addOption(
    new Option('--log-level <level>', 'what is logged, on stderr').choices(['debug', 'info', 'error']).default('info'),
  )
  .option('--audit <file>', 'write a JSON line for each request to this file, or to stdout for -')
  .option('--desks <list>', `which desks to run: ${desksHelp}; or none for the API server alone`, deskNames.join(','))
  .action(async (options: UpOptions) => {
    // Commands are loaded when they run: help and mistakes are answered at once.
    const { up } = await import('./cli/up.ts')
    // What is told to people would be in the way of the lines.
    const print = options.audit === '-' ? console.error : console.log
    await untilSignal(up(options, line => print(line)))
  })

addControllerFlags(program.command('controller').description('run the desks in a cluster')).action(
  async (read: Record<string, unknown>) => {
    const { controller } = await import('./cli/controller.ts')
    const running = await untilSignal(controller(toControllerOptions(read)))
    throw await running.ended
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
    new Option('--namespace <namespace>', 'only claims and pools of this namespace, as for the controller').default(
      '',
      'every one',
    ),
  )
  .addOption(
    new Option(
      '--watch-filter <value>',
      'only claims whose label cluster.x-k8s.io/watch-filter has this value',
    ).default('', 'all claims'),
  )
  .option('--kubeconfig <file>', 'how to reach the cluster (default: the account of the pod, else what kubectl uses)')
  .option('--context <name>', 'the context of the kubeconfig')
  .action(async (options: AdoptOptions) => {
    const { adopt } = await import('./cli/adopt.ts')
    process.exitCode = await adopt(options, text => console.log(text))
  })

program
  .command('backup')
  .description('write a copy of all data and certificates, also while Mooring runs')
  .argument('<directory>', 'where to write it; must not exist yet')
  .option('--data <dir>', 'what to copy', '.mooring')
  .option('--kubeconfig <file>', 'how to reach the running server (default: kubeconfig in the data directory)')
  .action(async (directory: string, options: BackupOptions) => {
    const { backup } = await import('./cli/backup.ts')
    const { target, revision } = await backup(directory, options)
    console.log(`backup of revision ${revision} written to ${target}`)
  })

program
  .command('restore')
  .description('make a data directory from a backup')
  .argument('<directory>', 'what `mooring backup` wrote')
  .option('--data <dir>', 'the data directory to make; must be absent or empty', '.mooring')
  .action(async (directory: string, options: { data: string }) => {
    const { restore } = await import('./cli/restore.ts')
    const { data, keys } = await restore(directory, options)
    console.log(`${keys} objects restored to ${data}; clients that knew the old data will list anew`)
  })

/** A signal that comes while something starts is obeyed as soon as there is something to stop. */
function untilSignal<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const stop = (signal: string) => {
    console.error(`mooring: ${signal}, stopping`)
    starting.then(running => running.stop()).then(() => process.exit(0), report)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  return starting
}

function report(error: unknown): never {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage)
  if (error instanceof Failure) {
    console.error(`mooring: ${error.message}\n${error.advice}`)
    process.exit(error.exitCode)
  }
  console.error('mooring: this is a fault of ours:', error)
  process.exit(exitCodes.internal)
}

program.parseAsync().catch(report)
