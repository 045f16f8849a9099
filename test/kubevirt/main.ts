// `npm run test:kubevirt [-- --version=v1.7.0,v1.6.0] [--server=cluster,embedded] [--only=lifecycle,...] [--keep]`: KubeVirt's
// own virt-api and virt-controller make, move and end virtual machines whose addresses come from Mooring. They are built once
// (minutes) and run on a real kube-apiserver and on the embedded server. There are no machines: the nodes are played.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { binary, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { type KubeVirtVersion, kubevirtBinary, kubevirtVersions } from '../../scripts/real/kubevirt.ts'
import { Processes } from '../capi/processes.ts'
import { Sentences } from '../capi/sentences.ts'
import type { Client } from '../conformance/client.ts'
import { retry, secondTry } from '../second-try.ts'
import { checkDeletion } from './deletion.ts'
import { checkEviction } from './eviction.ts'
import { checkImports } from './imports.ts'
import { checkInterfaces } from './interfaces.ts'
import { checkLifecycle } from './lifecycle.ts'
import { checkMigration } from './migration.ts'
import { checkNetwork } from './network.ts'
import { type ServerKind, serverKinds, startWorld } from './world.ts'

const chapters: Readonly<Record<string, readonly [string, (sentences: Sentences, client: Client) => Promise<void>]>> = {
  lifecycle: ['a virtual machine starts, stops and starts again', checkLifecycle],
  migration: ['a virtual machine moves while it runs', checkMigration],
  interfaces: ['interfaces come and go', checkInterfaces],
  deletion: ['a virtual machine is deleted', checkDeletion],
  imports: ['a virtual machine moves in', checkImports],
  eviction: ['a node is drained, a namespace deleted', checkEviction],
  network: ['virtual machines migrate over a network of their own', checkNetwork],
}

const { values } = parseArgs({
  options: {
    version: { type: 'string', default: kubevirtVersions[0] },
    server: { type: 'string', default: serverKinds.join(',') },
    only: { type: 'string', default: Object.keys(chapters).join(',') },
    keep: { type: 'boolean', default: false },
  },
})

function listed<T extends string>(flag: string, text: string, known: readonly T[]): T[] {
  return text.split(',').map(name => {
    const found = known.find(one => one === name)
    if (found !== undefined) return found
    console.error(`--${flag} takes a list of ${known.join(', ')}, not ${name}`)
    return process.exit(2)
  })
}

const versions = listed('version', values.version, kubevirtVersions)
const servers = listed('server', values.server, serverKinds)
const only = listed('only', values.only, Object.keys(chapters))

try {
  await build()
  process.exit(await main())
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}

async function build(): Promise<void> {
  const say = (line: string) => console.log(line)
  if (servers.includes('cluster')) {
    for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const) await binary(program, say)
  }
  for (const version of versions) {
    for (const program of ['manifests', 'virt-controller', 'virt-api'] as const) {
      await kubevirtBinary(program, version, say)
    }
  }
}

async function main(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-kubevirt-'))
  const processes = new Processes(dir)
  const sentences = new Sentences(line => console.log(line))
  const end = () => void processes.stop().finally(() => process.exit(1))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  const tell = async (version: KubeVirtVersion, server: ServerKind, attempt = 1): Promise<void> => {
    const told = new Sentences(line => console.log(line))
    const place = `KubeVirt ${version} on ${server === 'cluster' ? 'kube-apiserver' : 'the embedded server'}`
    await told.chapter(place, async () => {
      const world = await startWorld({ name: `${server}-${version}-${attempt}`, dir, version, server }, processes)
      for (const name of only) {
        const [title, check] = chapters[name] ?? ['', async () => {}]
        await told.chapter(`${place}: ${title}`, () => check(told, world.client))
      }
    })
    await processes.stop()
    if (told.failed === 0 || attempt > retry) return sentences.add(told)
    const failedBefore = sentences.failed
    await tell(version, server, attempt + 1)
    if (sentences.failed > failedBefore) return
    for (const failure of told.failures) console.log(`${secondTry}${place}: ${failure}`)
  }
  try {
    for (const version of versions) for (const server of servers) await tell(version, server)
  } finally {
    await processes.stop()
    if (sentences.failed === 0 && !values.keep) rmSync(dir, { recursive: true, force: true })
  }
  if (existsSync(dir)) console.log(`\nlogs are in ${dir}`)
  console.log(`\n${sentences.closingLine()}`)
  return sentences.failed === 0 ? 0 : 1
}
