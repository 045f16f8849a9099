// The commands under `mooring migration-network`. Each is a function of its own file, loaded when it runs.

import type { Command } from 'commander'
import type { ClusterOptions, NetworkOptions } from './migration-network.ts'
import { listOf, path } from './values.ts'

const print = (text: string): void => console.log(text)

export function addMigrationNetworkCommands(group: Command): void {
  onNetwork(
    group.command('plan').description('what a change would do: objects, restarts, addresses; nothing is changed'),
  )
    .addHelpText('after', planExamples)
    .action(async (options: NetworkOptions) => {
      const { plan } = await import('./migration-network.ts')
      process.exitCode = await plan(options, print)
    })

  onNetwork(group.command('set').description('have virtual machines migrate over this network'))
    .addHelpText('after', setExamples)
    .action(async (options: NetworkOptions) => {
      const { set } = await import('./migration-network.ts')
      process.exitCode = await set(options, print)
    })

  onServer(group.command('status').description('how far each node is; ends with 0 once all is as it was asked for'))
    .addHelpText('after', statusExamples)
    .action(async (options: ClusterOptions) => {
      const { status } = await import('./migration-network.ts')
      process.exitCode = await status(options, print)
    })

  onServer(group.command('reset').description('have virtual machines migrate over the management network again'))
    .addHelpText('after', resetExamples)
    .action(async (options: ClusterOptions) => {
      const { reset } = await import('./migration-network.ts')
      process.exitCode = await reset(options, print)
    })
}

function onNetwork(command: Command): Command {
  const named = command
    .option('--cluster-network <name>', 'with Harvester: the cluster network, or mgmt')
    .option('--bridge <name>', 'without Harvester: a bridge that every node has')
    .option('--parent <interface>', 'without Harvester, in place of a bridge: an interface that every node has')
    .option('--vlan <id>', 'the VLAN, 2 to 4094; untagged unless said')
    .option('--mtu <bytes>', 'of the interface in the pod; without Harvester')
    .option('--range <cidr>', 'the IPv4 subnet, such as 10.1.2.0/24')
    .addOption(listOf('--exclude <cidr>', 'addresses of it that are not given out'))
    .option('--range-v6 <cidr>', 'the IPv6 subnet')
    .option('--range-v6-start <ip>', 'the first address of it that is given out')
    .option('--range-v6-end <ip>', 'the last one')
    .option(
      '--ipam <plugin>',
      'whereabouts, or mooring: each node keeps its address (default: whereabouts with Harvester, else mooring)',
    )
    .option('--kubevirt <namespace/name>', 'the KubeVirt object, without Harvester (default: kubevirt/kubevirt)')
  return onServer(named)
}

function onServer(command: Command): Command {
  return command
    .option('-o, --output <form>', 'table or json', 'table')
    .addOption(
      path('--kubeconfig <file>', 'how to reach the cluster (default: the account of the pod, else what kubectl uses)'),
    )
    .option('--context <name>', 'the context of the kubeconfig')
}

const planExamples = `
Examples:
  mooring migration-network plan --cluster-network migration --vlan 100 --range 10.1.2.0/24
  mooring migration-network plan --bridge br-migration --range 10.1.2.0/24 --exclude 10.1.2.0/28 -o json`

const setExamples = `
Examples:
  mooring migration-network set --cluster-network migration --vlan 100 --range 10.1.2.0/24
  mooring migration-network set --cluster-network mgmt --vlan 100 --range 10.1.2.0/24 --ipam mooring
  mooring migration-network set --parent eth1 --vlan 100 --range 10.1.2.0/24 --range-v6 fd00:1::/64`

const statusExamples = `
Examples:
  mooring migration-network status
  until mooring migration-network status > /dev/null; do sleep 5; done`

const resetExamples = `
Examples:
  mooring migration-network reset`
