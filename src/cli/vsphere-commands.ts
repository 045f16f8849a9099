// The commands under `mooring vsphere`. Each is a function of its own file, loaded when it runs.

import type { Command } from 'commander'
import { listOf, onCluster, path } from './values.ts'
import type { KargsOptions, ManifestsOptions, ValidateOptions } from './vsphere.ts'
import type { AuditOptions, PreflightOptions } from './vsphere-machines.ts'

const print = (text: string): void => console.log(text)

export function addVSphereCommands(group: Command): void {
  onLedger(
    group.command('validate').description('everything that is wrong with the hosts of an install-config, at once'),
  )
    .argument('<file>', 'install-config.yaml')
    .option('--strict', 'end with a failure for warnings too', false)
    .option('-o, --output <form>', 'table or json', 'table')
    .addHelpText('after', validateExamples)
    .action(async (file: string, options: ValidateOptions) => {
      const { validate } = await import('./vsphere.ts')
      process.exitCode = await validate(file, options, print)
    })

  onLedger(group.command('manifests').description('the objects that an installation with fixed addresses begins with'))
    .argument('<file>', 'install-config.yaml')
    .option('--infra-id <id>', 'what the installer calls the cluster, such as c1-x7k2p; in its metadata.json')
    .addOption(path('--out <dir>', 'where to write the files'))
    .option('--force', 'write into a directory that has files already, over those of the same name', false)
    .option('--dry-run', 'show the plan, and write nothing', false)
    .option('--with-pools', 'also the IPPools default-0 and so on, which the machine desk serves', false)
    .addOption(listOf('--spare <range>', 'addresses of these pools for machines that are made later'))
    .option('--strict', 'write nothing while there are warnings', false)
    .option('-o, --output <form>', 'table or json', 'table')
    .addHelpText('after', manifestsExamples)
    .action(async (file: string, options: ManifestsOptions) => {
      const { manifests } = await import('./vsphere.ts')
      process.exitCode = await manifests(file, options, print)
    })

  group
    .command('kargs')
    .description('the kernel arguments of each machine, from its manifests as they are now')
    .argument('<dir>', 'with the manifests of machines, claims and addresses')
    .addOption(path('--install-config <file>', 'for the bootstrap machine, which has no manifest'))
    .option('--command-line <text>', 'with which the template starts its kernel, if it has ip= of its own')
    .option('-o, --output <form>', 'table or json', 'table')
    .addHelpText('after', kargsExamples)
    .action(async (dir: string, options: KargsOptions) => {
      const { kargs } = await import('./vsphere.ts')
      process.exitCode = await kargs(dir, options, print)
    })

  onCluster(
    group
      .command('preflight')
      .description('whether there are addresses for Machines that are to come; nothing is changed'),
  )
    .addOption(listOf('--scale <set=n>', 'a MachineSet is to have this many Machines; control-plane=N for that one'))
    .addOption(listOf('--roll-out <set>', 'every Machine of a MachineSet is replaced, or of the control-plane'))
    .option('-o, --output <form>', 'table or json', 'table')
    .addHelpText('after', preflightExamples)
    .action(async (options: PreflightOptions) => {
      const { vspherePreflight } = await import('./vsphere-machines.ts')
      process.exitCode = await vspherePreflight(options, print)
    })

  onCluster(
    group
      .command('audit')
      .description('what does not fit together among Machines, claims, IPAddresses and holds; nothing is changed'),
  )
    .option('-o, --output <form>', 'table or json', 'table')
    .addHelpText('after', auditExamples)
    .action(async (options: AuditOptions) => {
      const { vsphereAudit } = await import('./vsphere-machines.ts')
      process.exitCode = await vsphereAudit(options, print)
    })
}

/** Addresses are compared with a ledger only where one is named: most installations begin where there is no cluster. */
function onLedger(command: Command): Command {
  return command
    .addOption(path('--kubeconfig <file>', 'a cluster with Mooring: addresses that its ledger holds are faults'))
    .option('--context <name>', 'the context of the kubeconfig; alone, of the files that kubectl reads')
    .option('--space <name>', 'only what is held in this space (default: in any)')
}

const validateExamples = `
Examples:
  mooring vsphere validate install-config.yaml
  mooring vsphere validate install-config.yaml --strict -o json
  mooring vsphere validate install-config.yaml --kubeconfig ~/.kube/config --space lab`

const manifestsExamples = `
Examples:
  mooring vsphere manifests install-config.yaml --dry-run
  mooring vsphere manifests install-config.yaml --infra-id c1-x7k2p --out manifests
  mooring vsphere manifests install-config.yaml --infra-id c1-x7k2p --out manifests --with-pools --spare 192.0.2.100-192.0.2.120`

const kargsExamples = `
Examples:
  mooring vsphere kargs manifests
  mooring vsphere kargs manifests --install-config install-config.yaml -o json`

const preflightExamples = `
Examples:
  mooring vsphere preflight -n openshift-machine-api
  mooring vsphere preflight -n openshift-machine-api --scale workers-0=10 --scale workers-1=5
  mooring vsphere preflight -n openshift-machine-api --roll-out control-plane -o json`

const auditExamples = `
Examples:
  mooring vsphere audit -n openshift-machine-api
  mooring vsphere audit -n openshift-machine-api -o json`
