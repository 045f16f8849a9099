// `npm run test:capi [-- --only=init,move,killed,embedded,vsphere] [--keep]`: programs of other projects use Mooring. clusterctl
// installs, upgrades and moves it; Cluster API's own webhooks check what it writes; the provider for vSphere gets the
// addresses of its machines from it. They are built once (about a quarter of an hour) and run on a real kube-apiserver.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { binary, type Program, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { clusterctlAt } from './clusterctl.ts'
import { checkInit } from './init.ts'
import { isIsolated, onOutsideEnds, runIsolated } from './isolation.ts'
import { checkKilledMove } from './killed.ts'
import { type ServerKind, startManagement, startServer } from './management.ts'
import { checkMove } from './move.ts'
import { Processes } from './processes.ts'
import { createRepository } from './repository.ts'
import { Sentences } from './sentences.ts'
import { startVSphere } from './vcenter.ts'
import { checkVSphere } from './vsphere.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'init,move,killed,embedded,vsphere' },
    keep: { type: 'boolean', default: false },
  },
})
const chapters = new Set(values.only.split(','))

const programs: Program[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'clusterctl']
if (['move', 'killed', 'embedded', 'vsphere'].some(chapter => chapters.has(chapter)))
  programs.push('cluster-api-manager')
if (chapters.has('vsphere')) programs.push('vsphere-manager', 'vcenter')

try {
  if (!isIsolated()) for (const program of programs) await binary(program, line => console.log(line))
  const code = isIsolated() ? undefined : await runIsolated()
  process.exit(code ?? (await main()))
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}

async function main(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-capi-'))
  const processes = new Processes(dir)
  const sentences = new Sentences(line => console.log(line))
  const end = () => void processes.stop().finally(() => process.exit(1))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  if (isIsolated()) onOutsideEnds(end)

  try {
    const repository = createRepository(join(dir, 'repository'), chapters.has('vsphere'))
    const clusterctl = clusterctlAt(await binary('clusterctl'), repository.config, dir)
    const start = (name: string, kind?: ServerKind) =>
      startManagement(name, dir, processes, clusterctl, repository, kind)
    const chapter = async (name: string, title: string, tell: () => Promise<void>) => {
      if (!chapters.has(name)) return
      await sentences.chapter(title, tell)
      await processes.stop()
    }
    await chapter('init', 'clusterctl and a new provider', async () => {
      await checkInit(sentences, await startServer('init', dir, processes), clusterctl, repository)
    })
    await chapter('move', 'clusterctl move between two management clusters', async () => {
      await checkMove(sentences, await start('here'), await start('there'), clusterctl)
    })
    await chapter('killed', 'clusterctl move that is killed, given up or run again', async () => {
      await checkKilledMove(sentences, await start('first'), await start('second'), clusterctl)
    })
    await chapter('embedded', 'the same, between kube-apiserver and the embedded server', async () => {
      await checkMove(sentences, await start('cluster'), await start('embedded', 'embedded'), clusterctl)
    })
    await chapter('vsphere', 'machines of the provider for vSphere, on a simulated vCenter', async () => {
      const management = await start('vsphere')
      await checkVSphere(sentences, management, await startVSphere(management, processes, clusterctl, repository))
    })
  } finally {
    await processes.stop()
    if (sentences.failed === 0 && !values.keep) rmSync(dir, { recursive: true, force: true })
  }
  if (existsSync(dir)) console.log(`\nlogs are in ${dir}`)
  console.log(`\n${sentences.closingLine()}`)
  return sentences.failed === 0 ? 0 : 1
}
