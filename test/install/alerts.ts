// The alerts, as Prometheus' own checker reads and plays them.

import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sentences } from '../capi/sentences.ts'
import { mustRun } from './run.ts'

export async function checkAlerts({ it }: Pick<Sentences, 'it'>, promtool: string, dir: string): Promise<void> {
  const folder = join(dir, 'alerts')
  mkdirSync(folder, { recursive: true })
  copyFileSync('config/prometheus/alerts.yaml', join(folder, 'alerts.yaml'))
  copyFileSync('test/alerts/cases.yaml', join(folder, 'cases.yaml'))

  await it('Prometheus can read the rules', async () => {
    await mustRun(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', join(folder, 'alerts.yaml')])
  })

  await it('alerts fire when they should, say what they should, and not before', async () => {
    await mustRun(promtool, ['test', 'rules', join(folder, 'cases.yaml')])
  })
}
