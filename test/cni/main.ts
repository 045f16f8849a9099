// `npm run test:cni [-- --server=embedded,cluster] [--only=guests,...] [--calls=1000] [--seed=N] [--keep]`: a real data plane. Network
// namespaces are two nodes and their guests; Debian's plugins make the interfaces; `cnitool`, built once, is the container runtime;
// addresses come from `mooring node`. Needs root. Everything it makes is removed at the end.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildForwarder } from '../../scripts/image/forwarder.ts'
import { binary, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { needDebian } from '../../scripts/real/debian.ts'
import { Processes } from '../capi/processes.ts'
import { Sentences } from '../capi/sentences.ts'
import { checkForwarder } from './forwarder.ts'
import { makeNodes, Namespaces, type Tools } from './nodes.ts'

const { values } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
  },
})

const say = (line: string) => console.log(line)

try {
  process.exit(await main(await prepare()))
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}

async function prepare(): Promise<Tools> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Unavailable('this needs root on Linux')
  needDebian(
    {
      '/usr/lib/cni/bridge': 'containernetworking-plugins',
      '/usr/sbin/iptables': 'iptables',
      '/usr/bin/ping': 'iputils-ping',
      '/usr/sbin/ip': 'iproute2',
    },
    say,
  )
  const cnitool = await binary('cnitool', say)
  const dir = mkdtempSync(join(tmpdir(), 'mooring-cni-'))
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  buildForwarder(bin)
  return { cnitool, bin, dir }
}

async function main(tools: Tools): Promise<number> {
  const { dir } = tools
  const processes = new Processes(dir)
  const namespaces = new Namespaces()
  const sentences = new Sentences(say)
  process.once('exit', () => namespaces.removeAll())
  const end = () => void processes.stop().finally(() => process.exit(1))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  try {
    await sentences.chapter('The plugin in the CNI directory', () =>
      checkForwarder(sentences, join(tools.bin, 'mooring'), dir),
    )
    await makeNodes(namespaces, tools)
  } finally {
    await processes.stop()
    namespaces.removeAll()
    if (sentences.failed === 0 && !values.keep) rmSync(dir, { recursive: true, force: true })
  }
  if (existsSync(dir)) console.log(`\nlogs are in ${dir}`)
  console.log(`\n${sentences.closingLine()}`)
  return sentences.failed === 0 ? 0 : 1
}
