// `npm run test:install [-- --keep]`: what people install from, as a real API server, helm and Prometheus' checker judge it. Nothing runs in the
// cluster: it has no nodes.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { binary, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { Sentences } from '../capi/sentences.ts'
import { checkAlerts } from './alerts.ts'
import { checkChart } from './chart.ts'
import { checkApply, checkDryRun, checkLeftovers, checkUninstall } from './plain.ts'
import { startWorld } from './world.ts'

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })
const dir = mkdtempSync(join(tmpdir(), 'mooring-install-'))
const sentences = new Sentences(line => console.log(line))
const suite = { it: sentences.it.bind(sentences) }

try {
  const promtool = await binary('promtool', line => console.log(line))
  await sentences.chapter('Alerts', () => checkAlerts(suite, promtool, dir))
  const world = await startWorld(dir, line => console.log(line))
  try {
    await sentences.chapter('Manifests, before anything is installed', () => checkDryRun(suite, world))
    await sentences.chapter('The chart', () => checkChart(suite, world))
    await sentences.chapter('kubectl apply, and delete', async () => {
      await checkApply(suite, world)
      await checkLeftovers(suite, world)
      await checkUninstall(suite, world)
    })
  } finally {
    await world.stop()
  }
  console.log(`\n${sentences.closingLine()}`)
  process.exitCode = sentences.failed === 0 ? 0 : 1
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
} finally {
  if (values.keep) console.log(`everything is in ${dir}`)
  else rmSync(dir, { recursive: true, force: true })
}
