// `npm run test:conformance [-- --server=embedded|cluster] [--focus=TEXT] [FILE...]`: one suite of API behaviours,
// against the embedded server or a real kube-apiserver.

import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

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
const vitest = await startVitest('test', positionals, {
  config: 'vitest.conformance.config.ts',
  watch: false,
  ...(values.focus && { testNamePattern: values.focus }),
})
await vitest.close()
