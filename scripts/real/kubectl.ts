// `npm run test:kubectl [-- --server=embedded|cluster] [--record] [SCENARIO...]`: every command a user of kubectl
// types, compared with what a real kube-apiserver answered. `--record` writes those answers down anew.

import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string', default: 'embedded' },
    record: { type: 'boolean', default: false },
  },
})
if (values.server !== 'embedded' && values.server !== 'cluster') {
  console.error(`--server must be embedded or cluster, not ${values.server}`)
  process.exit(2)
}
if (values.record && values.server !== 'cluster') {
  console.error('--record needs --server=cluster: only a real server tells the facts')
  process.exit(2)
}
process.env.MOORING_KUBECTL_SERVER = values.server
process.env.MOORING_KUBECTL_RECORD = String(values.record)
if (positionals.length > 0) process.env.MOORING_KUBECTL_SCENARIOS = positionals.join(',')
const vitest = await startVitest('test', [], { config: 'vitest.kubectl.config.ts', watch: false })
await vitest.close()
