// The command `mooring node`, by itself: it runs on every node of a cluster, and loads nothing that a node does not need.

import { type Command, Option } from 'commander'
import type { NodeOptions } from './node.ts'
import { createProgram, logOf, runWith, untilSignal } from './run.ts'
import { path } from './values.ts'

export function addNodeCommand(program: Command): Command {
  program
    .command('node')
    .description('answer the CNI plugin of this node, and put it in its place')
    .option('--node-name <name>', 'the Node object of this machine (default: the variable NODE_NAME)')
    .addOption(
      path('--kubeconfig <file>', 'how to reach the cluster (default: the account of the pod, else what kubectl uses)'),
    )
    .option('--context <name>', 'the context of the kubeconfig')
    .addOption(path('--socket <file>', 'where the plugin finds it').default('/run/mooring/cni.sock'))
    .addOption(path('--state <dir>', 'where is kept what interfaces have').default('/var/lib/mooring/node'))
    .addOption(path('--cni-bin <dir>', 'where the plugin is put (default: it is not)'))
    .addOption(path('--plugin <file>', 'the plugin to put there (default: that of the image)'))
    .option('--daemonset <name>', 'when this DaemonSet of its namespace has gone, the plugin goes too')
    .option('--uninstall', 'remove the plugin from --cni-bin, and end', false)
    .option('--wait <seconds>', 'how long an ADD waits for an address', '20')
    .option('--metrics <host:port>', 'where metrics are served, over HTTPS to readers with a token; 0 for nowhere', '0')
    .option('--insecure-metrics', 'serve metrics over plain HTTP, to every client', false)
    .option('--health <host:port>', 'where /healthz and /readyz are served; 0 for nowhere', '0')
    .addOption(
      new Option('--log-level <level>', 'what is logged, on stderr')
        .choices(['debug', 'info', 'error'])
        .default('info'),
    )
    .addOption(new Option('--log-format <form>', 'how').choices(['json', 'text']).default('json'))
    .action(async (options: Omit<NodeOptions, 'plugin'> & { readonly plugin?: string }) => {
      const { node, pluginOfImage, uninstallNode } = await import('./node.ts')
      if (options.uninstall) return uninstallNode(options)
      const log = logOf(options.logFormat, options.logLevel)
      await untilSignal(() => node({ plugin: pluginOfImage, ...options }), log)
    })
  return program
}

/** `args` are those after the name of the program, of which the first is `node`. */
export const runNodeCommand = (args: readonly string[]): Promise<void> => runWith(addNodeCommand(createProgram()), args)
