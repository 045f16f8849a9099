// `npm run test:behaviours [-- --server=embedded|cluster] [--focus=TEXT] [FILE...]`: the behaviours of claims and pools on a
// server that runs by itself, with the desk in the process of the tests.

import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'
import { binary, skippedExitCode, Unavailable } from './binaries.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string', default: 'embedded' },
    focus: { type: 'string' },
  },
})
if (values.server !== 'embedded' && values.server !== 'cluster') {
  console.error(`--server must be embedded or cluster, not ${values.server}`)
  process.exit(2)
}
process.env.MOORING_BEHAVIOURS_SERVER = values.server
try {
  if (values.server === 'cluster') {
    for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const) {
      await binary(program, line => console.error(line))
    }
  }
  const vitest = await startVitest('test', positionals, {
    config: 'vitest.behaviours.config.ts',
    watch: false,
    ...(values.focus && { testNamePattern: values.focus }),
  })
  await vitest.close()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}
