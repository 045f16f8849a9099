// `npm run test:kubectl [-- --server=embedded|cluster] [--record] [--answers=DIR] [SCENARIO...]`: every
// command a user of kubectl types, compared with what a real kube-apiserver answered. `--record` writes those answers
// down anew; `--answers` writes what this server answered, for a look at both.

import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startVitest } from 'vitest/node'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string', default: 'embedded' },
    record: { type: 'boolean', default: false },
    answers: { type: 'string' },
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
if (values.answers !== undefined) {
  mkdirSync(values.answers, { recursive: true })
  process.env.MOORING_KUBECTL_ANSWERS = resolve(values.answers)
}
if (positionals.length > 0) process.env.MOORING_KUBECTL_SCENARIOS = positionals.join(',')
const vitest = await startVitest('test', [], { config: 'vitest.kubectl.config.ts', watch: false })
await vitest.close()
