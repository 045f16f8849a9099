// `npm run test:vsphere [-- --keep]`: machines are read from a vCenter, govmomi's simulator, which is built once (a minute); and
// `mooring up` makes the virtual machines of Machines there.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { binary, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { Processes } from '../capi/processes.ts'
import { Sentences } from '../capi/sentences.ts'
import { checkClones } from './clones.ts'
import { checkFleet } from './fleet.ts'
import { checkMachines } from './machines.ts'
import { checkSession } from './session.ts'
import { checkTutorial } from './tutorial.ts'
import { startVCenter } from './vcenter.ts'

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })

try {
  await binary('vcenter', line => console.log(line))
  process.exit(await main())
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}

function hasKubectl(): boolean {
  return spawnSync('kubectl', ['version', '--client']).status === 0
}

async function main(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-vsphere-'))
  const processes = new Processes(dir)
  const sentences = new Sentences(line => console.log(line))
  const end = () => void processes.stop().finally(() => process.exit(1))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  try {
    await sentences.chapter('a session with a vCenter', async () =>
      checkSession(sentences, await startVCenter(processes, 'session')),
    )
    await sentences.chapter('machines of a vCenter', async () =>
      checkMachines(sentences, await startVCenter(processes, 'machines')),
    )
    await sentences.chapter('virtual machines that are made and destroyed', async () =>
      checkClones(sentences, await startVCenter(processes, 'clones')),
    )
    await sentences.chapter('Machines whose virtual machines Mooring makes', async () =>
      checkFleet(sentences, processes, await startVCenter(processes, 'fleet', ['-task-ms=200']), dir),
    )
    if (hasKubectl()) {
      await sentences.chapter('the tutorial of machines on vSphere', async () =>
        checkTutorial(sentences, processes, await startVCenter(processes, 'tutorial'), dir),
      )
    } else console.log('\nthe tutorial is not followed, because there is no kubectl')
  } finally {
    await processes.stop()
    if (sentences.failed === 0 && !values.keep) rmSync(dir, { recursive: true, force: true })
  }
  if (existsSync(dir)) console.log(`\nlogs are in ${dir}`)
  console.log(`\n${sentences.closingLine()}`)
  return sentences.failed === 0 ? 0 : 1
}
