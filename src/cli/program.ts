// The command line: every command, its flags, and what it starts. `node` alone is loaded without the others: `node-command.ts`.

import { Option } from 'commander'
import { defaultNetworkRules, udnModes, vmIPAMModes } from '../controllers/office/networks.ts'
import { defaultMachineMode, machineModes } from '../controllers/office/office.ts'
import type { AdoptOptions } from './adopt.ts'
import type { BackupOptions } from './backup.ts'
import {
  addControllerFlags,
  defaultNetworkNamespaceAbout,
  machineModeAbout,
  openNetworksAbout,
  toControllerOptions,
  udnAbout,
  vmIPAMAbout,
} from './controller-flags.ts'
import { deskNames, desksHelp } from './desks.ts'
import { exitCodes, Failure } from './failure.ts'
import type { ImportPlanOptions, ImportStatusOptions } from './import.ts'
import { addMigrationNetworkCommands } from './migration-network-commands.ts'
import { addNodeCommand } from './node-command.ts'
import { createProgram, logOf, runWith, untilSignal } from './run.ts'
import type { UpOptions } from './up.ts'
import { listOf, onCluster, parseNamespace, parsePath, path } from './values.ts'
import { vcentersAbout, vcentersFlag } from './vcenters.ts'
import type { VMOptions, VMVerb } from './vm.ts'
import { addVSphereCommands } from './vsphere-commands.ts'

const program = createProgram()

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
  .addOption(new Option('--vm-ipam <mode>', vmIPAMAbout).choices(vmIPAMModes).default(defaultNetworkRules.vmIPAM))
  .addOption(new Option('--udn <mode>', udnAbout).choices(udnModes).default(defaultNetworkRules.udn))
  .option('--open-networks', openNetworksAbout, false)
  .option(
    '--default-network-namespace <namespace>',
    defaultNetworkNamespaceAbout,
    defaultNetworkRules.defaultNetworkNamespace,
  )
  .addOption(new Option('--machine-mode <mode>', machineModeAbout).choices(machineModes).default(defaultMachineMode))
  .option(vcentersFlag, vcentersAbout)
  .option(
    '--playground <extent>',
    'stand-ins for what this machine does not have: all (KubeVirt and nodes), node (nodes, beside your KubeVirt) or none (default: all if the vm desk is on)',
  )
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

addNodeCommand(program)

program
  .command('adopt')
  .description('take over addresses from another provider, or go back to it')
  .option('--from <provider>', 'in-cluster, metal3 or whereabouts')
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
  .command('definitions')
  .description(
    'print definitions of kinds that a desk needs, for a cluster that has none: pipe it into kubectl create -f -',
  )
  .argument('<desks>', 'of which desks, such as vm')
  .action(async (desks: string) => {
    const { printDefinitions } = await import('./print-definitions.ts')
    printDefinitions(desks, text => console.log(text))
  })

const vmCommand = program
  .command('vm')
  .description('see, start, stop, restart, migrate and delete virtual machines of KubeVirt')

onCluster(vmCommand.command('list').description('virtual machines, where they run, and their addresses'))
  .option('-A, --all-namespaces', 'of every namespace', false)
  .action(async (options: VMOptions) => {
    const { vmList } = await import('./vm.ts')
    await vmList(options, text => console.log(text))
  })

const vmVerbs: Readonly<Record<VMVerb, string>> = {
  start: 'let it run',
  stop: 'end its process; its addresses stay',
  restart: 'end its process and start it again',
  migrate: 'move it to another node while it runs',
  delete: 'delete it, and give its addresses back',
}

for (const verb of Object.keys(vmVerbs) as VMVerb[]) {
  onCluster(vmCommand.command(verb).description(vmVerbs[verb]))
    .argument('<name>', 'of the VirtualMachine')
    .option('--wait', 'until it is so, for five minutes at most', false)
    .action(async (name: string, options: VMOptions) => {
      const { vm } = await import('./vm.ts')
      await vm(verb, name, options, text => console.log(text))
    })
}

const importCommand = program
  .command('import')
  .description('take in virtual machines of other platforms with their MACs, addresses and gateways')

onCluster(
  importCommand.command('plan').description('what becomes of each machine, and what is in the way; nothing is made'),
)
  .argument('[file...]', 'what was exported from the other platform')
  .option('--vcenter <url>', 'read the machines of this vCenter or ESXi host: https://vcenter.example')
  .option('--vcenter-user <name>', 'who reads it')
  .addOption(path('--vcenter-password-file <file>', 'where the password of that user is'))
  .addOption(path('--vcenter-ca <file>', 'the authority that signed its certificate (default: those that Node knows)'))
  .option('--vcenter-thumbprint <sha256>', 'of its certificate, which is then trusted without an authority')
  .option(
    '--from <kind>',
    'what the files are: rvtools, govc, vmx, ovf, openstack, hyperv or proxmox (default: by name)',
  )
  .addOption(
    listOf(
      '--map <network=target>',
      'where cards on this network of the source go, or the card with this MAC: cudn:NAME, NAMESPACE/NAME or ignored',
    ),
  )
  .addOption(listOf('--address <mac=ips>', 'the addresses that the card with this MAC is to have, with commas'))
  .addOption(listOf('--subnet <network=cidr>', 'subnet and gateway of a network of the source: 10.0.0.0/24,10.0.0.1'))
  .addOption(listOf('--name <machine=name>', 'the name of the VirtualMachine of a machine'))
  .addOption(listOf('--skip <machine>', 'a machine to leave out'))
  .option('--source-will-be-off', 'a MAC that is in use elsewhere is a warning: the two never run at once', false)
  .option('--new-macs', 'a card without a MAC may get a new one', false)
  .addOption(listOf('--without <part>', 'what the cluster lacks: ipam-extensions or preconfigured-addresses'))
  .option(
    '--default-network-namespace <namespace>',
    'where the NetworkAttachmentDefinition default is, for a cluster without ipam-extensions',
    'ovn-kubernetes',
  )
  .option('--offline', 'go by the files alone, and compare with no cluster', false)
  .option('-o, --output <form>', 'table, json or yaml', 'table')
  .addOption(path('--out <dir>', 'where to write what has to be made, for kubectl apply -f'))
  .action(async (files: string[], options: ImportPlanOptions) => {
    const { importPlan } = await import('./import.ts')
    process.exitCode = await importPlan(files, options, text => console.log(text))
  })

onCluster(importCommand.command('status').description('whether imported machines have what they had, and why not'))
  .option('-o, --output <form>', 'table, json or yaml', 'table')
  .action(async (options: ImportStatusOptions) => {
    const { importStatus } = await import('./import.ts')
    process.exitCode = await importStatus(options, text => console.log(text))
  })

addMigrationNetworkCommands(
  program.command('migration-network').description('the network over which virtual machines move while they run'),
)
addVSphereCommands(program.command('vsphere').description('machines of OpenShift on vSphere with fixed addresses'))

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

function groupAccess(): Option {
  const about = 'take a data directory that is open to its group, as a volume with an fsGroup is'
  return new Option('--allow-group-access', about).default(false)
}

/** `args` are those after the name of the program. */
export const runProgram = (args: readonly string[]): Promise<void> => runWith(program, args)
