#!/usr/bin/env node
// Where the program begins. An old Node would stumble over something that it does not have, with a stack; so the version is
// looked at before anything else is imported.

import { setFlagsFromString } from 'node:v8'
import { whyTooOld } from './cli/node-version.ts'

const why = whyTooOld(process.versions.node)
if (why !== undefined) {
  console.error(why)
  process.exit(3)
}
// Whatever this process or a library in it makes is for its user alone.
process.umask(0o077)
const args = process.argv.slice(2)
if (args[0] === 'node') {
  const { runNodeCommand } = await import('./cli/node-command.ts')
  await runNodeCommand(args)
} else {
  // Caches and queues are the same code for many kinds: each kind that comes has it compiled anew, with all that is inlined in it. A
  // start with tens of thousands of objects takes a fifth less processor time where V8 inlines less, compiles what stays in use, and
  // gives new objects room at once (ADR 0025).
  for (const flag of [
    'max-inlined-bytecode-size-cumulative=100',
    'interrupt-budget=270000',
    'semi-space-growth-factor=16',
  ])
    setFlagsFromString(`--${flag}`)
  const { runProgram } = await import('./cli/program.ts')
  await runProgram(args)
}
