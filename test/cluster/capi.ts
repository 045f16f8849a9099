// The behaviours of claims and pools on a server that runs by itself, with the desk in the process of the tests: against
// Cluster API's kinds with v1beta2 stored, or as they were when v1beta1 was all there is.

import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { binary } from '../../scripts/real/binaries.ts'

export async function run(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      server: { type: 'string', default: 'cluster' },
      crds: { type: 'string', default: 'v1beta2' },
      focus: { type: 'string' },
    },
  })
  process.env.MOORING_BEHAVIOURS_SERVER = oneOf('--server', values.server, ['cluster', 'embedded'])
  process.env.MOORING_BEHAVIOURS_CRDS = oneOf('--crds', values.crds, ['v1beta2', 'v1beta1'])
  if (values.server === 'cluster') {
    for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const) {
      await binary(program, line => console.error(line))
    }
  }
  const focus = values.focus && { testNamePattern: values.focus }
  // One file is one worker's, and needs one server.
  const one = (positionals.length === 1 || values.focus !== undefined) && { maxWorkers: 1 }
  const vitest = await startVitest('test', positionals, {
    config: 'vitest.behaviours.config.ts',
    watch: false,
    ...focus,
    ...one,
  })
  await vitest.close()
}

function oneOf(flag: string, value: string, allowed: readonly string[]): string {
  if (allowed.includes(value)) return value
  console.error(`${flag} must be one of ${allowed.join(', ')}, not ${value}`)
  process.exit(2)
}
