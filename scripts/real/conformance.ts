// `npm run test:conformance [-- --server=embedded|cluster] [--focus=TEXT] [FILE...]`: one suite of API behaviours,
// against the embedded server or a real kube-apiserver.

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
process.env.MOORING_CONFORMANCE_SERVER = values.server
if (values.focus || positionals.length > 0) process.env.MOORING_CONFORMANCE_PARTIAL = 'yes'
try {
  if (values.server === 'cluster') {
    for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const) {
      await binary(program, line => console.error(line))
    }
  }
  const vitest = await startVitest('test', positionals, {
    config: 'vitest.conformance.config.ts',
    watch: false,
    ...(values.focus && { testNamePattern: values.focus }),
  })
  await vitest.close()
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}
