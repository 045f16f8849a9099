// `npm run test:cni [-- --server=embedded,cluster] [--only=guests,...] [--calls=1000] [--seed=N] [--keep]`: a real data plane. Network
// namespaces are two nodes and their guests; Debian's plugins make the interfaces; `cnitool`, built once, is the container runtime;
// addresses come from `mooring node`. Needs root. Everything it makes is removed at the end.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildForwarder } from '../../scripts/image/forwarder.ts'
import { binary, hasBinary, type Program, skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { needDebian } from '../../scripts/real/debian.ts'
import { Processes } from '../capi/processes.ts'
import { Sentences } from '../capi/sentences.ts'
import { checkCutOff } from './cut-off.ts'
import { checkForwarder } from './forwarder.ts'
import { checkGuests } from './guests.ts'
import { checkMigrationNetwork } from './migration-network.ts'
import { Namespaces, type Tools } from './nodes.ts'
import { checkSpecification } from './specification.ts'
import { checkStolenToken } from './stolen-token.ts'
import { checkStorm } from './storm.ts'
import { type ServerKind, serverKinds, startWorld, type World } from './world.ts'

const chapters: Readonly<Record<string, readonly [string, (sentences: Sentences, world: World) => Promise<void>]>> = {
  guests: ['Guests on bridge, macvlan and ptp', checkGuests],
  specification: ['Version 1.1 of the specification', checkSpecification],
  'stolen-token': ['The token of a node', checkStolenToken],
  'migration-network': ['A network for live migrations, on a VLAN', checkMigrationNetwork],
  'cut-off': ['A node that is cut off', checkCutOff],
  storm: [
    'Calls while programs are killed',
    (sentences, world) => checkStorm(sentences, world, { calls: Number(values.calls), seed: Number(values.seed) }),
  ],
}

const { values } = parseArgs({
  options: {
    server: { type: 'string' },
    only: { type: 'string', default: Object.keys(chapters).join(',') },
    calls: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
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

const only = listed('only', values.only, Object.keys(chapters))

/** The real programs take ten minutes to build: where they are not there yet, the embedded server alone is used unless they are asked for. */
function servers(): readonly ServerKind[] {
  if (values.server !== undefined) return listed('server', values.server, serverKinds)
  const isBuilt = ['etcd', 'kube-apiserver', 'kube-controller-manager'].every(program => hasBinary(program as Program))
  if (!isBuilt) console.log('on the embedded server alone: --server=cluster builds a kube-apiserver first')
  return isBuilt ? serverKinds : ['embedded']
}

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
    for (const server of servers()) {
      const place = server === 'cluster' ? 'on kube-apiserver' : 'on the embedded server'
      await sentences.chapter(`Two nodes ${place}`, async () => {
        const world = await startWorld({ server, tools, namespaces, processes })
        for (const name of only) {
          const [title, check] = chapters[name] ?? ['', async () => {}]
          await sentences.chapter(`${title}, ${place}`, () => check(sentences, world))
        }
      })
      await processes.stop()
    }
  } finally {
    await processes.stop()
    namespaces.removeAll()
    if (sentences.failed === 0 && !values.keep) rmSync(dir, { recursive: true, force: true })
  }
  if (existsSync(dir)) console.log(`\nlogs are in ${dir}`)
  console.log(`\n${sentences.closingLine()}`)
  return sentences.failed === 0 ? 0 : 1
}
