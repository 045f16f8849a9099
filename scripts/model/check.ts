// `npm run model:check [-- --large] [--workers=N] [--only=NAME]`: is the protocol of docs/model true? Every configuration must hold, and
// every broken variant must be refused. Prints what was searched, and ends with `N passed, N failed`.

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { skippedExitCode, Unavailable } from '../real/binaries.ts'
import { macVariants } from './mac-variants.ts'
import { nodeVariants } from './node-variants.ts'
import { partVariants } from './part-variants.ts'
import { check, findTlc, type Run, type Tlc } from './tlc.ts'
import { toBroken, type Variant, variants } from './variants.ts'

const directory = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs', 'model')

interface Model {
  readonly module: string
  readonly configurations: readonly string[]
  /** Minutes, not seconds: for a change of the protocol. */
  readonly largeConfigurations: readonly string[]
  readonly variants: readonly Variant[]
}

const models: readonly Model[] = [
  {
    module: 'Ledger.tla',
    configurations: [
      'racing',
      'hands',
      'one-claim',
      'stripped',
      'arrivals',
      'one-claim-arrivals',
      'unproven',
      'forced',
      'renamed',
      'rested',
      'liveness',
    ],
    largeConfigurations: ['large'],
    variants,
  },
  {
    module: 'Parts.tla',
    configurations: ['parts-racing', 'parts-one-set', 'parts-stripped', 'parts-birth', 'parts-order', 'parts-liveness'],
    largeConfigurations: ['parts-large'],
    variants: partVariants,
  },
  {
    module: 'Mac.tla',
    configurations: ['mac-racing', 'mac-liveness'],
    largeConfigurations: ['mac-large'],
    variants: macVariants,
  },
  {
    module: 'Nodes.tla',
    configurations: ['nodes-racing', 'nodes-liveness'],
    largeConfigurations: [],
    variants: nodeVariants,
  },
]

const { values } = parseArgs({
  options: {
    large: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    only: { type: 'string' },
  },
})
const isAsked = (name: string): boolean => values.only === undefined || values.only === name

process.exitCode = await main()

async function main(): Promise<number> {
  try {
    return await checkAll(findTlc(Number(values.workers), line => console.error(line)))
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.log(`skipped, because ${error.message}`)
    console.log('0 passed, 0 failed')
    return skippedExitCode
  }
}

async function checkAll(tlc: Tlc): Promise<number> {
  const verdicts: boolean[] = []
  for (const { module, configurations, largeConfigurations, variants } of models) {
    for (const name of [...configurations, ...(values.large ? largeConfigurations : [])].filter(isAsked)) {
      verdicts.push(await holds(tlc, module, name))
    }
    for (const variant of variants.filter(({ rule }) => isAsked(rule))) {
      verdicts.push(await isRefused(tlc, module, variant))
    }
  }
  const failed = verdicts.filter(verdict => !verdict).length
  console.log(`${verdicts.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

async function isRefused(tlc: Tlc, module: string, variant: Variant): Promise<boolean> {
  const { says, promise, configuration } = variant
  const outcome = await check(tlc, join(directory, module), toBroken(readConfiguration(configuration), variant))
  if (outcome.kind === 'refused' && outcome.properties.includes(promise)) {
    console.log(`refused  ${says}: ${promise} (${summary(outcome.run)})`)
    return true
  }
  console.log(`FAILED   ${says}: ${promise} was to be refused, but ${describe(outcome)}`)
  return false
}

async function holds(tlc: Tlc, module: string, name: string): Promise<boolean> {
  const outcome = await check(tlc, join(directory, module), readConfiguration(name))
  if (outcome.kind === 'holds') {
    console.log(`holds    ${name}: ${summary(outcome.run)}`)
    return true
  }
  console.log(`FAILED   ${name}: ${describe(outcome)}`)
  console.log(outcome.output)
  return false
}

function readConfiguration(name: string): string {
  return readFileSync(join(directory, `${name}.cfg`), 'utf8')
}

function describe(outcome: Awaited<ReturnType<typeof check>>): string {
  switch (outcome.kind) {
    case 'holds':
      return `everything held (${summary(outcome.run)})`
    case 'refused':
      return `${outcome.properties.join(' or ')} is violated (${summary(outcome.run)})`
    case 'broken':
      return `TLC could not finish:\n${outcome.output}`
  }
}

function summary({ states, depth, seconds }: Run): string {
  const searched = `${states.toLocaleString('en')} states`
  return `${searched}${depth === undefined ? '' : `, depth ${depth}`}, ${seconds.toFixed(1)} s`
}
