// `npm run test:cluster -- LANE [OPTIONS]`: Mooring on a real kube-apiserver. Each lane starts its own, says what it does
// while it does it, ends with "N passed, N failed", and says "skipped, because ..." where the real programs cannot be had.
//
//   capi     every behaviour of claims and pools [--crds=v1beta2|v1beta1] [--server=cluster|embedded] [--focus=TEXT] [FILE...]
//   toy      the same of the toy desk alone, beside the product's own [the same options]
//   frozen   two controllers at once, one or the other stopped dead at random [--claims=N] [--frozen=SECONDS] [--seed=N]
//   rbac     the controller with exactly the shipped roles, and without each verb of them in turn [--focus=TEXT] [FILE...]

import { existsSync } from 'node:fs'
import { skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'

const lanes = ['capi', 'toy', 'frozen', 'rbac']

const [lane = '', ...args] = process.argv.slice(2)
const file = new URL(`./${lane}.ts`, import.meta.url)
if (!lanes.includes(lane) || !existsSync(file)) {
  console.error(`test:cluster takes one of: ${lanes.join(', ')}; not ${JSON.stringify(lane)}`)
  process.exit(2)
}

try {
  const { run } = (await import(file.href)) as { run: (args: string[]) => Promise<void> }
  await run(args)
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}
