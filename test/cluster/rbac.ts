// `mooring controller` on a real kube-apiserver with exactly the roles of `config/rbac`: it works with all of them, and says
// which one is missing when any verb of any rule is taken away.

import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { binary } from '../../scripts/real/binaries.ts'

export async function run(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { focus: { type: 'string' } } })
  process.env.MOORING_CONTROLLER_SERVER = 'cluster'
  for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const) {
    await binary(program, line => console.error(line))
  }
  const focus = values.focus && { testNamePattern: values.focus }
  const vitest = await startVitest('test', positionals, {
    config: 'vitest.controller.config.ts',
    watch: false,
    ...focus,
  })
  await vitest.close()
}
