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
  // Caches and queues are the same code for many kinds: each kind that comes would have it compiled anew, with all that is inlined
  // in it. Compiled in smaller pieces, a start with tens of thousands of objects takes a tenth less processor time.
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=100')
  const { runProgram } = await import('./cli/program.ts')
  await runProgram(args)
}
