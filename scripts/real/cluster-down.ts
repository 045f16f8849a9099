// `npm run cluster:down`: ends what `cluster:up` started and removes its data.

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { stopDetached } from './cluster.ts'

const { values } = parseArgs({ options: { dir: { type: 'string', default: '.mooring/cluster' } } })
const dir = resolve(values.dir)
const record = join(dir, 'processes.json')

if (existsSync(record)) {
  await stopDetached(JSON.parse(readFileSync(record, 'utf8')) as Record<string, number>)
  rmSync(dir, { recursive: true, force: true })
  console.log('the cluster is stopped')
} else {
  console.log('no cluster is running here')
}
