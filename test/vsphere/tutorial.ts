// The tutorial of machines on vSphere works as it is written, on a server and a vCenter of the lane's own.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import type { Processes } from '../capi/processes.ts'
import type { Sentences } from '../capi/sentences.ts'
import { follow, stepsOf } from '../docs/pages.ts'
import type { VCenter } from './vcenter.ts'

const page = 'docs/tutorials/vsphere-machines.md'

/** These start what the lane has started. */
const isOfTheLane = (line: string): boolean => /^(npm |export |\(cd )/.test(line)

export async function checkTutorial(
  sentences: Sentences,
  processes: Processes,
  { options }: VCenter,
  dir: string,
): Promise<void> {
  const { host } = new URL(options.url)
  const mooring = await startEmbedded({
    dir: join(dir, 'tutorial'),
    args: ['--machine-mode=full', `--vcenters=vcenter.example=${host}`],
  })
  processes.keep(() => mooring.stop())
  const manifests = join(dir, 'manifests')
  const env = { ...process.env, KUBECONFIG: mooring.kubeconfig, VCENTER: host }
  for (const { commands, shown } of stepsOf(readFileSync(page, 'utf8'))) {
    const own = commands
      .split('\n')
      .filter(line => !isOfTheLane(line))
      .join('\n')
      .trim()
    if (own === '') continue
    const left = own.replaceAll(/\bmanifests(?=[/\s]|$)(?! config)/g, manifests)
    await sentences.it(own.split('\n').at(-1) ?? '', () => follow({ commands: left, shown }, env))
  }
}
